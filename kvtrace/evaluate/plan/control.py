"""Planning of branches, early returns and calls: every program of a region goes the same way."""

from __future__ import annotations

from typing import Any

from kvtrace.evaluate.compiler import attribute
from kvtrace.evaluate.plan.masks import resolved
from kvtrace.evaluate.plan.signals import Unplannable
from kvtrace.evaluate.plan.steps import PlanCompiler, PlanStep, planned
from kvtrace.evaluate.plan.values import Condition, Constant
from kvtrace.evaluate.plan.walk import Walk
from kvtrace.ir import Op, Region
from kvtrace.ir.flow import deciding, jumps
from kvtrace.ir.ops import KINDS

_MOST_BLOCKS = 1000


def decided(walk: Walk, condition: Any) -> bool:
    """Tell which way a region's programs go; asks for a split where they part."""
    if isinstance(condition, Constant):
        return bool(condition.value)
    if not isinstance(condition, Condition):
        raise Unplannable("a branch depends on data")
    return not resolved(walk, condition).nothing


@planned("scf.if")
def if_(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan the branch that is taken."""
    slot = op.operand("condition").id
    results = tuple(value.id for value in op.results)
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


def walk_function(walk: Walk, compiler: PlanCompiler, body: Region) -> list[Any]:
    """Walk the blocks of a function from its entry to a return; give what it returns."""
    block = compiler.block(body.blocks[0])
    for _ in range(_MOST_BLOCKS):
        operands = block.walk(walk)
        end = block.terminator
        if not end.successors:
            return operands
        if end.name not in KINDS:
            raise Unplannable(f"{end.name} is not planned")
        condition = deciding(end)
        way = 1 if condition and not decided(walk, walk.values[condition[0].id]) else 0
        target, passed = jumps(end)[way]
        block = compiler.block(target)
        given = [walk.values[value.id] for value in passed]
        for slot, value in zip(block.arguments, given, strict=True):
            walk.values[slot] = value
    raise Unplannable("blocks that jump backwards")


@planned("tt.call", "func.call")
def call(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan another function of the module in place."""
    function = compiler.module.functions[attribute(op, "callee")]
    parameters = tuple(value.id for value in function.arguments)
    operands = tuple(value.id for value in op.operands)
    results = tuple(value.id for value in op.results)

    def step(walk: Walk) -> None:
        for slot, operand in zip(parameters, operands, strict=True):
            walk.values[slot] = walk.values[operand]
        for slot, value in zip(results, walk_function(walk, compiler, function.body), strict=True):
            walk.values[slot] = value

    return step
