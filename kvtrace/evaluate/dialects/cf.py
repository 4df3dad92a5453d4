"""`cf`: branches between blocks, as from early returns; and functions and calls.

Blocks run in reverse post-order: every block after those that jump forward to it, so programs that
parted are joined again where their paths meet. A jump backward makes a loop of blocks; of the
blocks that wait, the first in that order runs next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kvtrace.evaluate import sums
from kvtrace.evaluate.branches import either, selected
from kvtrace.evaluate.compiler import CompiledBlock, Compiler, attribute, slots_of
from kvtrace.evaluate.registry import Step, semantics, unsupported
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import (
    Array,
    Unknown,
    merge_programs,
    to_array,
    uniform_flag,
)
from kvtrace.ir import Block, Op
from kvtrace.ir.flow import deciding, jumps
from kvtrace.ir.ops import KINDS
from kvtrace.ir.types import Type


@dataclass
class Arrival:
    """Programs that arrive at a block: their indices in the function's scope, values, doubts."""

    index: Array
    values: list[Any]
    scope: Scope
    doubt: Unknown | None = None


_Jump = tuple[Block, tuple[int, ...]]
"""A target block, and the slots of the values passed to it."""


class FunctionBody:
    """The blocks of a function in the order in which they run, the entry first."""

    def __init__(self, body: Sequence[Block], compiler: Compiler) -> None:
        self._blocks = blocks = {block: compiler.block(block) for block in body}
        self._entry = body[0]
        self._kernel = compiler.kernel
        self._jumps = {block: _jumps_of(block, compiler.kernel) for block in body}
        self._order = _reverse_post_order(self._entry)
        self._place = {block: position for position, block in enumerate(self._order)}
        self._live = _live_slots(blocks, self._order)
        types: dict[int, Type] = {}
        for block in blocks:
            for op in block.ops:
                types.update((value.id, value.type) for value in op.operands)
            types.update((value.id, value.type) for value in block.arguments)
        self._types = types

    @property
    def arguments(self) -> tuple[int, ...]:
        """The slots of the function's parameters."""
        return self._blocks[self._entry].arguments

    @property
    def outer(self) -> frozenset[int]:
        """The slots of values that the function uses from outside."""
        return frozenset().union(*(block.outer for block in self._blocks.values()))

    @property
    def least_steps(self) -> int:
        """The number of steps that every program runs."""
        return 1 + len(self._blocks[self._entry].steps)

    def run(self, values: list[Any], scope: Scope) -> list[Any]:
        """Run the function for the programs of a scope, with arguments set; return its results."""
        waiting: dict[Block, list[Arrival]] = {
            self._entry: [Arrival(np.arange(scope.programs), values, scope)]
        }
        returned: list[tuple[Arrival, list[Any]]] = []
        in_doubt: set[Block] = set()
        while waiting:
            block = min(waiting, key=self._place.__getitem__)
            arrival = self._joined(block, waiting.pop(block), scope)
            if arrival.doubt is not None and block in in_doubt:
                raise unsupported(block.ops[-1], self._kernel, "in a loop that unknown data end")
            if arrival.doubt is not None:
                in_doubt.add(block)
            outcome = self._blocks[block].run(arrival.values, arrival.scope)
            condition, jumps_ = self._jumps[block]
            if condition is not None:
                self._branch(waiting, condition, jumps_, arrival)
            elif jumps_:
                self._go(waiting, jumps_[0], arrival)
            else:
                returned.append((arrival, outcome))
        return self._returned(returned, scope)

    def _go(
        self,
        waiting: dict[Block, list[Arrival]],
        jump: _Jump,
        arrival: Arrival,
    ) -> None:
        target, passed = jump
        arguments = [arrival.values[slot] for slot in passed]
        for slot, value in zip(self._blocks[target].arguments, arguments, strict=True):
            arrival.values[slot] = value
        waiting.setdefault(target, []).append(arrival)

    def _branch(
        self,
        waiting: dict[Block, list[Arrival]],
        slot: int,
        jumps_: Sequence[_Jump],
        arrival: Arrival,
    ) -> None:
        condition = arrival.values[slot]
        if isinstance(condition, Unknown):
            for jump in jumps_:
                doubtful = arrival.scope.doubtful(condition.reason)
                other = Arrival(arrival.index, list(arrival.values), doubtful, condition)
                self._go(waiting, jump, other)
            return
        flag = uniform_flag(condition)
        flags = np.broadcast_to(
            np.asarray(flag) if flag is not None else to_array(condition, None).reshape(-1),
            (len(arrival.index),),
        )
        for jump, chosen in zip(jumps_, (flags, ~flags), strict=True):
            if chosen.all():
                self._go(waiting, jump, arrival)
            elif chosen.any():
                self._go_some(waiting, jump, arrival, np.flatnonzero(chosen))

    def _go_some(
        self,
        waiting: dict[Block, list[Arrival]],
        jump: _Jump,
        arrival: Arrival,
        index: Array,
    ) -> None:
        target, passed = jump
        values = selected(arrival.values, self._live[target], index, every=False)
        for slot, argument_slot in zip(self._blocks[target].arguments, passed, strict=True):
            value = arrival.values[argument_slot]
            values[slot] = selected([value], frozenset({0}), index, every=False)[0]
        scope = arrival.scope.restricted(index)
        waiting.setdefault(target, []).append(
            Arrival(arrival.index[index], values, scope, arrival.doubt)
        )

    def _joined(self, block: Block, arrivals: list[Arrival], scope: Scope) -> Arrival:
        """Return the programs that arrive at a block on several paths as one arrival."""
        joined = arrivals[0]
        slots = self._live[block] | set(self._blocks[block].arguments)
        for other in arrivals[1:]:
            joined = self._pair(joined, other, slots, scope)
        return joined

    def _pair(
        self, first: Arrival, second: Arrival, slots: frozenset[int], scope: Scope
    ) -> Arrival:
        values = list(first.values)
        doubt = first.doubt or second.doubt
        certain = first.scope.certain and second.scope.certain
        if len(np.intersect1d(first.index, second.index)):
            # Both paths of an unknown branch: the same programs, one of two sets of values.
            unknown = doubt or Unknown(frozenset())
            for slot in slots:
                values[slot] = either(first.values[slot], second.values[slot], unknown)
            return Arrival(first.index, values, first.scope, doubt)
        index = np.concatenate([first.index, second.index])
        order = np.argsort(index)
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        here, there = position[: len(first.index)], position[len(first.index) :]
        for slot in slots:
            pieces = [(here, first.values[slot]), (there, second.values[slot])]
            values[slot] = _joined_value(pieces, len(index), self._types.get(slot))
        union = index[order]
        merged = scope.restricted(union) if len(union) != scope.programs else scope
        if not certain:
            merged = merged.doubtful(first.scope.reason or second.scope.reason)
        return Arrival(union, values, merged, doubt)

    def _returned(self, returned: list[tuple[Arrival, list[Any]]], scope: Scope) -> list[Any]:
        if len(returned) == 1:
            return returned[0][1]
        width = len(returned[0][1]) if returned else 0
        results: list[Any] = []
        for position in range(width):
            doubt = next((arrival.doubt for arrival, _ in returned if arrival.doubt), None)
            if doubt is not None:
                results.append(Unknown(doubt.sources))
                continue
            pieces = [(arrival.index, values[position]) for arrival, values in returned]
            results.append(_joined_value(pieces, scope.programs, None))
        return results


