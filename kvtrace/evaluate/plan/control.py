"""Control flow of a plan: all programs of a region take the same branch."""

from __future__ import annotations

from typing import Any

from kvtrace.evaluate.errors import Unplannable
from kvtrace.evaluate.plan.masks import resolved
from kvtrace.evaluate.plan.steps import PlanCompiler
from kvtrace.evaluate.plan.values import Condition, Constant
from kvtrace.evaluate.plan.walk import Walk
from kvtrace.ir import Region
from kvtrace.ir.flow import deciding, jumps
from kvtrace.ir.ops import KINDS

_MOST_BLOCKS = 1000


def decided(walk: Walk, condition: Any) -> bool:
    """Return a branch's condition in a region; SplitAxis where programs differ."""
    if isinstance(condition, Constant):
        return bool(condition.value)
    if not isinstance(condition, Condition):
        raise Unplannable("a branch depends on data")
    return not resolved(walk, condition).nothing


def walk_function(walk: Walk, compiler: PlanCompiler, body: Region) -> list[Any]:
    """Walk the blocks of a function from its entry; return the values that it returns."""
    block = compiler.block(body.blocks[0])
    for _ in range(_MOST_BLOCKS):
        operands = block.walk(walk)
        terminator = block.terminator
        if not terminator.successors:
            return operands
        if terminator.name not in KINDS:
            raise Unplannable(f"{terminator.name} is not planned")
        condition = deciding(terminator)
        branch = 1 if condition and not decided(walk, walk.values[condition[0].id]) else 0
        target, passed_values = jumps(terminator)[branch]
        block = compiler.block(target)
        arguments = [walk.values[value.id] for value in passed_values]
        for slot, value in zip(block.arguments, arguments, strict=True):
            walk.values[slot] = value
    raise Unplannable(f"the kernel runs more than {_MOST_BLOCKS} blocks, as in a loop of jumps")
