"""`tt`: elementwise ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.accuracy import Accuracy
from kvtrace.evaluate.compiler import typed_result
from kvtrace.evaluate.dialects.arith_casts import truncated_float
from kvtrace.evaluate.registry import elementwise
from kvtrace.evaluate.rounding import rounding_to, toward_zero, widened_e5m2
from kvtrace.evaluate.types import ElementType, value_type
from kvtrace.evaluate.values import Array
from kvtrace.evaluate.zeros import larger_number, maximum, minimum, smaller_number
from kvtrace.ir import Op

elementwise("tt.precise_divf", flops=1, accuracy=Accuracy(pole=1))(np.divide)
# div.approx.f32 gives 0 for larger divisors, and has no bound for smaller ones.
_APPROXIMATE: Final = Accuracy(2, pole=1, within=(1, 2.0**-126, 2.0**126))
elementwise("tt.approx_divf", flops=1, accuracy=_APPROXIMATE)(np.divide)
elementwise("tt.precise_sqrt", flops=1)(np.sqrt)
typed_result("tt.fp_to_fp")


def _shifted_on_nvidia(function: Callable[..., Any], target: str, op: Op) -> Callable[..., Any]:
    """Return the conversion; of e5m2 to bf16 for NVIDIA, infinity and NaN are numbers."""
    source, result = (value_type(v.type).element.name for v in (op.operands[0], op.results[0]))
    shifts = target.startswith("cuda:") and (source, result) == ("f8E5M2", "bf16")
    return _e5m2_to_bf16 if shifts else function


def _e5m2_to_bf16(_rounding: Any, array: Array, _element: ElementType) -> Array:
    return widened_e5m2(array)


@elementwise("tt.fp_to_fp", attributes=("rounding",), by_target=_shifted_on_nvidia)
def fp_to_fp(rounding: Any, array: Array, element: ElementType) -> Array:
    """Return floats in another float type, rounded toward zero (rtz, 0) or to nearest (rtne, 1)."""
    if rounding in (0, "rtz"):
        return toward_zero(array, element)
    result = truncated_float(array, element)
    rounded = rounding_to(element)
    return result if rounded is None else rounded(result)


@elementwise("tt.mulhiui")
def mulhiui(left: Array, right: Array) -> Array:
    """Return the high half of the product of two unsigned integers."""
    if left.dtype.itemsize < 8:
        bits = left.dtype.itemsize * 8
        narrow = np.dtype(f"u{left.dtype.name}")
        wide = left.view(narrow).astype(np.uint64) * right.view(narrow).astype(np.uint64)
        return (wide >> np.uint64(bits)).astype(narrow).view(left.dtype)
    return _high_half_of_64(left.view(np.uint64), right.view(np.uint64)).view(np.int64)


def high_half_signed(left: Array, right: Array) -> Array:
    """Return the high half of a signed product: the unsigned one, corrected for signs."""
    left, right = (np.ascontiguousarray(array) for array in np.broadcast_arrays(left, right))
    zero = left.dtype.type(0)
    high = mulhiui(left, right)
    return np.asarray(high - np.where(left < 0, right, zero) - np.where(right < 0, left, zero))


def _high_half_of_64(left: Array, right: Array) -> Array:
    """Return the high half of a 64-bit unsigned product, computed in halves of 32 bits."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a, b = left >> half, left & low
    c, d = right >> half, right & low
    carry = ((b * d) >> half) + ((a * d) & low) + ((b * c) & low)
    return np.asarray(a * c + ((a * d) >> half) + ((b * c) >> half) + (carry >> half))


@elementwise("tt.clampf", attributes=("propagateNan",), flops=2)
def clampf(propagate: Any, array: Array, low: Array, high: Array) -> Array:
    """Return numbers limited to the range low to high.

    NaN stays NaN if propagateNan is 0xFFFF, else it becomes `low`.
    """
    if propagate in (None, 0, "none"):
        return smaller_number(larger_number(array, low), high)
    return minimum(maximum(array, low), high)
