"""Planning of calls; branches between blocks are followed in plan/control.py."""

from __future__ import annotations

from kvtrace.evaluate.compiler import slots_of
from kvtrace.evaluate.plan.control import walk_function
from kvtrace.evaluate.plan.meanings import PlanStep, planned
from kvtrace.evaluate.plan.steps import PlanCompiler
from kvtrace.evaluate.plan.walk import Walk
from kvtrace.ir import Op
from kvtrace.ir.model import attribute


@planned("tt.call", "func.call")
def call(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan a call by walking the called function's body in its place."""
    function = compiler.module.functions[attribute(op, "callee")]
    parameters = slots_of(function.arguments)
    operands = slots_of(op.group("argument"))
    results = slots_of(op.results)

    def step(walk: Walk) -> None:
        for slot, operand in zip(parameters, operands, strict=True):
            walk.values[slot] = walk.values[operand]
        for slot, value in zip(results, walk_function(walk, compiler, function.body), strict=True):
            walk.values[slot] = value

    return step
