"""Shapes, widths and sizes of IR types, and integer attributes of ops."""

from __future__ import annotations

from kvtrace.ir import Op
from kvtrace.ir.attributes import IntegerAttribute
from kvtrace.ir.types import (
    FloatType,
    IndexType,
    IntegerType,
    PointerType,
    TensorDescriptorType,
    TensorType,
    Type,
)


def shape_of(type_: Type) -> tuple[int, ...]:
    """Return the shape of a tensor, a descriptor's block or a block pointer; () for scalars."""
    if isinstance(type_, TensorType):
        return type_.shape
    if isinstance(type_, TensorDescriptorType):
        return type_.block.shape
    if isinstance(type_, PointerType):
        return shape_of(type_.pointee)
    return ()


def element_of(type_: Type) -> Type:
    """Return a tensor's element type, or a scalar's type itself."""
    return type_.element if isinstance(type_, TensorType) else type_


def integer_bits(type_: Type) -> int | None:
    """Return the width of an integer, or of a tensor of integers; None for other types."""
    element = element_of(type_)
    if isinstance(element, IntegerType):
        return element.width
    return 64 if isinstance(element, IndexType) else None


def is_pointer(type_: Type) -> bool:
    """Return whether a type is a pointer to an element, or a tensor of such pointers."""
    element = element_of(type_)
    return isinstance(element, PointerType) and not isinstance(element.pointee, TensorType)


def is_block_pointer(type_: Type) -> bool:
    """Return whether a type is a pointer to a block."""
    return isinstance(type_, PointerType) and isinstance(type_.pointee, TensorType)


def bytes_in_memory(type_: Type) -> int:
    """Return the bytes of a type's element in memory: 8 for pointers, 1 for Booleans."""
    element = element_of(type_)
    if isinstance(element, IntegerType | FloatType):
        return max(1, element.width // 8)
    return 8


def pointee_bytes(type_: Type) -> int:
    """Return the bytes of an element that a pointer or descriptor points to; 8 for other types."""
    if isinstance(type_, TensorDescriptorType):
        return bytes_in_memory(type_.block)
    element = element_of(type_)
    return bytes_in_memory(element.pointee) if isinstance(element, PointerType) else 8


def number_of(op: Op, name: str, default: int = 0) -> int:
    """Return the value of an op's integer attribute, or the default if there is none."""
    attribute = op.attributes.get(name)
    return attribute.value if isinstance(attribute, IntegerAttribute) else default
