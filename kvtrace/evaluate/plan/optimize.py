"""Optimization passes: a plan's instructions replaced by fewer with the same results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kvtrace.evaluate.plan.instructions import (
    Instruction,
    Load,
    Loop,
    Ramp,
    Store,
    defined,
    read_by,
)
from kvtrace.evaluate.plan.longer_products import with_longer_products
from kvtrace.evaluate.plan.trips_at_once import with_trips_at_once
from kvtrace.evaluate.plan.values import Register

Instructions = list[Instruction]

_NEVER_MOVED = (Store, Loop)


def optimized(instructions: Instructions) -> Instructions:
    """Return fewer instructions with the same stores: dead ones removed, loops simplified."""
    return with_trips_at_once(with_longer_products(_hoisted(without_dead(instructions))))


# -- dead code ------------------------------------------------------------------------------------


def without_dead(instructions: Instructions) -> Instructions:
    """Return the instructions without those whose results no store depends on."""
    return _without_dead(instructions, set())[0]


def _without_dead(
    instructions: Instructions, live: set[Register]
) -> tuple[Instructions, set[Register]]:
    """Return stores and their dependences, and the registers in `live` or read by them."""
    needed: Instructions = []
    for instruction in reversed(instructions):
        if isinstance(instruction, Loop):
            loop = _live_loop(instruction, live)
            if loop is not None:
                needed.append(loop)
            continue
        if not isinstance(instruction, Store) and not live.intersection(defined(instruction)):
            continue
        live.update(instruction.sources())
        needed.append(instruction)
    return needed[::-1], live


def _live_loop(loop: Loop, live: set[Register]) -> Loop | None:
    """Return a loop without unneeded registers, or None; its reads are added to `live`."""
    needed = {n for n, result in enumerate(loop.results) if result in live}
    while True:
        outcomes = {loop.outcomes[n] for n in needed}
        body, live_in_body = _without_dead(loop.body, set(outcomes))
        extended = needed | {n for n, carried in enumerate(loop.carried) if carried in live_in_body}
        if extended == needed:
            break
        needed = extended
    if not body and not needed:
        return None
    order = sorted(needed)
    operands = tuple(loop.operands[n] for n in order)
    carried = tuple(loop.carried[n] for n in order)
    live.update(live_in_body.difference(carried))
    live.update(operand for operand in operands if isinstance(operand, Register))
    return replace(
        loop,
        operands=operands,
        carried=carried,
        outcomes=tuple(loop.outcomes[n] for n in order),
        results=tuple(loop.results[n] for n in order),
        body=body,
    )


# -- loop-invariant code --------------------------------------------------------------------------


def _hoisted(instructions: Instructions) -> Instructions:
    """Return the instructions, with those that no trip changes moved in front of their loop."""
    result: Instructions = []
    for instruction in instructions:
        if not isinstance(instruction, Loop):
            result.append(instruction)
            continue
        body = _hoisted(instruction.body)
        varying: set[Register] = set(instruction.carried)
        stays: Instructions = []
        for inner in body:
            if _varies(inner, instruction.symbol, varying):
                varying.update(defined(inner))
                stays.append(inner)
            else:
                result.append(inner)
        result.append(instruction.with_body(stays))
    return result


def _varies(instruction: Instruction, symbol: int, varying: set[Register]) -> bool:
    """Return whether an instruction depends on the loop, or is a store or a loop."""
    if isinstance(instruction, _NEVER_MOVED):
        return True
    if any(source in varying for source in instruction.sources()):
        return True
    if isinstance(instruction, Load):
        return instruction.written or bool(instruction.form.coefficient(symbol))
    return isinstance(instruction, Ramp) and bool(instruction.form.coefficient(symbol))


# -- questions ------------------------------------------------------------------------------------


def use_counts(instructions: Iterable[Instruction]) -> dict[Register, int]:
    """Return how often each register is read; the outcomes of a loop count twice more."""
    counts: dict[Register, int] = {}
    for instruction in instructions:
        for register in read_by(instruction):
            counts[register] = counts.get(register, 0) + 1
        if isinstance(instruction, Loop):
            for register in instruction.outcomes:
                counts[register] = counts.get(register, 0) + 2
    return counts
