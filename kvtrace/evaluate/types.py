"""Element types: their names in MLIR, Triton and memory, and their NumPy dtypes here.

Values of types that NumPy lacks (bf16, fp8) are float32 arrays, rounded after each op; memory holds
their bits.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, Final

import numpy as np
from msgspec import Struct

from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.ir.types import (
    OpaqueType,
    PointerType,
    SharedType,
    TensorDescriptorType,
    TensorType,
    Type,
)


class ElementType(Struct, frozen=True):
    """A scalar type: `value` is the NumPy dtype of values in flight, `memory` that of storages.

    `kind`: i integer, b Boolean (i1), f float. `rounded`: values must be rounded to `memory`'s
    type after each op, since `value` is wider.
    """

    name: str
    kind: str
    bits: int
    value: np.dtype[Any]
    memory: np.dtype[Any]

    @property
    def bytes(self) -> int:
        """Size of an element in memory, in bytes."""
        return self.memory.itemsize

    @property
    def rounded(self) -> bool:
        """Values in flight are wider floats than the type, so that ops round them."""
        return self.kind == "f" and self.value != self.memory


_ELEMENTS: Final[dict[str, tuple[str, int, str, str]]] = {
    "i1": ("b", 1, "bool", "bool"),
    "i8": ("i", 8, "int8", "int8"),
    "i16": ("i", 16, "int16", "int16"),
    "i32": ("i", 32, "int32", "int32"),
    "i64": ("i", 64, "int64", "int64"),
    "index": ("i", 64, "int64", "int64"),
    "f16": ("f", 16, "float16", "float16"),
    "bf16": ("f", 16, "float32", "bfloat16"),
    "f32": ("f", 32, "float32", "float32"),
    "f64": ("f", 64, "float64", "float64"),
    "f8E4M3FN": ("f", 8, "float32", "float8_e4m3fn"),
    "f8E4M3FNUZ": ("f", 8, "float32", "float8_e4m3fnuz"),
    "f8E4M3B11FNUZ": ("f", 8, "float32", "float8_e4m3b11fnuz"),
    "f8E5M2": ("f", 8, "float32", "float8_e5m2"),
    "f8E5M2FNUZ": ("f", 8, "float32", "float8_e5m2fnuz"),
}
"""Kind, bits, and the names of the dtypes of values and of memory, by MLIR's name."""


@cache
def _element(name: str) -> ElementType:
    kind, bits, value, memory = _ELEMENTS[name]
    return ElementType(name, kind, bits, np.dtype(value), _dtype(memory))


def _dtype(name: str) -> np.dtype[Any]:
    if name in np.sctypeDict:
        return np.dtype(name)
    import ml_dtypes  # 3 ms, which most kernels have no need of

    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return dtype


_SHORT_NAMES: Final = {
    **{f"{sign}{bits}": f"i{bits}" for sign in "iu" for bits in (1, 8, 16, 32, 64)},
    "fp16": "f16",
    "bf16": "bf16",
    "fp32": "f32",
    "fp64": "f64",
    "fp8e4nv": "f8E4M3FN",
    "fp8e4b8": "f8E4M3FNUZ",
    "fp8e4b15": "f8E4M3B11FNUZ",
    "fp8e5": "f8E5M2",
    "fp8e5b16": "f8E5M2FNUZ",
}


class ValueType(Struct, frozen=True):
    """The type of an SSA value: a scalar (`shape` is empty) or a tensor, of numbers or pointers.

    For pointers `element` is what they point to. `descriptor` marks a tensor descriptor, whose
    `shape` is that of its block; `shared` a part of the memory that a program's threads share.
    `text` is the type as it was written.
    """

    text: str
    shape: tuple[int, ...]
    element: ElementType
    pointer: bool = False
    descriptor: bool = False
    shared: bool = False

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count


def element_of(name: str) -> ElementType:
    """Return the element type with an MLIR name; UnsupportedOp for an unknown name.

    Descriptors name integers with a sign (si32, ui32); values have none.
    """
    plain = name[1:] if name.startswith(("si", "ui")) else name
    if plain not in _ELEMENTS:
        raise UnsupportedOp(f"element type {name!r} is not known; add it to evaluate/types.py")
    return _element(plain)


def element_of_short_name(name: str) -> ElementType:
    """Return the element type with Triton's short name (fp32, u8 …), or UnsupportedOp."""
    mlir = _SHORT_NAMES.get(name.lstrip("*"))
    if mlir is None:
        raise UnsupportedOp(f"dtype {name!r} is not known; add it to evaluate/types.py")
    return _element(mlir)


_CACHE: dict[int, tuple[Type, ValueType]] = {}
"""Types by their identity, which is looked up faster than their content: values share them."""

_LARGEST_CACHE = 4096

TOKEN: Final = OpaqueType("!ttg.async.token")
"""The type of tokens that order copies and waits in TTGIR; no number."""


def value_type(type_: Type) -> ValueType:
    """Return the evaluator's type of an IR type; UnsupportedOp for an unknown type."""
    cached = _CACHE.get(id(type_))
    if cached is not None and cached[0] is type_:
        return cached[1]
    result = _value_type(type_)
    if len(_CACHE) >= _LARGEST_CACHE:
        _CACHE.clear()
    _CACHE[id(type_)] = type_, result
    return result


@lru_cache(maxsize=4096)
def _value_type(type_: Type) -> ValueType:
    text = str(type_)
    if isinstance(type_, TensorDescriptorType):
        inner = value_type(type_.block)
        return ValueType(text, inner.shape, inner.element, descriptor=True)
    if isinstance(type_, TensorType):
        inner = value_type(type_.element)
        return ValueType(text, type_.shape, inner.element, pointer=inner.pointer)
    if isinstance(type_, SharedType):
        inner = value_type(type_.element)
        return ValueType(text, type_.shape, inner.element, shared=True)
    if type_ == TOKEN:
        return ValueType(text, (), element_of("i1"))
    if isinstance(type_, PointerType):
        return ValueType(text, (), _pointee(type_.pointee), pointer=True)
    return ValueType(text, (), element_of(text))


def _pointee(type_: Type) -> ElementType:
    """Return the element type that a pointer points to; i64 for a pointer to pointers."""
    if isinstance(type_, PointerType):
        return _element("i64")
    if isinstance(type_, TensorType):
        raise UnsupportedOp(
            "block pointers (tl.make_block_ptr) are not evaluated yet; use tensor descriptors or "
            "plain pointers"
        )
    return element_of(str(type_))
