"""`cf`: branches between blocks, as from early returns; and functions and calls.

Blocks run in reverse post-order: every block after those that jump forward to it, so programs on
different paths are joined again where the paths meet. A jump backward makes a loop of blocks; of
the waiting blocks, the first in that order runs next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from kvtrace.evaluate import sums
from kvtrace.evaluate.branches import selected, unknown_branch_value
from kvtrace.evaluate.compiler import CompiledBlock, Compiler, slots_of
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
from kvtrace.ir.model import attribute
from kvtrace.ir.ops import KINDS
from kvtrace.ir.types import Type


class Arrival(Struct):
    """Programs at a block: positions in the function's scope, values, and an unknown condition."""

    index: Array
    values: list[Any]
    scope: Scope
    doubt: Unknown | None = None


_Jump = tuple[Block, tuple[int, ...]]
"""A target block, and the slots of the values passed to it."""


class FunctionBody:
    """The compiled blocks of a function, the entry first; `run` runs them."""

    def __init__(self, body: Sequence[Block], compiler: Compiler) -> None:
        self._blocks = blocks = {block: compiler.block(block) for block in body}
        self._entry = body[0]
        self._kernel = compiler.kernel
        self._jumps = {block: _jumps_of(block, compiler.kernel) for block in body}
        self._order = _reverse_post_order(self._entry)
        self._position = {block: position for position, block in enumerate(self._order)}
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
        """The slots of values that the function uses but does not define."""
        return frozenset().union(*(block.outer for block in self._blocks.values()))

    @property
    def least_steps(self) -> int:
        """The number of steps that every program runs at least: those of the entry block."""
        return 1 + len(self._blocks[self._entry].steps)

    def run(self, values: list[Any], scope: Scope) -> list[Any]:
        """Run the function, whose parameters are set in `values`; return its results."""
        waiting: dict[Block, list[Arrival]] = {
            self._entry: [Arrival(np.arange(scope.programs), values, scope)]
        }
        returned: list[tuple[Arrival, list[Any]]] = []
        doubtful_value: set[Block] = set()
        while waiting:
            block = min(waiting, key=self._position.__getitem__)
            arrival = self._joined(block, waiting.pop(block), scope)
            if arrival.doubt is not None and block in doubtful_value:
                raise unsupported(block.ops[-1], self._kernel, "in a loop that unknown data end")
            if arrival.doubt is not None:
                doubtful_value.add(block)
            outcome = self._blocks[block].run(arrival.values, arrival.scope)
            condition, jumps_ = self._jumps[block]
            if condition is not None:
                self._branch(waiting, condition, jumps_, arrival)
            elif jumps_:
                self._jump(waiting, jumps_[0], arrival)
            else:
                returned.append((arrival, outcome))
        return self._joined_results(returned, scope)

    def _jump(
        self,
        waiting: dict[Block, list[Arrival]],
        jump: _Jump,
        arrival: Arrival,
    ) -> None:
        target, passed_slots = jump
        arguments = [arrival.values[slot] for slot in passed_slots]
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
                uncertain_arrival = Arrival(
                    arrival.index, list(arrival.values), doubtful, condition
                )
                self._jump(waiting, jump, uncertain_arrival)
            return
        flag = uniform_flag(condition)
        flags = np.broadcast_to(
            np.asarray(flag) if flag is not None else to_array(condition, None).reshape(-1),
            (len(arrival.index),),
        )
        for jump, takes_jump in zip(jumps_, (flags, ~flags), strict=True):
            if takes_jump.all():
                self._jump(waiting, jump, arrival)
            elif takes_jump.any():
                self._jump_with_some(waiting, jump, arrival, np.flatnonzero(takes_jump))

    def _jump_with_some(
        self,
        waiting: dict[Block, list[Arrival]],
        jump: _Jump,
        arrival: Arrival,
        index: Array,
    ) -> None:
        target, passed_slots = jump
        values = selected(arrival.values, self._live[target], index, every=False)
        for slot, argument_slot in zip(self._blocks[target].arguments, passed_slots, strict=True):
            value = arrival.values[argument_slot]
            values[slot] = selected([value], frozenset({0}), index, every=False)[0]
        scope = arrival.scope.restricted(index)
        waiting.setdefault(target, []).append(
            Arrival(arrival.index[index], values, scope, arrival.doubt)
        )

    def _joined(self, block: Block, arrivals: list[Arrival], scope: Scope) -> Arrival:
        """Return one arrival for all programs that arrive at a block on several paths."""
        joined = arrivals[0]
        slots = self._live[block] | set(self._blocks[block].arguments)
        for further in arrivals[1:]:
            joined = self._merged(joined, further, slots, scope)
        return joined

    def _merged(
        self, left: Arrival, right: Arrival, slots: frozenset[int], scope: Scope
    ) -> Arrival:
        values = list(left.values)
        doubt = left.doubt or right.doubt
        certain = left.scope.certain and right.scope.certain
        if len(np.intersect1d(left.index, right.index)):
            # Both paths of an unknown branch: the same programs, one of two sets of values.
            unknown = doubt or Unknown(frozenset())
            for slot in slots:
                values[slot] = unknown_branch_value(left.values[slot], right.values[slot], unknown)
            return Arrival(left.index, values, left.scope, doubt)
        index = np.concatenate([left.index, right.index])
        order = np.argsort(index)
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        left_index, right_index = position[: len(left.index)], position[len(left.index) :]
        for slot in slots:
            parts = [(left_index, left.values[slot]), (right_index, right.values[slot])]
            values[slot] = _joined_value(parts, len(index), self._types.get(slot))
        union = index[order]
        merged = scope.restricted(union) if len(union) != scope.programs else scope
        if not certain:
            merged = merged.doubtful(left.scope.reason or right.scope.reason)
        return Arrival(union, values, merged, doubt)

    def _joined_results(self, returned: list[tuple[Arrival, list[Any]]], scope: Scope) -> list[Any]:
        if len(returned) == 1:
            return returned[0][1]
        width = len(returned[0][1]) if returned else 0
        results: list[Any] = []
        for position in range(width):
            doubt = next((arrival.doubt for arrival, _ in returned if arrival.doubt), None)
            if doubt is not None:
                results.append(Unknown(doubt.sources))
                continue
            parts = [(arrival.index, values[position]) for arrival, values in returned]
            results.append(_joined_value(parts, scope.programs, None))
        return results


