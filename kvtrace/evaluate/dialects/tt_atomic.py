"""`tt`: atomics but loads and stores (tt_memory). Lanes and programs run in ascending order."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvtrace.evaluate.atomics import compare_and_swap, read_modify_write
from kvtrace.evaluate.compiler import Compiler, slot_of
from kvtrace.evaluate.errors import Deadlock
from kvtrace.evaluate.flushing import flushes_atomics
from kvtrace.evaluate.registry import Step, place, semantics
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.turns import let_others_run
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Array, Unknown, to_array, unknown_of
from kvtrace.ir import Op
from kvtrace.ir.flow import flow_of
from kvtrace.ir.updates import update_of


def is_used(op: Op, compiler: Compiler) -> bool:
    """Return whether another op uses the first result of an op."""
    return bool(flow_of(compiler.module).uses(op.results[0]))


@semantics("tt.atomic_poll")
def atomic_poll(op: Op, _compiler: Compiler) -> Step:
    """Return the step that waits for an expected value; false if it times out."""
    type_ = value_type(op.operand("expected").type)
    pointer, expected, result = (
        op.operand("pointer").id,
        op.operand("expected").id,
        op.results[0].id,
    )
    gives_up = op.optional("timeout") is not None

    def step(values: list[Any], scope: Scope) -> None:
        expected_value = values[expected]
        while True:
            contents = scope.launch.memory.load(op, scope, values[pointer], None, None, type_)
            unknown = unknown_of((contents, expected_value))
            if unknown is not None:
                values[result] = unknown
                return
            equal = np.equal(contents, to_array(expected_value, type_))
            if equal.all() or not _memory_changes(op, scope, gives_up=gives_up):
                values[result] = equal
                return

    return step


def _memory_changes(op: Op, scope: Scope, *, gives_up: bool) -> bool:
    """Return True once other programs changed memory; if none can: False, or Deadlock."""
    complaint = (
        f"{op.name} at {place(op)} in kernel {scope.launch.kernel!r} waits forever: memory is not "
        f"as program {int(scope.linear[0])} expects it, and no other program will change it"
    )
    if scope.launch.turns is not None:
        return scope.launch.turns.wait_for_change(complaint, gives_up=gives_up)
    if gives_up:
        return False
    raise Deadlock(complaint)


@semantics("tt.atomic_rmw")
def atomic_rmw(op: Op, compiler: Compiler) -> Step:
    """Return the step of a read-modify-write, whose result is the old contents."""
    type_ = value_type(op.operand("value").type)
    name = update_of(op)
    flushes = flushes_atomics(compiler.module.target)
    wants_old = is_used(op, compiler)
    pointer, data, mask = op.operand("pointer").id, op.operand("value").id, slot_of(op, "mask")
    result = op.results[0].id

    def update(flat: Array, index: Array, lanes: list[Array]) -> Array | None:
        return read_modify_write(flat, index, lanes[0], name, wants_old=wants_old, flushes=flushes)

    def step(values: list[Any], scope: Scope) -> None:
        let_others_run(op, scope, values[pointer], type_.element.bytes)
        mask_value = None if mask is None else values[mask]
        operand = values[data]
        operands = [operand if isinstance(operand, Unknown) else to_array(operand, type_)]
        values[result] = scope.launch.memory.atomic(
            op, scope, values[pointer], operands, mask_value, type_, update
        )

    return step


@semantics("tt.atomic_cas")
def atomic_cas(op: Op, _compiler: Compiler) -> Step:
    """Return the step of a compare-and-swap, whose result is the old contents."""
    type_ = value_type(op.operand("expected").type)
    pointer, result = op.operand("pointer").id, op.results[0].id
    expected, new = op.operand("expected").id, op.operand("value").id

    def update(flat: Array, index: Array, lanes: list[Array]) -> Array:
        return compare_and_swap(flat, index, lanes[0], lanes[1])

    def step(values: list[Any], scope: Scope) -> None:
        let_others_run(op, scope, values[pointer], type_.element.bytes)
        swap_values = [values[expected], values[new]]
        unknown = unknown_of(swap_values)
        operands = [unknown or to_array(value, type_) for value in swap_values]
        values[result] = scope.launch.memory.atomic(
            op, scope, values[pointer], operands, None, type_, update
        )

    return step
