"""Other values for inputs of the same shapes, drawn after the candidate has ended.

What inputs mean is kept as far as it shows: among other numbers, zeros, infinities and NaNs stay
where they are, what is in order stays in order, permutations stay permutations, and nothing leaves
the range that it had. Where all numbers are the same, as ones and zeros of weights at their start,
that says nothing: they are drawn from scratch. So are numbers of which none is finite.

Awkward values are drawn besides, of the sign and, below 1, of the size that was given.
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

#: Awkward values: what a formula may overflow for, lose by a difference, or divide by.
AWKWARD: Final = (
    "large", "nearly equal", "zero", "equal", "negative", "tiny", "cancelling", "all equal",
    "sorted", "denormal", "huge",
)  # fmt: skip
#: Numbers whose squares overflow; drawn where the reference gets through without overflow itself.
HUGE: Final = "huge"
#: Numbers that kernels compare with or limit to, those between them, and some beyond. Those of
#: other sizes than what a kernel usually gets are drawn alone: beside others, their results would
#: be lost in what results may be off.
CONSTANTS: Final = "threshold"
#: Values among which there are ties, where one index is as right as another.
TYING: Final = ("zero", "equal", "nearly equal", "all equal", CONSTANTS)
#: Integers of all sizes, where they are not positions or lengths.
WIDE: Final = "large integer"
_WIDEST: Final = 1 << 40
#: NaN and infinities: a right kernel may define them otherwise.
SPECIAL: Final = "infinite or NaN"
_LARGE: Final = 64.0
_TINY: Final = {"float16": 2.0**-10}
_NEAR: Final = 2.0**-6
#: Sizes of constants around which numbers are drawn, and the share of numbers that are such.
_LEAST: Final = 2.0**-80
_MOST: Final = 2.0**14
#: Sizes of constants that are drawn alone; the quotient of what is drawn together, and how often.
_FAR: Final = (2.0**-149, 2.0**-14, 2.0**14, 2.0**40)
_TOGETHER: Final = 2.0**12
_MOST_GROUPS: Final = 6
_CANCELS: Final = 2.0**-10
_MIDDLE: Final = 0.75
_SHARE: Final = 1 / 4
_LARGEST: Final = {"float8_e4m3fn": 448.0}
_LEVELS: Final = 3
#: What one factor for all floats is taken from, where their mixture means nothing to the reference.
_FACTORS: Final = (0.5, 1.5)


def is_float(tensor: TensorInput) -> bool:
    """Whether a tensor holds floats; otherwise it holds integers or booleans."""
    return tensor.dtype in EPSILON


def is_floats(given: Input) -> bool:
    """Whether an input is a tensor of floats."""
    return isinstance(given, TensorInput) and is_float(given)


def is_integers(given: Input) -> bool:
    """Whether an input is a tensor of integers or booleans."""
    return isinstance(given, TensorInput) and not is_float(given)


def other_values(
    content: bytes, tensor: TensorInput, random: np.random.Generator, *, scaled: bool = False,
    awkward: str = "", constants: Sequence[float] = (),
) -> bytes:  # fmt: skip
    """Return a storage's bytes with other values in the elements that a tensor views.

    Args:
        content: The bytes of the storage.
        tensor: The view; what it does not reach stays.
        random: What is drawn from.
        scaled: Whether floats are all multiplied by one factor, rather than mixed.
        awkward: One of `AWKWARD`, `CONSTANTS` or `SPECIAL`, which floats become, or `WIDE`.
        constants: Those of the kernels.

    """
    held = np.frombuffer(content, numpy_dtype(tensor.dtype)).copy()
    view = strided(held, tensor.shape, tensor.strides, tensor.offset)
    values = view.ravel()
    if values.size:
        ordered = tensor.shape == values.shape and values.size > 1 and _in_order(values)
        drawn: NDArray[Any] = (
            _floats(values.astype(np.float64), random, scaled=scaled)
            if is_float(tensor) and not awkward
            else _awkward(values.astype(np.float64), random, awkward, tensor.dtype, constants)
            if is_float(tensor)
            else _of_all_sizes(held.dtype, values.size, random)
            if awkward == WIDE and held.dtype != np.bool_
            else _integers(values.astype(np.int64), random, ordered=ordered)
        )
        with np.errstate(all="ignore"):
            drawn = (np.sort(drawn) if ordered else drawn).astype(held.dtype)
        view[...] = drawn.reshape(tensor.shape)
    return held.tobytes()


def _floats(
    values: NDArray[np.float64], random: np.random.Generator, *, scaled: bool
) -> NDArray[np.float64]:
    """Mix every two values of those that are there: sums, extremes and signs all differ."""
    changing = np.isfinite(values) & (values != 0)
    known = values[changing]
    result = values.copy()
    if known.size and scaled:
        result[changing] = known * random.uniform(*_FACTORS)
    elif (values == values[0]).all() and np.isfinite(values[0]):
        result = _anew(values[0], values.size, random)
    elif not np.isfinite(values).any():
        result = random.standard_normal(values.size)
    elif known.size:
        one, other = random.choice(known, known.size), random.choice(known, known.size)
        result[changing] = other + (one - other) * random.random(known.size)
    return result


def _anew(value: float, size: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Draw numbers where all were the same: of its sign and size, or around zero."""
    if value == 0:
        return random.uniform(-1.0, 1.0, size)
    return np.asarray(value * random.uniform(*_FACTORS, size))


