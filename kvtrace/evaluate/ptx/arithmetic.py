"""PTX: arithmetic of floats and integers, and conversions (PTX ISA 9.7.1 to 9.7.5, 9.7.9.22)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import ml_dtypes
import numpy as np

from kvtrace.evaluate import directed
from kvtrace.evaluate.dialects import math
from kvtrace.evaluate.dialects.arith_casts import truncated_float
from kvtrace.evaluate.dialects.tt_elementwise import high_half_signed, mulhiui
from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.flushing import flush
from kvtrace.evaluate.ptx.table import FLOATS, HALVES, INTEGERS, Form, instruction
from kvtrace.evaluate.ptx.types import TYPES, Type, computed, encoded, part_of
from kvtrace.evaluate.rounding import rounded_to_bf16, to_integer
from kvtrace.evaluate.types import element_of
from kvtrace.evaluate.values import Array

_ROUNDED = "rn rz rm rp ftz sat"


def float_result(form: Form, values: Array, type_: Type | None = None) -> Array:
    """Return a float result as bits, after .sat, .relu and .ftz; default type: the form's."""
    type_ = type_ or form.type
    if form.has("sat"):
        values = np.where(np.isnan(values), values.dtype.type(0), np.clip(values, 0, 1))
    if form.has("relu"):
        values = np.where(values > 0, values, np.where(np.isnan(values), values, 0))
        values = values.astype(type_.value)
    if form.has("ftz") and part_of(type_).name == "f32":
        values = flush(values)
    if part_of(type_).name == "bf16":
        values = rounded_to_bf16(values)
    return computed(np.asarray(values), type_)


def _flushed_operands(form: Form, *arrays: Array) -> tuple[Array, ...]:
    if form.has("ftz") and part_of(form.type).name == "f32":
        return tuple(flush(array) for array in arrays)
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


_TO_INTEGERS: Final[dict[str, directed.Direction]] = {
    "rni": "rn",
    "rzi": "rz",
    "rmi": "rd",
    "rpi": "ru",
}
_NARROW: Final = ("e4m3", "e5m2", "e2m1")


@instruction(
    "cvt",
    types=[name for name in TYPES if name != "pred"],
    takes="T T",
    gives="D",
    optional=1,
    modifiers="rn rz rm rp rna rni rzi rmi rpi ftz sat relu satfinite",
)
def converted(form: Form, array: Array, lower_half: Array | None = None) -> Array:
    """Return numbers in another type; of two operands the first becomes the upper half."""
    source, target = form.type, form.target
    if len(form.types) != 2 or (lower_half is not None) != (
        target.parts == 2 and source.parts == 1
    ):
        raise UnsupportedOp(f"the instruction {form.text!r}")
    if lower_half is not None:
        upper, lower = np.broadcast_arrays(array, lower_half)
        array = np.stack([lower, upper], axis=-1)
    if form.has("ftz") and source.name == "f32":
        array = flush(array)
    if source.kind == "f":
        return (
            _float_to_float(form, array, target) if target.kind == "f" else _to_integer(form, array)
        )
    if target.kind == "f":
        return float_result(form, _from_integer(form, array, target), target)
    return _resized(form, array, target)


def _resized(form: Form, array: Array, target: Type) -> Array:
    """Return integers in another integer type: modulo its width, or saturated with .sat."""
    if not form.has("sat"):
        return encoded(array.astype(target.value), target)
    limits, source_limits = np.iinfo(target.value), np.iinfo(array.dtype)
    low, high = max(limits.min, source_limits.min), min(limits.max, source_limits.max)
    return encoded(np.clip(array, low, high).astype(target.value), target)


def _from_integer(form: Form, array: Array, target: Type) -> Array:
    if target.name in ("f32", "f64"):
        dtype = np.float32 if target.name == "f32" else np.float64
        return np.asarray(directed.from_integer(form.direction, array, dtype))
    if form.direction != "rn":
        raise UnsupportedOp(f"the instruction {form.text!r}")
    exact = array.astype(np.float64)
    # float64 does not hold all 64-bit integers; rounded to odd, they can be rounded again.
    high = (array >> array.dtype.type(array.dtype.itemsize * 4)).astype(np.float64)
    shifted = high * 2.0 ** (array.dtype.itemsize * 4)
    low = (array & array.dtype.type((1 << array.dtype.itemsize * 4) - 1)).astype(np.float64)
    rounded_to_odd = directed.to_odd(exact, (shifted - exact) + low)
    return _rounded_once(rounded_to_odd, target)


def _rounded_once(odd: Array, target: Type) -> Array:
    """Return float64 numbers, which may be rounded to odd, in a narrower type."""
    name = part_of(target).name
    return truncated_float(odd, element_of(name)) if name in ("f16", "bf16") else odd


