"""Contents of tensors: other values of the same kind, and awkward ones that show mistakes.

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

from kvtrace.inputs.cases import BYTES, EPSILON, Input, TensorInput, numpy_dtype, strided

ROWS: Final = "rows far apart"
STRUCTURES: Final = ("zero rows", "zero columns", "zero tiles", "one hot", ROWS)
#: Extent of a tile along both of the last axes.
_TILE: Final = 16
#: Distance of rows: exponentials of numbers that far below others are 0.
_APART: Final = 150.0


def structured(
    kind: str, numbers: NDArray[np.float64], random: np.random.Generator
) -> NDArray[np.float64]:
    """Return an array of numbers with one of `STRUCTURES`; a vector is one column of rows."""
    matrix: NDArray[Any] = numbers.reshape(-1, numbers.shape[-1] if numbers.ndim > 1 else 1)
    rows, columns = matrix.shape
    if kind == ROWS:
        shifts = random.choice([-_APART, 0.0, _APART], (rows, 1))
        shifts[: rows // 2 : 2] = _APART  # large rows lie before smaller ones
        return np.asarray(matrix + shifts).reshape(numbers.shape)
    if kind == "zero rows":
        kept = np.broadcast_to(random.random((rows, 1)) < 1 / 2, matrix.shape)
    elif kind == "zero columns":
        kept = np.broadcast_to(random.random((1, columns)) < 1 / 2, matrix.shape)
    elif kind == "one hot":
        kept = np.arange(columns) == random.integers(columns, size=(rows, 1))
    else:
        tiles = random.random((-(-rows // _TILE), -(-columns // _TILE))) < 1 / 2
        kept = np.repeat(np.repeat(tiles, _TILE, 0), _TILE, 1)[:rows, :columns]
    return np.where(kept, matrix, 0.0).reshape(numbers.shape)


Numbers = NDArray[np.float64]

#: Numbers whose squares overflow; only drawn where the reference does not overflow.
HUGE: Final = "huge"
#: Constants that kernels compare with or clamp to, numbers between them, and some beyond. Very
#: small and very large constants are drawn alone: beside usual numbers, their contribution would
#: be lost in the tolerance.
CONSTANTS: Final = "threshold"
#: Numbers that all lie beyond a constant, on its side of zero, as a maximum's first value.
BEYOND_CONSTANTS: Final = "beyond a constant"
#: Kinds of numbers of which zeros are drawn in one tensor at a time, too.
ZERO: Final = "zero"
#: Awkward values, for which a formula may overflow, cancel, or divide by zero.
AWKWARD: Final = (
    ZERO, "far below zero", "far above zero", *STRUCTURES, "large", "nearly equal", "equal",
    "negative", "tiny", "canceling", "all equal", "sorted", "denormal", HUGE,
)  # fmt: skip
#: Values with ties, where several indices are equally right.
TYING: Final = (ZERO, "equal", "nearly equal", "all equal", CONSTANTS, *STRUCTURES)
#: Integers of all sizes, if they are not positions or lengths; alone below zero, too.
WIDE: Final = ("large integer", "negative integer")
#: Floats of the sign that given ones lack, and larger ones: a kernel may take them for positions.
OUTSIDE: Final = "beyond the given range"
#: Floats of both signs where given ones have one: these may all be of one sign by chance.
BOTH_SIGNS: Final = "positive and negative"
#: NaN and infinities, for which a right kernel may differ from the reference.
SPECIAL: Final = "infinite or NaN"
_WIDEST: Final = 1 << 40
_LARGE: Final = 64.0
_FROM_ZERO: Final = 16.0
#: Exponentials of numbers this far below zero are 0 in float32, and in narrower types.
_FAR_FROM_ZERO: Final = 200.0
_TINY: Final = {"float16": 2.0**-10}
_NEAR: Final = 2.0**-6
#: Magnitudes of constants around which numbers are drawn, and the share of such numbers.
_SMALLEST_USUAL: Final = 2.0**-80
_LARGEST_USUAL: Final = 2.0**14
#: Magnitudes of constants that are drawn alone, the largest quotient within a group, and groups.
_FAR: Final = (2.0**-149, 2.0**-14, 2.0**14, 2.0**40)
_TOGETHER: Final = 2.0**12
_MOST_GROUPS: Final = 6
_MOST_BEYOND: Final = 4
_CANCELS: Final = 2.0**-10
_MIDDLE: Final = 0.75
_CONSTANTS_SHARE: Final = 1 / 4
_LEVELS: Final = 3
#: Range of the factor for all floats, used where the reference refuses mixed values.
_FACTORS: Final = (0.5, 1.5)
#: Parts of names of tensors whose integers are the bounds of parts, which ascend from 0.
_BOUNDS: Final = ("offset", "indptr", "cu_seq", "cu_len", "row_ptr", "rowptr")


def is_float(tensor: TensorInput) -> bool:
    """Return whether a tensor holds floats; otherwise it holds integers or booleans."""
    return tensor.dtype in EPSILON


def is_floats(entry: Input) -> bool:
    """Return whether an input is a tensor of floats."""
    return isinstance(entry, TensorInput) and is_float(entry)


def is_integers(entry: Input) -> bool:
    """Return whether an input is a tensor of integers or booleans."""
    return isinstance(entry, TensorInput) and not is_float(entry)


def drawn_values(tensor: TensorInput, random: np.random.Generator, smallest: int) -> NDArray[Any]:
    """Draw values for a tensor's storage: normal floats, integers of 0 or 1 up, bytes of any value.

    Integers are below `smallest`, the smallest extent, and below 100. Those of a tensor whose name
    says that they bound parts, such as `offsets`, ascend from 0.
    """
    if is_float(tensor):
        return random.standard_normal(tensor.storage)
    if tensor.dtype == "bool":
        return random.integers(0, 2, tensor.storage)
    if tensor.dtype in BYTES:  # bytes are data; wider integers may be positions or lengths
        return random.integers(*BYTES[tensor.dtype], tensor.storage)
    values = random.integers(0, max(min(smallest, 100), 1), tensor.storage)
    if len(tensor.shape) == 1 and any(part in tensor.name.lower() for part in _BOUNDS):
        values.sort()
        values[:1] = 0
    return values


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
        awkward: The kind of awkward values: `AWKWARD`, `OUTSIDE`, `BOTH_SIGNS`, `CONSTANTS`,
            `BEYOND_CONSTANTS` or `SPECIAL` for floats, one of `WIDE` for integers. "": usual
            values.
        constants: Constants of the kernels.
    """
    elements = np.frombuffer(content, numpy_dtype(tensor.dtype)).copy()
    view = strided(elements, tensor.shape, tensor.strides, tensor.offset)
    values = view.ravel()
    if values.size:
        is_sorted = tensor.shape == values.shape and values.size > 1 and _is_sorted(values)
        redrawn: NDArray[Any]
        if is_float(tensor):
            numbers = values.astype(np.float64)
            is_free = tensor.is_drawn and numbers.size == 1
            usual = (
                random.standard_normal(1)
                if is_free
                else _other_floats(numbers, random, scaled=scaled)
            )
            redrawn = (
                _awkward_floats(numbers, usual, random, awkward, tensor, constants)
                if awkward
                else usual
            )
        elif awkward in WIDE and elements.dtype != np.bool_:
            redrawn = _integers_of_all_sizes(elements.dtype, values.size, random)
            if awkward != WIDE[0] and np.iinfo(elements.dtype).min:
                redrawn = -np.abs(redrawn)
        else:
            redrawn = _other_integers(values.astype(np.int64), random, is_sorted=is_sorted)
        with np.errstate(all="ignore"):
            redrawn = (np.sort(redrawn) if is_sorted else redrawn).astype(elements.dtype)
        view[...] = redrawn.reshape(tensor.shape)
    return elements.tobytes()


