"""Facts of IR types, integers that are attributes, and pointers that are unknown or a few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

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
from kvtrace.symbolic.conditions import FALSE, TRUE
from kvtrace.symbolic.summary import BlockPointer, Pointer, PointerChoice
from kvtrace.symbolic.terms import ZERO

_MOST_CHOICES: Final = 16


def unknown_pointer(reason: str, shape: tuple[int, ...]) -> Pointer:
    """Return a pointer whose address is unknown."""
    return Pointer((PointerChoice(None, ZERO, TRUE, reason),), shape)


def unknown_block(reason: str, shape: tuple[int, ...]) -> BlockPointer:
    """Return a block pointer whose address is unknown."""
    zeros = (ZERO,) * len(shape)
    return BlockPointer(unknown_pointer(reason, ()), zeros, zeros, zeros)


def limited(choices: Sequence[PointerChoice], shape: tuple[int, ...]) -> Pointer:
    """Return a pointer with the possible choices, or an unknown pointer if there are too many."""
    possible = [choice for choice in choices if choice.condition is not FALSE]
    if len(possible) > _MOST_CHOICES:
        return unknown_pointer("a pointer chosen between too many", shape)
    return Pointer(tuple(possible), shape)


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
