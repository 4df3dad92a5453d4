"""The bound that a problem grants: how far its right solutions may be from the exact one.

An algorithm is good if what it gives is nearly the exact result of nearly the given inputs (Higham,
*Accuracy and Stability of Numerical Algorithms*, 2002, section 1.5: mixed forward-backward
stability). So the exact results are worked out again for inputs that move within half a unit in the
last place of their type, some times at random: how far results move is the condition of the problem
for these inputs. A candidate has no part in this, so no formula, however unstable, widens it.

For example a variance of 1,000 numbers around 10,000, with a deviation of 1, in float32. Inputs
move by 2⁻²⁴ · 10,000 at most, and the result then by about 2 · 10⁻⁵. E[x²] - E[x]² is off by some
units of 10⁸ · 2⁻²⁴, which is 6: as large as the result.

Conditions are measured, by a stated number of draws. `granted` makes a bound of them, with a stated
growth. `docs/tolerances.md` has the mathematics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.shadows.errors.roundings import is_float, rounding, unit_of

Numbers = NDArray[np.float64]

#: Types of floats by torch's name, as MLIR has them.
FLOATS: Final = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16",
    "float8_e4m3fn": "f8E4M3FN", "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
}  # fmt: skip
#: How often inputs are moved. The deviation of so few samples is far too small for some of many
#: elements. Roundings to tf32 deviate by 0.41 of what inputs do that move by its unit, and 2 · 7.9
#: times that is granted: 39 of their deviations. Student's t with 16 degrees of freedom is
#: beyond that with a chance of 10⁻¹⁷; with 4, of 10⁻⁶.
DRAWS: Final = 16
#: By this share numbers move at most; results are scaled to their own units: they follow linearly.
_STEP: Final = 2.0**-24
#: So many times what inputs' roundings do, a chain of operations in their type may lose.
_CHAIN: Final = 2.0
#: So many times what inputs do as they would in the finest type, those do that have coarser ones.
_FOLLOWS: Final = 1.5
#: A good algorithm loses so many times what inputs' roundings do, or the root of a sum's length.
_GROWTH: Final = 16.0
#: The share of elements that are smaller than what is typical of a result.
_TYPICAL: Final = 0.75
#: Elements that are made of so few inputs are values of one function, and compared in size.
_ALIKE: Final = 8
#: Inputs of fewer numbers are in all elements.
_FEW: Final = 16
#: The smallest normal number of float32 and bfloat16.
_LEAST: Final = 2.0**-126
#: How often, and by which share, inputs are moved to see what a reference itself loses.
_OWN_DRAWS: Final = 4
_OWN_STEP: Final = 2.0**-12
#: By this share of the largest a reference may differ from itself when it is called again.
_REPEATED: Final = 2.0**-36
_SEED: Final = 20_261_123
#: Uniform in [-1, 1]: its deviation is this share of the end.
_SPREAD: Final = math.sqrt(1 / 3)


class Draw:
    """Moves inputs at random, each number within a share of half a unit in its last place.

    Args:
        number: which draw it is; each moves in another way, always the same.
        scale: the share.
        most: units above this one count as this one.
        half: whether half of the numbers stay, and inputs of a few numbers as a whole.

    """

    def __init__(
        self, number: int, scale: float, most: float = math.inf, *, half: bool = False
    ) -> None:
        self._half = half
        self._random = np.random.default_rng((_SEED, number))
        self._scale = scale
        self._most = most

    def moved(self, values: Numbers, unit: float) -> Numbers:
        """Return numbers that have moved; zeros, and flags that are 0 or 1 throughout, stay.

        Args:
            values: of an input, in float64.
            unit: the largest relative error of rounding to its type.

        """
        shares = self._random.uniform(-1.0, 1.0, values.shape)
        if is_flag(values) or (self._half and values.size < _FEW):
            return values
        if self._half:
            shares = np.where(self._random.random(values.shape) < 0.5, shares, 0.0)
        with np.errstate(all="ignore"):
            moved = values * (1.0 + min(unit, self._most) * self._scale * shares)
        return np.asarray(np.where(np.isfinite(values), moved, values))


def is_flag(values: Numbers) -> bool:
    """Whether all numbers are 0 or 1: a mask, which is meant exactly."""
    return bool(np.all((values == 0) | (values == 1)))


@dataclass(frozen=True, slots=True)
class Inputs:
    """What is known of a problem's inputs.

    Attributes:
        units: the largest relative error of rounding to each input's type; the coarsest that is
            granted, where that is more.
        working: that of the type that a right algorithm computes in.
        numbers: how many there are in all inputs.
        longest: the longest extent of any.
        largest: the largest magnitude.

    """

    units: tuple[float, ...]
    working: float
    numbers: int
    longest: int
    largest: float

    @property
    def coarsest(self) -> float:
        """The largest unit of any input, or that of the computation, if it is more."""
        return max((*self.units, self.working))


def inputs_of(
    arrays: Sequence[Numbers], names: Sequence[str], *, results: Sequence[str] = (),
    coarse: float = 0.0, narrow: bool = False, rounded: bool = True,
) -> Inputs:  # fmt: skip
    """Describe inputs.

    Args:
        arrays: the floats among them, in float64.
        names: their types, as MLIR has them.
        results: types of the results: where no input is a float, they say what is computed in.
        coarse: the precision of products that is granted besides, as that of tf32.
        narrow: whether sums in 16 bits are granted.
        rounded: whether numbers on the way may be rounded to the inputs' types.

    """
    floats = [name for name in (names or results) if is_float(name)]
    working = unit_of("bf16") if narrow else unit_of("f32")
    if floats and all(name == "f64" for name in floats):
        working = unit_of("f64")
    coarse = max(coarse, working) if narrow else coarse
    finite = [np.abs(each[np.isfinite(each)]) for each in arrays]
    return Inputs(
        tuple(max(unit_of(name) if rounded else working, coarse) for name in names),
        working,
        sum(each.size for each in arrays),
        max((extent for each in arrays for extent in each.shape), default=1),
        max((float(each.max(initial=0.0)) for each in finite), default=0.0),
    )


@dataclass(frozen=True, slots=True)
class Condition:
    """How far a result moves with its inputs: the root mean square of the draws, by element.

    Attributes:
        stored: while inputs move within half a unit in the last place of their types.
        working: ... of the type that is computed in, where that is finer. Infinity: it is never a
            number while they move.
        length: of how many inputs an element is made.
        own: what the reference itself loses where it is computed in that type; 0: not known.

    """

    stored: Numbers
    working: Numbers
    length: int = 1
    own: Numbers | float = 0.0


def conditions(
    results: Callable[[Draw], Mapping[str, Numbers]],
    exact: Mapping[str, Numbers],
    inputs: Inputs,
) -> dict[str, Condition]:
    """Measure the conditions of results.

    Args:
        results: gives them for inputs as a draw moves them.
        exact: what they are for the inputs as they are.
        inputs: their types and sizes.

    """
    if not inputs.units:
        return {n: Condition(np.zeros(e.shape), np.zeros(e.shape)) for n, e in exact.items()}
    scale = _STEP / inputs.coarsest
    stored = _moves(results, exact, scale, math.inf)
    if all(unit == inputs.units[0] for unit in inputs.units):
        share = min(1.0, inputs.working / inputs.coarsest)
        working = {name: each * share for name, each in stored.items()}
    else:
        fine = _STEP / inputs.working
        working = _moves(results, exact, fine, inputs.working)
    found = results(Draw(DRAWS, scale, half=True))
    lengths = {
        name: _length(found[name].reshape(values.shape), values, stored[name], inputs)
        for name, values in exact.items()
    }
    return {name: Condition(stored[name], working[name], lengths[name]) for name in exact}


def _length(moved: Numbers, exact: Numbers, stored: Numbers, inputs: Inputs) -> int:
    """Return of how many inputs an element is made: of n that move by chance, 2⁻ⁿ none does.

    Where all elements move, it is as many as the sizes allow.
    """
    follows = np.isfinite(exact) & np.isfinite(stored) & (stored > 0)
    stay = float(np.mean(moved[follows] == exact[follows])) if follows.any() else 1.0
    if stay > 0:
        return max(1, round(-math.log2(stay)))
    return max(1, inputs.longest, inputs.numbers // max(1, exact.size))


def are_alike(values: Numbers, again: Numbers) -> bool:
    """Whether results are the same, except for orders of sums, which may follow addresses."""
    if values.shape != again.shape:
        return False
    largest = float(np.max(np.abs(values[np.isfinite(values)]), initial=0.0))
    return np.allclose(values, again, rtol=_REPEATED, atol=_REPEATED * largest, equal_nan=True)


def own_losses(
    results: Callable[[Draw], tuple[Mapping[str, Numbers], Mapping[str, Numbers]]],
    exact: Mapping[str, Numbers],
) -> dict[str, Numbers]:
    """Measure what a reference itself loses in the type that is computed in, by element.

    Args:
        results: gives them for inputs as a draw moves them: in that type, and in float64.
        exact: what they are for the inputs as they are.

    """
    squares = {name: np.zeros(values.shape) for name, values in exact.items()}
    for number in range(_OWN_DRAWS):
        rounded, wide = results(Draw(DRAWS + 1 + number, _OWN_STEP))
        for name, total in squares.items():
            with np.errstate(all="ignore"):
                square = (rounded[name] - wide[name]).reshape(total.shape) ** 2
            total += np.where(np.isfinite(square), square, 0.0)
    return {name: np.sqrt(total / _OWN_DRAWS) for name, total in squares.items()}


def _moves(
    results: Callable[[Draw], Mapping[str, Numbers]], exact: Mapping[str, Numbers], scale: float,
    most: float,
) -> dict[str, Numbers]:  # fmt: skip
    squares = {name: np.zeros(each.shape) for name, each in exact.items()}
    counts = {name: np.zeros(each.shape) for name, each in exact.items()}
    for number in range(DRAWS):
        found = results(Draw(number, scale, most))
        for name, values in exact.items():
            with np.errstate(all="ignore"):
                away = found[name].reshape(values.shape) - values
                same = ~np.isfinite(values) & ~np.isfinite(found[name].reshape(values.shape))
                square = np.where(same, 0.0, away / scale) ** 2
            known = np.isfinite(square)
            squares[name] += np.where(known, square, 0.0)
            counts[name] += known
    with np.errstate(all="ignore"):
        return {
            name: np.where(counts[name] > 0, np.sqrt(each / counts[name]), np.inf)
            for name, each in squares.items()
        }


def granted(
    exact: Numbers, condition: Condition, inputs: Inputs, result: str, deviations: float
) -> Numbers:
    """Return how far right results may be from the exact ones; infinity where these are none.

    Args:
        exact: the exact results.
        condition: theirs.
        inputs: the problem's.
        result: the type of the results, as MLIR has it.
        deviations: how many scales random errors stay within (`deviations_for`).

    """
    finite = np.isfinite(exact)
    # Whole numbers are exact where nothing moves.
    size = np.where(finite & is_float(result), np.abs(exact), 0.0)
    nonzero = size[size > 0]
    typical = float(np.quantile(nonzero, _TYPICAL)) if nonzero.size else 0.0
    growth = deviations * max(_GROWTH, math.sqrt(condition.length))
    radius = growth * (condition.working + inputs.working * _SPREAD * size)
    if condition.length <= _ALIKE:
        radius = radius + deviations * inputs.working * _SPREAD * typical
    most = inputs.working * inputs.largest
    radius = radius + deviations * np.minimum(_CHAIN * condition.own, most)
    if inputs.coarsest > inputs.working:
        # An element that no coarse input moves is not made of one.
        follows = condition.stored > _FOLLOWS * condition.working
        coarsest = np.where(follows, inputs.coarsest, 0.0)
        radius = radius + _CHAIN * (deviations * condition.stored + coarsest * size)
    # What is below the smallest normal number may become zero, and be multiplied afterwards.
    radius = radius + growth * _LEAST * (1.0 + inputs.largest)
    if is_float(result):
        radius = radius + rounding(result, size + radius)
    return np.asarray(np.where(finite, radius, np.inf))
