"""Condition of a problem: the bound of the distance of right solutions from the exact one.

An algorithm is good if its result is nearly the exact result of nearly the given inputs (Higham,
*Accuracy and Stability of Numerical Algorithms*, 2002, section 1.5: mixed forward-backward
stability). So the exact results are computed again for inputs that are moved at random within half
a unit in the last place of their type: the distance that results move is the condition of the
problem for these inputs. A candidate is not involved, so an unstable formula does not widen it.

For example a variance of 1,000 numbers around 10,000, with a deviation of 1, in float32. Inputs
move by 2⁻²⁴ · 10,000 at most, and the result by about 2 · 10⁻⁵. E[x²] - E[x]² is off by some
units of 10⁸ · 2⁻²⁴, which is 6: as large as the result.

Conditions are measured, by a stated number of draws. `granted_distance` returns the bound, with a
stated growth. `docs/tolerances.md` has the mathematics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.evaluate.shadows.errors.roundings import is_float, rounding, unit_of

Numbers = NDArray[np.float64]

#: Types of floats by torch's name, as MLIR has them.
FLOATS: Final = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16",
    "float8_e4m3fn": "f8E4M3FN", "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
}  # fmt: skip
#: The number of draws. So few samples underestimate the deviation of some of many elements.
#: Roundings to tf32 deviate by 0.41 of inputs that move by tf32's unit, and 2 · 7.9 times the
#: latter is granted: 39 deviations. Student's t with 16 degrees of freedom is
#: beyond that with a chance of 10⁻¹⁷; with 4, of 10⁻⁶.
DRAWS: Final = 16
#: The largest relative move of numbers; results move linearly and are scaled to their own units.
_STEP: Final = 2.0**-24
#: The loss of a chain of operations in the inputs' type, as a multiple of the inputs' roundings.
_CHAIN: Final = 2.0
#: An element follows coarse inputs if it moves by so many times its move in the fine type.
_FOLLOWS: Final = 1.5
#: The loss of a good algorithm, as a multiple of the inputs' roundings; or a sum's length's root.
_GROWTH: Final = 16.0
#: Inputs of fewer numbers affect all elements.
_FEW_ELEMENTS: Final = 16
#: The smallest normal number of float32 and bfloat16.
_LEAST: Final = 2.0**-126
#: The first draws that measure a reference's own loss, which end there if it is granted anyway, and
#: the relative size of the moves.
_OWN_DRAWS: Final = 4
_OWN_STEP: Final = 2.0**-12
#: The relative difference, to the largest number, between two calls of a reference.
_REPEATED: Final = 2.0**-36
_SEED: Final = 20_261_123
#: The standard deviation of the uniform distribution in [-1, 1].
_SPREAD: Final = math.sqrt(1 / 3)


class Draw:
    """A random move of inputs, each number within a share of half a unit in its last place.

    Args:
        number: the draw's number, which seeds the moves.
        scale: the largest move, as a share of the unit: 0.5 moves a float16, whose unit is 2⁻¹¹, by
            at most 2⁻¹² of itself.
        most: the largest unit; larger units are cut to this one.
        half: whether each number stays with probability 1/2, and inputs of fewer than 16 numbers
            stay altogether.
    """

    def __init__(
        self, number: int, scale: float, most: float = math.inf, *, half: bool = False
    ) -> None:
        self._half = half
        self._random = np.random.default_rng((_SEED, number))
        self._scale = scale
        self._most = most

    def moved(self, values: Numbers, unit: float) -> Numbers:
        r"""Return numbers moved at random, by at most `scale` of the unit, relative to each.

        Zeros, non-finite numbers, and inputs of only 0 and 1 stay; so do some inputs with `half`.

        Args:
            values: an input's numbers, in float64.
            unit: the largest relative error of rounding to the input's type.
        """
        shares = self._random.uniform(-1.0, 1.0, values.shape)
        if is_flag(values) or (self._half and values.size < _FEW_ELEMENTS):
            return values
        if self._half:
            shares = np.where(self._random.random(values.shape) < 0.5, shares, 0.0)
        with np.errstate(all="ignore"):
            moved = values * (1.0 + min(unit, self._most) * self._scale * shares)
        return np.asarray(np.where(np.isfinite(values), moved, values))


def is_flag(values: Numbers) -> bool:
    """Return whether all numbers are 0 or 1, as in a mask, which is exact."""
    return bool(np.all((values == 0) | (values == 1)))


class Inputs(Struct, frozen=True):
    """Units and sizes of a problem's inputs.

    Attributes:
        units: the largest relative error of rounding to each input's type, or the granted one if
            that is larger.
        working: the largest relative error of rounding to the type that right algorithms use.
        numbers: the count of numbers in all inputs.
        longest: the longest extent of any input.
        largest: the largest magnitude.
    """

    units: tuple[float, ...]
    working: float
    numbers: int
    longest: int
    largest: float

    @property
    def coarsest(self) -> float:
        """The largest unit of any input, or of the computation if that is larger."""
        return max((*self.units, self.working))


def inputs_of(
    arrays: Sequence[Numbers], names: Sequence[str], *, results: Sequence[str] = (),
    coarse: float = 0.0, narrow: bool = False, rounded: bool = True,
) -> Inputs:  # fmt: skip
    r"""Return the units and sizes of float inputs.

    Args:
        arrays: the float inputs, in float64.
        names: the inputs' types, by MLIR's names.
        results: the results' types, which decide the computation's type if no input is a float.
        coarse: the unit of products that is also granted, as tf32's; 0: none.
        narrow: whether sums in 16 bits are granted.
        rounded: whether intermediate numbers may be rounded to the inputs' types.
    """
    floats = [name for name in (names or results) if is_float(name)]
    working = unit_of("bf16") if narrow else unit_of("f32")
    if floats and all(name == "f64" for name in floats):
        working = unit_of("f64")
    coarse = max(coarse, working) if narrow else coarse
    finite = [np.abs(array[np.isfinite(array)]) for array in arrays]
    return Inputs(
        tuple(max(unit_of(name) if rounded else working, coarse) for name in names),
        working,
        sum(array.size for array in arrays),
        max((extent for array in arrays for extent in array.shape), default=1),
        max((float(array.max(initial=0.0)) for array in finite), default=0.0),
    )


class Condition(Struct, frozen=True):
    """The distance that a result moves with its inputs: root mean square of draws, by element.

    Attributes:
        stored: for inputs that move within half a unit in the last place of their types.
        working: for inputs that move within half a unit of the computation's type, if that is
            finer. Infinity: the result is never finite while inputs move.
        length: the number of inputs that an element is computed from.
        own: the error of the reference itself if computed in that type; 0: not known.
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
    r"""Return the condition of each result by its name, measured with DRAWS random moves.

    Args:
        results: computes the results for inputs moved by a draw.
        exact: the results of the unmoved inputs.
        inputs: the inputs' units and sizes.
    """
    if not inputs.units:
        return {n: Condition(np.zeros(e.shape), np.zeros(e.shape)) for n, e in exact.items()}
    scale = _STEP / inputs.coarsest
    stored = _mean_moves(results, exact, scale, math.inf)
    if len(set(inputs.units)) == 1:  # results move linearly
        share = min(1.0, inputs.working / inputs.coarsest)
        working = {name: moves * share for name, moves in stored.items()}
    else:
        working = _mean_moves(results, exact, _STEP / inputs.working, inputs.working)
    half_moved = results(Draw(DRAWS, scale, half=True))
    lengths = {
        name: _length(half_moved[name].reshape(values.shape), values, stored[name], inputs)
        for name, values in exact.items()
    }
    return {name: Condition(stored[name], working[name], lengths[name]) for name in exact}


