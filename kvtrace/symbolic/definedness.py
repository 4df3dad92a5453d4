"""Where elements that masked loads leave without a value go: a flow on top of the summary.

Each value has a condition over its lanes, and programs and trips, that says where it is undefined.
Elementwise ops unite what they are given, `select` takes the chosen side, reductions and products
spread along the axis that they use up, and loops carry on. It ends at sinks: what is stored, what
is an address, a mask or a branch. Past a sink nothing is followed: it is told once.

Facts: a masked-off lane of a load without `other` is undefined in Triton's language reference.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from kvtrace.ir import Op
from kvtrace.ir.attributes import DenseArrayAttribute, SymbolAttribute
from kvtrace.symbolic.carried_undefined import Course, Slot, courses
from kvtrace.symbolic.conditions import FALSE, TRUE, Condition, Opaque, at_least, equal
from kvtrace.symbolic.meanings.tt_blocks import block_access, checked_axes
from kvtrace.symbolic.meanings.tt_shape import relaned, reshaped
from kvtrace.symbolic.summary import Access, BlockPointer, Place, Summary
from kvtrace.symbolic.taint import leaves_lanes, operand_counts, tainted
from kvtrace.symbolic.terms import ZERO, Atom, Substitution, Symbol, Term, lane
from kvtrace.symbolic.undefined import (
    NOWHERE,
    Undefined,
    chosen,
    made,
    placeholder,
    some_lane,
    somewhere,
    united,
    where_true,
)
from kvtrace.symbolic.walk_types import integer_bits, number_of, pointee_bytes, shape_of
from kvtrace.symbolic.zeros import Zeros, rearranged

if TYPE_CHECKING:
    from kvtrace.ir import Block, Value
    from kvtrace.ir.model import Function

Use = Literal["value", "address", "mask", "branch"]

_CALLED_TWICE: Final = "it is in a function that is called from several places"
_BLOCKS: Final = "it is carried by a loop of blocks"
_SAME: Final = frozenset({"tt.splat", "tt.unsplat", "tt.broadcast", "ttg.convert_layout"})
_MOVED: Final = frozenset({"tt.reshape", "tt.expand_dims", "tt.trans"})
_STORED: Final = {
    "tt.store": (1,),
    "tt.atomic_rmw": (1,),
    "tt.atomic_cas": (1, 2),
    "tt.descriptor_store": (1,),
    "tt.descriptor_reduce": (1,),
    "tt.descriptor_scatter": (3,),
    "tt.load": (),
    "tt.descriptor_load": (),
    "tt.descriptor_gather": (),
}
"""Memory ops, and which of their operands are written."""


@dataclass(frozen=True, eq=False)
class Sink:
    """An operand of an op that may be undefined where it counts.

    `place` is the access whose active lanes count, or where the op is reached.
    """

    use: Use
    op: Op
    value: Value
    place: Place
    undefined: Undefined


def sinks_of(summary: Summary) -> tuple[Sink, ...]:
    """Give what elements without a value may reach in a kernel; worked out once per module."""
    key = summary.module.op
    found = _sinks.get(key)
    if found is None:
        found = _sinks[key] = _Flow(summary).sinks()
    return found


_sinks: weakref.WeakKeyDictionary[Op, tuple[Sink, ...]] = weakref.WeakKeyDictionary()


class _Flow:
    def __init__(self, summary: Summary) -> None:
        self._summary = summary
        self._module = summary.module
        self._tainted = tainted(self._module)
        self._values: dict[int, Undefined] = {}
        self._accesses: dict[Op, list[Access]] = {}
        self._found: dict[tuple[Op, Use, int, int], Sink] = {}
        self._recording = True
        self._vague = False
        self._zeros = Zeros(summary, self._mask)

    def sinks(self) -> tuple[Sink, ...]:
        """Follow the kernel."""
        if not self._tainted:
            return ()
        for access in self._summary.accesses:
            self._accesses.setdefault(access.op, []).append(access)
        main = self._module.main
        self._function(main, [NOWHERE] * len(main.arguments))
        return tuple(self._found.values())

    def _of(self, value: Value) -> Undefined:
        return self._values.get(value.id, NOWHERE)

    def _set(self, value: Value, undefined: Undefined) -> None:
        self._values[value.id] = undefined

    # -- functions and blocks ------------------------------------------------------------------

    def _function(self, function: Function, given: Sequence[Undefined]) -> list[Undefined]:
        blocks = function.body.blocks
        for argument, undefined in zip(function.arguments, given, strict=True):
            self._set(argument, undefined)
        arriving: dict[Block, list[list[Undefined]]] = {}
        returned: list[list[Undefined]] = []
        seen: set[Block] = set()
        again = _jumped_back_to(blocks)
        for number, block in enumerate(blocks):
            seen.add(block)
            if number:
                self._bind(block, arriving.get(block, []), repeated=block in again)
            self._block(block)
            last = block.ops[-1]
            if last.name == "cf.cond_br":
                self._used(last, 0, "branch", self._summary.places.get(block))
            for target, values in _jumps(last):
                arriving.setdefault(target, []).append([self._of(value) for value in values])
            if last.name.endswith(".return"):
                returned.append([self._of(value) for value in last.operands])
        return [united(ways) for ways in zip(*returned, strict=True)] if returned else []

    def _bind(self, block: Block, ways: Sequence[Sequence[Undefined]], *, repeated: bool) -> None:
        for position, argument in enumerate(block.arguments):
            parts = [way[position] for way in ways if position < len(way)]
            if repeated and argument.id in self._tainted:
                parts = [self._not_followed(argument, _BLOCKS)]
            self._set(argument, united(parts))

    def _not_followed(
        self, value: Value, reason: str, sources: frozenset[Op] = frozenset()
    ) -> Undefined:
        condition = Opaque(("undefined", value.id), reason)
        return Undefined(condition, condition, sources)

    def _block(self, block: Block) -> None:
        if block not in self._summary.places:
            return  # never reached
        last = block.ops[-1]
        for op in block.ops:
            if op is not last or op.name not in _TERMINATORS:
                self._visit(op)

    def _visit(self, op: Op) -> None:
        if op.name in _STORED:
            self._memory(op)
            return
        region_op = _WITH_REGIONS.get(op.name)
        if region_op is not None:
            region_op(self, op)
            return
        if op.name.startswith("scf."):
            self._regions(op)
            return
        if not any(value.id in self._tainted for value in op.results):
            return
        if self._vague:
            undefined = united(self._anywhere(value, op) for value in op.operands)
            for value in op.results:
                self._set(value, undefined)
            return
        meaning = _MEANINGS.get(op.name, _Flow._elementwise)
        meaning(self, op)

    # -- memory --------------------------------------------------------------------------------

    def _memory(self, op: Op) -> None:
        stored = _STORED[op.name]
        masked = self._mask_position(op)
        other = sum(operand_counts(op)[:2]) if op.name == "tt.load" else len(op.operands)
        accesses = self._accesses.get(op, [])
        for position in range(len(op.operands)):
            if position == masked:
                self._used(op, position, "mask", self._place(op))
                continue
            if position == other:
                continue
            use: Use = "value" if position in stored else "address"
            for access in accesses:
                self._used(op, position, use, access)
        if op.name == "tt.load" and op.results[0].id in self._tainted:
            self._set(op.results[0], self._loaded(op, other))

    def _loaded(self, op: Op, other: int) -> Undefined:
        value = op.results[0]
        if self._vague:
            return self._not_followed(value, _CALLED_TWICE, frozenset((op,)))
        off = ~self._mask(op)
        if leaves_lanes(op):
            return made(off, off, frozenset((op,)))
        return self._of(op.operands[other]).where(lambda condition: off & condition)

    @staticmethod
    def _mask_position(op: Op) -> int | None:
        if op.name == "tt.load":
            return 1 if operand_counts(op)[1] else None
        if op.name in ("tt.store", "tt.atomic_rmw"):
            return 2 if len(op.operands) > 2 else None
        return None

    def _mask(self, op: Op) -> Condition:
        """Give where lanes of a load are on."""
        accesses = self._accesses.get(op, [])
        if len(accesses) == 1:
            return accesses[0].mask
        position = self._mask_position(op)
        known = None if position is None else self._summary.values.get(op.operands[position].id)
        if isinstance(known, Condition):
            return known
        pointer = self._summary.values.get(op.operands[0].id)
        if isinstance(pointer, BlockPointer):
            size = pointee_bytes(op.operands[0].type)
            shape = shape_of(op.results[0].type)
            return block_access(pointer, shape, size, checked_axes(op))[1]
        return TRUE if position is None else self._unknown(op, "a mask that is not followed")

    def _unknown(self, op: Op, reason: str) -> Opaque:
        shape = shape_of(op.results[0].type)
        lanes = (lane(axis, extent) for axis, extent in enumerate(shape) if extent > 1)
        return Opaque(("undefined", op.index), reason, tuple(lanes))

    def _place(self, op: Op) -> Place | None:
        found = None if op.block is None else self._summary.places.get(op.block)
        return None if found is None else replace(found, op=op)

    def _used(self, op: Op, position: int, use: Use, place: Place | None) -> None:
        """Note a use of what may be undefined where it counts."""
        value = op.operands[position]
        if not self._recording or value.id not in self._tainted or place is None:
            return
        undefined = self._of(value)
        conditions = [place.reached]
        if isinstance(place, Access):
            conditions.append(place.mask)
            source = shape_of(value.type)
            if use == "value" and source != place.shape and source:
                undefined = undefined.where(
                    lambda condition: _as_condition(reshaped(condition, source, place.shape))
                )
        holding = frozenset(part for each in conditions for part in each.conjuncts())
        undefined = undefined.where(lambda condition: where_true(condition, holding))
        if not undefined.is_nowhere:
            key = (op, use, position, id(place) if isinstance(place, Access) else 0)
            self._found[key] = Sink(use, op, value, place, undefined)

    # -- branches and loops --------------------------------------------------------------------

    def _if(self, op: Op) -> None:
        self._used(op, 0, "branch", self._place(op))
        condition = self._summary.values.get(op.operands[0].id)
        for region in op.regions:
            for block in region.blocks:
                self._block(block)
        if not op.results or not isinstance(condition, Condition):
            self._joined(op)
            return
        first, second = (region.blocks[0].ops[-1].operands for region in op.regions)
        for value, one, two in zip(op.results, first, second, strict=True):
            self._set(value, chosen(condition, self._of(one), self._of(two)))

    def _regions(self, op: Op) -> None:
        """Follow an op of which one region runs."""
        for position in range(len(op.operands)):
            self._used(op, position, "branch", self._place(op))
        for region in op.regions:
            for block in region.blocks:
                self._block(block)
        self._joined(op)

    def _joined(self, op: Op) -> None:
        ends = [block.ops[-1] for region in op.regions for block in region.blocks]
        for position, value in enumerate(op.results):
            ways = [self._of(end.operands[position]) for end in ends if len(end.operands)]
            self._set(value, united(ways))

    def _for(self, op: Op) -> None:
        for position in range(3):
            self._used(op, position, "branch", self._place(op))
        block = op.regions[0].blocks[0]
        initial = [self._of(value) for value in op.operands[3:]]

        def run() -> list[Undefined]:
            self._block(block)
            return [self._of(value) for value in block.ops[-1].operands]

        after = self._loop(op, block.arguments[1:], initial, run)
        for value, undefined in zip(op.results, after, strict=True):
            self._set(value, undefined)

    def _while(self, op: Op) -> None:
        before, after = (region.blocks[0] for region in op.regions)
        end = before.ops[-1]

        def run() -> list[Undefined]:
            self._block(before)
            self._used(end, 0, "branch", self._summary.places.get(before))
            for argument, value in zip(after.arguments, end.operands[1:], strict=True):
                self._set(argument, self._of(value))
            self._block(after)
            return [self._of(value) for value in after.ops[-1].operands]

        self._loop(op, before.arguments, [self._of(value) for value in op.operands], run)
        loop = next((each for each in self._summary.loops if each.op is op), None)
        for value, given in zip(op.results, end.operands[1:], strict=True):
            undefined = self._of(given)
            if loop is not None:
                at_end = Substitution({loop.trip: loop.trips})
                undefined = undefined.where(_substituting(at_end))
            self._set(value, undefined)

    def _loop(
        self,
        op: Op,
        arguments: Sequence[Value],
        initial: Sequence[Undefined],
        run: Callable[[], list[Undefined]],
    ) -> list[Undefined]:
        """Follow a loop: its body's arguments are set; give what is carried out of it."""
        loop = next((each for each in self._summary.loops if each.op is op), None)
        if loop is None:
            return list(initial)
        carried = [i for i, value in enumerate(arguments) if value.id in self._tainted]
        if not carried:
            run()
            return [NOWHERE] * len(arguments)
        shapes = [shape_of(arguments[i].type) for i in carried]
        possibly = [placeholder((op.index, i, 1), s) for i, s in zip(carried, shapes, strict=True)]
        surely = possibly
        outcomes = self._rehearsed(arguments, carried, (surely, possibly), run)
        if any(outcomes[i].surely is not outcomes[i].possibly for i in carried):
            surely = [
                placeholder((op.index, i, 0), s) for i, s in zip(carried, shapes, strict=True)
            ]
            outcomes = self._rehearsed(arguments, carried, (surely, possibly), run)

        def solved(own: Sequence[Opaque], part: Callable[[Undefined], Condition]) -> list[Course]:
            slots = [
                Slot(mine, shape, part(initial[i]), part(outcomes[i]))
                for i, mine, shape in zip(carried, own, shapes, strict=True)
            ]
            return courses(slots, loop)

        weak = solved(possibly, _possibly)
        alike = surely is possibly and all(
            initial[i].surely is initial[i].possibly for i in carried
        )
        strong = weak if alike else solved(surely, _surely)
        sources = _sources(carried, initial, outcomes, possibly)
        after = [NOWHERE] * len(arguments)
        for i, one, two in zip(carried, strong, weak, strict=True):
            self._set(arguments[i], made(one.inside, two.inside, sources[i]))
            after[i] = made(one.after, two.after, sources[i])
        run()
        return after

    def _rehearsed(
        self,
        arguments: Sequence[Value],
        carried: Sequence[int],
        own: tuple[Sequence[Opaque], Sequence[Opaque]],
        run: Callable[[], list[Undefined]],
    ) -> list[Undefined]:
        """Give what comes out of a loop's body for placeholders; no sinks are noted."""
        for i, surely, possibly in zip(carried, *own, strict=True):
            self._set(arguments[i], Undefined(surely, possibly))
        recording, self._recording = self._recording, False
        outcomes = run()
        self._recording = recording
        return outcomes

    def _call(self, op: Op) -> None:
        callee = op.attributes.get("callee")
        name = callee.value if isinstance(callee, SymbolAttribute) else ""
        function = self._module.functions.get(name)
        if function is None or not function.body.blocks:
            self._elementwise(op)
            return
        calls = [each for each in self._module.ops if each.attributes.get("callee") == callee]
        vague, self._vague = self._vague, self._vague or len(calls) > 1
        given = [self._of(value) for value in op.operands]
        if self._vague:
            given = [
                each if each.is_nowhere else self._not_followed(value, _CALLED_TWICE, each.sources)
                for each, value in zip(given, op.operands, strict=True)
            ]
        returned = self._function(function, given)
        self._vague = vague
        for value, undefined in zip(op.results, returned, strict=False):
            self._set(value, undefined)

    # -- elements ------------------------------------------------------------------------------

    def _elementwise(self, op: Op) -> None:
        for value in op.results:
            shape = shape_of(value.type)
            self._set(value, united(self._as_shaped(each, op, shape) for each in op.operands))

    def _as_shaped(self, value: Value, op: Op, shape: tuple[int, ...]) -> Undefined:
        """Give where an element of a shape hangs on an undefined one of an operand."""
        source = shape_of(value.type)
        return self._of(value) if source in (shape, ()) else self._anywhere(value, op)

    def _anywhere(self, value: Value, op: Op) -> Undefined:
        shape, key = shape_of(value.type), (op.index, value.id)
        return self._of(value).where(
            lambda condition: somewhere(condition, shape, range(len(shape)), key)
        )

    def _kept(self, op: Op) -> None:
        self._set(op.results[0], self._of(op.operands[0]))

    def _moved(self, op: Op) -> None:
        self._set(
            op.results[0],
            self._of(op.operands[0]).where(
                lambda condition: _as_condition(rearranged(op, condition))
            ),
        )

    def _select(self, op: Op) -> None:
        chooser, first, second = op.operands
        known = self._summary.values.get(chooser.id)
        condition = known if isinstance(known, Condition) else self._unknown(
            op, "a condition that is not followed"
        )  # fmt: skip
        picked = chosen(condition, self._of(first), self._of(second))
        self._set(op.results[0], united((picked, self._of(chooser))))

    def _logic(self, op: Op) -> None:
        """Follow `and` and `or`: of Booleans one side may decide alone."""
        if integer_bits(op.results[0].type) != 1:
            self._elementwise(op)
            return
        one, two = (self._of(value) for value in op.operands)
        if one.is_nowhere == two.is_nowhere:
            self._set(op.results[0], united((one, two)))
            return
        undefined, defined = (two, op.operands[0]) if one.is_nowhere else (one, op.operands[1])
        decides = self._summary.values.get(defined.id)
        if isinstance(decides, Condition):
            open_ = decides if op.name == "arith.andi" else ~decides
            undefined = undefined.where(lambda condition: condition & open_)
        self._set(op.results[0], undefined)

    def _product(self, op: Op) -> None:
        """Follow a multiplication: zero times an integer is zero, times a float nearly always."""
        first, second = op.operands[:2]
        parts = [
            _times(self._of(one), self._zeros.of(other), exact=op.name == "arith.muli")
            for one, other in ((first, second), (second, first))
        ]
        self._set(op.results[0], united((*parts, *(self._of(each) for each in op.operands[2:]))))

    def _dot(self, op: Op) -> None:
        left, right = op.operands[:2]
        shape, rank = shape_of(left.type), len(shape_of(left.type))
        depth = some_lane(op.index, rank, shape[-1])

        def of_left(condition: Condition) -> Condition:
            return _along(condition, shape, rank - 1, depth)

        def of_right(condition: Condition) -> Condition:
            return _along(condition, shape_of(right.type), rank - 2, depth)

        one, two = self._of(left), self._of(right)
        parts = [
            _times(one.where(of_left), of_right(self._zeros.of(right)), exact=False),
            _times(two.where(of_right), of_left(self._zeros.of(left)), exact=False),
            *(self._of(value) for value in op.operands[2:3]),
        ]
        self._set(op.results[0], united(parts))

    def _reduce(self, op: Op) -> None:
        axis, shape = number_of(op, "axis"), shape_of(op.operands[0].type)
        places = [lane(i - 1, n) if i > axis else None for i, n in enumerate(shape)]
        undefined = united(self._of(value) for value in op.operands)
        undefined = undefined.where(
            lambda condition: _as_condition(
                relaned(somewhere(condition, shape, (axis,), op.index), shape, places)
            )
        )
        for value in op.results:
            self._set(value, undefined)

    def _scan(self, op: Op) -> None:
        axis, shape = number_of(op, "axis"), shape_of(op.operands[0].type)
        here, there = lane(axis, shape[axis]), some_lane(op.index, axis, shape[axis])
        behind = here - there if not number_of(op, "reverse") else there - here
        undefined = united(self._of(value) for value in op.operands)
        undefined = undefined.where(
            lambda condition: at_least(behind) & somewhere(condition, shape, (axis,), op.index)
        )
        for value in op.results:
            self._set(value, undefined)

    def _join(self, op: Op) -> None:
        place = lane(len(shape_of(op.operands[0].type)), 2)
        first, second = (self._of(value) for value in op.operands)
        self._set(op.results[0], chosen(equal(place), first, second))

    def _split(self, op: Op) -> None:
        shape = shape_of(op.operands[0].type)
        for number, value in enumerate(op.results):
            place: Term = ZERO + number
            halves = self._of(op.operands[0])
            self._set(value, halves.where(_placing(shape, len(shape) - 1, place)))

    def _gather(self, op: Op) -> None:
        source, index = op.operands[:2]
        axis, shape = number_of(op, "axis"), shape_of(source.type)
        known = self._summary.values.get(index.id)
        place = known if isinstance(known, Term) else some_lane(op.index, axis, shape[axis])
        picked = self._of(source).where(lambda each: _along(each, shape, axis, place))
        self._set(op.results[0], united((picked, self._of(index))))