def _awkward(
    values: NDArray[np.float64], random: np.random.Generator, kind: str, dtype: str,
    constants: Sequence[float],
) -> NDArray[np.float64]:  # fmt: skip
    """Draw awkward numbers in place of those that change; the range's signs are kept."""
    result = _floats(values, random, scaled=False)
    changing = np.isfinite(result) & (result != 0)
    known = result[changing]
    if not known.size:
        return result
    signed = bool((values < 0).any()) or not np.isfinite(values).any()
    wide = float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) > 1
    if kind == "large" and wide:
        known = known * _LARGE
    elif kind == HUGE and wide:
        limit = float(ml_dtypes.finfo(numpy_dtype(dtype)).max)
        known = known * (_LEVELS * math.sqrt(limit) / np.abs(known).max())
    elif kind == "tiny":
        known = known * _TINY.get(dtype, 2.0**-24)
    elif kind == "negative" and signed:
        known = -np.abs(known)
    elif kind == "zero":
        known[: known.size // 2] = 0.0
        if signed:  # what is not below zero may have its sign
            known[: known.size // 4] = -0.0
    elif kind == "equal":
        known = random.choice(known[:_LEVELS], known.size)
    elif kind == "nearly equal":
        middle = float(np.abs(known).max())
        known = middle * (1.0 - _NEAR * random.random(known.size))
        known[: known.size // 4] = middle
    elif kind == "cancelling" and signed:
        half = known.size // 2
        known[1 : 2 * half : 2] = -known[: 2 * half : 2] * (1 + _CANCELS * random.random(half))
    elif kind == "all equal":
        known[:] = np.clip(_MIDDLE, known.min(), known.max())
    elif kind == "sorted":
        known = np.sort(known)
    elif kind == "denormal":
        smallest = float(ml_dtypes.finfo(numpy_dtype(dtype)).smallest_normal)
        known = np.sign(known) * smallest * random.uniform(0.05, 1.0, known.size)
    elif kind == CONSTANTS and _are_far(constants):
        if not wide and max(constants) > 1:
            return result
        picked = random.choice(np.asarray(constants), known.size)
        picked[len(constants) :] *= 2.0 ** random.uniform(
            -2, 2, max(known.size - len(constants), 0)
        )
        picked[: len(constants)] = constants[: known.size]
        signs = random.choice([-1.0, 1.0], known.size) if signed and max(constants) < 1 else 1.0
        known = picked * signs
        random.shuffle(known)
    elif kind == CONSTANTS:
        near = _around(constants, dtype, signed=signed)
        near = near if wide else near[np.abs(near) <= 1]
        if not near.size:
            return result
        chosen = random.random(known.size) < _SHARE
        chosen[: min(len(near), known.size)] = True
        picked = random.choice(near, known.size)
        picked[: len(near)] = near[: known.size]
        known = np.where(chosen, picked, known)
        random.shuffle(known)
    elif kind == SPECIAL:
        known[random.integers(known.size)] = np.nan
        known[random.integers(known.size)] = np.inf
        if signed:
            known[random.integers(known.size)] = -np.inf
    result[changing] = known
    return result


def _around(constants: Sequence[float], dtype: str, *, signed: bool) -> NDArray[np.float64]:
    """Return constants and the numbers between them, below and beyond; also of their squares."""
    sizes = sorted({abs(each) for each in constants if _LEAST <= abs(each) <= _MOST})
    between = [(one + other) / 2 for one, other in pairwise(sizes)]
    beyond = [*(each / 2 for each in sizes[:1]), *(2 * each for each in sizes[-1:])]
    found = np.asarray([*sizes, *between, *beyond])
    found = np.unique(np.concatenate([found, np.sqrt(found)]))
    found = np.concatenate([found, -found]) if signed else found
    inside: NDArray[np.float64] = found[np.abs(found) <= _LARGEST.get(dtype, np.inf)]
    return inside


def groups_of(constants: Sequence[float]) -> list[list[float]]:
    """Return constants that are drawn together: all of usual sizes, then others of about one size.

    Large ones are drawn with their sign alone: a kernel may well limit from below by -1e9.
    """
    least, small, large, most = _FAR
    far = {abs(each) for each in constants if least <= abs(each) < small}
    far |= {math.sqrt(each) for each in far if math.sqrt(each) < small}
    huge = {each for each in constants if large < each <= most}
    groups: list[list[float]] = []
    for each in (*sorted(huge), *sorted(far)):
        if groups and 1 <= each / groups[-1][0] <= _TOGETHER:
            groups[-1].append(each)
        else:
            groups.append([each])
    usual = [each for each in constants if _LEAST <= abs(each) <= _MOST]
    return [*([usual] if usual else []), *groups[:_MOST_GROUPS]]


def _are_far(constants: Sequence[float]) -> bool:
    """Whether none of them is of a usual size, so that numbers of about theirs are drawn alone."""
    sizes = [abs(each) for each in constants]
    return bool(sizes) and (max(sizes) < _FAR[1] or min(sizes) > _FAR[2])


def other_scalar(value: float, random: np.random.Generator) -> float:
    """Return another number for a float that is handed over; between 0 and 1 where it was."""
    return float(
        random.uniform(0.05, 0.95) if 0 <= value < 1 else value * random.uniform(*_FACTORS)
    )


def _integers(
    values: NDArray[np.int64], random: np.random.Generator, *, ordered: bool
) -> NDArray[np.int64]:
    low, high = int(values.min()), int(values.max())
    if high - low == values.size - 1 and np.unique(values).size == values.size:
        return values if ordered else random.permutation(values)
    drawn = random.integers(low, high, values.size, endpoint=True)
    if ordered:  # offsets of parts begin and end where they did
        drawn[0], drawn[-1] = low, high
    return drawn


def _of_all_sizes(
    dtype: np.dtype[Any], size: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """Draw integers from all of a type's range, as far as sums of them stay in 64 bits."""
    limits = np.iinfo(dtype)
    low, high = max(int(limits.min), -_WIDEST), min(int(limits.max), _WIDEST)
    return random.integers(low, high, size, endpoint=True)


def _in_order(values: NDArray[Any]) -> bool:
    return bool((values[1:] >= values[:-1]).all())
