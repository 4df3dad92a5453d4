"""`math`: functions of floats, after https://mlir.llvm.org/docs/Dialects/MathOps/."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from kvtrace.evaluate import directed
from kvtrace.evaluate.accuracy import STEADY, Accuracy
from kvtrace.evaluate.dialects import special
from kvtrace.evaluate.flushing import flushed_by
from kvtrace.evaluate.registry import elementwise
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Array
from kvtrace.ir import Op

_WAVE: Final = Accuracy(2, follows="steady")

elementwise("math.exp", flops=1, accuracy=Accuracy(2, argument=1))(np.exp)
elementwise("math.exp2", flops=1, accuracy=Accuracy(2), by_target=flushed_by)(np.exp2)
elementwise("math.log", flops=1, accuracy=Accuracy(2))(np.log)
elementwise("math.log2", flops=1, accuracy=Accuracy(2))(np.log2)
elementwise("math.sqrt", flops=1, accuracy=Accuracy(2), by_target=flushed_by)(np.sqrt)
elementwise("math.sin", flops=1, accuracy=_WAVE, by_target=flushed_by)(np.sin)
elementwise("math.cos", flops=1, accuracy=_WAVE, by_target=flushed_by)(np.cos)
elementwise("math.floor", flops=1, by_target=flushed_by)(np.floor)
elementwise("math.ceil", flops=1, by_target=flushed_by)(np.ceil)
elementwise("math.absf", accuracy=STEADY)(np.abs)
elementwise("math.absi")(np.abs)


@elementwise("math.rsqrt", flops=1, accuracy=Accuracy(2), by_target=flushed_by)
def rsqrt(array: Array) -> Array:
    """Return 1 / sqrt(array)."""
    result: Array = np.reciprocal(np.sqrt(array))
    return result


def round_half_away(array: Array) -> Array:
    """Return floats rounded to whole numbers, halves away from zero."""
    whole = np.trunc(array)
    result: Array = whole + np.copysign(np.abs(array - whole) >= 0.5, array)
    return np.where(np.isfinite(array), np.copysign(result, array), array)


def _fused_by_type(function: Callable[..., Any], _target: str, op: Op) -> Callable[..., Any]:
    """Return the function whose result the caller can round to bfloat16, if that is the type."""
    is_bf16 = value_type(op.results[0].type).element.name == "bf16"
    return directed.fused_to_odd if is_bf16 else function


@elementwise("math.fma", flops=2, by_target=_fused_by_type)
def fma(left: Array, right: Array, addend: Array) -> Array:
    """Return left * right + addend, rounded once; separate ops are never fused."""
    return directed.fused_multiply_add("rn", left, right, addend)


_ERF_STEP = 1.0 / 512
_ERF_END = 6.0


@cache
def _erf_table() -> Array:
    """Return erf at multiples of 1/512 from -6 to 6; beyond, it is ±1 in float64."""
    count = round(_ERF_END / _ERF_STEP)
    return np.array([math.erf(position * _ERF_STEP) for position in range(-count, count + 1)])


def ctpop(array: Array) -> Array:
    """Return the number of set bits."""
    return np.asarray(_bits_lowest_first(array).sum(axis=-1).astype(array.dtype))


def ctlz(array: Array) -> Array:
    """Return the number of zero bits above the highest set bit; the width if none is set."""
    bits = _bits_lowest_first(array)[..., ::-1]
    return np.where(bits.any(axis=-1), bits.argmax(axis=-1), bits.shape[-1]).astype(array.dtype)


def cttz(array: Array) -> Array:
    """Return the number of zero bits below the lowest set bit; the width if none is set."""
    bits = _bits_lowest_first(array)
    return np.where(bits.any(axis=-1), bits.argmax(axis=-1), bits.shape[-1]).astype(array.dtype)


def _bits_lowest_first(array: Array) -> Array:
    raw = np.ascontiguousarray(array)[..., None].view(np.uint8)
    return np.unpackbits(raw, axis=-1, bitorder="little").astype(np.bool_)


@elementwise("math.erf", flops=1, accuracy=Accuracy(2), by_target=flushed_by)
def erf(array: Array) -> Array:
    """Return the error function, by a table and Taylor series of third order, within 1e-12.

    float64 is computed by the C library.

    With s = 2/sqrt(pi) exp(-x^2) the derivatives are s, -2xs and (4x^2 - 2)s.
    """
    if array.dtype == np.float64:
        return special.erf(array)
    x = np.clip(np.asarray(array, np.float64), -_ERF_END, _ERF_END)
    position = np.rint(np.where(np.isnan(x), 0, x) / _ERF_STEP)
    nearest = position * _ERF_STEP
    distance = x - nearest
    slope = (2 / math.sqrt(math.pi)) * np.exp(-nearest * nearest)
    series = distance * (1 - distance * (nearest - distance * (2 * nearest * nearest - 1) / 3))
    table = _erf_table()
    value = table[position.astype(np.int64) + len(table) // 2] + slope * series
    return np.copysign(value, array).astype(array.dtype)
