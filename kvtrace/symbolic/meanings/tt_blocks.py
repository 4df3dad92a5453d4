"""Meanings of ops on tensor descriptors and block pointers of `tt`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.ir.attributes import DenseArrayAttribute
from kvtrace.ir.model import number_of
from kvtrace.ir.ops import KINDS, contents_of
from kvtrace.ir.tensor_maps import elements_stored_at_once
from kvtrace.ir.types import SharedType, bytes_in_memory, integer_bits, pointee_bytes, shape_of
from kvtrace.ir.updates import REDUCTIONS
from kvtrace.symbolic.conditions import TRUE, Condition, at_least, conjunction, equal, less
from kvtrace.symbolic.functions import maximum, quotient
from kvtrace.symbolic.meanings import meaning
from kvtrace.symbolic.meanings.tt_memory import loaded, moved
from kvtrace.symbolic.meanings.tt_shape import reshaped
from kvtrace.symbolic.summary import Access, BlockPointer, Formula, Pointer
from kvtrace.symbolic.terms import ZERO, Term, lane

if TYPE_CHECKING:
    from kvtrace.ir import Op, Value
    from kvtrace.ir.ops import AccessKind
    from kvtrace.symbolic.walk import Walk


def checked_axes(op: Op) -> tuple[int, ...]:
    """Return the axes that an access through a block pointer compares with extents, or ()."""
    attribute = op.attributes.get("boundaryCheck")
    if not isinstance(attribute, DenseArrayAttribute):
        return ()
    return tuple(int(axis) for axis in attribute.values)


def block_access(
    block: BlockPointer, shape: tuple[int, ...], size: int, checked: Sequence[int]
) -> tuple[Pointer, Condition]:
    """Return (pointers, mask) of a block's elements of `size` bytes.

    `shape` has 1 for an axis whose position varies by itself, as the rows of a gather.
    """
    offset, conditions = ZERO, []
    if any(option.argument is None for option in block.base.choices):  # extents say nothing
        checked = ()
    for axis, position in enumerate(block.positions):
        index = position + lane(axis, shape[axis])
        offset = offset + index * block.strides[axis] * size
        if axis in checked:
            conditions += [at_least(index), less(index, block.extents[axis])]
    return moved(block.base, offset, shape), conjunction(conditions)


@meaning("tt.make_tensor_ptr")
def make_tensor_ptr(walk: Walk, op: Op) -> None:
    """Set the result to a block pointer with base, extents, strides and positions."""
    extents, strides, positions = (_terms(walk, op, name) for name in ("size", "stride", "offset"))
    base = walk.pointer(op.operand("pointer"))
    walk.set(op.results[0], BlockPointer(base, extents, strides, positions))


@meaning("tt.advance")
def advance(walk: Walk, op: Op) -> None:
    """Set the result to the block pointer at moved positions."""
    block = walk.formula(op.operand("pointer"))
    if not isinstance(block, BlockPointer):
        walk.set_unknown(op.results[0], op, "a block pointer that is not followed")
        return
    positions = tuple(
        position + step
        for position, step in zip(block.positions, _terms(walk, op, "offset"), strict=True)
    )
    walk.set(op.results[0], BlockPointer(block.base, block.extents, block.strides, positions))


@meaning("tt.make_tensor_descriptor")
def make_tensor_descriptor(walk: Walk, op: Op) -> None:
    """Set the result to a descriptor with base, extents and strides."""
    base = walk.pointer(op.operand("pointer"))
    extents, strides = _terms(walk, op, "size"), _terms(walk, op, "stride")
    walk.set(op.results[0], BlockPointer(base, extents, strides, ()))


class _BlockAccess(Struct, frozen=True):
    """Pointers, mask and positioned descriptor (None if not followed) of a block's access."""

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
) -> _BlockAccess:
    """Return the access to a block; all axes are checked, stores in the target's chunks."""
    formula = walk.formula(descriptor)
    positions = (*positions, *(ZERO for _ in range(len(shape) - len(positions))))
    if not isinstance(formula, BlockPointer):
        return _BlockAccess(walk.pointer(descriptor), conjunction(()), None)
    block = BlockPointer(formula.base, formula.extents, formula.strides, positions)
    size = pointee_bytes(descriptor.type)
    chunk = elements_stored_at_once(walk.module, size) if stores else 1
    inner_extent = quotient(block.extents[-1] + (chunk - 1), chunk, floor=True) * chunk
    checked = replace(block, extents=(*block.extents[:-1], inner_extent))
    return _BlockAccess(*block_access(checked, shape, size, range(len(shape))), block)


def _terms(walk: Walk, op: Op, name: str) -> tuple[Term, ...]:
    """Return the terms of an op's operands with a name."""
    return tuple(walk.term(value) for value in op.group(name))


