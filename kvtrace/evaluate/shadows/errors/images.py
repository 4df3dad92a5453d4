"""Images of float functions whose operands are known up to a radius: bounds of the results.

Of exp on [0.9, 1.1] the image is [2.46, 3.00]. All is computed in float64. A device rounds a number
inside the image, and rounding keeps the order of numbers, so the device's result lies between the
rounded ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from kvtrace.evaluate.accuracy import Accuracy
from kvtrace.evaluate.types import ElementType
from kvtrace.evaluate.values import Array

Function = Callable[..., Array]

_ULP = {64: 2.0**-52}
_SMALLEST_OF_FLOAT64 = 2.0**-1022
_ULP_OF_FLOAT32 = 2.0**-23
_SMALLEST_OF_FLOAT32 = 2.0**-126
"""Approximations may give zero for smaller numbers."""


def image(
    function: Function, arrays: Sequence[Array], radii: Sequence[Array | None], accuracy: Accuracy
) -> tuple[Array, Array]:
    """Return the smallest and largest value of an exact function while operands stay within radii.

    NaN where no bound is known. `arrays` are in float64; a radius of None is 0. The ends are moved
    outward by at least one float64 number.
    """
    loose = [position for position, radius in enumerate(radii) if radius is not None]
    if not loose:
        exact = function(*arrays)
        return exact, exact
    if accuracy.follows == "monotone":
        low, high = _corners(function, arrays, radii, loose)
    else:
        exact = function(*arrays)
        move = sum(np.asarray(radius) for radius in radii if radius is not None)
        if accuracy.follows == "jumps":
            move = np.where(move > 0, np.nan, 0.0)
        low, high = exact - move, exact + move
    pole = None if accuracy.pole is None else radii[accuracy.pole]
    if pole is not None and accuracy.pole is not None:
        over_zero = (np.abs(arrays[accuracy.pole]) <= pole) & (pole > 0)
        low, high = (np.where(over_zero, np.nan, end) for end in (low, high))
    # float64 rounds, too, and may lose the bits that decide the direction of a device's rounding.
    return (
        np.where(np.isinf(low), low, low - _step_of(low)),
        np.where(np.isinf(high), high, high + _step_of(high)),
    )


def _step_of(ends: Array) -> Array:
    """Return at least the distance to the next float64; NumPy's `nextafter` takes five times."""
    return np.asarray(np.abs(ends) * _ULP[64] + _SMALLEST_OF_FLOAT64)


def _corners(
    function: Function,
    arrays: Sequence[Array],
    radii: Sequence[Array | None],
    loose: Sequence[int],
) -> tuple[Array, Array]:
    """Return the smallest and largest value of a function at the corners of the operands' box."""
    extremes: tuple[Array, Array] | None = None
    for signs in product((-1.0, 1.0), repeat=len(loose)):
        corner_operands = list(arrays)
        for position, sign in zip(loose, signs, strict=True):
            corner_operands[position] = arrays[position] + sign * np.asarray(radii[position])
        corner = function(*corner_operands)
        extremes = (
            (corner, corner)
            if extremes is None
            else (np.minimum(extremes[0], corner), np.maximum(extremes[1], corner))
        )
    assert extremes is not None
    return extremes


def widened(
    low: Array, high: Array, accuracy: Accuracy, arrays: Sequence[Array], element: ElementType
) -> tuple[Array, Array]:
    """Return the ends of an image, moved outward by the error of a device's function."""
    if not accuracy.ulps:
        if element.bits != 64:
            return low, high
        unit = _ULP[64]
        return low - np.abs(low) * unit, high + np.abs(high) * unit  # for float64 itself rounds
    error = approximation(accuracy, arrays, element, np.maximum(np.abs(low), np.abs(high)))
    # An infinite end is that of the exact function: nothing is added to it where there is a bound.
    bounded = np.isfinite(error)
    return (
        np.where(np.isinf(low) & bounded, low, low - error),
        np.where(np.isinf(high) & bounded, high, high + error),
    )


def approximation(
    accuracy: Accuracy, arrays: Sequence[Array], element: ElementType, size: Array
) -> Array | float:
    """Return the largest error of a device's function of `arrays` with results up to `size`.

    Infinity where no bound is known.
    """
    if not accuracy.ulps:
        return 0.0
    unit = _ULP.get(element.bits, _ULP_OF_FLOAT32)
    # Of an infinite argument every form gives the limit.
    reach = np.where(np.isfinite(arrays[0]), np.abs(arrays[0]), 0.0)
    ulps = accuracy.ulps + accuracy.argument * reach + (element.bits == 64)
    smallest_error = _SMALLEST_OF_FLOAT32 if element.bits != 64 else 0.0
    error = np.asarray(ulps * unit * size + smallest_error)
    if accuracy.within is None:
        return error
    position, lowest, highest = accuracy.within
    magnitude = np.abs(arrays[position])
    return np.where((magnitude >= lowest) & (magnitude <= highest), error, np.inf)


def radius_around(value: Array, low: Array, high: Array, loose: Array | None) -> Array:
    """Return the larger distance of two ends from a value; infinity where an end is not finite.

    Ends that equal an infinite or NaN value have distance 0. `loose`: where an operand is uncertain
    (None: nowhere), so that a NaN proves nothing.
    """
    center = value.astype(np.float64)
    distance = np.maximum(high - center, center - low)
    same = are_same(center, low) & are_same(center, high)
    if loose is not None:
        same &= ~(np.isnan(center) & loose)
    distance = np.where(same, 0.0, distance)
    return np.where(np.isnan(distance), np.inf, distance)


def are_same(left: Array, right: Array) -> Array:
    """Return a mask of the numbers that are equal, or both NaN."""
    return np.asarray((left == right) | (np.isnan(left) & np.isnan(right)))