def _other_floats(values: Numbers, random: np.random.Generator, *, scaled: bool) -> Numbers:
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


def _drawn_from_scratch(value: float, size: int, random: np.random.Generator) -> Numbers:
    """Return random numbers near `value`, of its sign; between -1 and 1 if it is 0."""
    if value == 0:
        return random.uniform(-1.0, 1.0, size)
    return np.asarray(value * random.uniform(*_FACTORS, size))


def _awkward_floats(
    values: Numbers, usual: Numbers, random: np.random.Generator, kind: str, tensor: TensorInput,
    constants: Sequence[float],
) -> Numbers:  # fmt: skip
    """Return awkward numbers of a kind in place of nonzero finite `usual` ones.

    They are negative only if some of `values` are. If the kind does not fit the values, the result
    is `usual`.
    """
    changing = np.isfinite(usual) & (usual != 0)
    numbers = usual[changing]
    if not numbers.size:
        return usual
    is_signed = tensor.is_drawn or bool((values < 0).any()) or not np.isfinite(values).any()
    exceeds_one = tensor.is_drawn or float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) > 1
    result = usual.copy()
    if kind in STRUCTURES:
        is_shifted = kind == ROWS
        if not is_shifted or (is_signed and exceeds_one):
            made = structured(kind, usual.reshape(tensor.shape), random).ravel()
            result[changing] = made[changing]
    else:
        result[changing] = awkward_numbers(
            numbers, random, kind, tensor.dtype, constants, signed=is_signed, wide=exceeds_one
        )
    return result


