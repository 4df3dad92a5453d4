"""`ttng`: Hopper's matrix products of shared memory, its barriers, and copies by descriptor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kvtrace.evaluate.compiler import Compiler, attribute, slot_of, slots_of
from kvtrace.evaluate.dialects.tt_descriptor import (
    block_access,
    descriptor_of,
    descriptor_reduce,
    padding,
    reshaped,
    rows_of,
    storing,
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

_FILLS_NAN = 1
"""A tensor map's fill mode: 0 zero, 1 NaN."""


@semantics("ttng.warp_group_dot")
def warp_group_dot(op: Op, compiler: Compiler) -> Step:
    """Multiply and add, as a dot; its result is made at once, though others need not wait."""
    return dot(op, compiler)


@semantics("ttng.warp_group_dot_wait")
def warp_group_dot_wait(op: Op, _compiler: Compiler) -> Step:
    """Pass values on when no more than `pendings` products are left to end."""
    left = allowed_in_flight(op)
    pairs = list(zip(slots_of(op.results), slots_of(op.group("passed")), strict=True))

    def step(values: list[Any], scope: Scope) -> None:
        scope.launch.shared.end_reads(scope, left)
        for result, slot in pairs:
            values[result] = values[slot]

    return step


# -- barriers -------------------------------------------------------------------------------------


@semantics("ttng.init_barrier")
def init_barrier(op: Op, _compiler: Compiler) -> Step:
    """Begin a barrier's first phase."""
    slot = op.operand("barrier").id

    def step(values: list[Any], scope: Scope) -> None:
        scope.launch.shared.begin_phases(scope, values[slot])

    return step


@semantics("ttng.wait_barrier")
def wait_barrier(op: Op, _compiler: Compiler) -> Step:
    """Wait until a barrier's phase of a parity is over, and what it is about has arrived."""
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
    """Put a descriptor into scratch memory: it replaces the address from then on.

    Extents and strides come innermost axis first, strides in bytes and without the innermost.
    """
    scratch, base = op.operand("scratch").id, op.operand("pointer").id
    size = value_type(op.operand("pointer").type).element.bytes
    extents, strides = op.group("size")[::-1], op.group("stride")[::-1]
    fills_nan = attribute(op, "fill_mode", 0) == _FILLS_NAN

    def step(values: list[Any], _scope: Scope) -> None:
        values[scratch] = Descriptor(
            values[base],
            tuple(values[value.id] for value in extents),
            (*(_elements(values, value, size) for value in strides), constant_sum(1)),
            fills_nan,
        )

    return step


def _elements(values: list[Any], stride: Value, size: int) -> Any:
    """Return a stride in elements of one in bytes."""
    held = values[stride.id]
    if isinstance(held, Unknown):
        return held
    return to_sum(to_array(held, value_type(stride.type)) // size)


@semantics("ttng.reinterpret_tensor_descriptor")
def reinterpret_tensor_descriptor(op: Op, compiler: Compiler) -> Step:
    """Give the descriptor that was put into scratch memory."""
    slot, result = op.operand("scratch").id, op.results[0].id

    def step(values: list[Any], scope: Scope) -> None:
        held = values[slot]
        if not isinstance(held, Descriptor):
            if scope.launch.memory.complete:
                raise unsupported(op, compiler.kernel, "of a descriptor that was put elsewhere")
            held = Descriptor(Pointer(None, Unknown(frozenset())), (), (), False)
        values[result] = held

    return step


@semantics("ttng.async_tma_copy_global_to_local")
def async_tma_copy_global_to_local(op: Op, compiler: Compiler) -> Step:
    """Begin to copy a block."""
    if op.group("offset"):
        raise unsupported(op, compiler.kernel, "of an image's patches")
    block = value_type(op.operand("descriptor").type)
    return _arriving(op, block, slots_of(op.group("index")))


@semantics("ttng.async_tma_gather")
def async_tma_gather(op: Op, _compiler: Compiler) -> Step:
    """Begin to copy rows by index, from a column on."""
    return _arriving(op, *rows_of(op, op.operand("shared")))


def _arriving(op: Op, block: ValueType, positions: Sequence[int]) -> Step:
    """Make a step that begins to copy; a barrier says when it has arrived."""
    type_ = value_type(op.operand("shared").type)
    names = ("descriptor", "shared", "barrier")
    slots = (*slots_of(op.operand(name) for name in names), *positions)
    predicate = op.operand("predicate").id

    def step(values: list[Any], scope: Scope) -> None:
        given = [values[slot] for slot in slots]
        flags = values[predicate]
        if isinstance(flags, Unknown):
            scope.launch.shared.copy(op, scope, given[1], flags, type_)
            return
        active = program_flags(flags, scope.programs)
        if not active.all():
            rows = np.flatnonzero(active)
            if not rows.size:
                return
            given = [select_programs(value, rows) for value in given]
            scope = scope.restricted(rows)
        held, view, barrier, *places = given
        descriptor = descriptor_of(held)
        pointer, mask = block_access(descriptor, places, block)
        other = padding(descriptor, block.element, len(block.shape))
        loaded = scope.launch.memory.load(op, scope, pointer, mask, other, block)
        loaded = reshaped(loaded, block, type_)
        scope.launch.shared.copy(op, scope, view, loaded, type_, barrier)

    return step


@semantics("ttng.async_tma_copy_local_to_global")
def async_tma_copy_local_to_global(op: Op, compiler: Compiler) -> Step:
    """Copy a block to memory, at once; what lies outside the descriptor's extents is dropped."""
    block = value_type(op.operand("descriptor").type)
    return storing(op, block, slots_of(op.group("index")), compiler.module)


@semantics("ttng.async_tma_scatter")
def async_tma_scatter(op: Op, compiler: Compiler) -> Step:
    """Copy rows to memory by index, from a column on, at once."""
    return storing(op, *rows_of(op, op.operand("value")), compiler.module)


@semantics("ttng.async_tma_reduce")
def async_tma_reduce(op: Op, compiler: Compiler) -> Step:
    """Combine a block into memory atomically, at once."""
    return descriptor_reduce(op, compiler)
