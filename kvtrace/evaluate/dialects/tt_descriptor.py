"""`tt`: tensor descriptors, as base pointer, extents and strides with a box of lanes.

Lanes outside the descriptor's extents are not defects: loads pad them, stores drop them, except
lanes that a target writes in one chunk with lanes inside (`kvtrace.ir.tensor_maps`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any

import numpy as np

from kvtrace.evaluate import sums
from kvtrace.evaluate.atomics import read_modify_write
from kvtrace.evaluate.compiler import Compiler, slot_of, slots_of
from kvtrace.evaluate.registry import Step, semantics, unsupported
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import ElementType, ValueType, value_type
from kvtrace.evaluate.values import (
    Array,
    Descriptor,
    Pointer,
    Sum,
    Unknown,
    constant_sum,
    map_arrays,
    select_programs,
    to_array,
    to_sum,
    unknown_of,
    with_rank,
)
from kvtrace.ir import Module, Op, Value
from kvtrace.ir.model import attribute
from kvtrace.ir.tensor_maps import elements_stored_at_once
from kvtrace.ir.updates import update_of

INDEX = ValueType("i64", (), sums.ADDRESS.element)
_PAD_NAN = 2
"""Triton's PaddingOption: 1 zero, 2 NaN."""


@semantics("tt.make_tensor_descriptor")
def make_tensor_descriptor(op: Op, _compiler: Compiler) -> Step:
    """Return the step that creates a descriptor of base pointer, extents and strides."""
    base, sizes = op.operand("pointer").id, slots_of(op.group("size"))
    strides = slots_of(op.group("stride"))
    padding_nan = attribute(op, "padding", 1) in (_PAD_NAN, "nan")
    result = op.results[0].id

    def step(values: list[Any], _scope: Scope) -> None:
        values[result] = Descriptor(
            values[base],
            tuple(values[slot] for slot in sizes),
            tuple(values[slot] for slot in strides),
            padding_nan,
        )

    return step


def block_access(
    descriptor: Descriptor, positions: Sequence[Any], block: ValueType, chunk: int = 1
) -> tuple[Any, Any]:
    """Return pointers and mask of a block that starts at a position (one scalar per axis).

    A position may also be a vector with the axis's extent (in gathers); those that are left out are
    0. The inner extent is rounded up to a multiple of `chunk`.
    """
    rank = len(block.shape)
    positions = (*positions, *(constant_sum(0) for _ in range(rank - len(positions))))
    size = block.element.bytes
    wide = ValueType("i64", block.shape, sums.ADDRESS.element)
    unknown = unknown_of(
        (descriptor.base.offset, *positions, *descriptor.shape, *descriptor.strides)
    )
    if unknown is not None:
        return Pointer(descriptor.base.argument, unknown), True
    offset: Any = with_rank(descriptor.base.offset, rank + 1)
    mask: Any = True
    for axis, position in enumerate(positions):
        lanes = _axis_positions(position, axis, block.shape)
        extent = with_rank(to_sum(descriptor.shape[axis]), rank + 1)
        if axis == rank - 1:
            extent = _rounded_up_to_chunks(extent, chunk, wide)
        stride = with_rank(to_sum(descriptor.strides[axis]), rank + 1)
        mask = sums.both(mask, sums.compare("slt", lanes, extent, wide))
        mask = sums.both(mask, sums.compare("sge", lanes, constant_sum(0), wide))
        steps = to_sum(sums.multiply(lanes, stride, wide))
        offset = to_sum(sums.add(offset, sums.scaled(steps, size), wide))
    return Pointer(descriptor.base.argument, offset, gcd(descriptor.base.unit, size)), mask


