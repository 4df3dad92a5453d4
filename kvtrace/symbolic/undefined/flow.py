"""Taint analysis of elements that masked loads leave undefined, on top of the summary.

The taint of a value is a condition over lanes, programs and trips under which an element is
undefined: `lane >= n` for a load with mask `lane < n`. Elementwise ops unite their operands'
taints, `select` has the chosen operand's taint, reductions and products spread the taint along the
axis that they remove, and loops carry it. The analysis ends at sinks: stored values, addresses,
masks and branches. Taint is not propagated beyond a sink, so each defect is reported once.

Source: Triton's language reference leaves masked-off lanes of a load without `other` undefined.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from operator import methodcaller
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.flow import called, counter_of, deciding, flow_of, terminator
from kvtrace.ir.model import Function, once_per_module
from kvtrace.ir.ops import (
    BRANCHES,
    CALLS,
    KINDS,
    LOOPS,
    MEMORY,
    PARTITIONING,
    READING,
    Kind,
    mask_of,
    operands_of,
)
from kvtrace.ir.types import SharedType, shape_of
from kvtrace.ir.updates import DATA
from kvtrace.symbolic.conditions import TRUE, Condition, Opaque, disjunction, within
from kvtrace.symbolic.meanings.tt_shape import lane_symbol, lanes_of, reshaped_indices
from kvtrace.symbolic.summary import Access, Formula, Place, Summary
from kvtrace.symbolic.taint import (
    leaves_lanes,
    limited_operand,
    reached_from,
    tainted,
    undefined_cause,
)
from kvtrace.symbolic.terms import Key, Substitution, Symbol, Term, lane
from kvtrace.symbolic.undefined.carried import CarriedValue, solved
from kvtrace.symbolic.undefined.definedness import (
    NOWHERE,
    Undefined,
    chosen,
    limited_taint,
    placed,
    simplified_by,
    united_taint,
)
from kvtrace.symbolic.undefined.meanings import elementwise, meaning_of
from kvtrace.symbolic.walk import summarize

Use = Literal["value", "address", "mask", "branch"]
_Calls = tuple[Op, ...]
"""The calls around an op, outermost first."""

_SHARED: Final = "it passes through shared memory"
_BLOCKS: Final = "it is carried by a loop made of branches between blocks"


class Sink(Struct, frozen=True, eq=False):
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
    return Taints(summarize(module)).sinks()


def _is_followed(op: Op) -> bool:
    """Return whether an op has a meaning of its own, or computes each element of its own."""
    row = KINDS.get(op.name)
    return row is not None and (
        row.kind in (Kind.ELEMENTWISE, Kind.JUMP, Kind.END)
        or (row.kind is Kind.ADDRESS and bool(row.operator))  # others give a block its bounds, too
        or meaning_of(op) is not elementwise
    )


def places_in(load: Access) -> tuple[Symbol, ...]:
    """Return the symbols that tell a load's elements: its lanes, and the trips of its loops."""
    lanes = (lane_symbol(axis, extent) for axis, extent in enumerate(load.shape) if extent > 1)
    return (*lanes, *(loop.trip for loop in load.loops))


def marker(load: Access) -> Opaque:
    """Return the condition that an element of a load counts as undefined, wherever it is moved."""
    at = tuple(symbol.term for symbol in places_in(load))
    return Opaque(("loaded", load.op.index), "it is loaded", at)


