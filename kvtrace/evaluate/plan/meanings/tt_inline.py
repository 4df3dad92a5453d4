"""Planning of inline assembly and scalar code for each element."""

from __future__ import annotations

from kvtrace.evaluate.dialects.tt_inline import reads_hardware_state
from kvtrace.evaluate.plan.bridge import array_call_step
from kvtrace.evaluate.plan.meanings import PlanStep, planned
from kvtrace.evaluate.plan.steps import PlanCompiler, refusal
from kvtrace.ir import Op
from kvtrace.ir.model import attribute


@planned("tt.elementwise_inline_asm")
def assembly(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan assembly without side effects; refuse assembly that reads a clock or a processor id."""
    if not op.operands or not attribute(op, "pure", False) or reads_hardware_state(op):
        return refusal("inline assembly has side effects, or reads a clock or a processor id")
    return array_call_step(op, compiler)


@planned("tt.map_elementwise")
def map_elementwise(_op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Refuse scalar code, which array evaluation runs as separate programs."""
    return refusal("map_elementwise runs scalar code for each element")