def _joined_value(parts: list[tuple[Array, Any]], programs: int, type_: Type | None) -> Any:
    if all(value is None for _, value in parts):
        return None
    value_type_ = sums.ADDRESS if type_ is None else value_type(type_)
    return merge_programs(parts, programs, value_type_)


def _jumps_of(block: Block, kernel: str) -> tuple[int | None, list[_Jump]]:
    """Return the slot of the condition that ends a block (None: no branch), and its jumps.

    A block that returns has no jumps.
    """
    terminator = block.ops[-1]
    if terminator.successors and terminator.name not in KINDS:
        raise unsupported(terminator, kernel)
    condition = deciding(terminator) if terminator.successors else ()
    jumps_ = [(target, slots_of(passed_values)) for target, passed_values in jumps(terminator)]
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
    """Return, for each block, the slots that it or a later block reads but earlier ones set."""
    live: dict[Block, frozenset[int]] = {block: frozenset() for block in order}
    defined = {
        block: frozenset(blocks[block].arguments)
        | frozenset(value.id for op in block.ops for value in op.results)
        for block in order
    }
    has_changed = True
    while has_changed:  # once, and once more for each nesting of loops
        has_changed = False
        for block in reversed(order):
            needed = set(blocks[block].outer)
            for target in block.ops[-1].successors:
                needed |= live[target]
            live_in = frozenset(needed - defined[block])
            has_changed = has_changed or live_in != live[block]
            live[block] = live_in
    return live


@semantics("tt.call", "func.call")
def call(op: Op, compiler: Compiler) -> Step:
    """Return the step that runs a function of the module for the same programs."""
    name = attribute(op, "callee")
    body = compiler.function(name)
    operands, results = slots_of(op.group("argument")), slots_of(op.results)

    def step(values: list[Any], scope: Scope) -> None:
        for slot, operand in zip(body.arguments, operands, strict=True):
            values[slot] = values[operand]
        for slot, value in zip(results, body.run(values, scope), strict=True):
            values[slot] = value

    return step
