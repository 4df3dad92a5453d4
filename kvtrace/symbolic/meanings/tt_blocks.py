"""`tt`: tensor descriptors and block pointers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kvtrace.ir.attributes import DenseArrayAttribute
from kvtrace.ir.tensor_maps import elements_stored_at_once
from kvtrace.ir.updates import REDUCTIONS
from kvtrace.symbolic.conditions import Condition, at_least, conjunction, less
from kvtrace.symbolic.functions import quotient
from kvtrace.symbolic.meanings import meaning
from kvtrace.symbolic.meanings.tt_memory import loaded, moved
from kvtrace.symbolic.meanings.tt_shape import reshaped
from kvtrace.symbolic.summary import Access, BlockPointer, Known, Pointer
from kvtrace.symbolic.terms import ZERO, Term, lane
from kvtrace.symbolic.walk_types import bytes_in_memory, number_of, pointee_bytes, shape_of

if TYPE_CHECKING:
    from kvtrace.ir import Op, Value
    from kvtrace.ir.ops import AccessKind
    from kvtrace.symbolic.walk import Walk


def checked_axes(op: Op) -> tuple[int, ...]:
    """Return the axes whose bounds an access through a block pointer checks."""
    attribute = op.attributes.get("boundaryCheck")
    if not isinstance(attribute, DenseArrayAttribute):
        return ()
    return tuple(int(axis) for axis in attribute.values)


def block_access(
    block: BlockPointer, shape: tuple[int, ...], size: int, checked: Sequence[int]
) -> tuple[Pointer, Condition]:
    """Return the pointers and the mask of a block of elements of `size` bytes.

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
    """Set a block pointer with base, extents, strides and positions."""
    extents, strides, places = (_terms(walk, op, name) for name in ("size", "stride", "offset"))
    base = walk.pointer(op.operand("pointer"))
    walk.set(op.results[0], BlockPointer(base, extents, strides, places))


@meaning("tt.advance")
def advance(walk: Walk, op: Op) -> None:
    """Set a block pointer at a moved position."""
    block = walk.known(op.operand("pointer"))
    if not isinstance(block, BlockPointer):
        walk.set_unknown(op.results[0], op, "a block pointer that is not followed")
        return
    positions = tuple(
        position + by
        for position, by in zip(block.positions, _terms(walk, op, "offset"), strict=True)
    )
    walk.set(op.results[0], BlockPointer(block.base, block.extents, block.strides, positions))


@meaning("tt.make_tensor_descriptor")
def make_tensor_descriptor(walk: Walk, op: Op) -> None:
    """Set a descriptor with base, extents and strides."""
    base = walk.pointer(op.operand("pointer"))
    extents, strides = _terms(walk, op, "size"), _terms(walk, op, "stride")
    walk.set(op.results[0], BlockPointer(base, extents, strides, ()))


@dataclass(frozen=True, slots=True)
class _Place:
    """Position of a descriptor's block; `block` is the descriptor there, or None if unknown."""

    pointer: Pointer
    mask: Condition
    block: BlockPointer | None


def _descriptor_access(
    walk: Walk,
    descriptor: Value,
    positions: Sequence[Term],
    shape: tuple[int, ...],
    *,
    stores: bool,
) -> _Place:
    """Return a block's position; all axes are checked, the inner axis as the target's stores do."""
    known = walk.known(descriptor)
    if not isinstance(known, BlockPointer):
        return _Place(walk.pointer(descriptor), conjunction(()), None)
    at = BlockPointer(known.base, known.extents, known.strides, tuple(positions))
    size = pointee_bytes(descriptor.type)
    chunk = elements_stored_at_once(walk.module, size) if stores else 1
    inner = quotient(at.extents[-1] + (chunk - 1), chunk, floor=True) * chunk
    checked = replace(at, extents=(*at.extents[:-1], inner))
    return _Place(*block_access(checked, shape, size, range(len(shape))), at)


def _terms(walk: Walk, op: Op, name: str) -> tuple[Term, ...]:
    """Return the terms of an op's operands of a name."""
    return tuple(walk.term(value) for value in op.group(name))


def _read(walk: Walk, op: Op, place: _Place, shape: tuple[int, ...]) -> None:
    value = op.results[0]
    accesses = _accessed(walk, op, "load", place, shape, value)
    known: Known | None = loaded(walk, op, value, accesses, place.mask, ZERO)
    if known is not None:
        known = reshaped(known, shape, shape_of(value.type))
    walk.set(value, known)


@meaning("tt.descriptor_load")
def descriptor_load(walk: Walk, op: Op) -> None:
    """Record a load of a block."""
    shape = shape_of(op.operand("descriptor").type)
    _read(walk, op, _block_access(walk, op, shape, stores=False), shape)


@meaning("tt.descriptor_gather")
def descriptor_gather(walk: Walk, op: Op) -> None:
    """Record a gather of rows by index, from a column on."""
    shape = shape_of(op.results[0].type)
    _read(walk, op, _rows_access(walk, op, shape, stores=False), shape)


def _block_access(walk: Walk, op: Op, shape: tuple[int, ...], *, stores: bool) -> _Place:
    positions = _terms(walk, op, "index")
    return _descriptor_access(walk, op.operand("descriptor"), positions, shape, stores=stores)


def _rows_access(walk: Walk, op: Op, shape: tuple[int, ...], *, stores: bool) -> _Place:
    positions = [walk.term(op.operand("row")), walk.term(op.operand("column"))]
    rows = (1, *shape[1:])
    return _descriptor_access(walk, op.operand("descriptor"), positions, rows, stores=stores)


def _accessed(
    walk: Walk,
    op: Op,
    kind: AccessKind,
    place: _Place,
    shape: tuple[int, ...],
    value: Value,
    **details: Any,
) -> list[Access]:
    size = bytes_in_memory(value.type)
    return walk.accessed(
        op, kind, place.pointer, place.mask, size, shape,
        value=value, descriptor=place.block, **details,
    )  # fmt: skip


@meaning("tt.descriptor_store")
def descriptor_store(walk: Walk, op: Op) -> None:
    """Record a store of a block."""
    shape = shape_of(op.operand("descriptor").type)
    place = _block_access(walk, op, shape, stores=True)
    _accessed(walk, op, "store", place, shape, op.operand("value"))


@meaning("tt.descriptor_scatter")
def descriptor_scatter(walk: Walk, op: Op) -> None:
    """Record a scatter of rows by index, from a column on."""
    value = op.operand("value")
    shape = shape_of(value.type)
    _accessed(walk, op, "store", _rows_access(walk, op, shape, stores=True), shape, value)


@meaning("tt.descriptor_reduce")
def descriptor_reduce(walk: Walk, op: Op) -> None:
    """Record an atomic update of a block."""
    shape = shape_of(op.operand("descriptor").type)
    place, kind = _block_access(walk, op, shape, stores=True), number_of(op, "kind")
    operator = REDUCTIONS[kind] if kind < len(REDUCTIONS) else ""
    _accessed(
        walk, op, "atomic", place, shape, op.operand("value"),
        operator=operator, semantics="relaxed", scope="gpu",
    )  # fmt: skip
