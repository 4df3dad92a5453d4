"""PTX: arithmetic of floats and integers (PTX ISA 9.7.1 to 9.7.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kvtrace.evaluate import directed
from kvtrace.evaluate.dialects import math
from kvtrace.evaluate.dialects.arith_casts import truncated_float
from kvtrace.evaluate.dialects.tt_elementwise import high_half_signed, mulhiui
from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.ptx.table import FLOATS, HALVES, INTEGERS, Form, instruction
from kvtrace.evaluate.ptx.types import TYPES, Type, computed, encoded, part_of
from kvtrace.evaluate.rounding import rounded_to_bf16
from kvtrace.evaluate.types import element_of
from kvtrace.evaluate.values import Array

_ROUNDED = "rn rz rm rp ftz sat"


def flushed(array: Array) -> Array:
    """Return numbers with subnormal numbers replaced by zeros of their sign, as .ftz does."""
    small = np.abs(array) < np.finfo(array.dtype).tiny
    return np.where(small, np.copysign(array.dtype.type(0), array), array)


def float_result(form: Form, values: Array, type_: Type | None = None) -> Array:
    """Return a float result as bits, after .sat, .relu and .ftz; default type: the form's."""
    type_ = type_ or form.type
    if form.has("sat"):
        values = np.where(np.isnan(values), values.dtype.type(0), np.clip(values, 0, 1))
    if form.has("relu"):
        values = np.where(values > 0, values, np.where(np.isnan(values), values, 0))
        values = values.astype(type_.value)
    if form.has("ftz") and part_of(type_).name == "f32":
        values = flushed(values)
    if part_of(type_).name == "bf16":
        values = rounded_to_bf16(values)
    return computed(np.asarray(values), type_)


def _flushed_operands(form: Form, *arrays: Array) -> tuple[Array, ...]:
    if form.has("ftz") and part_of(form.type).name == "f32":
        return tuple(flushed(array) for array in arrays)
    return arrays


_DIRECTED: dict[str, Callable[..., Any]] = {
    "add": directed.add,
    "sub": directed.subtract,
    "mul": directed.multiply,
    "div": directed.divide,
    "rcp": directed.reciprocal,
    "sqrt": directed.square_root,
}
_NEAREST: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "rcp": np.reciprocal,
    "sqrt": np.sqrt,
}


@instruction("add", "sub", "mul", types=(*FLOATS, "f32x2"), modifiers=_ROUNDED)
@instruction("div", types=("f32", "f64"), modifiers=f"approx full {_ROUNDED}")
@instruction("rcp", "sqrt", types=("f32", "f64"), takes="T", modifiers=f"approx {_ROUNDED}")
def rounded(form: Form, *arrays: Array) -> Array:
    """Return the result of add, sub, mul, div, rcp or sqrt, rounded as the instruction says."""
    arrays = _flushed_operands(form, *arrays)
    if form.direction == "rn":
        return float_result(form, _NEAREST[form.name](*arrays))
    if part_of(form.type).name not in ("f32", "f64"):
        raise UnsupportedOp(f"the instruction {form.text!r}")
    return float_result(form, _DIRECTED[form.name](form.direction, *arrays))


@instruction("fma", types=(*FLOATS, "f32x2"), takes="T T T", modifiers=f"relu {_ROUNDED}")
@instruction("mad", types=("f32", "f64"), takes="T T T", modifiers=_ROUNDED)
def fma(form: Form, left: Array, right: Array, addend: Array) -> Array:
    """Return left * right + addend, rounded once."""
    left, right, addend = _flushed_operands(form, left, right, addend)
    if part_of(form.type).name != "bf16":
        result = directed.fused_multiply_add(form.direction, left, right, addend)
        return float_result(form, result)
    wide = (array.astype(np.float64) for array in (left, right, addend))
    wide_left, wide_right, wide_addend = wide
    total, error = directed.two_sum(wide_left * wide_right, wide_addend)
    rounded_to_odd = directed.to_odd(total, np.where(np.isfinite(error), error, 0))
    return float_result(form, truncated_float(rounded_to_odd, element_of("bf16")))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "rsqrt": math.rsqrt,
}


@instruction("ex2", "tanh", types=(*HALVES, "f32"), takes="T", modifiers="approx ftz")
@instruction("lg2", "sin", "cos", types=("f32",), takes="T", modifiers="approx ftz")
@instruction("rsqrt", types=("f32", "f64"), takes="T", modifiers="approx ftz")
def function(form: Form, array: Array) -> Array:
    """Return the exact result of ex2, lg2, sin, cos, tanh or rsqrt."""
    (operand,) = _flushed_operands(form, array)
    wide = operand.astype(np.float32) if operand.dtype == np.float16 else operand
    return float_result(form, _FUNCTIONS[form.name](wide).astype(operand.dtype))


@instruction("abs", "neg", types=FLOATS, takes="T", modifiers="ftz")
def sign_changed(form: Form, array: Array) -> Array:
    """Return the absolute value (abs) or the negative (neg)."""
    (operand,) = _flushed_operands(form, array)
    return float_result(form, np.abs(operand) if form.name == "abs" else np.negative(operand))


@instruction("copysign", types=("f32", "f64"))
def copysign(form: Form, sign: Array, array: Array) -> Array:
    """Return the second operand with the sign of the first."""
    return float_result(form, np.copysign(array, sign))