class Taints:
    """The taints of a kernel's values, propagated in the order of execution.

    `tainted` are the ids of values that may have some.
    """

    def __init__(self, summary: Summary, load: Access | None = None) -> None:
        """`load`: only what it loads counts as undefined, where its `marker` holds."""
        self.summary = summary
        self._module = summary.module
        self.flow = flow_of(self._module)
        self._load = load
        self.tainted = (
            tainted(self._module) if load is None
            else reached_from(self._module, load.op.results)
        )  # fmt: skip
        self._values: dict[int, Undefined] = {}
        self._accesses: dict[tuple[Op, _Calls], list[Access]] = defaultdict(list)
        for access in summary.accesses:
            self._accesses[access.op, access.calls].append(access)
        self._loops = {(loop.op, loop.calls): loop for loop in summary.loops}
        self._sinks: dict[tuple[object, ...], Sink] = {}
        self._calls: _Calls = ()
        self._is_called_once = True

    def sinks(self) -> tuple[Sink, ...]:
        """Propagate taint through the kernel, and return the sinks that it reaches."""
        if self.tainted:
            self._function(self._module.main)
        return tuple(self._sinks.values())

    def of(self, value: Value) -> Undefined:
        """Return the taint of a value."""
        return self._values.get(value.id, NOWHERE)

    def formula(self, value: Value) -> Formula | None:
        """Return a value's formula; None in a function of several calls, whose formulas differ."""
        return self.summary.values.get(value.id) if self._is_called_once else None

    def key(self, op: Op) -> Key:
        """Return the key of symbols of an op: its index, with those of the calls around it."""
        calls = (call.index for call in self._calls)
        return (op.index, *calls) if self._calls else op.index

    def _set_copies(self, values: Iterable[Value]) -> None:
        """Set the taint of values to that of the values that they may be copies of."""
        for value in values:
            self._values[value.id] = united_taint(map(self.of, self.flow.origins(value)))

    def _not_followed(
        self, value: Value, reason: str, sources: frozenset[Op] = frozenset()
    ) -> Undefined:
        condition = Opaque(("undefined", value.id), reason)
        return Undefined(condition, condition, sources)

    # -- functions and blocks ------------------------------------------------------------------

    def _function(self, function: Function) -> None:
        """Propagate taint through a function, whose arguments have theirs."""
        blocks = function.body.blocks
        for index, block in enumerate(blocks):
            self._set_copies(block.arguments if index else ())
            if any(block in later.ops[-1].successors for later in blocks[index:]):
                for argument in block.arguments:
                    if argument.id in self.tainted:
                        self._values[argument.id] = self._not_followed(argument, _BLOCKS)
            self._block(block)

    def _block(self, block: Block) -> None:
        if block not in self.summary.places:
            return  # never reached
        last = block.ops[-1]
        for op in block.ops if last.regions else block.ops[:-1]:
            self._visit(op)
        self._branches(last, self._place(last))

    def _visit(self, op: Op) -> None:
        if op.name in MEMORY:
            self._memory(op)
        elif op.name in CALLS and (function := called(op, self._module)) is not None:
            self._call(op, function)
        elif op.name in LOOPS:
            self._loop(op)
        elif op.name in BRANCHES:
            self._branch(op)
        elif op.name in PARTITIONING:
            for block in (region.blocks[0] for region in op.regions):
                self._set_copies(block.arguments)
                self._block(block)
            self._set_copies(op.results)
        elif any(isinstance(value.type, SharedType) for value in (*op.results, *op.operands)):
            self._share(op)
        elif self._load is None or _is_followed(op):
            for value in op.results:
                if value.id in self.tainted:
                    self._values[value.id] = self._computed(op, value)
        else:
            for name, value in operands_of(op):
                self._note_use(op, name, value, "value", self._place(op))

    def _computed(self, op: Op, value: Value) -> Undefined:
        if self._load is None and undefined_cause(op) and limited_operand(op) is None:
            return Undefined(TRUE, TRUE, frozenset((op,)))
        return meaning_of(op)(self, op, value)

    def beyond(self, op: Op) -> Undefined:
        """Return the taint of elements for which an operand is below 0, or beyond its limit."""
        limited = limited_operand(op) if self._load is None and undefined_cause(op) else None
        if limited is None:
            return NOWHERE
        formula, is_beyond = self.formula(limited[0]), self.unknown(op, "what limits it")
        taint = ~within(formula, limited[1]) if isinstance(formula, Term) else is_beyond
        return limited_taint(taint, taint, frozenset((op,)))

    def _share(self, op: Op) -> None:
        """Record values that pass through shared memory as sinks: nobody follows them there."""
        for name, value in operands_of(op):
            if not isinstance(value.type, SharedType) and not self.of(value).is_nowhere:
                sources = self.of(value).sources
                self._values[value.id] = self._not_followed(value, _SHARED, sources)
                self._note_use(op, name, value, "value", self._place(op))

    # -- memory --------------------------------------------------------------------------------

    def _memory(self, op: Op) -> None:
        for name, value in operands_of(op):
            if name == "mask":
                self._note_use(op, name, value, "mask", self._place(op))
            elif name != "other":
                use: Use = "value" if name in DATA else "address"
                for access in self._accesses[op, self._calls]:
                    self._note_use(op, name, value, use, access)
        if op.name in READING and op.results and op.results[0].id in self.tainted:
            self._values[op.results[0].id] = self._loaded(op)

    def _loaded(self, op: Op) -> Undefined:
        if self._load is not None and op is self._load.op:
            taint = marker(self._load)
            return Undefined(taint, taint, frozenset((op,)))
        off = ~self.mask(op)
        if self._load is None and leaves_lanes(op):
            return limited_taint(off, off, frozenset((op,)))
        return self.of(op.operand("other")).mapped(lambda condition: off & condition)

    def mask(self, op: Op) -> Condition:
        """Return the condition under which lanes of a load are active."""
        masks = [access.mask for access in self._accesses[op, self._calls]]
        mask = mask_of(op)
        formula = None if mask is None else self.formula(mask)
        if len(masks) > 1 and isinstance(formula, Condition):
            return formula  # simpler than the masks by argument
        return disjunction(masks)

    def unknown(self, op: Op, reason: str) -> Opaque:
        """Return an opaque condition over the lanes of an op's result."""
        shape = shape_of(op.results[0].type)
        lanes = (lane(axis, extent) for axis, extent in enumerate(shape) if extent > 1)
        return Opaque(("undefined", self.key(op)), reason, tuple(lanes))

    def _place(self, op: Op) -> Place | None:
        """Return an op's place, under the conditions of the first call where calls differ."""
        if self._is_called_once:
            return self.summary.place_of(op)
        place = self.summary.place_of(self._calls[0])
        return None if place is None else replace(place, op=op)

    def _note_use(self, op: Op, name: str, value: Value, use: Use, place: Place | None) -> None:
        """Record a sink if a used value comes from undefined lanes."""
        if value.id not in self.tainted or place is None:
            return
        undefined = self.of(value)
        conditions = [place.reached]
        if isinstance(place, Access):
            conditions.append(place.mask)
            source = shape_of(value.type)
            if use == "value" and source != place.shape and source:
                indices = reshaped_indices(lanes_of(place.shape), place.shape, source)
                undefined = undefined.mapped(lambda taint: placed(taint, source, indices))
        assumptions = frozenset(part for condition in conditions for part in condition.conjuncts())
        undefined = undefined.mapped(lambda condition: simplified_by(condition, assumptions))
        key = (op, use, name, place if isinstance(place, Access) else self._calls)
        self._sinks[key] = Sink(use, op, value, place, undefined)

    def _branches(self, op: Op, place: Place | None) -> None:
        """Record sinks for the operands that decide where an op continues."""
        for value in deciding(op):
            self._note_use(op, str(value.id), value, "branch", place)

    # -- branches, loops and calls -------------------------------------------------------------

    def _branch(self, op: Op) -> None:
        """Propagate taint through an op that runs one of its regions; of two, by its condition."""
        self._branches(op, self._place(op))
        for region in op.regions:
            for block in region.blocks:
                self._block(block)
        self._set_copies(op.results)
        formulas = [self.formula(value) for value in deciding(op)]
        for value in op.results:
            match formulas, self.flow.origins(value):
                case [Condition() as condition], [first, second]:
                    taint = chosen(condition, self.of(first), self.of(second))
                    self._values[value.id] = taint

    def _loop(self, op: Op) -> None:
        """Propagate taint through a loop: by placeholders first, then by what solves them."""
        first, *others = (region.blocks[0] for region in op.regions)
        counter = counter_of(op)
        if counter is not None:
            self._branches(op, self._place(op))
        loop = self._loops.get((op, self._calls))
        if loop is None:  # it never runs, by its bounds
            self._set_copies(op.results)
            return

        def run_trip() -> None:
            self._block(first)
            for block in others:
                self._set_copies(block.arguments)
                self._block(block)

        arguments = [value for value in first.arguments if value is not counter]
        passed = terminator(op, -1).group("passed")
        carried = {
            argument: CarriedValue(
                (self.key(op), argument.position), shape_of(argument.type), self.of(initial)
            )
            for argument, initial in zip(arguments, op.group("initial"), strict=True)
            if argument.id in self.tainted
        }
        if carried:
            for argument, slot in carried.items():
                self._values[argument.id] = slot.placeholder
            run_trip()
            for argument, yielded in zip(arguments, passed, strict=True):
                if argument in carried:
                    carried[argument].outcome = self.of(yielded)
            for argument, taint in zip(carried, solved([*carried.values()], loop), strict=True):
                self._values[argument.id] = taint
        run_trip()
        at_end = methodcaller("substitute", Substitution({loop.trip: loop.trips}))
        leaving = arguments if counter is not None else terminator(op, 0).group("passed")
        for result, last in zip(op.results, leaving, strict=True):
            self._values[result.id] = self.of(last).mapped(at_end)

    def _call(self, op: Op, function: Op) -> None:
        outside = self._calls, self._is_called_once
        self._calls = (*self._calls, op)
        self._is_called_once &= len(self.flow.callers(function)) == 1
        for argument, value in zip(Function(function).arguments, op.operands, strict=True):
            self._values[argument.id] = self.of(value)
        self._function(Function(function))
        self._calls, self._is_called_once = outside
        self._set_copies(op.results)
