"""Meanings of functions, jumps between blocks (early returns) and calls, of `cf` and `tt`.

Each block is visited once, after the blocks that jump forward to it, under the disjunction of the
jumps' conditions. A jump backward makes a loop of blocks, whose arguments and trips are unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kvtrace.ir import Block, Op, Value
from kvtrace.ir.attributes import SymbolAttribute
from kvtrace.ir.flow import captured, jumps, terminator
from kvtrace.ir.model import Function
from kvtrace.symbolic.conditions import TRUE, Condition, conjunction, disjunction
from kvtrace.symbolic.meanings import meaning
from kvtrace.symbolic.meanings.merging import chosen
from kvtrace.symbolic.summary import Formula, Loop
from kvtrace.symbolic.terms import MOST_TRIPS, Symbol
from kvtrace.symbolic.walk import Walk

_RETURNS = ("tt.return", "func.return", "llvm.return")
_DEEPEST_CALLS = 32


class _Arrival(Struct, frozen=True):
    condition: Condition
    values: tuple[Formula | None, ...]


@meaning("tt.call", "func.call")
def call(walk: Walk, op: Op) -> None:
    """Visit the called function at the place of the call, and set the call's results."""
    callee = op.attributes.get("callee")
    name = callee.value if isinstance(callee, SymbolAttribute) else ""
    function = walk.module.functions.get(name)
    if function is None or not function.body.blocks or len(walk.calls) >= _DEEPEST_CALLS:
        for value in op.results:
            walk.set_unknown(value, op, f"comes from function {name}, which is not there")
        return
    for argument, value in zip(function.arguments, op.operands, strict=True):
        walk.set(argument, walk.formula(value))
    outside = walk.calls
    walk.calls = (*outside, op)
    outcome = run_function(walk, function)
    walk.calls = outside
    arrivals = outcome or (_Arrival(TRUE, (None,) * len(op.results)),)
    for position, value in enumerate(op.results):
        walk.set(value, _merged_value(walk, op, value, arrivals, position))


@meaning("ttg.warp_specialize", "ttg.warp_specialize.partitions")
def partitions(walk: Walk, op: Op) -> None:
    """Visit the regions that different warps run; the results are the first region's."""
    for region in op.regions:
        block = region.blocks[0]
        for argument, value in zip(block.arguments, captured(op), strict=False):
            walk.set(argument, walk.formula(value))
        walk.block(block)
    for value, passed in zip(op.results, terminator(op, 0).operands, strict=False):
        walk.set(value, walk.formula(passed))


def run_function(walk: Walk, function: Function) -> tuple[_Arrival, ...]:
    """Visit a function's blocks; return an arrival for each return, with condition and values."""
    order = _forward_order(function.body.blocks[0])
    block_index = {block: number for number, block in enumerate(order)}
    loops = _loops(order, block_index)
    arrivals: dict[Block, list[_Arrival]] = {order[0]: [_Arrival(TRUE, ())]}
    returned = []
    outer = walk.loops
    for block in order:
        block_arrivals = arrivals.pop(block, [])
        if not block_arrivals:
            continue
        block_condition = either(tuple(arrival.condition for arrival in block_arrivals))
        has_arguments = block is not order[0] or block in loops
        walk.loops = (*outer, *_loops_around(walk, block, loops, outer))
        with walk.under(block_condition):
            if has_arguments:
                _set_arguments(walk, block, block_arrivals, repeated=block in loops)
            walk.block(block)
            jumps = _jumps_of(walk, block.ops[-1])
        if block.ops[-1].name in _RETURNS:
            values = tuple(walk.formula(value) for value in block.ops[-1].operands)
            returned.append(_Arrival(block_condition, values))
        for target, condition, operands in jumps:
            if block_index[target] > block_index[block]:
                values = tuple(walk.formula(value) for value in operands)
                condition_of_jump = conjunction((block_condition, condition))
                arrivals.setdefault(target, []).append(_Arrival(condition_of_jump, values))
    walk.loops = outer
    return tuple(returned)


def _jumps_of(walk: Walk, op: Op) -> list[tuple[Block, Condition, Sequence[Value]]]:
    if op.name == "cf.cond_br":
        condition = walk.condition(op.operand("condition"))
        (true_block, true_operands), (false_block, false_operands) = jumps(op)
        return [(true_block, condition, true_operands), (false_block, ~condition, false_operands)]
    if len(op.successors) == 1:
        return [(op.successors[0], TRUE, op.operands)]
    opaque_condition = walk.opaque(op, f"depends on {op.name}")
    return [(target, opaque_condition, ()) for target in op.successors]


