"""Liveness of registers: memory that they share, last reads, and stores over loaded memory."""

from __future__ import annotations

from kvtrace.evaluate.plan.instructions import (
    Call,
    Crop,
    Instruction,
    Load,
    Loop,
    Map,
    Parameter,
    Ramp,
    Reshape,
    Store,
    View,
    defined,
    read_by,
)
from kvtrace.evaluate.plan.values import Register


def shares_memory(instruction: Instruction) -> bool:
    """Return whether an instruction's results may be views of operands or of memory."""
    if isinstance(instruction, Map):
        return instruction.operation.into is None
    return isinstance(instruction, _VIEWS)


_VIEWS = (Load, View, Crop, Reshape, Call, Ramp, Parameter)


def is_overwritten(instructions: list[Instruction], position: int) -> bool:
    """Return whether a store runs between the load at `position` and the last use of its data."""
    load = instructions[position]
    assert isinstance(load, Load)
    assert load.target is not None
    if not load.written:
        return False
    aliases = {load.target}
    last_use = position
    for later, instruction in enumerate(instructions[position + 1 :], position + 1):
        if any(register in aliases for register in read_by(instruction)):
            last_use = later
            if shares_memory(instruction):
                aliases.update(defined(instruction))
    return any(_stores(instruction) for instruction in instructions[position + 1 : last_use])


def _stores(instruction: Instruction) -> bool:
    if isinstance(instruction, Loop):
        return any(_stores(inner) for inner in instruction.body)
    return isinstance(instruction, Store)


def last_reads(
    instructions: list[Instruction], roots: dict[Register, frozenset[Register]]
) -> dict[Register, int]:
    """Return the position of the last read of each register, and of the `roots` it shares."""
    last: dict[Register, int] = {}
    for position, instruction in enumerate(instructions):
        for register in read_by(instruction):
            for root in roots.get(register, ()):
                last[root] = position
            last[register] = position
    return last
