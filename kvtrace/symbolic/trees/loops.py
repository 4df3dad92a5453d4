"""Trees of what loops carry and return; carried values are numbered as they are met."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from msgspec import Struct

from kvtrace.ir import Block, Op, Value
from kvtrace.ir.flow import counter_of, flow_of, terminator
from kvtrace.symbolic.summary import Formula, Loop, Summary
from kvtrace.symbolic.terms import ZERO, Substitution, Symbol, Term
from kvtrace.symbolic.trees.formulas import Coordinates, is_followed
from kvtrace.symbolic.trees.tree import Tree, bound, level_of, tree

SEVERAL_CALLS: Final = "a function that is called from several places"
UNKNOWN_TRIPS: Final = "a loop whose number of trips is not followed"


class LoopDefinitions(Struct, frozen=True, eq=False):
    """The definitions of a loop's carried values, which grow while their trees are built.

    `numbers` maps a carried value's position and element indices to the definition's number;
    symbols bound inside the loop are numbered from `level` + 1 on. `pending` are definitions
    without trees.
    """

    loop: Op
    level: int
    trip: Symbol
    numbers: dict[tuple[int, Coordinates], int] = {}
    pending: list[tuple[int, Coordinates]] = []


def symbol_extents(definitions: LoopDefinitions) -> tuple[tuple[int, ...], ...]:
    """Return the extents of the symbols bound inside the loop, for each carried value."""
    return tuple(
        tuple(symbol.high + 1 for symbol in bound_inside(elements, definitions.level))
        for _, elements in definitions.numbers
    )


def bound_inside(at: Coordinates, level: int) -> list[Symbol]:
    """Return the symbols in indices that are bound inside the loop of a level, by level."""
    symbols = {atom for term in at for atom in term.atoms() if isinstance(atom, Symbol)}
    levels_and_symbols = [
        (symbol_level, symbol)
        for symbol in symbols
        if (symbol_level := level_of(symbol)) is not None
    ]
    return [
        symbol
        for symbol_level, symbol in sorted(levels_and_symbols, key=lambda pair: pair[0])
        if symbol_level > level
    ]


def unknown(op: Op, reason: str) -> Tree:
    """Return the node of a value that is not followed."""
    return tree("unknown", (reason, op.index), (), op.index)


class LoopTrees(ABC):
    """Builder of the trees of loops' values; `ElementTrees` builds the trees of all others."""

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self.module = summary.module
        self._flow = flow_of(self.module)
        self._loops: dict[Op, Loop] = {
            loop.op: loop for loop in summary.loops if self._flow.is_called_once(loop.op)
        }
        self._enclosing_loops: tuple[LoopDefinitions, ...] = ()

    @abstractmethod
    def of(self, value: Value, at: Coordinates, level: int) -> Tree:
        """Return the tree of the element of a value with indices `at`."""

    @abstractmethod
    def term(self, term: Term, at: Coordinates, shape: Sequence[int]) -> Term:
        """Return a formula of a tensor, rewritten for one element."""

    def _formula_of(self, value: Value) -> Formula | None:
        """Return a value's formula; None in a function of several calls, whose formulas differ."""
        owner = value.owner
        assert owner is not None
        op = owner if isinstance(owner, Op) else owner.region.owner
        return self.summary.values.get(value.id) if self._flow.is_called_once(op) else None

    @contextmanager
    def _enter_loop(self, definitions: LoopDefinitions) -> Iterator[None]:
        outer_definitions = self._enclosing_loops
        self._enclosing_loops = (*outer_definitions, definitions)
        try:
            yield
        finally:
            self._enclosing_loops = outer_definitions

    def _carried(self, loop: Op, value: Value, at: Coordinates, level: int) -> Tree:
        """Return the tree of a loop's carried value in the current trip."""
        if value is counter_of(loop):
            return unknown(loop, "a loop's counter that is not followed")
        carried_index = value.position - (1 if counter_of(loop) is not None else 0)
        block = value.owner
        assert isinstance(block, Block)
        if counter_of(loop) is None and block is loop.regions[1].blocks[0]:
            return self.of(terminator(loop, 0).group("passed")[carried_index], at, level)
        for definitions in reversed(self._enclosing_loops):
            if definitions.loop is loop:
                return self._reference(definitions, carried_index, at)
        summary_loop = self._loops.get(loop)
        if summary_loop is None or counter_of(loop) is None:
            return unknown(loop, "what a loop carries")
        return self._loop(loop, summary_loop, summary_loop.trip.term, carried_index, at, level)

    def _loop_result(self, loop: Op, position: int, at: Coordinates, level: int) -> Tree:
        """Return the tree of a loop's result: of its initial value if the loop never runs."""
        if not self._flow.is_called_once(loop):
            return unknown(loop, SEVERAL_CALLS)
        summary_loop = self._loops.get(loop)
        if summary_loop is None:
            # It never runs, by its bounds.
            if counter_of(loop) is None:
                return unknown(loop, "a loop that is not followed")
            return self.of(loop.group("initial")[position], at, level)
        if counter_of(loop) is None:
            return self._while(loop, summary_loop, position, at, level)
        if not self._are_trips_followed(summary_loop):
            return unknown(loop, UNKNOWN_TRIPS)
        return self._loop(loop, summary_loop, summary_loop.trips, position, at, level)

    def _are_trips_followed(self, loop: Loop) -> bool:
        return is_followed(loop.trips)

    def _loop(
        self, loop: Op, summary_loop: Loop, trips: Term, position: int, at: Coordinates, level: int
    ) -> Tree:
        """Return the tree of a loop's carried value after a number of trips."""
        count = self.term(trips, (), ())
        definitions = LoopDefinitions(loop, level, summary_loop.trip)
        yielded = terminator(loop, 0).group("passed")
        parts = self._definitions(definitions, position, at, loop.group("initial"), yielded)
        return tree("loop", (count, level, False, symbol_extents(definitions)), parts, loop.index)

    def _while(
        self, loop: Op, summary_loop: Loop, position: int, at: Coordinates, level: int
    ) -> Tree:
        definitions = LoopDefinitions(loop, level, summary_loop.trip)
        condition = terminator(loop, 0)
        with self._enter_loop(definitions):
            running = self.of(condition.operand("condition"), (), level + 1)
            result = self.of(
                condition.group("passed")[position], self._renumbered(definitions, at)[0], level + 1
            )
        yielded = terminator(loop, 1).group("passed")
        parts = self._definitions(definitions, None, at, loop.group("initial"), yielded)
        detail = (ZERO, level, True, symbol_extents(definitions))
        return tree("loop", detail, (running, result, *parts), loop.index)

    def _definitions(
        self,
        definitions: LoopDefinitions,
        position: int | None,
        at: Coordinates,
        initial: Sequence[Value],
        yielded: Sequence[Value],
    ) -> tuple[Tree, ...]:
        """Return (initial, next) trees of all carried values that one value depends on."""
        if position is not None:
            self._reference(definitions, position, at)
        parts: list[Tree] = []
        while definitions.pending:
            index, elements = definitions.pending.pop(0)
            inner_level = (
                definitions.level + 1 + sum(1 for _ in bound_inside(elements, definitions.level))
            )
            parts.append(self.of(initial[index], elements, inner_level))
            with self._enter_loop(definitions):
                parts.append(self.of(yielded[index], elements, inner_level))
        return tuple(parts)

    def _renumbered(
        self, definitions: LoopDefinitions, at: Coordinates
    ) -> tuple[Coordinates, Coordinates]:
        """Return indices with the symbols bound in the loop renumbered, and these symbols."""
        symbols = list(bound_inside(at, definitions.level))
        renumbered: dict[Any, Term] = {
            symbol: bound(definitions.level + 1 + number, symbol.high + 1).term
            for number, symbol in enumerate(symbols)
        }
        substitution = Substitution(renumbered)
        return tuple(substitution(term) for term in at), tuple(symbol.term for symbol in symbols)

    def _reference(self, definitions: LoopDefinitions, carried_index: int, at: Coordinates) -> Tree:
        elements, outer_indices = self._renumbered(definitions, at)
        key = (carried_index, elements)
        number = definitions.numbers.get(key)
        if number is None:
            number = definitions.numbers[key] = len(definitions.numbers)
            definitions.pending.append(key)
        return tree("carried", (definitions.level, number, outer_indices))
