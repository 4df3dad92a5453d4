"""PTX: logic, shifts, bit fields, comparisons and selections (PTX ISA 9.7.1, 9.7.6 to 9.7.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kvtrace.evaluate.dialects import arith, math
from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.flushing import flush
from kvtrace.evaluate.ptx.table import BITS, FLOATS, SIGNED, UNSIGNED, Form, instruction
from kvtrace.evaluate.ptx.types import encoded
from kvtrace.evaluate.values import Array

_ORDERED: dict[str, Callable[..., Any]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater,
    "hs": np.greater_equal,
}  # fmt: skip
_ONLY_NAN = ("num", "nan")
_UNORDERED = {f"{name}u": _ORDERED[name] for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_JOINED: dict[str, Callable[..., Any]] = {
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor
}  # fmt: skip
_COMPARISONS = " ".join((*_ORDERED, *_UNORDERED, "num", "nan"))
_ALLOWED = {
    "b": ("eq", "ne"),
    "s": tuple(_ORDERED)[:6],
    "u": tuple(_ORDERED),
    "f": (*tuple(_ORDERED)[:6], *_UNORDERED, *_ONLY_NAN),
}
"""Comparisons by the kind of a type."""
_COMPARED = (*BITS, *SIGNED, *UNSIGNED, *FLOATS)
_LOGIC: dict[str, Callable[..., Any]] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.bitwise_not,
}


@instruction("and", "or", "xor", types=("pred", *BITS))
@instruction("not", types=("pred", *BITS), takes="T")
def logic(form: Form, *arrays: Array) -> Array:
    """Return the bitwise and, or, xor or not."""
    return np.asarray(_LOGIC[form.name](*arrays))


@instruction("cnot", types=BITS, takes="T")
def is_zero(form: Form, array: Array) -> Array:
    """Return 1 where a register is zero, else 0."""
    return np.asarray((array == 0).astype(form.type.register))


@instruction("lop3", types=("b32",), takes="T T T T")
def any_of_three(form: Form, first: Array, second: Array, third: Array, table: Array) -> Array:
    """Return a table of eight bits looked up by the three operands' bits, bit by bit."""
    del form
    table_bits = int(table.reshape(-1)[0])
    result: Array = np.zeros(np.broadcast_shapes(first.shape, second.shape, third.shape), np.uint32)
    for row in (row for row in range(8) if table_bits >> row & 1):
        result = result | (
            (first if row & 4 else ~first)
            & (second if row & 2 else ~second)
            & (third if row & 1 else ~third)
        )
    return result


@instruction("shl", types=BITS, takes="T u32")
@instruction("shr", types=(*BITS, *UNSIGNED, *SIGNED), takes="T u32")
def shifted(form: Form, array: Array, amount: Array) -> Array:
    """Return shifted bits; zeros, or the sign, if shifted by the width or more."""
    bits = form.type.bits
    signed = array.astype(f"i{bits // 8}") if form.type.kind != "s" else array
    steps = np.minimum(amount, np.uint32(bits)).astype(signed.dtype)
    if form.name == "shl":
        return encoded(arith.shli(signed, steps).astype(form.type.value), form.type)
    shift = arith.shrsi if form.type.kind == "s" else arith.shrui
    return encoded(shift(signed, steps).astype(form.type.value), form.type)


@instruction("shf", types=("b32",), takes="b32 b32 u32", modifiers="l r wrap clamp")
def funnel(form: Form, low: Array, high: Array, amount: Array) -> Array:
    """Return a shift of two registers as one of 64 bits: its high half (l) or low half (r)."""
    steps = amount & np.uint32(31) if form.has("wrap") else np.minimum(amount, np.uint32(32))
    joined = high.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)
    if form.has("r"):
        return (joined >> steps.astype(np.uint64)).astype(np.uint32)
    return ((joined << steps.astype(np.uint64)) >> np.uint64(32)).astype(np.uint32)


