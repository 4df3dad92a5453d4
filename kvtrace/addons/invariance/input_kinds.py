"""Inputs on which two versions of a kernel are compared: kinds of numbers that show mistakes.

Each kind is a range in which some formulas overflow, vanish, cancel or divide by zero. `_KINDS` has
a row for each: what comparisons may conclude from it, and the numbers, made of normally distributed
ones. For "plain singular" kinds, as zeros, an infinity in the second version alone is a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import Any, Final, TypeAlias

import ml_dtypes
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Inputs: TypeAlias = str
"""The name of a kind of contents of float tensors, in `INPUTS`."""

EXPONENTS: Final[Inputs] = "numbers up to the limit of exp"
"""Inputs on which only overflow counts as a difference: roundings of exponents grow with them."""

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


class FillValues(Struct, frozen=True):
    """Integers and constants from the formulas of both versions, to fill tensors with.

    Whole rows lie beyond each of the constants `exceeded`.
    """

    integers: tuple[int, ...] = ()
    constants: tuple[float, ...] = ()
    exceeded: tuple[float, ...] = ()


class _Drawn(Struct, frozen=True):
    """Normally distributed numbers `plain`, their type, and constants of the kernels."""

    plain: NDArray[Any]
    random: np.random.Generator
    seed: int
    dtype: np.dtype[Any]
    constants: Sequence[float]

    @property
    def largest(self) -> float:
        """The largest finite number of the type."""
        return float(ml_dtypes.finfo(self.dtype).max)

    @property
    def least(self) -> float:
        """The smallest normal number of the type."""
        return float(ml_dtypes.finfo(self.dtype).tiny)

    @property
    def far(self) -> NDArray[Any]:
        """Numbers so far above zero that exponentials of their negatives are 0."""
        return np.asarray(np.minimum(np.abs(self.plain) + _FAR_FROM_ZERO, self.largest))

    @property
    def rows(self) -> NDArray[Any]:
        """A copy of the numbers as a matrix, of one column unless there are several axes."""
        columns = self.plain.shape[-1] if self.plain.ndim > 1 else 1
        return np.array(self.plain, ndmin=1).reshape(-1, columns)

    def of(self, numbers: Sequence[float]) -> NDArray[Any]:
        """Return one of some numbers for each element, by chance."""
        random = np.random.default_rng(self.seed)
        return np.asarray(random.choice(numbers, self.plain.shape))

    def everywhere(self, number: float) -> NDArray[Any]:
        """Return one number for all elements."""
        return np.full(self.plain.shape, number)


def numbers_of(
    inputs: Inputs, shape: Sequence[int], dtype: np.dtype[Any], seed: int,
    constants: Sequence[float] = (),
) -> NDArray[Any]:  # fmt: skip
    """Return numbers of a kind in a shape and type; `constants` are for three kinds."""
    random = np.random.default_rng(seed)
    drawn = _Drawn(np.asarray(random.standard_normal(shape)), random, seed, dtype, constants)
    numbers = np.asarray(_KINDS[inputs][1](drawn))
    if np.isfinite(numbers).all():
        numbers = np.clip(numbers, -drawn.largest, drawn.largest)
    return numbers.reshape(shape).astype(dtype)


def _beyond(drawn: _Drawn) -> NDArray[Any]:
    """Return rows that each lie beyond a constant, on its side of zero, where numbers can."""
    rows, constants = drawn.rows, drawn.constants
    count = len(constants) if len(rows) > len(constants) and drawn.plain.ndim > 1 else 1
    for position, constant in enumerate(constants[:count]):
        sizes = np.abs(rows[position::count])
        far = constant * (2.0 + sizes / max(float(sizes.max()), 1.0) / 64)
        if float(np.abs(far).max()) < drawn.largest:
            rows[position::count] = far
    return rows


def _with_zeros(drawn: _Drawn) -> NDArray[Any]:
    """Return numbers with zeros of both signs, and some that a sum with exp(0) loses."""
    draws = drawn.random.random(drawn.plain.shape)
    far = drawn.plain * _FROM_ZERO
    return np.select([draws < 1 / 4, draws < 1 / 2, draws < 3 / 4], [-0.0, 0.0, far], drawn.plain)


def _with_rows_apart(drawn: _Drawn) -> NDArray[Any]:
    """Shift each row by -150, 0 or 150; large rows lie before smaller ones."""
    rows = drawn.rows
    shifts = drawn.random.choice([-_APART, 0.0, _APART], (len(rows), 1))
    shifts[: len(rows) // 2 : 2] = _APART
    return np.asarray(rows + shifts)


def _canceling(drawn: _Drawn) -> NDArray[Any]:
    """Return in each element a large number, its negative or a small one, by chance.

    The large numbers are those of all tensors of the shape: operands cancel to the last digit, and
    small ones that are added before that are lost.
    """
    shape = drawn.plain.shape
    large = _CANCELING_SIZE * np.random.default_rng(0).uniform(1.0, 2.0, shape)
    factors = np.random.default_rng(drawn.seed).integers(-1, 2, shape)
    return np.where(factors == 0, drawn.plain, factors * large)


def _beside(drawn: _Drawn) -> NDArray[Any]:
    """Return the numbers of the type right below and above the constants."""
    numbers, largest = np.asarray(drawn.constants).astype(drawn.dtype), drawn.largest
    sides = [np.nextafter(numbers, drawn.dtype.type(end)) for end in (-largest, largest)]
    return drawn.of([float(number) for side in sides for number in side])


def _with_infinite_tiles(drawn: _Drawn) -> NDArray[Any]:
    """Return numbers with -infinities in half of each row and column, as masks of scores have."""
    columns = drawn.plain.shape[-1] if drawn.plain.shape else 1
    rows = drawn.plain.reshape(-1, columns)
    is_first = [np.arange(extent) < -(-extent // 2) for extent in rows.shape]
    is_infinite = is_first[0][:, None] == is_first[1]
    return np.where(is_infinite, -np.inf, rows)


def _with_specials(drawn: _Drawn, specials: Sequence[float] = _SPECIALS) -> NDArray[Any]:
    """Return numbers with one special number in some rows.

    Every third row has one in all tensors; so does a random quarter of the rows of this tensor.
    """
    rows = drawn.rows
    random = np.random.default_rng(drawn.seed + 1)
    columns = random.integers(rows.shape[1], size=len(rows))
    is_drawn = random.random(len(rows)) < 1 / 4
    for row in range(1, len(rows)):
        if row % 3 == 1 or is_drawn[row]:
            rows[row, columns[row]] = specials[(row // 3 + drawn.seed) % len(specials)]
    return rows


_KINDS: Final[Mapping[Inputs, tuple[str, Callable[[_Drawn], Any]]]] = {
    "random numbers": ("plain", lambda drawn: drawn.plain),
    "small numbers": ("plain", lambda drawn: drawn.plain * _SMALL),
    "negative numbers": ("plain", lambda drawn: -np.abs(drawn.plain) - 0.5),
    EXPONENTS: (
        "plain", lambda drawn: drawn.plain * max(log(drawn.largest), _LOG_OF_FLOAT32) * 0.4,
    ),
    "numbers around 10,000": ("plain", lambda drawn: min(1e4, drawn.largest / 8) + drawn.plain),
    "large numbers": ("", lambda drawn: drawn.plain * drawn.largest**0.4),
    "huge numbers": ("", lambda drawn: drawn.plain * drawn.largest**0.8),
    "minute numbers": ("", lambda drawn: drawn.plain * drawn.least**0.4),
    "tiny numbers": ("", lambda drawn: drawn.plain * drawn.least * 4),
    "numbers with NaNs, infinities and zeros": ("", _with_specials),
    "infinities among numbers": (
        "optional overflowing", lambda drawn: drawn.plain * drawn.of(_SOME_INFINITE),
    ),
    "zeros and ones": ("plain singular finite", lambda drawn: drawn.of(_ZEROS_AND_ONES)),
    "nothing but zeros": ("plain singular finite", lambda drawn: drawn.everywhere(0.0)),
    "constants of the kernels": (
        "optional plain singular", lambda drawn: drawn.of(drawn.constants),
    ),
    "nothing but NaNs": ("finite", lambda drawn: drawn.everywhere(np.nan)),
    "NaNs among numbers": ("finite", lambda drawn: _with_specials(drawn, (np.nan,))),
    "nothing but -infinities": ("", lambda drawn: drawn.everywhere(-np.inf)),
    "numbers far below zero": ("plain singular", lambda drawn: -drawn.far),
    "numbers far above zero": ("plain singular", lambda drawn: drawn.far),
    "numbers beyond the constants": ("optional plain singular", _beyond),
    "zeros in one tensor": ("optional plain singular", _with_zeros),
    "rows far apart": ("plain singular", _with_rows_apart),
    CANCELING: ("", _canceling),
    "numbers beside the constants": ("optional", _beside),
    "numbers up to the largest": (
        "optional overflowing",
        lambda drawn: drawn.largest * drawn.random.uniform(-1.0, 1.0, drawn.plain.shape),
    ),
    "-infinities in tiles": ("optional", _with_infinite_tiles),
    "other integers": ("optional integers", lambda drawn: drawn.plain),
    "integers that are 0": ("optional integers", lambda drawn: drawn.plain),
    "negative integers": ("optional integers", lambda drawn: drawn.plain),
}  # fmt: skip
"""Squares of "large" and "minute" numbers are finite and not 0, fourth powers are not; squares of
"huge" and "tiny" numbers are not."""

INPUTS: Final = tuple(_KINDS)


def _kinds(word: str) -> frozenset[Inputs]:
    return frozenset(inputs for inputs, (words, _) in _KINDS.items() if word in words.split())


PLAIN: Final = _kinds("plain")
"""Kinds on which no version may overflow."""
SINGULAR: Final = _kinds("singular")
"""Kinds with zero denominators, equal operands of comparisons, and whole rows out of range."""
WITHOUT_OVERFLOW: Final = _kinds("finite")
"""Kinds of which a NaN in one version alone is strong evidence."""
OVERFLOWING: Final = _kinds("overflowing")
"""Kinds on which sums in another order, or other forms of one formula, may be infinite or NaN."""
WITH_INTEGERS: Final = _kinds("integers")
"""Random floats with integers other than the recorded ones: extreme ones, zeros, or of one sign."""
OPTIONAL: Final = _kinds("optional")
"""Kinds that some kernels are not compared on."""