def _record_load(walk: Walk, op: Op, access: _BlockAccess, shape: tuple[int, ...]) -> None:
    value = contents_of(op)
    with walk.under(_predicate(walk, op)):
        accesses = _record_accesses(walk, op, "load", access, shape, value)
    if isinstance(value.type, SharedType):
        return
    formula: Formula | None = loaded(walk, op, value, accesses, access.mask, ZERO)
    if formula is not None:
        formula = reshaped(formula, shape, shape_of(value.type))
    walk.set(value, formula)


def _predicate(walk: Walk, op: Op) -> Condition:
    """Return the condition under which a copy begins; a block of an image is not followed."""
    if KINDS[op.name].has("offset") and op.group("offset"):
        return walk.opaque(op, "a copy of an image's block")
    predicate = op.optional("predicate") if KINDS[op.name].has("predicate") else None
    if predicate is None:
        return TRUE
    if integer_bits(predicate.type) == 1:
        return walk.condition(predicate)
    return ~equal(walk.term(predicate))


@meaning("amdg.update_tensor_descriptor")
def update_tensor_descriptor(walk: Walk, op: Op) -> None:
    """Set the result to a descriptor from a later position on; one with a predicate is unknown."""
    block, predicate = walk.formula(op.operand("descriptor")), op.optional("predicate")
    if not isinstance(block, BlockPointer) or (
        predicate is not None and not walk.term(predicate).constant
    ):
        walk.set_unknown(op.results[0], op, "a descriptor that is not followed")
        return
    steps, extents = _terms(walk, op, "step"), _terms(walk, op, "size") or block.extents
    if "clamp_bounds" in op.attributes:
        extents = tuple(maximum(a - b, 0) for a, b in zip(extents, steps, strict=True))
    distance = ZERO
    for step, stride in zip(steps, block.strides, strict=False):
        distance = distance + step * stride * pointee_bytes(op.operand("descriptor").type)
    base = moved(block.base, distance, ())
    walk.set(op.results[0], BlockPointer(base, extents, block.strides, ()))


@meaning(
    "tt.descriptor_load",
    "ttng.async_tma_copy_global_to_local",
    "amdg.async_tdm_copy_global_to_local",
)
def descriptor_load(walk: Walk, op: Op) -> None:
    """Record a load of a block, and set the loaded integers."""
    shape = shape_of(op.operand("descriptor").type)
    _record_load(walk, op, _block_access(walk, op, shape, stores=False), shape)


@meaning("tt.descriptor_gather", "ttng.async_tma_gather", "amdg.async_tdm_gather")
def descriptor_gather(walk: Walk, op: Op) -> None:
    """Record a load of rows given by index, from a column on."""
    shape = shape_of(contents_of(op).type)
    _record_load(walk, op, _rows_access(walk, op, shape, stores=False), shape)


def _block_access(walk: Walk, op: Op, shape: tuple[int, ...], *, stores: bool) -> _BlockAccess:
    positions = _terms(walk, op, "index")
    return _descriptor_access(walk, op.operand("descriptor"), positions, shape, stores=stores)


def _rows_access(walk: Walk, op: Op, shape: tuple[int, ...], *, stores: bool) -> _BlockAccess:
    positions = [walk.term(op.operand("row")), *_terms(walk, op, "column")]
    rows = (1, *shape[1:])
    return _descriptor_access(walk, op.operand("descriptor"), positions, rows, stores=stores)


def _record_accesses(
    walk: Walk,
    op: Op,
    kind: AccessKind,
    access: _BlockAccess,
    shape: tuple[int, ...],
    value: Value,
    **details: Any,
) -> list[Access]:
    size = bytes_in_memory(value.type)
    return walk.record_accesses(
        op, kind, access.pointer, access.mask, size, shape,
        value=value, descriptor=access.block, **details,
    )  # fmt: skip


@meaning(
    "tt.descriptor_store",
    "ttng.async_tma_copy_local_to_global",
    "amdg.async_tdm_copy_local_to_global",
)
def descriptor_store(walk: Walk, op: Op) -> None:
    """Record a store of a block."""
    shape = shape_of(op.operand("descriptor").type)
    access = _block_access(walk, op, shape, stores=True)
    _record_accesses(walk, op, "store", access, shape, op.operand("value"))


@meaning("tt.descriptor_scatter", "ttng.async_tma_scatter", "amdg.async_tdm_scatter")
def descriptor_scatter(walk: Walk, op: Op) -> None:
    """Record a store of rows given by index, from a column on."""
    value = op.operand("value")
    shape = shape_of(value.type)
    _record_accesses(walk, op, "store", _rows_access(walk, op, shape, stores=True), shape, value)


@meaning("tt.descriptor_reduce", "ttng.async_tma_reduce")
def descriptor_reduce(walk: Walk, op: Op) -> None:
    """Record an atomic update of a block."""
    shape = shape_of(op.operand("descriptor").type)
    access, kind = _block_access(walk, op, shape, stores=True), number_of(op, "kind")
    operator = REDUCTIONS[kind] if kind < len(REDUCTIONS) else ""
    _record_accesses(
        walk, op, "atomic", access, shape, op.operand("value"),
        operator=operator,
    )  # fmt: skip