@instruction("prmt", types=("b32",), takes="T T T")
def permuted(form: Form, first: Array, second: Array, selector: Array) -> Array:
    """Return four of eight bytes; a nibble's highest bit selects the byte's sign instead."""
    del form
    eight_bytes = second.astype(np.uint64) << np.uint64(32) | first.astype(np.uint64)
    result: Array = np.zeros(np.broadcast_shapes(eight_bytes.shape, selector.shape), np.uint32)
    for position in range(4):
        nibbles = selector >> np.uint32(4 * position)
        byte = eight_bytes >> (
            (nibbles & np.uint32(7)).astype(np.uint64) * np.uint64(8)
        ) & np.uint64(255)
        sign = np.where(byte & np.uint64(128), np.uint64(255), np.uint64(0))
        result_byte = np.where(nibbles & np.uint32(8), sign, byte)
        result = result | (result_byte << np.uint64(8 * position)).astype(np.uint32)
    return result


@instruction("bfe", types=("u32", "s32", "u64", "s64"), takes="T u32 u32")
def field(form: Form, array: Array, position: Array, length: Array) -> Array:
    """Return the bit field at a position with a length; a signed field is sign-extended."""
    bits = form.type.bits
    begin = (position & np.uint32(255)).astype(np.int64)
    size = (length & np.uint32(255)).astype(np.int64)
    register = np.dtype(f"u{bits // 8}")
    raw, begin, size = np.broadcast_arrays(array.astype(register), begin, size)
    inside = _power(size, bits) - register.type(1)
    moved = np.where(begin < bits, raw >> np.minimum(begin, bits - 1).astype(register), 0)
    result = moved.astype(register) & inside
    if form.type.kind == "s":
        last = np.minimum(begin + size - 1, bits - 1).clip(0).astype(register)
        negative = (raw >> last & register.type(1)).astype(np.bool_) & (size > 0)
        length_in_register = np.clip(np.minimum(size, bits - begin), 0, bits)
        above = ~(_power(length_in_register, bits) - register.type(1))
        result = np.where(negative, result | above, result)
    return np.asarray(result.astype(register))


@instruction("bfi", types=("b32", "b64"), takes="T T u32 u32")
def inserted(form: Form, array: Array, into: Array, position: Array, length: Array) -> Array:
    """Return register `into` with the low bits of `array` in a field."""
    bits, one = form.type.bits, array.dtype.type(1)
    begin = (position & np.uint32(255)).astype(np.int64)
    field_mask = _power((length & np.uint32(255)).astype(np.int64), bits) - one
    steps = np.minimum(begin, bits - 1).astype(array.dtype)
    mask = np.where(begin < bits, field_mask << steps, 0).astype(array.dtype)
    return np.asarray(into & ~mask | array << steps & mask)


def _power(exponent: Array, bits: int) -> Array:
    register = np.dtype(f"u{bits // 8}")
    steps = np.minimum(exponent, bits - 1).astype(register)
    return np.where(exponent < bits, register.type(1) << steps, 0).astype(register)


@instruction("popc", "clz", types=("b32", "b64"), takes="T", gives="u32")
def counted(form: Form, array: Array) -> Array:
    """Return the number of set bits (popc), or of zeros above the highest set bit (clz)."""
    count = math.ctpop if form.name == "popc" else math.ctlz
    return count(array).astype(np.uint32)


@instruction("bfind", types=("u32", "s32", "u64", "s64"), takes="T", gives="u32",
             modifiers="shiftamt")  # fmt: skip
def highest(form: Form, array: Array) -> Array:
    """Return the position of the highest bit that differs from the sign; all bits set if none."""
    bits = form.type.bits
    raw = np.where(array < 0, ~array, array).astype(f"u{bits // 8}")
    position = (bits - 1 - math.ctlz(raw).astype(np.int64)) if raw.size else raw.astype(np.int64)
    result = bits - 1 - position if form.has("shiftamt") else position
    return np.where(raw == 0, 0xFFFFFFFF, result).astype(np.uint32)


@instruction("brev", types=("b32", "b64"), takes="T")
def reversed_bits(form: Form, array: Array) -> Array:
    """Return the bits in reverse order."""
    raw = np.ascontiguousarray(array[..., None]).view(np.uint8)
    ordered = np.unpackbits(raw, axis=-1, bitorder="little")
    packed = np.packbits(ordered[..., ::-1], axis=-1, bitorder="little")
    return np.ascontiguousarray(packed).view(form.type.register)[..., 0]


