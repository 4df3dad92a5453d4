"""Signs of zeros in minima, maxima and sums, as devices have them; NumPy's depend on order.

The maximum of zeros is +0 if any is, their minimum -0 if any is, and their sum -0 if all are.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.values import Array

_LARGEST: Final = (np.fmax, np.maximum)
_SMALLEST: Final = (np.fmin, np.minimum)


def sign_reduced_zeros(function: Any, array: Array, axis: int, result: Array) -> Array:
    """Correct in place the signs of zeros in floats that `function` reduced along an axis.

    Only lanes with a zero are read again; of a sum only those that begin with -0, as other sums are
    never -0.
    """
    if array.dtype.kind != "f" or result.all():
        return result
    zeros = result == 0
    lanes = np.moveaxis(array, axis, -1)
    if function is np.add:
        result[zeros] = 0.0
        zeros &= (lanes[..., 0] == 0) & np.signbit(lanes[..., 0])
        if zeros.any():
            result[zeros] = np.where(_are_negative_zeros(lanes[zeros]).all(-1), -0.0, 0.0)
    elif function in _LARGEST:
        has_positive = ((lanes[zeros] == 0) & ~np.signbit(lanes[zeros])).any(-1)
        result[zeros] = np.where(has_positive, 0.0, -0.0)
    elif function in _SMALLEST:
        result[zeros] = np.where(_are_negative_zeros(lanes[zeros]).any(-1), -0.0, 0.0)
    return result


def sign_scanned_zeros(function: Any, array: Array, axis: int, result: Array) -> Array:
    """Return minima or maxima so far along an axis with the signs of zeros corrected."""
    if array.dtype.kind != "f" or result.all() or function not in _LARGEST + _SMALLEST:
        return result
    sign = 1.0 if function in _LARGEST else -1.0
    winning = (array == 0) & (np.signbit(array) == (sign < 0))
    has_winner = np.logical_or.accumulate(winning, axis=axis)
    zero = np.where(has_winner, sign, -sign) * result.dtype.type(0)
    return np.where(result == 0, zero, result)


def _are_negative_zeros(array: Array) -> Array:
    return np.asarray((array == 0) & np.signbit(array))


def _signed_zeros(function: Any, left: Array, right: Array) -> Array:
    result = np.asarray(function(left, right))
    if result.all():
        return result
    join = np.logical_and if function in _LARGEST else np.logical_or
    negative = join(np.signbit(left), np.signbit(right))
    zeros = (left == 0) & (right == 0)
    return np.where(zeros, np.copysign(result.dtype.type(0), np.where(negative, -1, 1)), result)


larger_number = partial(_signed_zeros, np.fmax)
smaller_number = partial(_signed_zeros, np.fmin)
"""Extremes that are the number where one operand is NaN."""

maximum = partial(_signed_zeros, np.maximum)
minimum = partial(_signed_zeros, np.minimum)
"""Extremes that are NaN where an operand is NaN."""