def _mean_moves(
    results: Callable[[Draw], Mapping[str, Numbers]], exact: Mapping[str, Numbers], scale: float,
    most: float,
) -> dict[str, Numbers]:  # fmt: skip
    """Return each element's root mean square move over all draws, divided by `scale`.

    A number that is not finite, moved or not, counts as unmoved.
    """
    squares = {name: np.zeros(values.shape) for name, values in exact.items()}
    counts = {name: np.zeros(values.shape) for name, values in exact.items()}
    for draw_number in range(DRAWS):
        moved = results(Draw(draw_number, scale, most))
        for name, values in exact.items():
            result = moved[name].reshape(values.shape)
            with np.errstate(all="ignore"):
                square = ((result - values) / scale) ** 2
            is_finite = np.isfinite(square)
            is_unmoved = ~np.isfinite(values) & ~np.isfinite(result)
            squares[name] += np.where(is_finite, square, 0.0)
            counts[name] += is_finite | is_unmoved
    with np.errstate(all="ignore"):
        return {
            name: np.where(counts[name] > 0, np.sqrt(square / counts[name]), np.inf)
            for name, square in squares.items()
        }


def _length(moved: Numbers, exact: Numbers, stored: Numbers, inputs: Inputs) -> int:
    """Return the number of inputs that an element is computed from, estimated from a draw.

    If half of the inputs move, an element of n inputs stays with probability 2⁻ⁿ. If all elements
    move, return the largest number that the sizes allow.
    """
    depends = np.isfinite(exact) & np.isfinite(stored) & (stored > 0)
    share_unmoved = float(np.mean(moved[depends] == exact[depends])) if depends.any() else 1.0
    if share_unmoved > 0:
        return max(1, round(-math.log2(share_unmoved)))
    return max(1, inputs.longest, inputs.numbers // max(1, exact.size))


def granted_distance(
    exact: Numbers, condition: Condition, inputs: Inputs, result: str, deviations: float
) -> Numbers:
    r"""Return the largest allowed distance of right results from exact results, by element.

    Infinity where the exact result is not finite.

    Args:
        exact: the exact results.
        condition: the results' condition.
        inputs: the problem's inputs.
        result: the results' type, by MLIR's name.
        deviations: the number of scales that random errors stay within (`deviations_for`).
    """
    finite = np.isfinite(exact)
    # Whole numbers are exact where nothing moves.
    size = np.where(finite & is_float(result), np.abs(exact), 0.0)
    growth = deviations * max(_GROWTH, math.sqrt(condition.length))
    radius = growth * (condition.working + inputs.working * _SPREAD * size)
    radius = radius + deviations * _CHAIN * condition.own
    if inputs.coarsest > inputs.working:
        # An element that no coarse input moves does not depend on one.
        follows = condition.stored > _FOLLOWS * condition.working
        coarsest = np.where(follows, inputs.coarsest, 0.0)
        radius = radius + _CHAIN * (deviations * condition.stored + coarsest * size)
    # A number below the smallest normal one may become zero, and be multiplied afterwards.
    radius = radius + growth * _LEAST * (1.0 + inputs.largest)
    if is_float(result):
        radius = radius + rounding(result, size + radius)
    return np.asarray(np.where(finite, radius, np.inf))


def are_alike(values: Numbers, again: Numbers) -> bool:
    """Return whether two calls' results are equal up to 2⁻³⁶ of the largest number."""
    if values.shape != again.shape:
        return False
    largest = float(np.max(np.abs(values[np.isfinite(values)]), initial=0.0))
    return np.allclose(values, again, rtol=_REPEATED, atol=_REPEATED * largest, equal_nan=True)


def reference_losses(
    results: Callable[[Draw], tuple[Mapping[str, Numbers], Mapping[str, Numbers]]],
    exact: Mapping[str, Numbers], measured: Mapping[str, Condition], inputs: Inputs,
) -> dict[str, Numbers]:  # fmt: skip
    r"""Return the root mean square error of a reference in the computation's type, by element.

    Args:
        results: computes the results for inputs moved by a draw: in that type, and in float64.
        exact: the results of the unmoved inputs.
        measured: the results' conditions; DRAWS draws are made where a loss exceeds them.
        inputs: the problem's inputs.
    """
    squares = {name: np.zeros(values.shape) for name, values in exact.items()}
    for draws in range(1, DRAWS + 1):
        rounded, wide = results(Draw(DRAWS + draws, _OWN_STEP))
        for name, total in squares.items():
            with np.errstate(all="ignore"):
                square = (rounded[name] - wide[name]).reshape(total.shape) ** 2
            total += np.where(np.isfinite(square), square, 0.0)
        if draws == _OWN_DRAWS and not any(
            _exceeds(total / draws, exact[n], measured[n], inputs) for n, total in squares.items()
        ):
            break
    return {name: np.sqrt(total / draws) for name, total in squares.items()}


def _exceeds(square: Numbers, exact: Numbers, condition: Condition, inputs: Inputs) -> bool:
    """Return whether a reference's loss, squared, counts in any element beside its condition."""
    with np.errstate(all="ignore"):
        others = condition.working + inputs.working * _SPREAD * np.abs(exact)
        return bool(np.any(_CHAIN * np.sqrt(square) > _GROWTH * others))
