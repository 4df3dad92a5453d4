"""What instructions compute twice is computed once.

Kernels that go through a row in several loops load and convert it in each; where the trips of such
a loop run at once, these are the same instructions.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from kvtrace.evaluate.plan.instructions import (
    Instruction,
    Load,
    Loop,
    Map,
    Operand,
    Reduce,
    View,
)
from kvtrace.evaluate.plan.values import Register

_Key = tuple[Hashable, ...]


def with_shared_results(instructions: list[Instruction]) -> list[Instruction]:
    """Return instructions of which no two, outside of loops, read, convert or compute the same."""
    loops = [instruction for instruction in instructions if isinstance(instruction, Loop)]
    inside = {register for loop in loops for register in loop.reads()}
    known: dict[_Key, Register] = {}
    same: dict[Register, Register] = {}
    result: list[Instruction] = []
    for instruction in instructions:
        if not same.keys().isdisjoint(instruction.sources()):
            operands = tuple([_standing_for(operand, same) for operand in instruction.operands])
            instruction = replace(instruction, operands=operands)
        target = instruction.target
        key = None if target is None else _key(instruction)
        if key is not None and target is not None:
            first = known.setdefault(key, target)
            if first is not target and target not in inside:
                same[target] = first
                continue
        result.append(instruction)
    return result


def _standing_for(operand: Operand, same: dict[Register, Register]) -> Operand:
    return same.get(operand, operand) if isinstance(operand, Register) else operand


def _key(instruction: Instruction) -> _Key | None:
    """Say what an instruction computes; None for what cannot be shared, or costs nothing."""
    operands = tuple([_name(operand) for operand in instruction.operands])
    if isinstance(instruction, Map):
        operation = instruction.operation
        return "map", id(operation.function), id(operation.into), operation.dtype, operands
    if isinstance(instruction, View):
        return "view", instruction.axes, operands
    if isinstance(instruction, Reduce):
        return "reduce", instruction.function, instruction.axis, instruction.working, operands
    if isinstance(instruction, Load) and not instruction.written:
        target, form = instruction.target, instruction.form
        assert target is not None
        place = (form.constant, form.outer, form.lanes, target.axes, target.lanes)
        return "load", instruction.argument, instruction.dtype, place
    return None


def _name(operand: Operand) -> Hashable:
    if isinstance(operand, Register):
        return operand
    return operand.dtype, operand.tobytes()