def _to_integer(form: Form, array: Array) -> Array:
    """Return floats as integers, rounded as the modifier says, saturated."""
    direction = next((_TO_INTEGERS[m] for m in form.modifiers if m in _TO_INTEGERS), None)
    target = form.target
    if direction is None or target.bits < 8:
        raise UnsupportedOp(f"the instruction {form.text!r}")
    whole = directed.TO_INTEGRAL[direction](
        array if array.dtype == np.float64 else array.astype(np.float32)
    )
    element = element_of(f"i{target.bits}")
    return encoded(
        to_integer(whole, element, signed=target.kind == "s").astype(target.value), target
    )


def _float_to_float(form: Form, array: Array, target: Type) -> Array:
    name, modifiers = part_of(target).name, form.modifiers
    whole = next((_TO_INTEGERS[m] for m in modifiers if m in _TO_INTEGERS), None)
    if whole is not None:
        if target.name != form.type.name:
            raise UnsupportedOp(f"the instruction {form.text!r}")
        return float_result(form, directed.TO_INTEGRAL[whole](array), target)
    if name in _NARROW:
        return _to_small_float(form, array, target)
    if name == "ue8m0":
        return _to_exponent(form, array, target)
    if name == "tf32":
        return _to_tf32(form, array, target)
    if form.direction != "rn" and target.bits < form.type.bits:
        return float_result(form, _directed(form, array, target), target)
    values = truncated_float(array, element_of(name))
    if form.has("satfinite"):
        largest = float(ml_dtypes.finfo(target.memory).max)
        values = np.clip(np.asarray(values), -largest, largest)
    return float_result(form, values.astype(target.value), target)


def _directed(form: Form, array: Array, target: Type) -> Array:
    """Return floats in a narrower type, rounded in the instruction's direction."""
    if target.name == "f32":
        return np.asarray(directed.narrowed(form.direction, array))
    name = part_of(target).name
    nearest = array.astype(target.memory)
    if form.has("satfinite"):
        raise UnsupportedOp(f"the instruction {form.text!r}")
    bits, wide = nearest.view(np.uint16), nearest.astype(np.float64)
    exact, one = array.astype(np.float64), np.uint16(1)
    size, exact_size = np.abs(wide), np.abs(exact)
    upward = {"ru": exact > 0, "rd": exact < 0}.get(form.direction, np.zeros_like(size, np.bool_))
    bits = np.where((size > exact_size) & ~upward, bits - one, bits)
    bits = np.where((size < exact_size) & upward, bits + one, bits)
    return bits.astype(np.uint16).view(TYPES[name].memory).astype(TYPES[name].value)


def _to_small_float(form: Form, array: Array, target: Type) -> Array:
    if not form.has("satfinite") or form.direction != "rn":
        raise UnsupportedOp(f"the instruction {form.text!r}")
    if form.has("relu"):
        array = np.where(array < 0, array.dtype.type(0), array)
    largest = float(ml_dtypes.finfo(target.memory).max)
    values = np.clip(array.astype(np.float32), -largest, largest)
    if target.bits == 4:
        values = np.where(np.isnan(values), np.float32(largest), values)
    return encoded(values, target)


def _to_exponent(form: Form, array: Array, target: Type) -> Array:
    """Return the exponents of floats as ue8m0, rounded toward zero or up; NaN gives 255."""
    if form.direction not in ("rz", "ru"):
        raise UnsupportedOp(f"the instruction {form.text!r}")
    fraction, exponent = np.frexp(np.abs(array.astype(np.float64)))
    whole = exponent - 1 + ((fraction > 0.5) if form.direction == "ru" else 0) + 127
    limited = np.clip(np.where(fraction == 0, 0, whole), 0, 254)
    patterns = np.where(np.isnan(array), 255, np.where(np.isinf(array), 254, limited))
    parts = np.ascontiguousarray(patterns.astype(np.uint8))
    return parts.view(target.register)[..., 0] if target.parts > 1 else parts


def _to_tf32(form: Form, array: Array, target: Type) -> Array:
    """Return floats with 10 bits of mantissa: rna (ties away from zero), rn (even) or rz."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    if form.has("rna"):
        bits = bits + np.uint32(0x1000)
    elif form.direction == "rn":
        bits = bits + np.uint32(0xFFF) + (bits >> np.uint32(13) & np.uint32(1))
    elif form.direction != "rz":
        raise UnsupportedOp(f"the instruction {form.text!r}")
    rounded = (bits & np.uint32(0xFFFFE000)).view(np.float32)
    values = np.where(np.isfinite(array), rounded, array)
    if form.has("relu"):
        values = np.where(values < 0, np.float32(0), values)
    return computed(values, target)
