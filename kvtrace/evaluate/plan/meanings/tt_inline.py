"""Planning of inline assembly and scalar code for each element."""

from __future__ import annotations

from kvtrace.evaluate.compiler import attribute
from kvtrace.evaluate.dialects.tt_inline import asks_where_it_runs
from kvtrace.evaluate.plan.bridge import bridged
from kvtrace.evaluate.plan.meanings import PlanStep, planned
from kvtrace.evaluate.plan.steps import PlanCompiler, refusal
from kvtrace.ir import Op


@planned("tt.elementwise_inline_asm")
def assembly(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan assembly that computes its results from its operands, and nothing else."""
    if not op.operands or not attribute(op, "pure", False) or asks_where_it_runs(op):
        return refusal("assembly that does more than compute")
    return bridged(op, compiler)


@planned("tt.map_elementwise")
def map_elementwise(_op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Refuse scalar code, which array evaluation runs as separate programs."""
    return refusal("scalar code for each element")