_TERMINATORS: Final = frozenset(
    {"scf.yield", "scf.condition", "tt.return", "func.return", "cf.br", "cf.cond_br",
     "llvm.return", "tt.reduce.return", "tt.scan.return"}
)  # fmt: skip
_WITH_REGIONS: Final[dict[str, Callable[[_Flow, Op], None]]] = {
    "scf.if": _Flow._if,
    "scf.for": _Flow._for,
    "scf.while": _Flow._while,
    "tt.call": _Flow._call,
    "func.call": _Flow._call,
}
_MEANINGS: Final[dict[str, Callable[[_Flow, Op], None]]] = {
    **dict.fromkeys(_SAME, _Flow._kept),
    **dict.fromkeys(_MOVED, _Flow._moved),
    "arith.select": _Flow._select,
    "arith.andi": _Flow._logic,
    "arith.ori": _Flow._logic,
    "arith.mulf": _Flow._product,
    "arith.muli": _Flow._product,
    "math.fma": _Flow._product,
    "tt.dot": _Flow._dot,
    "tt.reduce": _Flow._reduce,
    "tt.scan": _Flow._scan,
    "tt.join": _Flow._join,
    "tt.split": _Flow._split,
    "tt.gather": _Flow._gather,
}


def _times(undefined: Undefined, zero: Condition, *, exact: bool) -> Undefined:
    """Give where a product is undefined because of one factor; the other is `zero` somewhere."""
    if undefined.is_nowhere or zero is FALSE:
        return undefined
    counts = ~zero
    if exact:
        return undefined.where(lambda each: counts & each)
    return made(undefined.surely & counts, undefined.possibly, undefined.sources)