@instruction("min", "max", types=FLOATS, modifiers="ftz NaN xorsign abs")
def extreme(form: Form, *arrays: Array) -> Array:
    """Return the minimum or maximum; -0 is below +0, and NaN is returned only with .NaN."""
    left, right = operands = _flushed_operands(form, *arrays)
    if form.has("abs"):
        left, right = np.abs(left), np.abs(right)
    smaller = form.name == "min"
    propagating, ignoring = (np.minimum, np.fmin) if smaller else (np.maximum, np.fmax)
    result = (propagating if form.has("NaN") else ignoring)(left, right)
    join = np.logical_or if smaller else np.logical_and
    zero = np.where(join(np.signbit(left), np.signbit(right)), -0.0, 0.0).astype(result.dtype)
    result = np.where((left == 0) & (right == 0), zero, result)
    if form.has("xorsign"):
        sign = np.signbit(operands[0]) ^ np.signbit(operands[1])
        result = np.copysign(result, np.where(sign, -1, 1).astype(result.dtype))
    return float_result(form, result)


# -- integers ------------------------------------------------------------------------------------

_WHOLE: dict[str, Callable[..., Any]] = {"add": np.add, "sub": np.subtract}


@instruction("add", "sub", types=("s32",), modifiers="sat")
@instruction("add", types=("u16x2", "s16x2"))
@instruction("add", "sub", types=INTEGERS)
def whole_sum(form: Form, left: Array, right: Array) -> Array:
    """Return the integer sum or difference, modulo the width; with .sat limited to s32."""
    if form.has("sat"):
        exact = _WHOLE[form.name](left.astype(np.int64), right.astype(np.int64))
        limits = np.iinfo(form.type.value)
        return encoded(np.clip(exact, limits.min, limits.max).astype(form.type.value), form.type)
    return encoded(_WHOLE[form.name](left, right), form.type)


@instruction("mul", types=INTEGERS, gives="wide", modifiers="lo hi wide")
@instruction("mad", types=INTEGERS, takes="T T wide", gives="wide", modifiers="lo hi wide")
def whole_product(form: Form, left: Array, right: Array, addend: Array | None = None) -> Array:
    """Return the low half, high half or whole of a product, plus the addend if any."""
    type_ = form.type
    left, right = np.broadcast_arrays(left, right)
    if form.has("wide"):
        wide = np.dtype(f"{'i' if type_.kind == 's' else 'u'}{type_.bits // 4}")
        product = left.astype(wide) * right.astype(wide)
    elif form.has("hi"):
        product = _high_half(type_, left, right)
    elif form.has("lo"):
        product = left * right
    else:
        raise UnsupportedOp(f"the instruction {form.text!r}")
    result = product if addend is None else product + addend.astype(product.dtype)
    return np.ascontiguousarray(result).view(f"u{result.dtype.itemsize}")


def _high_half(type_: Type, left: Array, right: Array) -> Array:
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    if type_.kind == "s":
        return high_half_signed(left, right)
    signed = np.dtype(f"i{type_.bits // 8}")
    return mulhiui(left.view(signed), right.view(signed)).view(type_.value)


@instruction("mul24", types=("s32", "u32"), modifiers="lo")
@instruction("mad24", types=("s32", "u32"), takes="T T T", modifiers="lo")
def short_product(form: Form, left: Array, right: Array, addend: Array | None = None) -> Array:
    """Return the low 32 bits of the product of the low 24 bits, plus the addend if any."""
    eight = left.dtype.type(8)
    product = (left << eight >> eight) * (right << eight >> eight)
    return encoded(product if addend is None else product + addend, form.type)


@instruction("div", "rem", types=INTEGERS)
def quotient(form: Form, left: Array, right: Array) -> Array:
    """Return the quotient or remainder; for a divisor of 0, all bits set or the dividend."""
    nonzero = np.where(right == 0, right.dtype.type(1), right)
    remainder = np.fmod(left, nonzero)
    if form.name == "rem":
        return encoded(np.where(right == 0, left, remainder), form.type)
    ones = (~left.dtype.type(0)).astype(left.dtype)
    return encoded(np.where(right == 0, ones, (left - remainder) // nonzero), form.type)


@instruction("abs", "neg", types=("s16", "s32", "s64"), takes="T")
def whole_sign(form: Form, array: Array) -> Array:
    """Return the absolute value (abs) or the negative (neg); the lowest integer is unchanged."""
    return encoded(np.abs(array) if form.name == "abs" else np.negative(array), form.type)


@instruction("min", "max", types=(*INTEGERS, "u16x2", "s16x2"), modifiers="relu")
def whole_extreme(form: Form, left: Array, right: Array) -> Array:
    """Return the smaller or larger integer; with .relu, at least 0."""
    result = (np.minimum if form.name == "min" else np.maximum)(left, right)
    if form.has("relu"):
        result = np.maximum(result, result.dtype.type(0))
    return encoded(result, form.type)


@instruction("sad", types=INTEGERS, takes="T T T")
def absolute_difference(form: Form, left: Array, right: Array, addend: Array) -> Array:
    """Return |left - right| + addend."""
    difference = np.where(left < right, right - left, left - right)
    return encoded(addend + difference, form.type)


@instruction("dp4a", types=("s32", "u32"), takes="b32 b32 b32")
def dot_of_bytes(form: Form, left: Array, right: Array, addend: Array) -> Array:
    """Return a dot product of four bytes plus the addend; both types say if bytes are signed."""
    factor_bytes = [
        np.ascontiguousarray(array[..., None]).view("i1" if type_.kind == "s" else "u1")
        for array, type_ in zip((left, right), (form.types[0], form.types[-1]), strict=True)
    ]
    product = (factor_bytes[0].astype(np.int64) * factor_bytes[1].astype(np.int64)).sum(axis=-1)
    return encoded((product + addend.view(np.int32)).astype(np.uint32), TYPES["b32"])
