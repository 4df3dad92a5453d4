"""What the walk asks of an IR type: shape, width, size in memory; and of an op: numbers."""

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
    """Return a tensor's shape, a descriptor's block's or a block pointer's; () for scalars."""
    if isinstance(type_, TensorType):
        return type_.shape
    if isinstance(type_, TensorDescriptorType):
        return type_.block.shape
    if isinstance(type_, PointerType):
        return shape_of(type_.pointee)
    return ()


def element_of(type_: Type) -> Type:
    """Return a tensor's element type; a scalar's is itself."""
    return type_.element if isinstance(type_, TensorType) else type_


def integer_bits(type_: Type) -> int | None:
    """Return the width of an integer, or of a tensor of them; None for all else."""
    element = element_of(type_)
    if isinstance(element, IntegerType):
        return element.width
    return 64 if isinstance(element, IndexType) else None


def is_pointer(type_: Type) -> bool:
    """Whether it is a pointer to an element, or a tensor of them."""
    element = element_of(type_)
    return isinstance(element, PointerType) and not isinstance(element.pointee, TensorType)


def is_block_pointer(type_: Type) -> bool:
    """Whether it is a pointer to a block."""
    return isinstance(type_, PointerType) and isinstance(type_.pointee, TensorType)


def bytes_in_memory(type_: Type) -> int:
    """Return the size of an element; pointers are of 8 bytes, a Boolean of 1."""
    element = element_of(type_)
    if isinstance(element, IntegerType | FloatType):
        return max(1, element.width // 8)
    return 8


def pointee_bytes(type_: Type) -> int:
    """Return the size of what a pointer, block pointer or descriptor points to."""
    if isinstance(type_, TensorDescriptorType):
        return bytes_in_memory(type_.block)
    element = element_of(type_)
    return bytes_in_memory(element.pointee) if isinstance(element, PointerType) else 8


def number_of(op: Op, name: str, default: int = 0) -> int:
    """Read an integer attribute of an op."""
    attribute = op.attributes.get(name)
    return attribute.value if isinstance(attribute, IntegerAttribute) else default