def _set_arguments(
    walk: Walk, block: Block, arrivals: Sequence[_Arrival], *, repeated: bool
) -> None:
    """Set a block's arguments to the merged values of all jumps to the block."""
    last = block.ops[-1]
    for position, value in enumerate(block.arguments):
        if repeated or any(position >= len(arrival.values) for arrival in arrivals):
            formula = walk.unknown_formula(value, last, f"carried by a loop of blocks ({position})")
        else:
            formula = _merged_value(walk, last, value, arrivals, position)
        walk.set(value, formula)


def _merged_value(
    walk: Walk, op: Op, value: Value, arrivals: Sequence[_Arrival], position: int
) -> Formula | None:
    formula = arrivals[0].values[position]
    for arrival in arrivals[1:]:
        formula = chosen(walk, op, value, arrival.condition, arrival.values[position], formula)
    return formula


def either(conditions: Sequence[Condition]) -> Condition:
    """Return the disjunction; paths that part and meet again count by their common condition."""
    remaining = list(conditions)
    merged = True
    while merged and len(remaining) > 1:
        merged = False
        for second in range(1, len(remaining)):
            for first in range(second):
                merged_condition = _reunited(remaining[first], remaining[second])
                if merged_condition is not None:
                    del remaining[second]
                    remaining[first] = merged_condition
                    merged = True
                    break
            if merged:
                break
    return disjunction(remaining)


def _reunited(first: Condition, second: Condition) -> Condition | None:
    """Return `a` for `a and b` with `a and not b`, or the weaker condition, or None."""
    first_parts, second_parts = frozenset(first.conjuncts()), frozenset(second.conjuncts())
    common = first_parts & second_parts
    first_only, second_only = first_parts - common, second_parts - common
    if not first_only or not second_only:
        return first if not first_only else second
    if _negated(second_only) == first_only or _negated(first_only) == second_only:
        return conjunction(part for part in first.conjuncts() if part in common)
    return None


def _negated(parts: frozenset[Condition]) -> frozenset[Condition]:
    return frozenset((~conjunction(parts)).conjuncts())


# -- the order of blocks ------------------------------------------------------------------------


def _forward_order(entry: Block) -> list[Block]:
    """Return the reachable blocks, each after all blocks that jump forward to it."""
    order: list[Block] = []
    visited = {entry}
    stack = [(entry, iter(entry.ops[-1].successors))]
    while stack:
        block, successors = stack[-1]
        following = next((b for b in successors if b not in visited), None)
        if following is None:
            order.append(block)
            stack.pop()
        else:
            visited.add(following)
            stack.append((following, iter(following.ops[-1].successors)))
    return order[::-1]


def _loops(order: Sequence[Block], positions: dict[Block, int]) -> dict[Block, frozenset[Block]]:
    """Return the blocks of each loop by its header, the target of a backward jump."""
    predecessors: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order:
        for target in block.ops[-1].successors:
            predecessors[target].append(block)
    loops: dict[Block, frozenset[Block]] = {}
    for header in order:
        pending = [block for block in predecessors[header] if positions[block] >= positions[header]]
        if not pending:
            continue
        members = {header}
        while pending:
            block = pending.pop()
            if block not in members:
                members.add(block)
                pending += predecessors[block]
        loops[header] = frozenset(members)
    return loops


def _loops_around(
    walk: Walk,
    block: Block,
    loops: dict[Block, frozenset[Block]],
    outer: tuple[Loop, ...],
) -> list[Loop]:
    """Return the loops of blocks around a block, outermost first; new loops are recorded."""
    around: list[Loop] = []
    for header, members in loops.items():
        if block not in members:
            continue
        op = header.ops[-1]
        trip = Symbol("trip", walk.key(op), 0, MOST_TRIPS)
        loop_of_header = next((loop for loop in walk.found_loops if loop.trip is trip), None)
        if loop_of_header is None:
            at = tuple(loop.trip.term for loop in (*outer, *around))
            key = (walk.key(op), "the trips of a loop of blocks")
            trips = Symbol("unknown", key, 0, MOST_TRIPS, at).term
            loop_of_header = Loop(op, trip, trips, TRUE, walk.guard, walk.calls)
            walk.found_loops.append(loop_of_header)
        around.append(loop_of_header)
    return around
