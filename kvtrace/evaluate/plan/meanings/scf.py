"""Planning of branches and counted loops."""

from __future__ import annotations

from kvtrace.evaluate.compiler import slots_of
from kvtrace.evaluate.plan.control import decided
from kvtrace.evaluate.plan.loops import CountedLoop
from kvtrace.evaluate.plan.meanings import PlanStep, planned
from kvtrace.evaluate.plan.steps import PlanCompiler
from kvtrace.evaluate.plan.walk import Walk
from kvtrace.ir import Op


@planned("scf.if")
def if_(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan the branch that all programs of the region take."""
    slot = op.operand("condition").id
    results = slots_of(op.results)
    branches = [
        compiler.block(region.blocks[0]) if region.blocks else None for region in op.regions
    ]
    branches += [None] * (2 - len(branches))

    def step(walk: Walk) -> None:
        branch = branches[0 if decided(walk, walk.values[slot]) else 1]
        if branch is None:
            return
        for target, value in zip(results, branch.walk(walk), strict=True):
            walk.values[target] = value

    return step


@planned("scf.for")
def for_(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan a counted loop."""
    return CountedLoop(op, compiler).step
