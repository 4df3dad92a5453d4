"""Sums in a fixed order that the IR alone decides, for all shapes and strides of arrays.

np.sum, np.matmul and BLAS choose their order by shapes, which change with the programs that are
evaluated together and with the launch. Inside `in_fixed_order`, a sum or product along an axis
adds its first half to its second until one element is left (a, b, c, d: (a + c) + (b + d)), and a
matrix product adds its terms in order of K, product and sum rounded at once, as fused multiply-adds
do. A device's order differs, but also depends only on the elements that one op combines.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.values import Array

_active: ContextVar[bool] = ContextVar("fixed_order", default=False)


@contextmanager
def in_fixed_order() -> Iterator[None]:
    """While the context is open, make array evaluation sum in a fixed order."""
    token = _active.set(True)
    try:
        yield
    finally:
        _active.reset(token)


def is_order_fixed() -> bool:
    """Return whether an `in_fixed_order` context is open in this thread or task."""
    return _active.get()


def by_halves(function: Any, array: Array, axis: int) -> Array:
    """Return an array reduced along an axis: first half with second half, repeatedly."""
    elements = np.moveaxis(array, axis, 0)
    while len(elements) > 1:
        half = len(elements) // 2
        combined = function(elements[:half], elements[half : 2 * half])
        elements = (
            np.concatenate((combined, elements[2 * half :])) if len(elements) % 2 else combined
        )
    whole: Array = elements[0]
    return whole


def product_by_terms(left: Array, right: Array) -> Array:
    """Return the matrix product over the last two axes, adding terms in ascending order of K.

    Products of float32 numbers are exact in float64, and so is nearly each sum before its rounding.
    """
    result = np.result_type(left, right)
    wide = _WIDER.get(result, result)
    left, right = left.astype(wide), right.astype(wide)
    total = (left[..., :, :1] * right[..., :1, :]).astype(result)
    for k in range(1, left.shape[-1]):
        terms = left[..., :, k : k + 1] * right[..., k : k + 1, :]
        total = (total + terms).astype(result)
    return total


_WIDER: Final = {np.dtype(np.float32): np.float64, np.dtype(np.float64): np.longdouble}


def half_sum(array: Array, axis: int) -> Array:
    """Return a sum of float16 numbers, each partial sum rounded; its NaN is 0x7FFF, a GPU's."""
    total = np.asarray(by_halves(np.add, array, axis))
    return np.where(np.isnan(total), _HALF_NAN, total)


_HALF_NAN = np.array(0x7FFF, np.uint16).view(np.float16)
