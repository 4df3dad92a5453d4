"""Inputs on which two versions of a kernel are compared: kinds of numbers that show mistakes.

Each kind is a range in which some formulas overflow, vanish, cancel or divide by zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any, Final, Literal, get_args

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Inputs = Literal["random numbers", "small numbers", "negative numbers",
                 "numbers up to the limit of exp", "numbers around 10,000", "large numbers",
                 "huge numbers", "minute numbers", "tiny numbers",
                 "numbers with NaNs, infinities and zeros", "infinities among numbers",
                 "zeros and ones", "nothing but zeros", "constants of the kernels",
                 "nothing but NaNs", "NaNs among numbers", "nothing but -infinities",
                 "numbers far below zero", "numbers far above zero", "numbers beyond the constants",
                 "zeros in one tensor", "rows far apart", "operands that cancel",
                 "numbers beside the constants", "numbers up to the largest",
                 "-infinities in tiles", "other integers", "integers that are 0",
                 "negative integers"]  # fmt: skip
"""Kinds of contents of float tensors on which two versions are compared.

Squares of "large" and "minute" numbers are finite and not 0, fourth powers are not; squares of
"huge" and "tiny" numbers are not.
"""

EXPONENTS: Final[Inputs] = "numbers up to the limit of exp"
"""Inputs on which only overflow counts as a difference: roundings of exponents grow with them."""

INPUTS: Final[tuple[Inputs, ...]] = get_args(Inputs)

WITH_INTEGERS: Final[frozenset[Inputs]] = frozenset(
    {"other integers", "integers that are 0", "negative integers"}
)
"""Random floats with integers other than the recorded ones: extreme ones, zeros, or of one sign."""

OVERFLOWING: Final[frozenset[Inputs]] = frozenset(
    {"infinities among numbers", "numbers up to the largest"}
)
"""Kinds on which sums in another order, or other forms of one formula, may be infinite or NaN."""

OPTIONAL: Final[frozenset[Inputs]] = frozenset({
    "constants of the kernels", "numbers beyond the constants", "numbers beside the constants",
    "zeros in one tensor", "-infinities in tiles", *OVERFLOWING, *WITH_INTEGERS,
})  # fmt: skip
"""Kinds that some kernels are not compared on."""

PLAIN: Final[frozenset[Inputs]] = frozenset({
    "random numbers", "small numbers", "negative numbers", EXPONENTS, "numbers around 10,000",
    "zeros and ones", "nothing but zeros", "constants of the kernels",
    "numbers far below zero", "numbers far above zero", "numbers beyond the constants",
    "zeros in one tensor", "rows far apart",
})  # fmt: skip
"""Kinds on which no version may overflow."""

WITHOUT_OVERFLOW: Final[frozenset[Inputs]] = frozenset({
    "zeros and ones", "nothing but zeros", "nothing but NaNs", "NaNs among numbers",
})  # fmt: skip

SINGULAR: Final[frozenset[Inputs]] = frozenset({
    "zeros and ones", "nothing but zeros", "constants of the kernels",
    "numbers far below zero", "numbers far above zero", "numbers beyond the constants",
    "zeros in one tensor", "rows far apart",
})  # fmt: skip
"""Kinds with zero denominators, equal operands of comparisons, and whole rows out of range."""

CANCELING: Final[Inputs] = "operands that cancel"
"""Inputs on which elements are compared one by one: most tensors are equal, or opposite."""

_SPECIALS: Final = (np.nan, np.inf, -np.inf, 0.0, -0.0)
_SMALL: Final = 2.0**-10
"""The size of small numbers: their squares are about the eps that kernels add before a root."""
_LOG_OF_FLOAT32: Final = 88.0
"""The largest exponent of exp in float32, in which narrower types are computed, too."""
_CANCELING_SIZE: Final = 1e4
_FAR_FROM_ZERO: Final = 200.0
"""Exponentials of numbers this far below zero are 0 in float32, and in narrower types."""
_FROM_ZERO: Final = 16.0
_APART: Final = 150.0
"""Distance of rows: exponentials of numbers that far below others are 0."""
_SOME_INFINITE: Final = (1.0, 1.0, 1.0, np.inf)
_ZEROS_AND_ONES: Final = (0.0, -0.0, 1.0, -1.0)


@dataclass(frozen=True, slots=True)
class FillValues:
    """Integers and constants from the formulas of both versions, to fill tensors with.

    Whole rows lie beyond each of the constants `exceeded`.
    """

    integers: tuple[int, ...] = ()
    constants: tuple[float, ...] = ()
    exceeded: tuple[float, ...] = ()


NO_FILL_VALUES: Final = FillValues()


def numbers_of(
    inputs: Inputs, shape: Sequence[int], dtype: np.dtype[Any], seed: int,
    constants: Sequence[float] = (),
) -> NDArray[Any]:  # fmt: skip
    """Return numbers of a kind in a shape and type; `constants` are for two kinds."""
    random = np.random.default_rng(seed)
    limits = ml_dtypes.finfo(dtype)
    largest, least = float(limits.max), float(limits.tiny)
    plain = random.standard_normal(shape)
    match inputs:
        case "small numbers":
            numbers = np.asarray(plain * _SMALL)
        case "negative numbers":
            numbers = np.asarray(-np.abs(plain) - 0.5)
        case "numbers up to the limit of exp":
            numbers = np.asarray(plain * max(log(largest), _LOG_OF_FLOAT32) * 0.4)
        case "numbers around 10,000":
            numbers = np.asarray(min(1e4, largest / 8) + plain)
        case "large numbers":
            numbers = np.asarray(plain * largest**0.4)
        case "huge numbers":
            numbers = np.asarray(plain * largest**0.8)
        case "minute numbers":
            numbers = np.asarray(plain * least**0.4)
        case "tiny numbers":
            numbers = np.asarray(plain * least * 4)
        case "numbers with NaNs, infinities and zeros":
            numbers = _with_specials(np.array(plain, ndmin=1), seed).reshape(plain.shape)
        case "infinities among numbers":
            numbers = plain * _picked(_SOME_INFINITE, shape, seed)
        case "zeros and ones":
            numbers = _picked(_ZEROS_AND_ONES, shape, seed)
        case "nothing but zeros":
            numbers = np.zeros(shape)
        case "constants of the kernels":
            numbers = _picked(constants, shape, seed)
        case "numbers beside the constants":
            numbers = _picked(_neighbors(constants, dtype), shape, seed)
        case "numbers up to the largest":
            numbers = np.asarray(largest * random.uniform(-1.0, 1.0, shape))
        case "-infinities in tiles":
            numbers = _with_infinite_tiles(plain)
        case "nothing but NaNs":
            numbers = np.full(shape, np.nan)
        case "NaNs among numbers":
            specials = _with_specials(np.array(plain, ndmin=1), seed, (np.nan,))
            numbers = specials.reshape(plain.shape)
        case "nothing but -infinities":
            numbers = np.full(shape, -np.inf)
        case "numbers far below zero":
            numbers = -np.minimum(np.abs(plain) + _FAR_FROM_ZERO, largest)
        case "numbers far above zero":
            numbers = np.minimum(np.abs(plain) + _FAR_FROM_ZERO, largest)
        case "numbers beyond the constants":
            rows = np.array(plain, ndmin=1).reshape(-1, shape[-1] if len(shape) > 1 else 1)
            count = len(constants) if len(rows) > len(constants) and len(shape) > 1 else 1
            for number, constant in enumerate(constants[:count]):
                part = rows[number::count]
                part[...] = _beyond(constant, part, largest)
            numbers = rows.reshape(plain.shape)
        case "zeros in one tensor":
            numbers = _with_zeros(plain, random)
        case "rows far apart":
            numbers = _with_rows_apart(plain, random)
        case "operands that cancel":
            numbers = _canceling(plain, seed)
        case "random numbers" | "other integers" | "integers that are 0" | "negative integers":
            numbers = plain
    return np.asarray(
        np.clip(numbers, -largest, largest) if np.isfinite(numbers).all() else numbers
    ).astype(dtype)


def _beyond(constant: float, plain: NDArray[Any], largest: float) -> NDArray[Any]:
    """Return numbers that all lie beyond a constant, on its side of zero; `plain` if none can."""
    sizes = np.abs(plain)
    far = constant * (2.0 + sizes / max(float(sizes.max()), 1.0) / 64)
    return np.asarray(far if float(np.abs(far).max()) < largest else plain)


def _with_zeros(plain: NDArray[Any], random: np.random.Generator) -> NDArray[Any]:
    """Return numbers with zeros of both signs, and some that a sum with exp(0) loses."""
    draws = random.random(plain.shape)
    far = plain * _FROM_ZERO
    return np.select([draws < 1 / 4, draws < 1 / 2, draws < 3 / 4], [-0.0, 0.0, far], plain)


def _with_rows_apart(plain: NDArray[Any], random: np.random.Generator) -> NDArray[Any]:
    """Shift each row by -150, 0 or 150; large rows lie before smaller ones."""
    rows = plain.reshape(-1, plain.shape[-1] if plain.ndim > 1 else 1)
    shifts = random.choice([-_APART, 0.0, _APART], (len(rows), 1))
    shifts[: len(rows) // 2 : 2] = _APART
    return np.asarray(rows + shifts).reshape(plain.shape)


def _canceling(plain: NDArray[Any], seed: int) -> NDArray[Any]:
    """Return in each element a large number, its negative or a small one, by chance.

    The large numbers are those of all tensors of the shape: operands cancel to the last digit, and
    small ones that are added before that are lost.
    """
    large = _CANCELING_SIZE * np.random.default_rng(0).uniform(1.0, 2.0, plain.shape)
    factors = np.random.default_rng(seed).integers(-1, 2, plain.shape)
    return np.where(factors == 0, plain, factors * large)


def _picked(numbers: Sequence[float], shape: Sequence[int], seed: int) -> NDArray[Any]:
    return np.asarray(np.random.default_rng(seed).choice(numbers, shape))


def _neighbors(constants: Sequence[float], dtype: np.dtype[Any]) -> list[float]:
    """Return the numbers of a type right below and above each constant."""
    numbers, largest = np.asarray(constants).astype(dtype), ml_dtypes.finfo(dtype).max
    sides = [np.nextafter(numbers, dtype.type(end)) for end in (-largest, largest)]
    return [float(number) for side in sides for number in side]


def _with_infinite_tiles(plain: NDArray[Any]) -> NDArray[Any]:
    """Return numbers with -infinities in half of each row and column, as masks of scores have."""
    rows = np.array(plain, ndmin=1).reshape(-1, plain.shape[-1] if plain.shape else 1)
    is_first = [np.arange(extent) < -(-extent // 2) for extent in rows.shape]
    is_infinite = is_first[0][:, None] == is_first[1]
    return np.asarray(np.where(is_infinite, -np.inf, rows)).reshape(plain.shape)


def _with_specials(
    numbers: NDArray[Any], seed: int, specials: Sequence[float] = _SPECIALS
) -> NDArray[Any]:
    """Put one special number into some rows, and return the array.

    Every third row has one in all tensors; so does a random quarter of the rows of this tensor.
    """
    rows = numbers.reshape(-1, numbers.shape[-1] if numbers.ndim > 1 else 1)
    random = np.random.default_rng(seed + 1)
    columns = random.integers(rows.shape[1], size=len(rows))
    is_drawn = random.random(len(rows)) < 1 / 4
    for row in range(1, len(rows)):
        if row % 3 == 1 or is_drawn[row]:
            rows[row, columns[row]] = specials[(row // 3 + seed) % len(specials)]
    return rows.reshape(numbers.shape)