def awkward_numbers(
    numbers: Numbers, random: np.random.Generator, kind: str, dtype: str,
    constants: Sequence[float] = (), *, signed: bool = True, wide: bool = True,
) -> Numbers:  # fmt: skip
    """Return a vector of numbers of a kind, made of usual ones; these, if the kind does not fit.

    Args:
        numbers: Usual numbers, none of them zero.
        random: The generator to draw from.
        kind: One of `AWKWARD` without `STRUCTURES`, `OUTSIDE`, `BOTH_SIGNS`, `CONSTANTS`,
            `BEYOND_CONSTANTS` or `SPECIAL`.
        dtype: The element type, by torch's name.
        constants: Constants of the kernels.
        signed: Numbers may be negative.
        wide: Numbers may exceed 1.
    """
    size, sizes = numbers.size, np.abs(numbers)
    limits = ml_dtypes.finfo(numpy_dtype(dtype))
    largest = float(limits.max)
    if kind == OUTSIDE:
        return np.asarray(numbers * _LARGE * random.choice([-1.0, 1.0], size))
    if kind == BOTH_SIGNS:  # mixed in the first half; whole rows of the other sign follow
        signs = random.choice([-1.0, 1.0], size)
        signs[size // 2 :] = -1.0
        return np.asarray(numbers * signs)
    if kind == "large" and wide:
        return numbers * _LARGE
    if kind == "far below zero" and wide and signed:
        return -np.minimum(sizes + _FAR_FROM_ZERO, largest)
    if kind == "far above zero" and wide:
        return np.minimum(sizes + _FAR_FROM_ZERO, largest)
    if kind == BEYOND_CONSTANTS and wide and constants:
        far = constants[0] * (2.0 + sizes / max(float(sizes.max()), 1.0) / 64)
        fits = (signed or constants[0] > 0) and float(np.abs(far).max()) < largest
        return far if fits else numbers
    if kind == HUGE and wide:
        return np.asarray(numbers * (_LEVELS * math.sqrt(largest) / sizes.max()))
    if kind == "tiny":
        return numbers * _TINY.get(dtype, 2.0**-24)
    if kind == "negative" and signed:
        return -sizes
    if kind == ZERO:
        draws = random.random(size)
        far = numbers * _FROM_ZERO if wide else numbers  # the log of a sum with it is lost at 0
        zero = -0.0 if signed else 0.0  # values that are never negative have no negative zero
        return np.select([draws < 1 / 4, draws < 1 / 2, draws < 3 / 4], [zero, 0.0, far], numbers)
    if kind == "equal":
        return np.asarray(random.choice(numbers[:_LEVELS], size))
    if kind == "nearly equal":
        near = sizes.max() * (1.0 - _NEAR * random.random(size))
        near[: size // 4] = sizes.max()
        return np.asarray(near)
    if kind == "canceling" and signed:
        half, result = size // 2, numbers.copy()
        result[1 : 2 * half : 2] = -numbers[: 2 * half : 2] * (1 + _CANCELS * random.random(half))
        return result
    if kind == "all equal":
        return np.full(size, np.clip(_MIDDLE, numbers.min(), numbers.max()))
    if kind == "sorted":
        return np.sort(numbers)
    if kind == "denormal":
        smallest = float(limits.smallest_normal)
        return np.sign(numbers) * smallest * random.uniform(0.05, 1.0, size)
    if kind == CONSTANTS and constants:
        return _among_constants(numbers, random, constants, largest, signed=signed, wide=wide)
    if kind == SPECIAL:
        result = numbers.copy()
        for special in (np.nan, np.inf, -np.inf) if signed else (np.nan, np.inf):
            result[random.integers(size)] = special
        return result
    return numbers


def _among_constants(
    numbers: Numbers, random: np.random.Generator, constants: Sequence[float], largest: float, *,
    signed: bool, wide: bool,
) -> Numbers:  # fmt: skip
    """Return constants and numbers around them, or for usual constants some among `numbers`."""
    if _are_far(constants):
        if not wide and max(constants) > 1:
            return numbers
        picked = random.choice(np.asarray(constants), numbers.size)
        beyond = max(numbers.size - len(constants), 0)
        picked[len(constants) :] *= 2.0 ** random.uniform(-2, 2, beyond)
        picked[: len(constants)] = constants[: numbers.size]
        signs = random.choice([-1.0, 1.0], numbers.size) if signed and max(constants) < 1 else 1.0
        result = np.asarray(picked * signs)
    else:
        nearby = _numbers_around(constants, largest, signed=signed)
        nearby = nearby if wide else nearby[np.abs(nearby) <= 1]
        if not nearby.size:
            return numbers
        is_replaced = random.random(numbers.size) < _CONSTANTS_SHARE
        is_replaced[: min(len(nearby), numbers.size)] = True
        picked = random.choice(nearby, numbers.size)
        picked[: len(nearby)] = nearby[: numbers.size]
        result = np.where(is_replaced, picked, numbers)
    random.shuffle(result)
    return result


def _numbers_around(constants: Sequence[float], largest: float, *, signed: bool) -> Numbers:
    """Return usual constants, numbers between and beyond them, and the square roots of all.

    With `signed`, also their negatives; without numbers that exceed `largest`.
    """
    magnitudes = sorted(
        {abs(number) for number in constants if _SMALLEST_USUAL <= abs(number) <= _LARGEST_USUAL}
    )
    between = [(smaller + larger) / 2 for smaller, larger in pairwise(magnitudes)]
    beyond = [*(size / 2 for size in magnitudes[:1]), *(2 * size for size in magnitudes[-1:])]
    numbers = np.asarray([*magnitudes, *between, *beyond])
    numbers = np.unique(np.concatenate([numbers, np.sqrt(numbers)]))
    numbers = np.concatenate([numbers, -numbers]) if signed else numbers
    return np.asarray(numbers[np.abs(numbers) <= largest])


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


def constants_to_exceed(constants: Sequence[float], most: float = _FAR[-1]) -> list[float]:
    """Return constants of magnitudes above 1, up to `most`, that all numbers may lie beyond.

    The largest ones come first, of either sign.
    """
    usual = {number for number in constants if 1 < abs(number) <= most}
    return sorted(usual, key=abs, reverse=True)[:_MOST_BEYOND]


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