@instruction("mov", types=("pred", *BITS, *UNSIGNED, *SIGNED, "f32", "f64"), takes="T")
def moved(form: Form, array: Array) -> Array:
    """Return a register's bits unchanged."""
    return encoded(array, form.type)


def compared(form: Form, left: Array, right: Array) -> Array:
    """Return the comparison that a modifier names; with a NaN, only unordered ones are true."""
    if form.has("ftz") and form.type.name == "f32":
        left, right = flush(left), flush(right)
    names = [m for m in form.modifiers if m in _ALLOWED[form.type.kind]]
    if len(names) != 1:
        raise UnsupportedOp(f"the instruction {form.text!r}")
    name = names[0]
    if form.type.kind != "f":
        return np.asarray(_ORDERED[name](left, right))
    is_unordered = np.isnan(left) | np.isnan(right)
    if name in _ONLY_NAN:
        return np.asarray(is_unordered if name == "nan" else ~is_unordered)
    if name in _UNORDERED:
        return np.asarray(_UNORDERED[name](left, right) | is_unordered)
    return np.asarray(_ORDERED[name](left, right) & ~is_unordered)


@instruction("setp", types=_COMPARED, takes="T T pred", gives="pred", optional=1,
             modifiers=f"{_COMPARISONS} and or xor ftz")  # fmt: skip
def set_predicates(
    form: Form, left: Array, right: Array, also: Array | None = None
) -> tuple[Array, Array]:
    """Return a comparison (and/or/xor `also`) and its negation, or that of both halves."""
    holds = compared(form, left, right)
    holds_first, holds_second = (
        (holds[..., 0], holds[..., 1]) if form.type.parts == 2 else (holds, ~holds)
    )
    join = next((_JOINED[m] for m in form.modifiers if m in _JOINED), None)
    if join is not None and also is not None:
        holds_first, holds_second = join(holds_first, also), join(holds_second, also)
    return holds_first, holds_second


@instruction("set", types=_COMPARED, takes="T T pred", gives="D", optional=1,
             modifiers=f"{_COMPARISONS} and or xor ftz")  # fmt: skip
def set_number(form: Form, left: Array, right: Array, also: Array | None = None) -> Array:
    """Return a comparison as a number: all bits set, or 1.0 for a float type."""
    holds = compared(form, left, right)
    join = next((_JOINED[m] for m in form.modifiers if m in _JOINED), None)
    if join is not None and also is not None:
        holds = join(holds, also)
    if form.target.kind == "f":
        return encoded(holds.astype(form.target.value), form.target)
    ones = np.where(holds, -1, 0).astype(f"i{form.target.bits // 8}")
    return encoded(ones.astype(form.target.value), form.target)


@instruction("selp", types=(*BITS, *SIGNED, *UNSIGNED, "f32", "f64"),
             takes="T T pred")  # fmt: skip
def selected(form: Form, left: Array, right: Array, condition: Array) -> Array:
    """Return the left operand where the predicate is true, else the right."""
    return encoded(np.where(condition, left, right), form.type)


@instruction("slct", types=("s32", "f32"), takes="D D T", gives="D", modifiers="ftz")
def selected_by_sign(form: Form, left: Array, right: Array, sign: Array) -> Array:
    """Return the left operand where the third is not negative, else the right."""
    return encoded(np.where(sign >= 0, left, right), form.target)


@instruction("testp", types=("f32", "f64"), takes="T", gives="pred",
             modifiers="finite infinite number notanumber normal subnormal")  # fmt: skip
def tested(form: Form, array: Array) -> Array:
    """Return whether floats are of the kind that the modifier names (finite, normal …)."""
    tiny, size = np.finfo(array.dtype).tiny, np.abs(array)
    kinds = {
        "finite": np.isfinite(array),
        "infinite": np.isinf(array),
        "number": ~np.isnan(array),
        "notanumber": np.isnan(array),
        "normal": np.isfinite(array) & (size >= tiny),
        "subnormal": (size > 0) & (size < tiny),
    }
    if len(form.modifiers) != 1:
        raise UnsupportedOp(f"the instruction {form.text!r}")
    return np.asarray(kinds[form.modifiers[0]])
