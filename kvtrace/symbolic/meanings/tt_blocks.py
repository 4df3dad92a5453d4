"""`tt`: tensor descriptors and block pointers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvtrace.ir.attributes import DenseArrayAttribute
from kvtrace.symbolic.conditions import Condition, at_least, conjunction, less
from kvtrace.symbolic.meanings import meaning
from kvtrace.symbolic.meanings.tt_memory import loaded, moved
from kvtrace.symbolic.meanings.tt_shape import reshaped
from kvtrace.symbolic.summary import BlockPointer, Known, Pointer
from kvtrace.symbolic.terms import ZERO, Term, lane
from kvtrace.symbolic.walk_types import bytes_in_memory, number_of, pointee_bytes, shape_of

if TYPE_CHECKING:
    from kvtrace.ir import Op, Value
    from kvtrace.symbolic.walk import Walk

_REDUCTIONS = ("", "add", "min", "max", "inc", "dec", "and", "or", "xor")
"""Triton's DescriptorReduceKind by number."""


def checked_axes(op: Op) -> tuple[int, ...]:
    """Give the axes whose bounds an access through a block pointer checks."""
    attribute = op.attributes.get("boundaryCheck")
    if not isinstance(attribute, DenseArrayAttribute):
        return ()
    return tuple(int(axis) for axis in attribute.values)


def block_access(
    block: BlockPointer, shape: tuple[int, ...], size: int, checked: Sequence[int]
) -> tuple[Pointer, Condition]:
    """Give the pointers and the mask of a block of elements of `size` bytes.

    Where positions vary along their own axis (the rows of a gather), `shape` is 1.
    """
    offset, conditions = ZERO, []
    for axis, position in enumerate(block.positions):
        place = position + lane(axis, shape[axis])
        offset = offset + place * block.strides[axis] * size
        if axis in checked:
            conditions += [at_least(place), less(place, block.extents[axis])]
    return moved(block.base, offset, shape), conjunction(conditions)


@meaning("tt.make_tensor_ptr")
def make_tensor_ptr(walk: Walk, op: Op) -> None:
    """Keep base, extents, strides and positions."""
    base, *rest = op.operands
    numbers = tuple(walk.term(value) for value in rest)
    rank = len(rest) // 3
    walk.set(
        op.results[0],
        BlockPointer(
            walk.pointer(base), numbers[:rank], numbers[rank : 2 * rank], numbers[2 * rank :]
        ),
    )


@meaning("tt.advance")
def advance(walk: Walk, op: Op) -> None:
    """Move the block."""
    block = walk.known(op.operands[0])
    if not isinstance(block, BlockPointer):
        walk.set_unknown(op.results[0], op, "a block pointer that is not followed")
        return
    positions = tuple(
        position + walk.term(value)
        for position, value in zip(block.positions, op.operands[1:], strict=True)
    )
    walk.set(op.results[0], BlockPointer(block.base, block.extents, block.strides, positions))


@meaning("tt.make_tensor_descriptor")
def make_tensor_descriptor(walk: Walk, op: Op) -> None:
    """Keep base, extents and strides."""
    base, *rest = op.operands
    numbers = tuple(walk.term(value) for value in rest)
    rank = len(rest) // 2
    walk.set(op.results[0], BlockPointer(walk.pointer(base), numbers[:rank], numbers[rank:], ()))


def _descriptor_access(
    walk: Walk, descriptor: Value, positions: Sequence[Term], shape: tuple[int, ...]
) -> tuple[Pointer, Condition]:
    """Give the pointers and the mask of a block; all axes are checked."""
    known = walk.known(descriptor)
    if not isinstance(known, BlockPointer):
        return walk.pointer(descriptor), conjunction(())
    at = BlockPointer(known.base, known.extents, known.strides, tuple(positions))
    return block_access(at, shape, pointee_bytes(descriptor.type), range(len(shape)))


def _positions(walk: Walk, values: Sequence[Value]) -> list[Term]:
    return [walk.term(value) for value in values]


def _read(
    walk: Walk,
    op: Op,
    place: tuple[Pointer, Condition],
    shape: tuple[int, ...],
) -> None:
    value = op.results[0]
    pointer, mask = place
    accesses = walk.accessed(
        op, "load", pointer, mask, bytes_in_memory(value.type), shape, value=value
    )
    known: Known | None = loaded(walk, op, value, accesses, mask, ZERO)
    if known is not None:
        known = reshaped(known, shape, shape_of(value.type))
    walk.set(value, known)


@meaning("tt.descriptor_load")
def descriptor_load(walk: Walk, op: Op) -> None:
    """Note a read of a block."""
    shape = shape_of(op.operands[0].type)
    positions = _positions(walk, op.operands[1:])
    _read(walk, op, _descriptor_access(walk, op.operands[0], positions, shape), shape)


@meaning("tt.descriptor_gather")
def descriptor_gather(walk: Walk, op: Op) -> None:
    """Note a read of rows by index, from a column on."""
    shape = shape_of(op.results[0].type)
    _read(walk, op, _rows_access(walk, op, shape), shape)


def _rows_access(walk: Walk, op: Op, shape: tuple[int, ...]) -> tuple[Pointer, Condition]:
    positions = _positions(walk, op.operands[1:3])
    return _descriptor_access(walk, op.operands[0], positions, (1, *shape[1:]))


@meaning("tt.descriptor_store")
def descriptor_store(walk: Walk, op: Op) -> None:
    """Note a write of a block."""
    shape, value = shape_of(op.operands[0].type), op.operands[1]
    pointer, mask = _descriptor_access(
        walk, op.operands[0], _positions(walk, op.operands[2:]), shape
    )
    walk.accessed(op, "store", pointer, mask, bytes_in_memory(value.type), shape, value=value)


@meaning("tt.descriptor_scatter")
def descriptor_scatter(walk: Walk, op: Op) -> None:
    """Note a write of rows by index, from a column on."""
    value = op.operands[3]
    shape = shape_of(value.type)
    pointer, mask = _rows_access(walk, op, shape)
    walk.accessed(op, "store", pointer, mask, bytes_in_memory(value.type), shape, value=value)


@meaning("tt.descriptor_reduce")
def descriptor_reduce(walk: Walk, op: Op) -> None:
    """Note an atomic update of a block."""
    shape, value = shape_of(op.operands[0].type), op.operands[1]
    pointer, mask = _descriptor_access(
        walk, op.operands[0], _positions(walk, op.operands[2:]), shape
    )
    kind = number_of(op, "kind")
    walk.accessed(
        op, "atomic", pointer, mask, bytes_in_memory(value.type), shape, value=value,
        operator=_REDUCTIONS[kind] if kind < len(_REDUCTIONS) else "", semantics="relaxed",
        scope="gpu",
    )  # fmt: skip
