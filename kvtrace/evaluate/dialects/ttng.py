"""`ttng`: Hopper's matrix products of shared memory, its barriers, and copies by descriptor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kvtrace.evaluate.compiler import Compiler, slot_of, slots_of
from kvtrace.evaluate.dialects.tt_descriptor import (
    block_access,
    descriptor_of,
    descriptor_reduce,
    padding,
    reshaped,
    rows_of,
    store_step,
)
from kvtrace.evaluate.dialects.tt_dot import dot
from kvtrace.evaluate.registry import Step, semantics, unsupported
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.evaluate.values import (
    Descriptor,
    Pointer,
    Unknown,
    constant_sum,
    program_flags,
    select_programs,
    to_array,
    to_sum,
)
from kvtrace.ir import Op, Value
from kvtrace.ir.asynchronous import allowed_in_flight
from kvtrace.ir.model import attribute

_FILLS_NAN = 1
"""A tensor map's fill mode: 0 zero, 1 NaN."""


@semantics("ttng.warp_group_dot")
def warp_group_dot(op: Op, compiler: Compiler) -> Step:
    """Return the step of a dot; it is computed at once, also if it is asynchronous."""
    return dot(op, compiler)


@semantics("ttng.warp_group_dot_wait")
def warp_group_dot_wait(op: Op, _compiler: Compiler) -> Step:
    """Return the step that passes values on, with at most `pendings` products unfinished."""
    most_pending = allowed_in_flight(op)
    pairs = list(zip(slots_of(op.results), slots_of(op.group("passed")), strict=True))

    def step(values: list[Any], scope: Scope) -> None:
        scope.launch.shared.end_reads(scope, most_pending)
        for result, slot in pairs:
            values[result] = values[slot]

    return step


# -- barriers -------------------------------------------------------------------------------------


@semantics("ttng.init_barrier")
def init_barrier(op: Op, _compiler: Compiler) -> Step:
    """Return the step that sets a barrier to its first phase."""
    slot, count = op.operand("barrier").id, int(attribute(op, "count", 1))

    def step(values: list[Any], scope: Scope) -> None:
        scope.launch.shared.begin_phases(scope, values[slot], count)

    return step


@semantics("ttng.wait_barrier")
def wait_barrier(op: Op, _compiler: Compiler) -> Step:
    """Return the step that waits for a barrier's phase with a parity to end."""
    barrier, parity = op.operand("barrier").id, op.operand("phase").id
    type_, predicate = value_type(op.operand("phase").type), slot_of(op, "predicate")

    def step(values: list[Any], scope: Scope) -> None:
        active: Any = True if predicate is None else values[predicate]
        phase = values[parity]
        if not isinstance(active, Unknown):
            active = program_flags(active, scope.programs)
        if not isinstance(phase, Unknown):
            phase = np.broadcast_to(to_array(phase, type_).reshape(-1), (scope.programs,))
        scope.launch.shared.wait_for_phase(op, scope, values[barrier], phase, active)

    return step


# -- descriptors ----------------------------------------------------------------------------------


@semantics("ttng.tensormap_create")
def tensormap_create(op: Op, _compiler: Compiler) -> Step:
    """Return the step that stores a descriptor in place of the scratch memory's address.

    Extents and strides are given innermost axis first, strides in bytes and without the innermost.
    """
    scratch, base = op.operand("scratch").id, op.operand("pointer").id
    size = value_type(op.operand("pointer").type).element.bytes
    extents, strides = op.group("size")[::-1], op.group("stride")[::-1]
    fills_nan = attribute(op, "fill_mode", 0) == _FILLS_NAN

    def step(values: list[Any], _scope: Scope) -> None:
        values[scratch] = Descriptor(
            values[base],
            tuple(values[value.id] for value in extents),
            (*(_stride_in_elements(values, value, size) for value in strides), constant_sum(1)),
            fills_nan,
        )

    return step


def _stride_in_elements(values: list[Any], stride: Value, size: int) -> Any:
    in_bytes = values[stride.id]
    if isinstance(in_bytes, Unknown):
        return in_bytes
    return to_sum(to_array(in_bytes, value_type(stride.type)) // size)


@semantics("ttng.reinterpret_tensor_descriptor")
def reinterpret_tensor_descriptor(op: Op, compiler: Compiler) -> Step:
    """Return the step that reads the descriptor that was stored in scratch memory."""
    slot, result = op.operand("scratch").id, op.results[0].id

    def step(values: list[Any], scope: Scope) -> None:
        descriptor = values[slot]
        if not isinstance(descriptor, Descriptor):
            if scope.launch.memory.complete:
                raise unsupported(
                    op,
                    compiler.kernel,
                    "of scratch memory in which this launch stored no descriptor",
                )
            descriptor = Descriptor(Pointer(None, Unknown(frozenset())), (), (), False)
        values[result] = descriptor

    return step


@semantics("ttng.async_tma_copy_global_to_local")
def async_tma_copy_global_to_local(op: Op, compiler: Compiler) -> Step:
    """Return the step that begins the copy of a block to shared memory."""
    if op.group("offset"):
        raise unsupported(op, compiler.kernel, "of an image's patches")
    block = value_type(op.operand("descriptor").type)
    return _copy_step(op, block, slots_of(op.group("index")))


@semantics("ttng.async_tma_gather")
def async_tma_gather(op: Op, _compiler: Compiler) -> Step:
    """Return the step that begins the copy of rows, by their indices, to shared memory."""
    return _copy_step(op, *rows_of(op, op.operand("shared")))


def _copy_step(op: Op, block: ValueType, positions: Sequence[int]) -> Step:
    """Return a step that begins a copy of a block to shared memory, until a barrier completes."""
    type_ = value_type(op.operand("shared").type)
    names = ("descriptor", "shared", "barrier")
    slots = (*slots_of(op.operand(name) for name in names), *positions)
    predicate = op.operand("predicate").id

    def step(values: list[Any], scope: Scope) -> None:
        operands = [values[slot] for slot in slots]
        flags = values[predicate]
        if isinstance(flags, Unknown):
            scope.launch.shared.copy(op, scope, operands[1], flags, type_)
            return
        active = program_flags(flags, scope.programs)
        if not active.all():
            rows = np.flatnonzero(active)
            if not rows.size:
                return
            operands = [select_programs(value, rows) for value in operands]
            scope = scope.restricted(rows)
        described, view, barrier, *indices = operands
        descriptor = descriptor_of(described)
        pointer, mask = block_access(descriptor, indices, block)
        fill = padding(descriptor, block.element, len(block.shape))
        loaded = scope.launch.memory.load(op, scope, pointer, mask, fill, block)
        loaded = reshaped(loaded, block, type_)
        scope.launch.shared.copy(op, scope, view, loaded, type_, barrier)

    return step


@semantics("ttng.async_tma_copy_local_to_global")
def async_tma_copy_local_to_global(op: Op, compiler: Compiler) -> Step:
    """Return the step that stores a block at once; lanes outside the extents are dropped."""
    block = value_type(op.operand("descriptor").type)
    return store_step(op, block, slots_of(op.group("index")), compiler.module)


@semantics("ttng.async_tma_scatter")
def async_tma_scatter(op: Op, compiler: Compiler) -> Step:
    """Return the step that stores rows by their indices, beginning at a column, at once."""
    return store_step(op, *rows_of(op, op.operand("value")), compiler.module)


@semantics("ttng.async_tma_reduce")
def async_tma_reduce(op: Op, compiler: Compiler) -> Step:
    """Return the step that updates memory atomically with a block, at once."""
    return descriptor_reduce(op, compiler)
