"""Taint analysis of elements that masked loads leave undefined, on top of the summary.

The taint of a value is a condition over lanes, programs and trips under which an element is
undefined: `lane >= n` for a load with mask `lane < n`. Elementwise ops unite their operands'
taints, `select` has the chosen operand's taint, reductions and products spread the taint along the
axis that they remove, and loops carry it. The analysis ends at sinks: stored values, addresses,
masks and branches. Taint is not propagated beyond a sink, so each defect is reported once.

Source: Triton's language reference leaves masked-off lanes of a load without `other` undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, methodcaller
from typing import Final, Literal

from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.flow import called, captured, counter_of, deciding, flow_of, jumps, terminator
from kvtrace.ir.model import Function, once_per_module
from kvtrace.ir.ops import (
    BRANCHES,
    CALLS,
    FILLING,
    LOOPS,
    MEMORY,
    PARTITIONING,
    Kind,
    mask_of,
    named,
    operands_of,
)
from kvtrace.ir.types import SharedType, pointee_bytes, shape_of
from kvtrace.ir.updates import DATA
from kvtrace.symbolic.conditions import TRUE, Condition, Opaque
from kvtrace.symbolic.meanings.tt_blocks import block_access, checked_axes
from kvtrace.symbolic.meanings.tt_shape import reshaped
from kvtrace.symbolic.summary import Access, BlockPointer, Place, Summary
from kvtrace.symbolic.taint import leaves_lanes, tainted, undefined_cause
from kvtrace.symbolic.terms import Substitution, lane
from kvtrace.symbolic.undefined.courses import CarriedTaint, Course, solved_courses
from kvtrace.symbolic.undefined.definedness import (
    NOWHERE,
    Undefined,
    chosen,
    limited_taint,
    placeholder,
    simplified_by,
    united_taint,
)
from kvtrace.symbolic.undefined.meanings import (
    Zeros,
    anywhere,
    as_condition,
    elementwise,
    meaning_of,
)
from kvtrace.symbolic.walk import summarize

Use = Literal["value", "address", "mask", "branch"]

_CALLED_TWICE: Final = "it is in a function that is called from several places"
_SHARED: Final = "it passes through shared memory"
_BLOCKS: Final = "it is carried by a loop made of branches between blocks"


@dataclass(frozen=True, eq=False)
class Sink:
    """An operand of an op that may be undefined where it affects the result.

    `place` is the access whose active lanes matter, or the place of the op. `undefined` may be
    nowhere, which holds if no integer wraps around.
    """

    use: Use
    op: Op
    value: Value
    place: Place
    undefined: Undefined


@once_per_module
def sinks_of(module: Module) -> tuple[Sink, ...]:
    """Return the sinks that undefined elements may reach in a kernel."""
    return _Flow(summarize(module)).sinks()


class _Flow:
    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self._module = summary.module
        self._flow = flow_of(self._module)
        self._tainted = tainted(self._module)
        self._values: dict[int, Undefined] = {}
        self._accesses: dict[Op, list[Access]] = {}
        self._sinks: dict[tuple[Op, Use, str, int], Sink] = {}
        self._recording = True
        self._is_imprecise = False
        self.zeros = Zeros(summary, self._mask)

    def sinks(self) -> tuple[Sink, ...]:
        """Propagate taint through the kernel, and return the sinks that it reaches."""
        if not self._tainted:
            return ()
        for access in self.summary.accesses:
            self._accesses.setdefault(access.op, []).append(access)
        main = self._module.main
        self._function(main, [NOWHERE] * len(main.arguments))
        return tuple(self._sinks.values())

    def of(self, value: Value) -> Undefined:
        """Return the taint of a value."""
        return self._values.get(value.id, NOWHERE)

    def set(self, value: Value, undefined: Undefined) -> None:
        """Set the taint of a value."""
        self._values[value.id] = undefined

    # -- functions and blocks ------------------------------------------------------------------

    def _function(
        self, function: Function, argument_taints: Sequence[Undefined]
    ) -> list[Undefined]:
        blocks = function.body.blocks
        for argument, undefined in zip(function.arguments, argument_taints, strict=True):
            self.set(argument, undefined)
        taints_by_block: dict[Block, list[list[Undefined]]] = {}
        returned: list[list[Undefined]] = []
        visited: set[Block] = set()
        jump_targets = _jumped_back_to(blocks)
        for index, block in enumerate(blocks):
            visited.add(block)
            if index:
                self._bind(block, taints_by_block.get(block, []), repeated=block in jump_targets)
            self._block(block)
            last = block.ops[-1]
            self._branches(last, self.summary.places.get(block))
            for target, values in jumps(last):
                taints_by_block.setdefault(target, []).append([self.of(value) for value in values])
            if not last.successors:
                returned.append([self.of(value) for value in last.operands])
        return [united_taint(taints) for taints in zip(*returned, strict=True)] if returned else []

    def _bind(
        self, block: Block, jump_taints: Sequence[Sequence[Undefined]], *, repeated: bool
    ) -> None:
        for position, argument in enumerate(block.arguments):
            parts = [taints[position] for taints in jump_taints if position < len(taints)]
            if repeated and argument.id in self._tainted:
                parts = [self._not_followed(argument, _BLOCKS)]
            self.set(argument, united_taint(parts))

    def _not_followed(
        self, value: Value, reason: str, sources: frozenset[Op] = frozenset()
    ) -> Undefined:
        condition = Opaque(("undefined", value.id), reason)
        return Undefined(condition, condition, sources)

    def _block(self, block: Block) -> None:
        if block not in self.summary.places:
            return  # never reached
        last = block.ops[-1]
        for op in block.ops:
            if op is not last or op.name not in _TERMINATORS:
                self._visit(op)

    def _visit(self, op: Op) -> None:
        if op.name in MEMORY:
            self._memory(op)
            return
        if op.name in CALLS:
            self._call(op)
            return
        if op.name in LOOPS:
            (self._while if counter_of(op) is None else self._for)(op)
            return
        if op.name in BRANCHES:
            self._branch(op)
            return
        if op.name in PARTITIONING:
            self._partitions(op)
            return
        if any(isinstance(value.type, SharedType) for value in (*op.results, *op.operands)):
            self._share(op)
            return
        if not any(value.id in self._tainted for value in op.results):
            return
        if undefined_cause(op):
            self.set(op.results[0], Undefined(TRUE, TRUE, frozenset((op,))))
            return
        if self._is_imprecise:
            undefined = united_taint(anywhere(self, value, op) for value in op.operands)
            for value in op.results:
                self.set(value, undefined)
            return
        meaning_of(op)(self, op)

    def _partitions(self, op: Op) -> None:
        for region in op.regions:
            block = region.blocks[0]
            for argument, value in zip(block.arguments, captured(op), strict=False):
                self.set(argument, self.of(value))
            self._block(block)
        for value, passed in zip(op.results, terminator(op, 0).operands, strict=False):
            self.set(value, self.of(passed))

    def _share(self, op: Op) -> None:
        """Record values that pass through shared memory as sinks: nobody follows them there."""
        for name, value in operands_of(op):
            if not isinstance(value.type, SharedType) and not self.of(value).is_nowhere:
                self.set(value, self._not_followed(value, _SHARED, self.of(value).sources))
                self._note_use(op, name, value, "value", self._place(op))

    # -- memory --------------------------------------------------------------------------------

    def _memory(self, op: Op) -> None:
        accesses = self._accesses.get(op, [])
        for name, value in operands_of(op):
            if name == "mask":
                self._note_use(op, name, value, "mask", self._place(op))
            elif name != "other":
                use: Use = "value" if name in DATA else "address"
                for access in accesses:
                    self._note_use(op, name, value, use, access)
        if op.name in FILLING and op.results[0].id in self._tainted:
            self.set(op.results[0], self._loaded(op))

    def _loaded(self, op: Op) -> Undefined:
        value = op.results[0]
        if self._is_imprecise:
            return self._not_followed(value, _CALLED_TWICE, frozenset((op,)))
        off = ~self._mask(op)
        if leaves_lanes(op):
            return limited_taint(off, off, frozenset((op,)))
        return self.of(op.operand("other")).mapped(lambda condition: off & condition)

    def _mask(self, op: Op) -> Condition:
        """Return the condition under which lanes of a load are active."""
        accesses = self._accesses.get(op, [])
        if len(accesses) == 1:
            return accesses[0].mask
        mask = mask_of(op)
        formula = None if mask is None else self.summary.values.get(mask.id)
        if isinstance(formula, Condition):
            return formula
        pointer = self.summary.values.get(op.operand("pointer").id)
        if isinstance(pointer, BlockPointer):
            size = pointee_bytes(op.operand("pointer").type)
            shape = shape_of(op.results[0].type)
            return block_access(pointer, shape, size, checked_axes(op))[1]
        return TRUE if mask is None else self.unknown(op, "a mask that is not followed")

    def unknown(self, op: Op, reason: str) -> Opaque:
        """Return an opaque condition over the lanes of an op's result."""
        shape = shape_of(op.results[0].type)
        lanes = (lane(axis, extent) for axis, extent in enumerate(shape) if extent > 1)
        return Opaque(("undefined", op.index), reason, tuple(lanes))

    def _place(self, op: Op) -> Place | None:
        place = None if op.block is None else self.summary.places.get(op.block)
        return None if place is None else replace(place, op=op)

    def _note_use(self, op: Op, name: str, value: Value, use: Use, place: Place | None) -> None:
        """Record a sink if a used value comes from undefined lanes."""
        if not self._recording or value.id not in self._tainted or place is None:
            return
        undefined = self.of(value)
        conditions = [place.reached]
        if isinstance(place, Access):
            conditions.append(place.mask)
            source = shape_of(value.type)
            if use == "value" and source != place.shape and source:
                undefined = undefined.mapped(
                    lambda condition: as_condition(reshaped(condition, source, place.shape))
                )
        assumptions = frozenset(part for condition in conditions for part in condition.conjuncts())
        undefined = undefined.mapped(lambda condition: simplified_by(condition, assumptions))
        key = (op, use, name, id(place) if isinstance(place, Access) else 0)
        self._sinks[key] = Sink(use, op, value, place, undefined)

    def _branches(self, op: Op, place: Place | None) -> None:
        """Record sinks for the operands that decide where an op continues."""
        for value in deciding(op):
            self._note_use(op, str(value.id), value, "branch", place)

    # -- branches and loops --------------------------------------------------------------------

    def _branch(self, op: Op) -> None:
        """Propagate taint through an op that runs one of its regions; of two, by its condition."""
        self._branches(op, self._place(op))
        for region in op.regions:
            for block in region.blocks:
                self._block(block)
        formulas = [self.summary.values.get(value.id) for value in deciding(op)]
        for value in op.results:
            taints = [self.of(origin) for origin in self._flow.origins(value)]
            match formulas, taints:
                case [Condition() as condition], [first, second]:
                    self.set(value, chosen(condition, first, second))
                case _:
                    self.set(value, united_taint(taints))

    def _for(self, op: Op) -> None:
        self._branches(op, self._place(op))
        block = op.regions[0].blocks[0]
        initial = [self.of(value) for value in op.group("initial")]

        def run() -> list[Undefined]:
            self._block(block)
            return [self.of(value) for value in terminator(op, 0).group("passed")]

        after = self._loop(op, block.arguments[1:], initial, run)
        for value, undefined in zip(op.results, after, strict=True):
            self.set(value, undefined)

    def _while(self, op: Op) -> None:
        before, after = (region.blocks[0] for region in op.regions)
        end = before.ops[-1]

        def run() -> list[Undefined]:
            self._block(before)
            self._branches(end, self.summary.places.get(before))
            for argument, value in zip(after.arguments, end.group("passed"), strict=True):
                self.set(argument, self.of(value))
            self._block(after)
            return [self.of(value) for value in terminator(op, 1).group("passed")]

        self._loop(op, before.arguments, [self.of(value) for value in op.group("initial")], run)
        loop = next((candidate for candidate in self.summary.loops if candidate.op is op), None)
        for value, passed_value in zip(op.results, end.group("passed"), strict=True):
            undefined = self.of(passed_value)
            if loop is not None:
                last_trip = Substitution({loop.trip: loop.trips})
                undefined = undefined.mapped(methodcaller("substitute", last_trip))
            self.set(value, undefined)

    def _loop(
        self,
        op: Op,
        arguments: Sequence[Value],
        initial: Sequence[Undefined],
        run: Callable[[], list[Undefined]],
    ) -> list[Undefined]:
        """Set the taint of a loop's arguments in a trip.

        Return the taint of its carried values after it.
        """
        loop = next((candidate for candidate in self.summary.loops if candidate.op is op), None)
        if loop is None:
            return list(initial)
        positions = [i for i, value in enumerate(arguments) if value.id in self._tainted]
        if not positions:
            run()
            return [NOWHERE] * len(arguments)
        shapes = [shape_of(arguments[i].type) for i in positions]
        possibly = [
            placeholder((op.index, i, 1), s) for i, s in zip(positions, shapes, strict=True)
        ]
        surely = possibly
        outcomes = self._outcomes_of_placeholders(arguments, positions, (surely, possibly), run)
        if any(outcomes[i].surely is not outcomes[i].possibly for i in positions):
            surely = [
                placeholder((op.index, i, 0), s) for i, s in zip(positions, shapes, strict=True)
            ]
            outcomes = self._outcomes_of_placeholders(arguments, positions, (surely, possibly), run)

        def solved(
            placeholders: Sequence[Opaque], selected_part: Callable[[Undefined], Condition]
        ) -> list[Course]:
            slots = [
                CarriedTaint(
                    own_placeholder, shape, selected_part(initial[i]), selected_part(outcomes[i])
                )
                for i, own_placeholder, shape in zip(positions, placeholders, shapes, strict=True)
            ]
            return solved_courses(slots, loop)

        possible_courses = solved(possibly, attrgetter("possibly"))
        are_equal = surely is possibly and all(
            initial[i].surely is initial[i].possibly for i in positions
        )
        sure_courses = possible_courses if are_equal else solved(surely, attrgetter("surely"))
        sources = _carried_sources(positions, initial, outcomes, possibly)
        after = [NOWHERE] * len(arguments)
        for i, sure, possible in zip(positions, sure_courses, possible_courses, strict=True):
            self.set(arguments[i], limited_taint(sure.inside, possible.inside, sources[i]))
            after[i] = limited_taint(sure.after, possible.after, sources[i])
        run()
        return after

    def _outcomes_of_placeholders(
        self,
        arguments: Sequence[Value],
        carried: Sequence[int],
        placeholders: tuple[Sequence[Opaque], Sequence[Opaque]],
        run: Callable[[], list[Undefined]],
    ) -> list[Undefined]:
        """Return the taints that a loop's body yields for placeholders; sinks are not recorded."""
        for i, surely, possibly in zip(carried, *placeholders, strict=True):
            self.set(arguments[i], Undefined(surely, possibly))
        recording, self._recording = self._recording, False
        outcomes = run()
        self._recording = recording
        return outcomes

    def _call(self, op: Op) -> None:
        function = called(op, self._module)
        if function is None:
            elementwise(self, op)
            return
        was_imprecise, self._is_imprecise = (
            self._is_imprecise,
            self._is_imprecise or len(self._flow.callers(function)) > 1,
        )
        argument_taints = [self.of(value) for value in op.operands]
        if self._is_imprecise:
            argument_taints = [
                taint
                if taint.is_nowhere
                else self._not_followed(value, _CALLED_TWICE, taint.sources)
                for taint, value in zip(argument_taints, op.operands, strict=True)
            ]
        returned = self._function(Function(function), argument_taints)
        self._is_imprecise = was_imprecise
        for value, undefined in zip(op.results, returned, strict=False):
            self.set(value, undefined)


_TERMINATORS: Final = named(lambda row: row.kind in (Kind.END, Kind.JUMP))


def _carried_sources(
    carried: Iterable[int],
    initial: Sequence[Undefined],
    outcomes: Sequence[Undefined],
    placeholders: Sequence[Opaque],
) -> dict[int, frozenset[Op]]:
    """Return the loads that cause carried taint, also by way of other carried values."""
    positions = list(carried)
    sources = {i: initial[i].sources | outcomes[i].sources for i in positions}
    position_by_key = {opaque.key: i for opaque, i in zip(placeholders, positions, strict=True)}
    for _ in positions:
        for i in positions:
            for opaque in outcomes[i].possibly.opaques():
                if opaque.key in position_by_key:
                    sources[i] |= sources[position_by_key[opaque.key]]
    return sources


def _jumped_back_to(blocks: Sequence[Block]) -> set[Block]:
    number = {block: i for i, block in enumerate(blocks)}
    return {
        target
        for block in blocks
        for target in block.ops[-1].successors
        if number[target] <= number[block]
    }
