"""Rounding as in hardware, for types narrower than their values in flight."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from kvtrace.evaluate.types import ElementType
from kvtrace.evaluate.values import Array


def rounded_to_bf16(array: Array) -> Array:
    """Return numbers rounded to bfloat16, ties to even, as float32; overflow gives infinity."""
    values = np.ascontiguousarray(array, np.float32)
    bits = values.view(np.uint32)
    bias = (bits >> np.uint32(16)) & np.uint32(1)
    bias += np.uint32(0x7FFF)
    bias += bits
    bias &= np.uint32(0xFFFF0000)
    result = bias.view(np.float32)
    is_nan = np.isnan(values)
    if is_nan.any():
        result[is_nan] = np.nan
    return result


def truncated_to_tf32(array: Array) -> Array:
    """Return float32 numbers without their 13 low mantissa bits, rounded toward zero.

    Tensor cores read float32 registers as tf32 by ignoring those bits (PTX ISA, "mma" with
    .tf32 operands: the lower 13 bits are ignored), and Triton passes them unrounded.
    """
    bits = np.asarray(array, np.float32).view(np.uint32)
    return np.bitwise_and(bits, np.uint32(0xFFFFE000), order="C").view(np.float32)


def nearest_tf32(array: Array) -> Array:
    """Return float32 numbers rounded to tf32, ties away from zero (PTX cvt.rna)."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32) + np.uint32(0x1000)
    nearest = (bits & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(array), nearest, array)


def rounding_to(element: ElementType) -> Callable[[Array], Array] | None:
    """Return the function that rounds arrays to an element type; None if values have that type.

    8-bit floats saturate, infinities included: conversions to them exist in PTX only as
    cvt.satfinite.
    """
    if not element.rounded:
        return None
    if element.name == "bf16":
        return rounded_to_bf16
    import ml_dtypes  # which most kernels have no need of

    largest = float(ml_dtypes.finfo(element.memory).max)
    return partial(_rounded_to_8_bits, element.memory, element.value, largest)


def _rounded_to_8_bits(
    narrow: np.dtype[Any], wide: np.dtype[Any], largest: float, array: Array
) -> Array:
    with np.errstate(all="ignore"):
        result: Array = np.clip(array, -largest, largest).astype(narrow).astype(wide)
    return result


def widened_e5m2(array: Array) -> Array:
    """Return e5m2 numbers as Triton makes bf16 of them for NVIDIA GPUs, by shifts and 2^112.

    Infinity becomes 65536, NaN larger numbers (seen on an H100, Triton 3.6).
    """
    bits = np.ascontiguousarray(array).view(np.uint32)
    wide = ((bits & np.uint32(0x80600000)) | np.uint32(143 << 23)).view(np.float32)
    return np.where(np.isfinite(array), array, wide)


def toward_zero(array: Array, element: ElementType) -> Array:
    """Return numbers rounded toward zero to a narrower float type."""
    nearest = array.astype(element.memory)
    bits = nearest.view(np.dtype(f"u{nearest.dtype.itemsize}"))
    too_large = np.abs(nearest.astype(np.float64)) > np.abs(array.astype(np.float64))
    bits = np.where(too_large, bits - bits.dtype.type(1), bits)
    return bits.view(element.memory).astype(element.value)


def from_memory(stored: Array, element: ElementType) -> Array:
    """Return stored elements as values in flight (bf16 as float32 …). NaN keeps its bits."""
    if element.name == "bf16":
        wide = stored.view(np.uint16).astype(np.uint32)
        wide <<= np.uint32(16)
        return wide.view(np.float32)
    if element.kind == "f" and element.bits == 8:
        return _values_of_patterns(element).take(stored.view(np.uint8))
    if stored.dtype != element.value:
        return stored.astype(element.value)
    return stored


def to_memory(values: Array, element: ElementType) -> Array:
    """Return values in flight, which must be rounded already, in the dtype of memory."""
    if element.name == "bf16":
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
        return (bits >> np.uint32(16)).astype(np.uint16).view(element.memory)
    if values.dtype == element.memory:
        return values
    stored = values.astype(element.memory)
    if element.name == "f8E5M2":
        is_nan = np.isnan(values)
        if is_nan.any():
            wide = np.ascontiguousarray(values, np.float32).view(np.uint32)[is_nan]
            stored.view(np.uint8)[is_nan] = (wide >> np.uint32(24) & 0x80) | 0x7C | _payload(wide)
    return stored


def _payload(wide: Array) -> Array:
    """Return the two mantissa bits of a NaN in e5m2 from those in float32; 3 instead of 0."""
    mantissa = (wide >> np.uint32(21)) & np.uint32(3)
    return np.where(mantissa == 0, np.uint32(3), mantissa)


@lru_cache
def _values_of_patterns(element: ElementType) -> Array:
    patterns = np.arange(256, dtype=np.uint8)
    values = patterns.view(element.memory).astype(np.float32)
    if element.name == "f8E5M2":
        is_nan = np.isnan(values)
        wide = patterns.astype(np.uint32)[is_nan]
        sign, payload = (wide & 0x80) << np.uint32(24), (wide & 3) << np.uint32(21)
        values[is_nan] = (sign | np.uint32(0x7F800000) | payload).view(np.float32)
    return values


def to_integer(array: Array, element: ElementType, *, signed: bool) -> Array:
    """Return floats rounded toward zero to integers, saturated (PTX cvt).

    NaN gives 0, but the highest bit alone to 64 bits, and of float64.
    """
    bits = element.bits
    low = -(1 << (bits - 1)) if signed else 0
    high = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1
    values = array.astype(np.float64 if array.dtype != np.float32 or bits > 24 else np.float32)
    exact = np.trunc(values)
    wide = np.int64 if signed else np.uint64
    # Both limits are 0 or powers of two, which floats hold; `high` itself they may not.
    below, above = exact < float(low), exact >= float(high + 1)
    outside = below | above | np.isnan(exact)
    if outside.any():
        exact = np.where(outside, 0, exact)
    result: Array = exact.astype(wide).astype(element.value)
    for beyond, limit in ((below, low), (above, high)):
        if beyond.any():
            result = np.where(beyond, wide(limit).astype(element.value), result)
    if bits == 64 or (bits == 32 and array.dtype == np.float64):
        result = np.where(np.isnan(values), np.iinfo(f"i{bits // 8}").min, result)
    return result
