"""`ttng`: Hopper's matrix products of shared memory, its barriers, and copies by descriptor."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvtrace.evaluate.compiler import Compiler, passed_on, slot_of, slots_of
from kvtrace.evaluate.dialects.tt_descriptor import (
    copy_step,
    descriptor_reduce,
    rows_of,
    store_step,
)
from kvtrace.evaluate.dialects.tt_dot import dot
from kvtrace.evaluate.registry import Step, semantics, unsupported
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import (
    Descriptor,
    Pointer,
    Unknown,
    constant_sum,
    program_flags,
    to_array,
    to_sum,
)
from kvtrace.ir import Op, Value
from kvtrace.ir.asynchronous import allowed_in_flight
from kvtrace.ir.model import attribute

_FILLS_NAN = 1
"""A tensor map's fill mode: 0 zero, 1 NaN."""


@semantics("ttng.warp_group_dot_wait")
def warp_group_dot_wait(op: Op, _compiler: Compiler) -> Step:
    """Return the step that passes values on, with at most `pendings` products unfinished."""
    most_pending, pass_on = allowed_in_flight(op), passed_on(op)

    def step(values: list[Any], scope: Scope) -> None:
        scope.launch.shared.wait(scope, most_pending, "products")
        pass_on(values, scope)

    return step


# A dot is computed at once, also if it is asynchronous; so is an update by a descriptor.
semantics("ttng.warp_group_dot")(dot)
semantics("ttng.async_tma_reduce")(descriptor_reduce)


# -- barriers -------------------------------------------------------------------------------------


@semantics("ttng.init_barrier")
def init_barrier(op: Op, _compiler: Compiler) -> Step:
    """Return the step that sets a barrier to its first phase."""
    slot, count = op.operand("barrier").id, int(attribute(op, "count", 1))

    def step(values: list[Any], scope: Scope) -> None:
        scope.launch.shared.begin_phases(scope, values[slot], count)

    return step


def flags_of(values: list[Any], slot: int | None, scope: Scope) -> Any:
    """Return a predicate's value for each program; without one, True."""
    if slot is None:
        return True
    value = values[slot]
    return value if isinstance(value, Unknown) else program_flags(value, scope.programs)


@semantics("ttng.wait_barrier")
def wait_barrier(op: Op, _compiler: Compiler) -> Step:
    """Return the step that waits for a barrier's phase with a parity to end."""
    barrier, parity = op.operand("barrier").id, op.operand("phase").id
    type_, predicate = value_type(op.operand("phase").type), slot_of(op, "predicate")

    def step(values: list[Any], scope: Scope) -> None:
        active, phase = flags_of(values, predicate, scope), values[parity]
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
    return copy_step(op, compiler.kernel, block, slots_of(op.group("index")))


@semantics("ttng.async_tma_gather")
def async_tma_gather(op: Op, compiler: Compiler) -> Step:
    """Return the step that begins the copy of rows, by their indices, to shared memory."""
    return copy_step(op, compiler.kernel, *rows_of(op, op.operand("shared")))


@semantics("ttng.async_tma_copy_local_to_global")
def async_tma_copy_local_to_global(op: Op, compiler: Compiler) -> Step:
    """Return the step that stores a block at once; lanes outside the extents are dropped."""
    block = value_type(op.operand("descriptor").type)
    return store_step(op, block, slots_of(op.group("index")), compiler.module)


@semantics("ttng.async_tma_scatter")
def async_tma_scatter(op: Op, compiler: Compiler) -> Step:
    """Return the step that stores rows by their indices, beginning at a column, at once."""
    return store_step(op, *rows_of(op, op.operand("value")), compiler.module)
