"""PTX: conversions between types, the instruction cvt (PTX ISA 9.7.9.22)."""

from __future__ import annotations

from typing import Final

import ml_dtypes
import numpy as np

from kvtrace.evaluate import directed
from kvtrace.evaluate.dialects.arith_casts import truncated_float
from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.ptx.arithmetic import float_result, flushed
from kvtrace.evaluate.ptx.table import Form, instruction
from kvtrace.evaluate.ptx.types import TYPES, Type, computed, encoded, part_of
from kvtrace.evaluate.rounding import to_integer
from kvtrace.evaluate.types import element_of
from kvtrace.evaluate.values import Array

_WHOLE: Final[dict[str, directed.Direction]] = {"rni": "rn", "rzi": "rz", "rmi": "rd", "rpi": "ru"}
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
        array = flushed(array)
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
    # Integers of 64 bits may be rounded to float64; rounded to odd they can be rounded again.
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
    direction = next((_WHOLE[m] for m in form.modifiers if m in _WHOLE), None)
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
    whole = next((_WHOLE[m] for m in modifiers if m in _WHOLE), None)
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
