"""Other values for inputs of the same shapes, drawn after the candidate has ended.

Visible structure of inputs is preserved: among other numbers, zeros, infinities and NaNs stay where
they are; sorted values stay sorted; permutations stay permutations; no value leaves the range of
the given values. Values that are all equal, such as initial weights of one, or of which none is
finite, have no structure and are drawn from scratch.

Awkward values are drawn in addition. They keep the given sign and, below 1, the given magnitude.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.judge.comparing import EPSILON, numpy_dtype, strided
from kvtrace.addons.judge.inputs import Input, TensorInput

#: Awkward values, for which a formula may overflow, cancel, or divide by zero.
AWKWARD: Final = (
    "large", "nearly equal", "zero", "equal", "negative", "tiny", "canceling", "all equal",
    "sorted", "denormal", "huge",
)  # fmt: skip
#: Numbers whose squares overflow; only drawn where the reference does not overflow.
HUGE: Final = "huge"
#: Constants that kernels compare with or clamp to, numbers between them, and some beyond. Very
#: small and very large constants are drawn alone: beside usual numbers, their contribution would
#: be lost in the tolerance.
CONSTANTS: Final = "threshold"
#: Values with ties, where several indices are equally right.
TYING: Final = ("zero", "equal", "nearly equal", "all equal", CONSTANTS)
#: Integers of all sizes, if they are not positions or lengths.
WIDE: Final = "large integer"
_WIDEST: Final = 1 << 40
#: NaN and infinities, for which a right kernel may differ from the reference.
SPECIAL: Final = "infinite or NaN"
_LARGE: Final = 64.0
_TINY: Final = {"float16": 2.0**-10}
_NEAR: Final = 2.0**-6
#: Magnitudes of constants around which numbers are drawn, and the share of such numbers.
_SMALLEST_USUAL: Final = 2.0**-80
_LARGEST_USUAL: Final = 2.0**14
#: Magnitudes of constants that are drawn alone, the largest quotient within a group, and groups.
_FAR: Final = (2.0**-149, 2.0**-14, 2.0**14, 2.0**40)
_TOGETHER: Final = 2.0**12
_MOST_GROUPS: Final = 6
_CANCELS: Final = 2.0**-10
_MIDDLE: Final = 0.75
_CONSTANTS_SHARE: Final = 1 / 4
_LARGEST: Final = {"float8_e4m3fn": 448.0}
_LEVELS: Final = 3
#: Range of the factor for all floats, used where the reference refuses mixed values.
_FACTORS: Final = (0.5, 1.5)


def is_float(tensor: TensorInput) -> bool:
    """Return whether a tensor holds floats; otherwise it holds integers or booleans."""
    return tensor.dtype in EPSILON


def is_floats(entry: Input) -> bool:
    """Return whether an input is a tensor of floats."""
    return isinstance(entry, TensorInput) and is_float(entry)


def is_integers(entry: Input) -> bool:
    """Return whether an input is a tensor of integers or booleans."""
    return isinstance(entry, TensorInput) and not is_float(entry)


def other_values(
    content: bytes, tensor: TensorInput, random: np.random.Generator, *, scaled: bool = False,
    awkward: str = "", constants: Sequence[float] = (),
) -> bytes:  # fmt: skip
    """Return a storage's bytes with new values in the elements that a tensor views.

    Args:
        content: The bytes of the storage.
        tensor: The view; other elements do not change.
        random: The generator to draw from.
        scaled: Multiply all floats by one factor, instead of mixing pairs of them.
        awkward: The kind of awkward values: `AWKWARD`, `CONSTANTS` or `SPECIAL` for floats, `WIDE`
            for integers. "": usual values.
        constants: Constants of the kernels.
    """
    elements = np.frombuffer(content, numpy_dtype(tensor.dtype)).copy()
    view = strided(elements, tensor.shape, tensor.strides, tensor.offset)
    values = view.ravel()
    if values.size:
        is_sorted = tensor.shape == values.shape and values.size > 1 and _is_sorted(values)
        redrawn: NDArray[Any] = (
            _other_floats(values.astype(np.float64), random, scaled=scaled)
            if is_float(tensor) and not awkward
            else _awkward_floats(
                values.astype(np.float64), random, awkward, tensor.dtype, constants
            )
            if is_float(tensor)
            else _integers_of_all_sizes(elements.dtype, values.size, random)
            if awkward == WIDE and elements.dtype != np.bool_
            else _other_integers(values.astype(np.int64), random, is_sorted=is_sorted)
        )
        with np.errstate(all="ignore"):
            redrawn = (np.sort(redrawn) if is_sorted else redrawn).astype(elements.dtype)
        view[...] = redrawn.reshape(tensor.shape)
    return elements.tobytes()


def _other_floats(
    values: NDArray[np.float64], random: np.random.Generator, *, scaled: bool
) -> NDArray[np.float64]:
    """Return new floats in place of `values`: random points between pairs of them.

    With `scaled`, all are multiplied by one random factor. Zeros and values that are not finite
    stay. Values that are all equal, or none of which is finite, are replaced by random ones.
    """
    changing = np.isfinite(values) & (values != 0)
    nonzero = values[changing]
    result = values.copy()
    if nonzero.size and scaled:
        result[changing] = nonzero * random.uniform(*_FACTORS)
    elif (values == values[0]).all() and np.isfinite(values[0]):
        result = _drawn_from_scratch(values[0], values.size, random)
    elif not np.isfinite(values).any():
        result = random.standard_normal(values.size)
    elif nonzero.size:
        left, right = random.choice(nonzero, nonzero.size), random.choice(nonzero, nonzero.size)
        result[changing] = right + (left - right) * random.random(nonzero.size)
    return result


def _drawn_from_scratch(
    value: float, size: int, random: np.random.Generator
) -> NDArray[np.float64]:
    """Return random numbers near `value`, of its sign; between -1 and 1 if it is 0."""
    if value == 0:
        return random.uniform(-1.0, 1.0, size)
    return np.asarray(value * random.uniform(*_FACTORS, size))


def _awkward_floats(
    values: NDArray[np.float64], random: np.random.Generator, kind: str, dtype: str,
    constants: Sequence[float],
) -> NDArray[np.float64]:  # fmt: skip
    """Return awkward numbers of a kind in place of nonzero finite values.

    They are negative only if some of `values` are. If the kind does not fit the values, the result
    is that of `_other_floats`.
    """
    result = _other_floats(values, random, scaled=False)
    changing = np.isfinite(result) & (result != 0)
    nonzero = result[changing]
    if not nonzero.size:
        return result
    signed = bool((values < 0).any()) or not np.isfinite(values).any()
    exceeds_one = float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) > 1
    if kind == "large" and exceeds_one:
        nonzero = nonzero * _LARGE
    elif kind == HUGE and exceeds_one:
        limit = float(ml_dtypes.finfo(numpy_dtype(dtype)).max)
        nonzero = nonzero * (_LEVELS * math.sqrt(limit) / np.abs(nonzero).max())
    elif kind == "tiny":
        nonzero = nonzero * _TINY.get(dtype, 2.0**-24)
    elif kind == "negative" and signed:
        nonzero = -np.abs(nonzero)
    elif kind == "zero":
        nonzero[: nonzero.size // 2] = 0.0
        if signed:  # values that are never negative have no negative zero
            nonzero[: nonzero.size // 4] = -0.0
    elif kind == "equal":
        nonzero = random.choice(nonzero[:_LEVELS], nonzero.size)
    elif kind == "nearly equal":
        middle = float(np.abs(nonzero).max())
        nonzero = middle * (1.0 - _NEAR * random.random(nonzero.size))
        nonzero[: nonzero.size // 4] = middle
    elif kind == "canceling" and signed:
        half = nonzero.size // 2
        nonzero[1 : 2 * half : 2] = -nonzero[: 2 * half : 2] * (1 + _CANCELS * random.random(half))
    elif kind == "all equal":
        nonzero[:] = np.clip(_MIDDLE, nonzero.min(), nonzero.max())
    elif kind == "sorted":
        nonzero = np.sort(nonzero)
    elif kind == "denormal":
        smallest = float(ml_dtypes.finfo(numpy_dtype(dtype)).smallest_normal)
        nonzero = np.sign(nonzero) * smallest * random.uniform(0.05, 1.0, nonzero.size)
    elif kind == CONSTANTS and _are_far(constants):
        if not exceeds_one and max(constants) > 1:
            return result
        picked = random.choice(np.asarray(constants), nonzero.size)
        picked[len(constants) :] *= 2.0 ** random.uniform(
            -2, 2, max(nonzero.size - len(constants), 0)
        )
        picked[: len(constants)] = constants[: nonzero.size]
        signs = random.choice([-1.0, 1.0], nonzero.size) if signed and max(constants) < 1 else 1.0
        nonzero = picked * signs
        random.shuffle(nonzero)
    elif kind == CONSTANTS:
        nearby_numbers = _numbers_around(constants, dtype, signed=signed)
        nearby_numbers = (
            nearby_numbers if exceeds_one else nearby_numbers[np.abs(nearby_numbers) <= 1]
        )
        if not nearby_numbers.size:
            return result
        is_replaced = random.random(nonzero.size) < _CONSTANTS_SHARE
        is_replaced[: min(len(nearby_numbers), nonzero.size)] = True
        picked = random.choice(nearby_numbers, nonzero.size)
        picked[: len(nearby_numbers)] = nearby_numbers[: nonzero.size]
        nonzero = np.where(is_replaced, picked, nonzero)
        random.shuffle(nonzero)
    elif kind == SPECIAL:
        nonzero[random.integers(nonzero.size)] = np.nan
        nonzero[random.integers(nonzero.size)] = np.inf
        if signed:
            nonzero[random.integers(nonzero.size)] = -np.inf
    result[changing] = nonzero
    return result


def _numbers_around(constants: Sequence[float], dtype: str, *, signed: bool) -> NDArray[np.float64]:
    """Return usual constants, numbers between and beyond them, and the square roots of all.

    With `signed`, also their negatives; without numbers that the type cannot represent.
    """
    magnitudes = sorted(
        {abs(number) for number in constants if _SMALLEST_USUAL <= abs(number) <= _LARGEST_USUAL}
    )
    between = [(smaller + larger) / 2 for smaller, larger in pairwise(magnitudes)]
    beyond = [*(size / 2 for size in magnitudes[:1]), *(2 * size for size in magnitudes[-1:])]
    numbers = np.asarray([*magnitudes, *between, *beyond])
    numbers = np.unique(np.concatenate([numbers, np.sqrt(numbers)]))
    numbers = np.concatenate([numbers, -numbers]) if signed else numbers
    representable: NDArray[np.float64] = numbers[np.abs(numbers) <= _LARGEST.get(dtype, np.inf)]
    return representable


def groups_of(constants: Sequence[float]) -> list[list[float]]:
    """Return groups of constants to draw together: those of usual magnitudes, then similar ones.

    Very large constants keep their sign, since a kernel may clamp from below at -1e9.
    """
    smallest, small, large, largest = _FAR
    very_small = {abs(number) for number in constants if smallest <= abs(number) < small}
    very_small |= {math.sqrt(number) for number in very_small if math.sqrt(number) < small}
    very_large = {number for number in constants if large < number <= largest}
    groups: list[list[float]] = []
    for number in (*sorted(very_large), *sorted(very_small)):
        if groups and 1 <= number / groups[-1][0] <= _TOGETHER:
            groups[-1].append(number)
        else:
            groups.append([number])
    usual = [number for number in constants if _SMALLEST_USUAL <= abs(number) <= _LARGEST_USUAL]
    return [*([usual] if usual else []), *groups[:_MOST_GROUPS]]


def _are_far(constants: Sequence[float]) -> bool:
    """Return whether all constants are very small, or all very large."""
    sizes = [abs(number) for number in constants]
    return bool(sizes) and (max(sizes) < _FAR[1] or min(sizes) > _FAR[2])


def other_scalar(value: float, random: np.random.Generator) -> float:
    """Return another number for a float argument; a number in [0, 1) stays there."""
    return float(
        random.uniform(0.05, 0.95) if 0 <= value < 1 else value * random.uniform(*_FACTORS)
    )


def _other_integers(
    values: NDArray[np.int64], random: np.random.Generator, *, is_sorted: bool
) -> NDArray[np.int64]:
    low, high = int(values.min()), int(values.max())
    if high - low == values.size - 1 and np.unique(values).size == values.size:
        return values if is_sorted else random.permutation(values)
    redrawn = random.integers(low, high, values.size, endpoint=True)
    if is_sorted:  # offsets of parts keep their ends
        redrawn[0], redrawn[-1] = low, high
    return redrawn


def _integers_of_all_sizes(
    dtype: np.dtype[Any], size: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """Return random integers from a type's whole range, limited so that sums fit in 64 bits."""
    limits = np.iinfo(dtype)
    low, high = max(int(limits.min), -_WIDEST), min(int(limits.max), _WIDEST)
    return random.integers(low, high, size, endpoint=True)


def _is_sorted(values: NDArray[Any]) -> bool:
    return bool((values[1:] >= values[:-1]).all())
