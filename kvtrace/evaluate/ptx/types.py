"""Types of PTX, and the conversion between bits of registers and numbers.

A register is an array of unsigned integers of its width, a predicate an array of Booleans. Types
that NumPy lacks are computed as float32 and rounded; a type of several parts (f16x2) becomes an
array with one axis more, the lowest part first.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import ml_dtypes
import numpy as np
from msgspec import Struct

from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.ptx.statements import Literal
from kvtrace.evaluate.values import Array


class Type(Struct, frozen=True):
    """A PTX type: `kind` s, u, b (integer), f (float) or p (predicate); `bits` of one part."""

    name: str
    kind: str
    bits: int
    parts: int
    memory: np.dtype[Any]
    value: np.dtype[Any]

    @property
    def register(self) -> np.dtype[Any]:
        """The dtype of a register that holds all parts."""
        return np.dtype(f"u{max(1, self.bits * self.parts // 8)}")


_FLOATS: Final = {
    "f16": (16, "float16", "float16"),
    "bf16": (16, ml_dtypes.bfloat16, "float32"),
    "f32": (32, "float32", "float32"),
    "tf32": (32, "float32", "float32"),
    "f64": (64, "float64", "float64"),
    "e4m3": (8, ml_dtypes.float8_e4m3fn, "float32"),
    "e5m2": (8, ml_dtypes.float8_e5m2, "float32"),
    "ue8m0": (8, ml_dtypes.float8_e8m0fnu, "float32"),
    "e2m1": (4, ml_dtypes.float4_e2m1fn, "float32"),
}

TYPES: Final[dict[str, Type]] = {"pred": Type("pred", "p", 1, 1, np.dtype("?"), np.dtype("?"))}
for _bits in (8, 16, 32, 64):
    for _kind in "sub":
        _dtype = np.dtype(f"{'i' if _kind == 's' else 'u'}{_bits // 8}")
        TYPES[f"{_kind}{_bits}"] = Type(f"{_kind}{_bits}", _kind, _bits, 1, _dtype, _dtype)
for _name, (_bits, _memory, _value) in _FLOATS.items():
    TYPES[_name] = Type(_name, "f", _bits, 1, np.dtype(_memory), np.dtype(_value))
for _name, _parts in (
    ("f16", 2), ("bf16", 2), ("f32", 2), ("e4m3", 2), ("e4m3", 4), ("e5m2", 2), ("e5m2", 4),
    ("ue8m0", 2), ("e2m1", 2), ("e2m1", 4), ("s16", 2), ("u16", 2),
):  # fmt: skip
    _one = TYPES[_name]
    TYPES[f"{_name}x{_parts}"] = Type(
        f"{_name}x{_parts}", _one.kind, _one.bits, _parts, _one.memory, _one.value
    )


def part_of(type_: Type) -> Type:
    """Return the type of one part of a packed type; an unpacked type itself."""
    return TYPES[type_.name.partition("x")[0]]


def resized(bits: Array, dtype: np.dtype[Any]) -> Array:
    """Return a register's bits in another width: cut, or extended with zeros."""
    return bits if bits.dtype == dtype else np.asarray(bits).astype(dtype)


def decoded(bits: Array, type_: Type) -> Array:
    """Return a register's bits as numbers; packed types get a last axis over their parts."""
    if type_.kind == "p":
        return bits.astype(np.bool_)
    raw = resized(bits, type_.register)
    if type_.bits == 4:
        shifts = np.arange(type_.parts, dtype=raw.dtype) * raw.dtype.type(4)
        nibbles = (raw[..., None] >> shifts) & raw.dtype.type(15)
        return np.asarray(nibbles.astype(np.uint8).view(type_.memory).astype(type_.value))
    if type_.parts > 1:
        raw = np.ascontiguousarray(raw[..., None])
    if type_.memory == type_.value:
        return raw.view(type_.memory)
    return raw.view(type_.memory).astype(type_.value)


def encoded(values: Array, type_: Type) -> Array:
    """Return numbers in range as a register's bits; floats are rounded to nearest."""
    if type_.kind == "p":
        return values.astype(np.bool_)
    stored = np.ascontiguousarray(values if values.ndim else values[None])
    if stored.dtype != type_.memory:
        stored = stored.astype(type_.memory)
    if type_.bits == 4:
        nibbles = stored.view(np.uint8).astype(type_.register)
        shifts = np.arange(type_.parts, dtype=nibbles.dtype) * nibbles.dtype.type(4)
        return np.asarray(np.bitwise_or.reduce(nibbles << shifts, axis=-1))
    bits = stored.view(type_.register)
    return bits[..., 0] if type_.parts > 1 else bits


_CANONICAL_NAN: Final = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "tf32": 0x7FFFFFFF}


def computed(values: Array, type_: Type) -> Array:
    """Return float results as a register's bits, with the canonical NaN for each NaN."""
    bits = encoded(values, type_)
    pattern = _CANONICAL_NAN.get(part_of(type_).name)
    is_nan = np.isnan(values) if type_.kind == "f" else np.False_
    if pattern is None or not is_nan.any():
        return bits
    parts = bits if type_.parts == 1 else bits[..., None].view(f"u{type_.bits // 8}")
    parts = np.where(is_nan, parts.dtype.type(pattern), parts)
    return parts if type_.parts == 1 else np.ascontiguousarray(parts).view(bits.dtype)[..., 0]


_SPECIAL: Final[dict[str, Callable[[], int]]] = {
    "%smid": lambda: 0,
    "%nsmid": lambda: 1,
    "%globaltimer": time.time_ns,
    "%clock64": time.perf_counter_ns,
    "%clock": time.perf_counter_ns,
}
"""Special registers that are implemented: all programs run on one processor."""


def number(literal: Literal, type_: Type) -> Array:
    """Return a literal as the bits of a register; UnsupportedOp if it is not a number."""
    text = literal.text
    try:
        if text.startswith("%"):
            return np.asarray(_SPECIAL[text]() % (1 << type_.bits)).astype(type_.register)
        sign, digits = text.startswith("-"), text.lstrip("+-")
        if digits[:2] in ("0f", "0F", "0d", "0D"):
            pattern = int(digits[2:], 16)
            dtype = np.dtype("u4" if digits[1] in "fF" else "u8")
            return np.asarray(pattern, dtype)
        if type_.kind == "f" and type_.parts == 1 and digits[:2] not in ("0x", "0X"):
            return encoded(np.asarray(float(text), np.float64).astype(type_.value), type_)
        if "." in digits:
            return np.asarray(float(text), np.float32).view(np.uint32)
        whole = int(octal_as_python(digits.rstrip("U")), 0)
        if type_.kind == "p":
            return np.asarray(bool(whole))
        wide = type_.bits * type_.parts
        return np.asarray((-whole if sign else whole) % (1 << wide)).astype(type_.register)
    except (ValueError, KeyError) as error:
        raise UnsupportedOp(f"the operand {text!r}") from error


def octal_as_python(digits: str) -> str:
    """Return a number's digits, with C's octal prefix 0 replaced by Python's 0o."""
    octal = len(digits) > 1 and digits.startswith("0") and digits.isdigit()
    return f"0o{digits[1:]}" if octal else digits
