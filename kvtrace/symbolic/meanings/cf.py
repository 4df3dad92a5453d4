"""`cf` and `tt`: functions, branches between their blocks (early returns), and calls.

Each block is visited once, after the blocks that jump forward to it, under the disjunction of the
jumps' conditions. A jump backward makes a loop of blocks, whose arguments and trips are unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtrace.ir.attributes import SymbolAttribute
from kvtrace.ir.flow import jumps
from kvtrace.symbolic.conditions import TRUE, Condition, conjunction, disjunction
from kvtrace.symbolic.meanings import meaning
from kvtrace.symbolic.meanings.merging import chosen
from kvtrace.symbolic.summary import Known, Loop
from kvtrace.symbolic.terms import MOST_TRIPS, Symbol

if TYPE_CHECKING:
    from kvtrace.ir import Block, Op, Value
    from kvtrace.ir.model import Function
    from kvtrace.symbolic.walk import Walk

_RETURNS = ("tt.return", "func.return", "llvm.return")
_DEEPEST_CALLS = 32


@dataclass(frozen=True)
class _Arrival:
    condition: Condition
    values: tuple[Known | None, ...]


@meaning("tt.call", "func.call")
def call(walk: Walk, op: Op) -> None:
    """Visit the callee at the place of a call."""
    callee = op.attributes.get("callee")
    name = callee.value if isinstance(callee, SymbolAttribute) else ""
    function = walk.module.functions.get(name)
    if function is None or not function.body.blocks or len(walk.calls) >= _DEEPEST_CALLS:
        for value in op.results:
            walk.set_unknown(value, op, f"comes from function {name}, which is not there")
        return
    for argument, value in zip(function.arguments, op.operands, strict=True):
        walk.set(argument, walk.known(value))
    outside = walk.calls
    walk.calls = (*outside, op)
    outcome = run_function(walk, function)
    walk.calls = outside
    arrived = outcome or (_Arrival(TRUE, (None,) * len(op.results)),)
    for position, value in enumerate(op.results):
        walk.set(value, _joined(walk, op, value, arrived, position))


def run_function(walk: Walk, function: Function) -> tuple[_Arrival, ...]:
    """Visit a function's blocks; return the values of its returns, with their conditions."""
    order = _forward_order(function.body.blocks[0])
    place = {block: number for number, block in enumerate(order)}
    loops = _loops(order, place)
    arrivals: dict[Block, list[_Arrival]] = {order[0]: [_Arrival(TRUE, ())]}
    returned = []
    outer = walk.loops
    for block in order:
        arrived = arrivals.pop(block, [])
        if not arrived:
            continue
        reached = either(tuple(arrival.condition for arrival in arrived))
        entered = block is not order[0] or block in loops
        walk.loops = (*outer, *_around(walk, block, loops, outer))
        with walk.under(reached):
            if entered:
                _bind(walk, block, arrived, repeated=block in loops)
            walk.block(block)
            ways = _ways(walk, block.ops[-1])
        if block.ops[-1].name in _RETURNS:
            values = tuple(walk.known(value) for value in block.ops[-1].operands)
            returned.append(_Arrival(reached, values))
        for target, condition, given in ways:
            if place[target] > place[block]:
                values = tuple(walk.known(value) for value in given)
                way = conjunction((reached, condition))
                arrivals.setdefault(target, []).append(_Arrival(way, values))
    walk.loops = outer
    return tuple(returned)


def _ways(walk: Walk, op: Op) -> list[tuple[Block, Condition, Sequence[Value]]]:
    if op.name == "cf.cond_br":
        condition = walk.condition(op.operand("condition"))
        (one, given), (other, otherwise) = jumps(op)
        return [(one, condition, given), (other, ~condition, otherwise)]
    if len(op.successors) == 1:
        return [(op.successors[0], TRUE, op.operands)]
    doubt = walk.opaque(op, f"depends on {op.name}")
    return [(target, doubt, ()) for target in op.successors]


def _bind(walk: Walk, block: Block, arrived: Sequence[_Arrival], *, repeated: bool) -> None:
    """Set a block's arguments to the values of the jumps to the block."""
    last = block.ops[-1]
    for position, value in enumerate(block.arguments):
        if repeated or any(position >= len(arrival.values) for arrival in arrived):
            known = walk.unknown_of(value, last, f"carried by a loop of blocks ({position})")
        else:
            known = _joined(walk, last, value, arrived, position)
        walk.set(value, known)


def _joined(
    walk: Walk, op: Op, value: Value, arrived: Sequence[_Arrival], position: int
) -> Known | None:
    known = arrived[0].values[position]
    for arrival in arrived[1:]:
        known = chosen(walk, op, value, arrival.condition, arrival.values[position], known)
    return known


def either(conditions: Sequence[Condition]) -> Condition:
    """Return the disjunction; if two ways part and meet again, the condition before they parted."""
    left = list(conditions)
    merged = True
    while merged and len(left) > 1:
        merged = False
        for second in range(1, len(left)):
            for first in range(second):
                together = _reunited(left[first], left[second])
                if together is not None:
                    del left[second]
                    left[first] = together
                    merged = True
                    break
            if merged:
                break
    return disjunction(left)


def _reunited(first: Condition, second: Condition) -> Condition | None:
    """Return `a` of `a and b` with `a and not b`."""
    one, other = frozenset(first.conjuncts()), frozenset(second.conjuncts())
    common = one & other
    only, also = one - common, other - common
    if not only or not also:
        return first if not only else second
    if conjunction(only) == ~conjunction(also) or conjunction(also) == ~conjunction(only):
        return conjunction(part for part in first.conjuncts() if part in common)
    return None


# -- the order of blocks ------------------------------------------------------------------------


def _forward_order(entry: Block) -> list[Block]:
    """Return the reached blocks, each after the blocks that jump forward to it."""
    order: list[Block] = []
    seen = {entry}
    stack = [(entry, iter(entry.ops[-1].successors))]
    while stack:
        block, rest = stack[-1]
        following = next((b for b in rest if b not in seen), None)
        if following is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(following.ops[-1].successors)))
    return order[::-1]


def _loops(order: Sequence[Block], place: dict[Block, int]) -> dict[Block, frozenset[Block]]:
    """Return each target of a backward jump, the jump's block, and the blocks between."""
    before: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order:
        for target in block.ops[-1].successors:
            before[target].append(block)
    loops: dict[Block, frozenset[Block]] = {}
    for header in order:
        waiting = [block for block in before[header] if place[block] >= place[header]]
        if not waiting:
            continue
        members = {header}
        while waiting:
            block = waiting.pop()
            if block not in members:
                members.add(block)
                waiting += before[block]
        loops[header] = frozenset(members)
    return loops


def _around(
    walk: Walk,
    block: Block,
    loops: dict[Block, frozenset[Block]],
    outer: tuple[Loop, ...],
) -> list[Loop]:
    """Return the loops of blocks that a block is in, outermost first."""
    around: list[Loop] = []
    for header, members in loops.items():
        if block not in members:
            continue
        op = header.ops[-1]
        trip = Symbol("trip", walk.key(op), 0, MOST_TRIPS)
        found = next((loop for loop in walk.found_loops if loop.trip is trip), None)
        if found is None:
            at = tuple(loop.trip.term for loop in (*outer, *around))
            key = (walk.key(op), "the trips of a loop of blocks")
            trips = Symbol("unknown", key, 0, MOST_TRIPS, at).term
            found = Loop(op, trip, trips, TRUE, walk.guard, walk.calls)
            walk.found_loops.append(found)
        around.append(found)
    return around
