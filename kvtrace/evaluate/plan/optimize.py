"""Optimization passes: a plan's instructions replaced by fewer with the same results.

If a loop only adds products of tiles, and its trips continue along the inner axis of both tiles (K
of M x K times K x N), the tiles of several trips are one tile in memory: 32 trips with K = 32 are 2
trips with K = 512, which BLAS computes faster.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from kvtrace.evaluate.plan.affine import Affine, substituted
from kvtrace.evaluate.plan.instructions import (
    Dot,
    Instruction,
    Load,
    Loop,
    Map,
    Ramp,
    Store,
    defined,
    read_by,
)
from kvtrace.evaluate.plan.values import Register

Instructions = list[Instruction]

_NEVER_MOVED = (Store, Loop)


def optimized(instructions: Instructions) -> Instructions:
    """Return fewer instructions with the same stores: dead ones removed, loops simplified."""
    return with_longer_products(_hoisted(without_dead(instructions)))


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


# -- longer matrix products ------------------------------------------------------------------------


_LONGEST = 512
"""The longest inner axis: its tiles must still fit the cache."""

_FIRST_LONGER = 1_000_000
"""New registers are numbered from this number on."""


def with_longer_products(instructions: list[Instruction]) -> list[Instruction]:
    """Return the instructions with loops of products shortened, or replaced by one product."""
    result: list[Instruction] = []
    for instruction in instructions:
        if isinstance(instruction, Loop):
            longer = _with_longer_product(instruction)
            if longer is not None:
                result += longer
                continue
            body = with_longer_products(instruction.body)
            instruction = instruction.with_body(body)
        result.append(instruction)
    return result


def _with_longer_product(loop: Loop) -> list[Instruction] | None:
    """Return the instructions that replace a loop; None if it cannot be shortened."""
    chains = _chains(loop)
    if chains is None or loop.stairs is not None:
        return None
    dot, left, right = chains
    first, last = loop.trips
    trips = last - first + 1
    inner_extent = dot.sources()[0].lanes[1]
    if not _is_adjacent(left, loop.symbol, 1, inner_extent) or not _is_adjacent(
        right, loop.symbol, 0, inner_extent
    ):
        return None
    limit = _LONGEST // inner_extent
    factor = _largest_divisor(trips, limit)
    trips_per_product = -(-trips // -(-trips // limit)) if limit else 1
    if 2 * factor <= trips_per_product:
        return _as_two_loops(loop, trips // trips_per_product * trips_per_product)
    if factor == 1:
        return None
    trip = Affine(first, ((loop.symbol, factor),) if factor < trips else ())
    body, first_operand = _lengthened(left, 1, factor, loop.symbol, trip)
    right_chain, second_operand = _lengthened(right, 0, factor, loop.symbol, trip)
    body += right_chain
    operands = (first_operand, second_operand)
    if factor < trips:
        product: Instruction = replace(dot, operands=(*operands, loop.carried[0]))
        return [replace(loop, trips=(0, trips // factor - 1), body=[*body, product])]
    start = loop.operands[0]
    if isinstance(start, Register):
        if start.axes != dot.target.axes or start.lanes != dot.target.lanes:  # type: ignore[union-attr]
            return None
        return [*body, Dot(loop.results[0], (*operands, start))]
    return [*body, Dot(loop.results[0], operands)] if start == np.float32(0) else None


def _as_two_loops(loop: Loop, trips: int) -> list[Instruction]:
    """Return a loop as two, the first of `trips` trips, each replaced if possible."""
    first, last = loop.trips
    middle = tuple(Register(2 * _FIRST_LONGER + r.number, r.axes, r.lanes, r.dtype)
                   for r in loop.results)  # fmt: skip
    loops = (
        replace(loop, trips=(first, first + trips - 1), results=middle),
        replace(loop, trips=(first + trips, last), operands=middle),
    )
    return [instruction for half in loops for instruction in _with_longer_product(half) or [half]]


Chain = list[Instruction]
"""A load, and operations on the loaded elements alone."""


def _chains(loop: Loop) -> tuple[Dot, Chain, Chain] | None:
    """Return a loop's product and the chains of its operands; None if the loop does more."""
    if len(loop.carried) != 1 or not loop.body or not isinstance(loop.body[-1], Dot):
        return None
    dot = loop.body[-1]
    carried = loop.carried[0]
    if len(dot.operands) != 3 or dot.operands[2] is not carried or len(carried.lanes) != 2:
        return None
    if loop.outcomes[0] is not dot.target:
        return None
    makers: dict[Register | None, Instruction] = {
        i.target: i for i in loop.body[:-1] if isinstance(i, Load | Map)
    }
    left, right = (_chain(register, makers) for register in dot.sources()[:2])
    if left is None or right is None or len(left) + len(right) != len(loop.body) - 1:
        return None
    return dot, left, right


def _chain(register: Register, makers: dict[Register | None, Instruction]) -> Chain | None:
    """Return the instructions from a load to a register; None if another operand is involved."""
    chain: Chain = []
    while True:
        producer = makers.get(register)
        if producer is None:
            return None
        chain.insert(0, producer)
        if isinstance(producer, Load):
            return None if producer.written else chain
        if len(producer.operands) != 1:
            return None
        register = producer.sources()[0]


def _is_adjacent(chain: Chain, symbol: int, axis: int, depth: int) -> bool:
    """Return whether the next trip's tile begins where this trip's ends, along an axis."""
    load = chain[0]
    assert isinstance(load, Load)
    if not load.form.lanes or any(i.target.lanes[axis] != depth for i in chain):  # type: ignore[union-attr]
        return False
    step = load.form.lanes[axis]
    return step != 0 and load.form.coefficient(symbol) == step * depth


def _largest_divisor(number: int, limit: int) -> int:
    return max((d for d in range(1, min(number, limit) + 1) if number % d == 0), default=1)


def _lengthened(
    chain: Chain, axis: int, factor: int, symbol: int, trip: Affine
) -> tuple[Chain, Register]:
    """Return a chain for `factor` trips at once, beginning at `trip`, and its last register."""
    result: Chain = []
    target: Register | None = None
    for instruction in chain:
        old = instruction.target
        assert old is not None
        lanes = tuple(n * factor if position == axis else n for position, n in enumerate(old.lanes))
        source = target
        target = Register(_FIRST_LONGER + old.number, old.axes, lanes, old.dtype)
        if isinstance(instruction, Load):
            form = substituted(instruction.form, symbol, trip)
            result.append(replace(instruction, target=target, form=form))
        else:
            assert source is not None
            result.append(replace(instruction, target=target, operands=(source,)))
    assert target is not None
    return result, target