def _joined_value(pieces: list[tuple[Array, Any]], programs: int, type_: Type | None) -> Any:
    if all(value is None for _, value in pieces):
        return None
    value_type_ = sums.ADDRESS if type_ is None else value_type(type_)
    return merge_programs(pieces, programs, value_type_)


def _jumps_of(block: Block, kernel: str) -> tuple[int | None, list[_Jump]]:
    """Return the slot of the condition at the end of a block, and the block's jumps.

    A block that returns has no jumps.
    """
    end = block.ops[-1]
    if end.successors and end.name not in KINDS:
        raise unsupported(end, kernel)
    condition = deciding(end) if end.successors else ()
    jumps_ = [(target, slots_of(passed)) for target, passed in jumps(end)]
    return condition[0].id if condition else None, jumps_


def _reverse_post_order(entry: Block) -> list[Block]:
    order: list[Block] = []
    visited: set[Block] = set()

    def visit(block: Block) -> None:
        visited.add(block)
        for target in block.ops[-1].successors:
            if target not in visited:
                visit(target)
        order.append(block)

    visit(entry)
    return order[::-1]


def _live_slots(
    blocks: dict[Block, CompiledBlock], order: list[Block]
) -> dict[Block, frozenset[int]]:
    """Return the slots that each block, or a later one, reads and that earlier blocks set."""
    live: dict[Block, frozenset[int]] = {block: frozenset() for block in order}
    defined = {
        block: frozenset(blocks[block].arguments)
        | frozenset(value.id for op in block.ops for value in op.results)
        for block in order
    }
    changed = True
    while changed:  # once, and once more for each nesting of loops
        changed = False
        for block in reversed(order):
            needed = set(blocks[block].outer)
            for target in block.ops[-1].successors:
                needed |= live[target]
            live_in = frozenset(needed - defined[block])
            changed = changed or live_in != live[block]
            live[block] = live_in
    return live


@semantics("tt.call", "func.call")
def call(op: Op, compiler: Compiler) -> Step:
    """Return the step that runs another function of the module for the same programs."""
    name = attribute(op, "callee")
    body = compiler.function(name)
    operands, results = slots_of(op.group("argument")), slots_of(op.results)

    def step(values: list[Any], scope: Scope) -> None:
        for slot, operand in zip(body.arguments, operands, strict=True):
            values[slot] = values[operand]
        for slot, value in zip(results, body.run(values, scope), strict=True):
            values[slot] = value

    return step