def _substituting(replaced: Substitution) -> Callable[[Condition], Condition]:
    return lambda condition: condition.substitute(replaced)


def _placing(shape: Sequence[int], axis: int, place: Term) -> Callable[[Condition], Condition]:
    return lambda condition: _along(condition, shape, axis, place)


def _along(condition: Condition, shape: Sequence[int], axis: int, place: Term) -> Condition:
    """Put a place for the index along an axis."""
    if shape[axis] <= 1:
        return condition
    moved: dict[Atom, Term | int] = {Symbol("lane", axis, 0, shape[axis] - 1): place}
    return condition.substitute(moved)


def _surely(undefined: Undefined) -> Condition:
    return undefined.surely


def _possibly(undefined: Undefined) -> Condition:
    return undefined.possibly


def _sources(
    carried: Iterable[int],
    initial: Sequence[Undefined],
    outcomes: Sequence[Undefined],
    own: Sequence[Opaque],
) -> dict[int, frozenset[Op]]:
    """Give the loads that what is carried comes from, also by way of what else is carried."""
    positions = list(carried)
    found = {i: initial[i].sources | outcomes[i].sources for i in positions}
    at = {opaque.key: i for opaque, i in zip(own, positions, strict=True)}
    for _ in positions:
        for i in positions:
            for opaque in outcomes[i].possibly.opaques():
                if opaque.key in at:
                    found[i] |= found[at[opaque.key]]
    return found


def _jumps(op: Op) -> list[tuple[Block, Sequence[Value]]]:
    if op.name == "cf.cond_br":
        sizes = op.attributes.get("operandSegmentSizes")
        first = int(sizes.values[1]) if isinstance(sizes, DenseArrayAttribute) else 0
        one, other = op.successors
        return [(one, op.operands[1 : 1 + first]), (other, op.operands[1 + first :])]
    return [(target, op.operands) for target in op.successors]


def _jumped_back_to(blocks: Sequence[Block]) -> set[Block]:
    number = {block: i for i, block in enumerate(blocks)}
    return {
        target
        for block in blocks
        for target in block.ops[-1].successors
        if number[target] <= number[block]
    }


def _as_condition(known: object) -> Condition:
    assert isinstance(known, Condition)
    return known