def _rounded_up_to_chunks(extent: Sum, chunk: int, type_: ValueType) -> Sum:
    return extent if chunk == 1 else to_sum(-(-to_array(extent, type_) // chunk) * chunk)


def _axis_positions(position: Any, axis: int, shape: tuple[int, ...]) -> Sum:
    """Return a block's coordinates along an axis, from the first one or a vector of all."""
    rank = len(shape)
    value = to_sum(position)
    if any(term.ndim == 2 for term in value.terms):
        lanes = [1] * rank
        lanes[axis] = -1
        spread: Sum = map_arrays(value, lambda array: array.reshape(array.shape[0], *lanes))
        return spread
    start: Sum = with_rank(value, rank + 1)
    if shape[axis] == 1:
        return start
    lanes = [1] * (rank + 1)
    lanes[axis + 1] = shape[axis]
    line = np.arange(shape[axis], dtype=np.int64).reshape(lanes)
    ramp = Sum(0, (line,), 0, shape[axis] - 1)
    return Sum(
        start.constant,
        sums.joined_terms(start.terms, ramp.terms),
        start.low,
        start.high + shape[axis] - 1,
    )


def descriptor_of(value: Any) -> Descriptor:
    """Return a value as a descriptor; one with an unknown base if it is not a descriptor."""
    if isinstance(value, Descriptor):
        return value
    return Descriptor(Pointer(None, Unknown(frozenset())), (), (), False)


def _padding(descriptor: Descriptor, element: ElementType, rank: int) -> Array | None:
    """Return the fill of lanes outside a descriptor's extents: NaN, or None for zero."""
    if not descriptor.padding_nan or element.kind != "f":
        return None
    return np.full((1,) * (rank + 1), np.nan, element.value)


def load_block(
    op: Op, scope: Scope, described: Any, positions: Sequence[Any], block: ValueType,
    target: ValueType,
) -> Any:  # fmt: skip
    """Load a block at a position, in the shape of `target`; elements outside extents are padded."""
    descriptor = descriptor_of(described)
    pointer, mask = block_access(descriptor, positions, block)
    fill = _padding(descriptor, block.element, len(block.shape))
    loaded = scope.launch.memory.load(op, scope, pointer, mask, fill, block)
    return _reshaped(loaded, block, target)


def _load_step(op: Op, block: ValueType, positions: Sequence[int]) -> Step:
    """Return a step that loads a block at the positions in these slots."""
    target = value_type(op.results[0].type)
    source, result = op.operand("descriptor").id, op.results[0].id

    def step(values: list[Any], scope: Scope) -> None:
        indices = [values[slot] for slot in positions]
        values[result] = load_block(op, scope, values[source], indices, block, target)

    return step


def copy_step(
    op: Op, kernel: str, block: ValueType, positions: Sequence[int], kind: str = "copies"
) -> Step:
    """Return a step that begins a copy of a block to shared memory.

    It lands at the end of its group of a `kind`, or (copies) of its barrier's phase. Without a
    predicate, that of the descriptor holds.
    """
    type_, predicate = value_type(op.operand("shared").type), slot_of(op, "predicate")
    slots = (op.operand("descriptor").id, op.operand("shared").id, *positions)
    barriers = slots_of(op.group("barrier"))
    slots += barriers if kind == "copies" else ()

    def step(values: list[Any], scope: Scope) -> None:
        operands = [values[slot] for slot in slots]
        flags = descriptor_of(operands[0]).predicate if predicate is None else values[predicate]
        if isinstance(flags, Unknown):
            scope.launch.shared.copy(op, scope, operands[1], flags, type_, None, kind)
            return
        active = np.asarray(True) if flags is None else to_array(flags, INDEX).reshape(-1) != 0
        if not active.all():
            if kind != "copies" and barriers:
                raise unsupported(op, kernel, "with a barrier and a false predicate")
            rows = np.flatnonzero(np.broadcast_to(active, (scope.programs,)))
            operands = [select_programs(value, rows) for value in operands]
            scope = scope.restricted(rows)
        if not scope.programs:
            return
        described, view, *indices = operands
        barrier = indices.pop() if kind == "copies" else None
        loaded = load_block(op, scope, described, indices, block, type_)
        scope.launch.shared.copy(op, scope, view, loaded, type_, barrier, kind)

    return step


def _write_step(
    op: Op, block: ValueType, positions: Sequence[int], module: Module, write: Any,
    kind: str = "stores",
) -> Step:  # fmt: skip
    """Return a step that calls `write(scope, pointer, value, mask)` for the block at positions."""
    chunk = elements_stored_at_once(module, block.element.bytes)
    data = value_type(op.operand("value").type)
    target, source = op.operand("descriptor").id, op.operand("value").id

    def step(values: list[Any], scope: Scope) -> None:
        descriptor = descriptor_of(values[target])
        indices = [values[slot] for slot in positions]
        pointer, mask = block_access(descriptor, indices, block, chunk)
        value = values[source]
        if data.shared:
            value = scope.launch.shared.read_to_store(op, scope, value, kind)
        elif not isinstance(value, Unknown):
            value = to_array(value, data)
        write(scope, pointer, _reshaped(value, data, block), mask)

    return step


def _reshaped(value: Any, block: ValueType, target: ValueType) -> Any:
    """Return a block's value in the shape of `target`."""
    if block.shape == target.shape:
        return value

    def change(array: Array) -> Array:
        full = np.broadcast_to(array, (array.shape[0], *block.shape))
        return full.reshape(full.shape[0], *target.shape)

    return map_arrays(value, change)


def store_step(
    op: Op, block: ValueType, positions: Sequence[int], module: Module, kind: str = "stores"
) -> Step:
    """Return a step that stores a block at the positions in these slots.

    `kind` is that of operations in flight that read the block in shared memory.
    """

    def store(scope: Scope, pointer: Pointer, value: Any, mask: Any) -> None:
        scope.launch.memory.store(op, scope, pointer, value, mask, block)

    return _write_step(op, block, positions, module, store, kind)


@semantics("tt.descriptor_load")
def descriptor_load(op: Op, _compiler: Compiler) -> Step:
    """Return the step that loads a block; elements outside the extents are padded."""
    return _load_step(op, value_type(op.operand("descriptor").type), slots_of(op.group("index")))


@semantics("tt.descriptor_store")
def descriptor_store(op: Op, compiler: Compiler) -> Step:
    """Return the step that stores a block; lanes outside the extents are dropped."""
    block = value_type(op.operand("descriptor").type)
    return store_step(op, block, slots_of(op.group("index")), compiler.module)


@semantics("tt.descriptor_reduce")
def descriptor_reduce(op: Op, compiler: Compiler) -> Step:
    """Return the step that updates memory atomically with a block (add, min, and …)."""
    block = value_type(op.operand("descriptor").type)
    name = update_of(op)
    if name in ("min", "max") and "xui" in str(op.operand("descriptor").type):
        name = f"u{name}"
    if name in ("", "inc", "dec"):
        raise unsupported(op, compiler.kernel, f"of kind {name!r}")

    def update(flat: Array, index: Array, lanes: list[Array]) -> Array | None:
        return read_modify_write(flat, index, lanes[0], name, wants_old=False)

    def combine(scope: Scope, pointer: Pointer, value: Any, mask: Any) -> None:
        scope.launch.memory.atomic(op, scope, pointer, [value], mask, block, update)

    return _write_step(op, block, slots_of(op.group("index")), compiler.module, combine)


def rows_of(op: Op, tensor: Value) -> tuple[ValueType, tuple[int, ...]]:
    """Return the type of the rows of a gather or scatter, and the slots of row index and column."""
    element, rows = value_type(op.operand("descriptor").type).element, value_type(tensor.type)
    block = ValueType(rows.text, rows.shape, element)
    return block, (op.operand("row").id, *slots_of(op.group("column")))


@semantics("tt.descriptor_gather")
def descriptor_gather(op: Op, _compiler: Compiler) -> Step:
    """Return the step that loads rows by their indices, beginning at a column."""
    return _load_step(op, *rows_of(op, op.results[0]))


@semantics("tt.descriptor_scatter")
def descriptor_scatter(op: Op, compiler: Compiler) -> Step:
    """Return the step that stores rows by their indices, beginning at a column."""
    return store_step(op, *rows_of(op, op.operand("value")), compiler.module)
