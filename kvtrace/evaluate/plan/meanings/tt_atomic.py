"""Planning of atomic updates."""

from __future__ import annotations

from kvtrace.evaluate.atomics import read_modify_write
from kvtrace.evaluate.compiler import slot_of
from kvtrace.evaluate.dialects.tt_atomic import is_used
from kvtrace.evaluate.errors import Unplannable
from kvtrace.evaluate.flushing import flushes_atomics
from kvtrace.evaluate.plan.accesses import atomic, mask_of
from kvtrace.evaluate.plan.meanings import PlanStep, planned
from kvtrace.evaluate.plan.meanings.tt_memory import load, store
from kvtrace.evaluate.plan.steps import PlanCompiler, refusal
from kvtrace.evaluate.plan.values import Tensor
from kvtrace.evaluate.plan.walk import Walk
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Array
from kvtrace.ir import Op
from kvtrace.ir.updates import update_of


@planned("tt.atomic_load")
def atomic_load(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan an atomic load like a plain one."""
    return load(op, compiler)


@planned("tt.atomic_store")
def atomic_store(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan an atomic store like a plain one."""
    return store(op, compiler)


@planned("tt.atomic_poll")
def atomic_poll(_op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Refuse a wait for memory: programs must run one by one."""
    return refusal("the kernel waits for memory that other programs write")


@planned("tt.atomic_rmw")
def atomic_rmw(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan an atomic update whose old contents are not used."""
    type_ = value_type(op.operand("value").type)
    name = update_of(op)
    flushes = flushes_atomics(compiler.module.target)
    used = is_used(op, compiler.arrays)
    pointer, data, mask = op.operand("pointer").id, op.operand("value").id, slot_of(op, "mask")

    def update(memory: Array, index: Array, values: Array) -> None:
        read_modify_write(memory, index, values, name, wants_old=False, flushes=flushes)

    def step(walk: Walk) -> None:
        values = walk.values
        if used and walk.runs:
            raise Unplannable("the old contents of an atomic update are used")
        allowed = mask_of(walk, None if mask is None else values[mask])
        atomic(walk, op, values[pointer], allowed, values[data], type_, update)
        # The old contents are not known, and not used when this plan runs.
        old = walk.register((True,) * len(walk.axes), type_.shape, type_.element.value)
        values[op.results[0].id] = Tensor(old, type_.shape)

    return step
