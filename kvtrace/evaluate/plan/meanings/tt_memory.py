"""Planning of pointers, loads and stores."""

from __future__ import annotations

from kvtrace.evaluate.compiler import slot_of
from kvtrace.evaluate.errors import Unplannable
from kvtrace.evaluate.plan import accesses
from kvtrace.evaluate.plan.accesses import mask_of
from kvtrace.evaluate.plan.affine import plus
from kvtrace.evaluate.plan.meanings import PlanStep, planned
from kvtrace.evaluate.plan.steps import PlanCompiler
from kvtrace.evaluate.plan.values import Integer, Pointer
from kvtrace.evaluate.plan.walk import Walk
from kvtrace.evaluate.types import value_type
from kvtrace.ir import Op
from kvtrace.ir.ops import KINDS


@planned("tt.addptr")
def addptr(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan pointers moved by an affine number of elements."""
    size = value_type(op.operand("pointer").type).element.bytes
    pointer, index = op.operand("pointer").id, op.operand("offset").id
    result = op.results[0].id

    def step(walk: Walk) -> None:
        base, steps = walk.values[pointer], walk.values[index]
        if not isinstance(base, Pointer):
            raise Unplannable("a pointer may point into more than one tensor")
        if not isinstance(steps, Integer):
            raise Unplannable("an address is not affine, or depends on data")
        walk.values[result] = Pointer(base.argument, plus(base.form, steps.form, size), base.shape)

    return step


@planned("tt.load")
def load(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan a load, with a mask and a fill value if the op has them."""
    type_ = value_type(op.results[0].type)
    pointer, mask = op.operand("pointer").id, slot_of(op, "mask")
    other = slot_of(op, "other") if KINDS[op.name].has("other") else None
    result = op.results[0].id

    def step(walk: Walk) -> None:
        values = walk.values
        allowed = mask_of(walk, None if mask is None else values[mask])
        fill = None if other is None else values[other]
        values[result] = accesses.load(walk, op, values[pointer], allowed, fill, type_)

    return step


@planned("tt.store")
def store(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan a store, with a mask if the op has one."""
    type_ = value_type(op.operand("value").type)
    pointer, data, mask = op.operand("pointer").id, op.operand("value").id, slot_of(op, "mask")

    def step(walk: Walk) -> None:
        values = walk.values
        allowed = mask_of(walk, None if mask is None else values[mask])
        accesses.store(walk, op, values[pointer], allowed, values[data], type_)

    return step
