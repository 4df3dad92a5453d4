"""The tree of an element of an IR value, built from the op that makes it, inward.

Integers, conditions and addresses are formulas wherever the symbolic walk follows them
(`kvtrace.symbolic`); all else is built op by op, by the kinds that `kvtrace.ir.ops` gives them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.invariance.formulas import (
    Coordinates,
    attributes_of,
    is_followed,
    linear,
    reshaped,
    source_of,
)
from kvtrace.addons.invariance.groups import Group, bound_inside, extents_of
from kvtrace.addons.invariance.trees import COMMUTATIVE, TRIPS, Tree, bound, tree, truth_of
from kvtrace.ir import Block, Op, Value
from kvtrace.ir.attributes import DenseAttribute, FloatAttribute, IntegerAttribute
from kvtrace.ir.flow import called, counter_of, flow_of, leading_to, returns, terminator
from kvtrace.ir.ops import (
    BRANCHES,
    CALLS,
    COMBINING,
    FUNCTIONS,
    KINDS,
    LOOPS,
    MODULAR,
    SIGNED,
    Kind,
    mask_of,
    operator_of,
)
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.bits import wrapped
from kvtrace.symbolic.conditions import TRUE, Condition, at_least, equal, less
from kvtrace.symbolic.functions import choice, quotient, remainder
from kvtrace.symbolic.summary import Access, Loop, Summary
from kvtrace.symbolic.terms import ZERO, Substitution, Symbol, Term
from kvtrace.symbolic.walk_types import element_of, number_of, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_NODES: Final = 50_000
_SPECIAL: Final = re.compile(
    r"%(n?(tid|ctaid|warpid|smid)|laneid|lanemask|gridid|clock|globaltimer|(n?cluster)|pm\d|envreg)"
)
"""Registers of PTX that say where and when a program runs."""
_TRIPS: Final = "a loop whose number of trips is not followed"


def folded(op: Op, kind: str, parts: Sequence[Tree]) -> Term | Condition | None:
    """Return the formula of an integer op's result, wrapped to the type's width, if there is one.

    The symbolic walk has formulas only of results that do not overflow.
    """
    bits = int(kind[1:]) if kind in ("i1", "i8", "i16", "i32", "i64") else 0
    if not bits or any(part.what not in ("integer", "condition") for part in parts):
        return None
    result: Term | None = None
    match operator_of(op), [part.detail[0] for part in parts]:
        case "compare", [Term() as left, Term() as right]:
            compare = _COMPARING.get(number_of(op, "predicate"))
            return None if compare is None else compare(left, right)
        case "where", [Condition() as condition, Term() as then, Term() as otherwise]:
            result = choice(condition, then, otherwise)
        case "+", [Term() as left, Term() as right]:
            result = left + right
        case "-", [Term() as left, Term() as right]:
            result = left - right
        case "*", [Term() as left, Term() as right]:
            result = left * right
        case "<<", [Term() as left, Term(constant=int(count))] if 0 <= count < bits:
            result = left * (1 << count)
        case ">>", [Term() as left, Term(constant=int(count))] if 0 <= count < bits:
            whole = left if op.name in SIGNED else wrapped(left, bits, signed=False)
            result = quotient(whole, 1 << count, floor=True)
        case "cast", [Term() as left] if op.name in MODULAR:
            result = left
    return None if result is None or bits == 1 else wrapped(result, bits, signed=True)


#: Comparisons of signed integers, by their number in arith.cmpi.
_COMPARING: Final[Mapping[int, Callable[[Term, Term], Condition]]] = {
    0: equal, 1: lambda left, right: ~equal(left, right), 2: less,
    3: lambda left, right: at_least(right, left), 4: lambda left, right: less(right, left),
    5: at_least,
}  # fmt: skip


class TooLarge(KvtraceError):
    """The tree of an element has too many nodes to be followed."""

    slug = "too-large"


class Elements:
    """Builder of the trees of elements of one kernel.

    `written` rewrites a formula for comparison: numbers in place of arguments, the output's
    coordinates in place of programs and lanes. `name` names an argument, `located` rewrites a byte
    offset in an argument. `floats` are the types and bits of floats that replace arguments.
    `wrapping` are ids of values whose arithmetic may overflow: their trees are built op by op.
    """

    def __init__(
        self,
        summary: Summary,
        written: Callable[[Term], Term],
        holds: Callable[[Condition], Condition],
        name: Callable[[int], str],
        located: Callable[[int, Term], Term] = lambda _, offset: offset,
        floats: Mapping[int, tuple[str, int]] = {},
        wrapping: Collection[int] = (),
    ) -> None:
        self._floats = floats
        self._wrapping = wrapping
        self.summary = summary
        self.places: dict[Tree, Op] = {}
        """The op of this kernel that each node was made for; other kernels may share the node."""
        self.module = summary.module
        self._written = written
        self._holds = holds
        self._name = name
        self._located = located
        self._loops: dict[Op, Loop] = {loop.op: loop for loop in summary.loops}
        self._accesses: dict[Op, list[Access]] = {}
        for access in summary.accesses:
            self._accesses.setdefault(access.op, []).append(access)
        self.loads: set[int] = set()
        self._groups: tuple[Group, ...] = ()
        self._memo: dict[Any, Tree] = {}
        self._made = 0
        self._flow = flow_of(self.module)

    # -- formulas --------------------------------------------------------------------------------

    def term(self, term: Term, at: Coordinates, shape: Sequence[int]) -> Term:
        """Return a formula of a tensor at one element, as it is to be compared."""
        return self._written(self._placed(at, shape)(term))

    def condition(self, condition: Condition, at: Coordinates, shape: Sequence[int]) -> Condition:
        """Return a condition of a tensor at one element, as it is to be compared."""
        return self._holds(condition.substitute(self._placed(at, shape)))

    def _placed(self, at: Coordinates, shape: Sequence[int]) -> Substitution:
        replaced: dict[Any, Term] = {
            Symbol("lane", axis, 0, extent - 1): place
            for axis, (extent, place) in enumerate(zip(shape, at, strict=True))
            if extent > 1
        }
        replaced |= {group.trip: bound(group.level, TRIPS).term for group in self._groups}
        return Substitution(replaced)

    # -- values ----------------------------------------------------------------------------------

    def of(self, value: Value, at: Coordinates, level: int) -> Tree:
        """Return the tree of one element of a value; symbols bound inside it begin at `level`."""
        key = (value.id, at, level, self._groups)
        node = self._memo.get(key)
        if node is None:
            self._made += 1
            if self._made > _MOST_NODES:
                raise TooLarge("its expression is too large to be followed")
            node = self._memo[key] = self._of(value, at, level)
            if isinstance(value.owner, Op):
                self.places.setdefault(node, value.owner)
        return node

    def stored(self, access: Access, at: Coordinates) -> Tree:
        """Return the tree of an element after a store; where data mask the store, its old value.

        Masks and branches that are formulas are left out: `Access.active` has them.
        """
        value = self.of(access.op.operand("value"), at, 0)
        conditions = list(self._undecided(access, at))
        if not conditions or access.argument is None:
            return value
        kind = str(element_of(access.op.operand("value").type))
        offset = self.term(access.offset, at, access.shape)
        offset = self._located(access.argument, offset)
        before = tree(
            "element", (self._name(access.argument), offset, kind, ""), (), access.op.index
        )
        for condition, holds in conditions:
            ways = (value, before) if holds else (before, value)
            value = tree("op", ("where", (), "", 0), (condition, *ways), access.op.index)
        return value

    def _undecided(self, access: Access, at: Coordinates) -> Iterator[tuple[Tree, bool]]:
        """Yield each condition of a store that is not a formula, and the truth that it needs."""
        if not is_followed(access.mask):
            mask = mask_of(access.op)
            shape = () if mask is None else shape_of(mask.type)
            yield (
                (
                    self._unknown(access.op, "a mask that is not followed")
                    if mask is None
                    else self.of(mask, at if shape else (), 0)
                ),
                True,
            )
        if all(map(is_followed, (access.guard, *(loop.running for loop in access.loops)))):
            return
        for op in (access.op, *reversed(access.calls)):
            yield from self._branches(op)

    def _branches(self, op: Op) -> Iterator[tuple[Tree, bool]]:
        """Yield the conditions under which an op is reached in its function."""
        inner, around = op, op.parent
        while around is not None and around.name not in FUNCTIONS:
            row = KINDS[around.name]
            deciding = [around.operand("condition")] if row.has("condition") else []
            if around.name in LOOPS:
                known = self._loops.get(around)
                if known is None or counter_of(around) is None or not is_followed(known.trips):
                    yield (
                        self._unknown(around, _TRIPS),
                        True,
                    )
            elif around.name in BRANCHES and deciding:
                truth = self.summary.values.get(deciding[0].id)
                if not isinstance(truth, Condition) or not is_followed(truth):
                    region = None if inner.block is None else inner.block.region
                    yield self.of(deciding[0], (), 0), region is around.regions[0]
            elif around.name in BRANCHES:
                yield self._unknown(around, "a branch that is not followed"), True
            inner, around = around, around.parent
        if around is not None and inner.block is not None:
            yield from self._jumps(inner.block)

    def _jumps(self, block: Block) -> Iterator[tuple[Tree, bool]]:
        """Yield the conditions under which a block is reached, as after an early return."""
        before = leading_to(block)
        for other in before:
            jump = other.ops[-1]
            ways = [way is block or way in before for way in jump.successors]
            if len(set(ways)) < 2:
                continue
            (condition,) = jump.group("condition")
            truth = self.summary.values.get(condition.id)
            if not isinstance(truth, Condition) or not is_followed(truth):
                yield self.of(condition, (), 0), ways[0]

    def _of(self, value: Value, at: Coordinates, level: int) -> Tree:
        known = self.summary.values.get(value.id)
        wraps = value.id in self._wrapping
        if isinstance(known, Term | Condition) and is_followed(known) and not wraps:
            shape = shape_of(value.type)
            if isinstance(known, Term):
                formula = self.term(known, at, shape)
                return tree("integer", (formula, str(element_of(value.type))))
            return tree("condition", (self.condition(known, at, shape),))
        if isinstance(value.owner, Op):
            return self._made_by(value.owner, value.position, at, level)
        return self._passed(value, at, level)

    def _passed(self, value: Value, at: Coordinates, level: int) -> Tree:
        """Return the tree of an argument of a block."""
        block = value.owner
        assert isinstance(block, Block)
        owner = block.region.owner
        if owner.name in FUNCTIONS:
            if owner is self.module.main.op:
                if value.position in self._floats:
                    kind, bits = self._floats[value.position]
                    return tree("constant", (kind, (bits,)))
                return tree("argument", (self._name(value.position), str(value.type)))
            callers = self._flow.callers(owner)
            if len(callers) == 1:
                return self.of(callers[0].group("argument")[value.position], at, level)
            return self._unknown(owner, "a function that is called from several places")
        if owner.name in COMBINING or operator_of(owner) == "map":
            return tree("combined", (value.position,))
        if owner.name in LOOPS:
            return self._carried(owner, value, at, level)
        return self._unknown(owner, "a jump between blocks")

    def _made_by(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        row = KINDS.get(op.name)
        if row is None:
            return self._unknown(op, f"{op.name}, which is not in the table of ops")
        operator = operator_of(op)
        if operator == "constant":
            return self._constant(op, at)
        if operator == "inline_asm" and _SPECIAL.search(str(op.attributes.get("asm_string", ""))):
            return self._unknown(op, "assembly that reads where or when it runs")
        if op.name in CALLS:
            return self._called(op, position, at, level)
        if operator == "map":
            return self._mapped(op, position, at, level)
        if row.kind in (Kind.SPREAD, Kind.REARRANGED, Kind.PICKED):
            return self._moved(op, position, at, level)
        if op.name in LOOPS:
            return self._after(op, position, at, level)
        if op.name in BRANCHES:
            return self._branched(op, position, at, level)
        if op.name in COMBINING:
            return self._reduced(op, position, at, level)
        if row.kind is Kind.PRODUCT:
            return self._product(op, at, level)
        if row.effect == "load":
            return self._element(op, at, level)
        if row.kind in (Kind.ELEMENTWISE, Kind.ADDRESS, Kind.GIVEN):
            return self._computed(op, position, at, level)
        if row.kind is Kind.COUNT:
            return self._counted(op, at, level)
        reason = "the old value of an atomic update" if row.effect == "atomic" else op.name
        return self._unknown(op, reason)

    def _unknown(self, op: Op, reason: str) -> Tree:
        return tree("unknown", (reason, op.index), (), op.index)

    def _constant(self, op: Op, at: Coordinates) -> Tree:
        given = op.attributes.get("value")
        kind = str(element_of(op.results[0].type))
        if isinstance(given, DenseAttribute):
            if given.is_splat:
                return tree("constant", (kind, given.bits), (), op.index)
            place = self._written(linear(at, shape_of(op.results[0].type)))
            index = tree("integer", (place, "index"))
            return tree("constant", (kind, given.bits), (index,), op.index)
        if isinstance(given, FloatAttribute):
            return tree("constant", (kind, (given.bits,)), (), op.index)
        if isinstance(given, IntegerAttribute):
            return tree("constant", (kind, (given.value,)), (), op.index)
        return self._unknown(op, "a constant that is not read")

    def _computed(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        """Return the tree of an elementwise op on the operands' elements at the same index."""
        parts = [self.of(each, at if shape_of(each.type) else (), level) for each in op.operands]
        if operator_of(op) == "where" and (truth := truth_of(parts[0])) is not None:
            return parts[1 if truth else 2]
        if operator_of(op) in COMMUTATIVE and len(parts) == 2:
            parts.sort(key=hash)
        kind = str(element_of(op.results[position].type))
        formula = folded(op, kind, parts)
        if isinstance(formula, Condition):
            return tree("condition", (formula,), (), op.index)
        if formula is not None:
            return tree("integer", (formula, kind), (), op.index)
        return tree("op", (op.name, attributes_of(op), kind, position), tuple(parts), op.index)

    def _called(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        function = called(op, self.module)
        if function is None or len(self._flow.callers(function)) != 1:
            return self._unknown(op, "a function that is called from several places")
        ends = returns(function)
        if len(ends) != 1:
            return self._unknown(op, "a function with several ends")
        return self.of(ends[0].group("passed")[position], at, level)

    def _mapped(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        blocks = op.regions[0].blocks
        if len(blocks) != 1 or number_of(op, "pack", 1) != 1:
            return self._unknown(op, "a function mapped over several elements at once")
        result = self.of(blocks[0].ops[-1].group("passed")[position], (), level)
        parts = tuple(self.of(value, at, level) for value in op.operands)
        return tree("op", (op.name, (), "", position), (result, *parts), op.index)

    # -- elements moved --------------------------------------------------------------------------

    def _moved(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        operator, row = operator_of(op), KINDS[op.name]
        if row.kind is Kind.PICKED:
            if not row.has("index"):
                return self._unknown(op, op.name)
            return self._picked(op, at, level)
        if operator in ("join", "cat"):
            return self._joined(op, operator, at, level)
        source = op.operand("source")
        shape, target = shape_of(source.type), shape_of(op.results[position].type)
        return self.of(source, source_of(op, operator, position, at, shape, target), level)

    def _picked(self, op: Op, at: Coordinates, level: int) -> Tree:
        """Return the tree of a gathered element: a choice by the tree of its index."""
        source, axis = op.operand("source"), number_of(op, "axis")
        extent = shape_of(source.type)[axis]
        index = self.of(op.operand("index"), at, level)
        if index.what == "integer":
            place = index.detail[0]
            if place.low >= 0 and place.high < extent:
                return self.of(source, (*at[:axis], place, *at[axis + 1 :]), level)
        among = bound(level, extent)
        inside = (*at[:axis], among.term, *at[axis + 1 :])
        element = self.of(source, inside, level + 1)
        return tree("op", (op.name, (("extent", extent),), "", 0), (index, element), op.index)

    def _joined(self, op: Op, operator: str, at: Coordinates, level: int) -> Tree:
        first, second = op.operand("first"), op.operand("second")
        if operator == "join":
            which, inside = at[-1], at[:-1]
            halves = (inside, inside)
            pick = which.constant
        else:
            extent = shape_of(first.type)[0]
            pick = None if at[0].constant is None else at[0].constant // extent
            halves = ((remainder(at[0], extent),),) * 2
            which = quotient(at[0], extent)
        if pick is not None:
            return self.of((first, second)[pick], halves[pick], level)
        index = tree("integer", (self._written(which), "index"))
        parts = (index, self.of(first, halves[0], level), self.of(second, halves[1], level))
        return tree("op", ("join", (), "", 0), parts, op.index)

    # -- several elements at once ----------------------------------------------------------------

    def _reduced(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        given, axis = op.group("source"), number_of(op, "axis")
        extent = shape_of(given[0].type)[axis]
        is_scan = KINDS[op.name].kind is Kind.SCAN
        along = bound(level, extent).term
        detail: tuple[Any, ...] = ()
        if is_scan:
            inside = (*at[:axis], along, *at[axis + 1 :])
            detail = (number_of(op, "reverse"), self._written(at[axis]))
        else:
            inside = (*at[:axis], along, *at[axis:])
        end = op.regions[0].blocks[0].ops[-1]
        combined = tuple(self.of(value, (), level + 1) for value in end.group("passed"))
        elements = tuple(self.of(value, inside, level + 1) for value in given)
        if not is_scan and extent == 1:
            return elements[position]
        parts = (*combined, *elements)
        return tree("reduction", (op.name, extent, level, position, *detail), parts, op.index)

    def _counted(self, op: Op, at: Coordinates, level: int) -> Tree:
        source = op.operand("source")
        along = bound(level, prod(shape_of(source.type))).term
        parts = [self.of(source, (along,), level + 1)]
        if (mask := mask_of(op)) is not None:
            parts.append(self.of(mask, (along,), level + 1))
        return tree(
            "op",
            (op.name, (), "", 0),
            (*parts, tree("integer", (self._written(at[0]), "index"))),
            op.index,
        )

    def _product(self, op: Op, at: Coordinates, level: int) -> Tree:
        left, right, added = (op.operand(name) for name in ("left", "right", "added"))
        scales = [
            op.optional(name) for name in ("left_scale", "right_scale") if KINDS[op.name].has(name)
        ]
        if any(scale is not None for scale in scales):
            return self._unknown(op, "a product of blocks that share scales")
        extent = shape_of(left.type)[-1]
        along = bound(level, extent).term
        types = tuple(str(element_of(value.type)) for value in (left, right, added))
        parts = (
            self.of(left, (*at[:-1], along), level + 1),
            self.of(right, (*at[:-2], along, at[-1]), level + 1),
            self.of(added, at, level),
        )
        return tree("product", (types, attributes_of(op), extent, level), parts, op.index)

    # -- memory ----------------------------------------------------------------------------------

    def _element(self, op: Op, at: Coordinates, level: int) -> Tree:
        self.loads.add(op.index)
        value = op.results[0]
        shape, kind = shape_of(value.type), str(element_of(value.type))
        accesses = self._accesses.get(op, [])
        padding = str(op.attributes.get("padding", ""))
        if (
            len(accesses) == 1
            and accesses[0].argument is not None
            and is_followed(accesses[0].offset)
        ):
            (access,) = accesses
            assert access.argument is not None
            place = reshaped(at, shape, access.shape)
            offset = self.term(access.offset, place, access.shape)
            offset = self._located(access.argument, offset)
            return self._masked(
                op, access, (self._name(access.argument), offset, kind, padding), place, at, level
            )
        if not KINDS[op.name].has("pointer"):
            return self._unknown(op, "a load through a descriptor that is not followed")
        pointer = self.of(op.operand("pointer"), at if shape else (), level)
        mask = mask_of(op)
        parts = [pointer]
        if mask is not None:
            parts.append(self.of(mask, at if shape else (), level))
            other = op.optional("other")
            if other is not None:
                parts.append(self.of(other, at if shape else (), level))
        return tree("element", ("", None, kind, padding), tuple(parts), op.index)

    def _masked(
        self, op: Op, access: Access, detail: tuple[Any, ...], place: Coordinates,
        at: Coordinates, level: int,
    ) -> Tree:  # fmt: skip
        """Return the tree of a loaded element, or of its padding where the lane is masked off."""
        if is_followed(access.mask):
            mask = self.condition(access.mask, place, access.shape)
            if mask is TRUE:
                return tree("element", detail, (), op.index)
            made = tree("condition", (mask,))
        else:
            value = mask_of(op)
            if value is None:
                return self._unknown(op, "a mask that is not followed")
            made = self.of(value, at if shape_of(value.type) else (), level)
        parts = [made]
        other = op.optional("other") if KINDS[op.name].has("other") else None
        if other is not None:
            parts.append(self.of(other, at if shape_of(other.type) else (), level))
        return tree("element", detail, tuple(parts), op.index)

    # -- branches --------------------------------------------------------------------------------

    def _branched(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        ways = [
            self.of(region.blocks[0].ops[-1].group("passed")[position], at, level)
            for region in op.regions
            if len(region.blocks) == 1
        ]
        if len(ways) != len(op.regions):
            return self._unknown(op, "a branch of several blocks")
        row = KINDS[op.name]
        deciding = [op.operand(name) for name in ("condition", "selector") if row.has(name)]
        if not deciding:
            return ways[0]
        decided = self.of(deciding[0], (), level)
        if (truth := truth_of(decided)) is not None:
            return ways[0 if truth else 1]
        return tree("op", ("where", attributes_of(op), "", 0), (decided, *ways), op.index)

    # -- loops -----------------------------------------------------------------------------------

    @contextmanager
    def _inside(self, group: Group) -> Iterator[None]:
        before = self._groups
        self._groups = (*before, group)
        try:
            yield
        finally:
            self._groups = before

    def _carried(self, loop: Op, value: Value, at: Coordinates, level: int) -> Tree:
        """Return the tree of a loop's carried value in the current trip."""
        place = value.position - (1 if counter_of(loop) is not None else 0)
        block = value.owner
        assert isinstance(block, Block)
        if counter_of(loop) is None and block is loop.regions[1].blocks[0]:
            return self.of(terminator(loop, 0).group("passed")[place], at, level)
        for group in reversed(self._groups):
            if group.loop is loop:
                return self._reference(group, place, at)
        known = self._loops.get(loop)
        if known is None or counter_of(loop) is None:
            return self._unknown(loop, "what a loop carries")
        return self._loop(loop, known, known.trip.term, place, at, level)

    def _after(self, loop: Op, position: int, at: Coordinates, level: int) -> Tree:
        """Return the tree of a loop's result."""
        known = self._loops.get(loop)
        if known is None:
            # It never runs, by its bounds.
            if counter_of(loop) is None:
                return self._unknown(loop, "a loop that is not followed")
            return self.of(loop.group("initial")[position], at, level)
        if counter_of(loop) is None:
            return self._while(loop, known, position, at, level)
        if not is_followed(known.trips):
            return self._unknown(loop, _TRIPS)
        return self._loop(loop, known, known.trips, position, at, level)

    def _loop(
        self, loop: Op, known: Loop, trips: Term, position: int, at: Coordinates, level: int
    ) -> Tree:
        """Return the tree of a loop's value after some trips: the initial value and its update."""
        count = self.term(trips, (), ())
        group = Group(loop, level, known.trip)
        yielded = terminator(loop, 0).group("passed")
        parts = self._definitions(group, position, at, loop.group("initial"), yielded)
        return tree("loop", (count, level, False, extents_of(group)), parts, loop.index)

    def _while(self, loop: Op, known: Loop, position: int, at: Coordinates, level: int) -> Tree:
        group = Group(loop, level, known.trip)
        condition = terminator(loop, 0)
        with self._inside(group):
            goes_on = self.of(condition.operand("condition"), (), level + 1)
            left = self.of(
                condition.group("passed")[position], self._slots(group, at)[0], level + 1
            )
        yielded = terminator(loop, 1).group("passed")
        parts = self._definitions(group, None, at, loop.group("initial"), yielded)
        detail = (ZERO, level, True, extents_of(group))
        return tree("loop", detail, (goes_on, left, *parts), loop.index)

    def _definitions(
        self,
        group: Group,
        position: int | None,
        at: Coordinates,
        initial: Sequence[Value],
        yielded: Sequence[Value],
    ) -> tuple[Tree, ...]:
        """Return (initial, next) of all carried values that one depends on, as discovered."""
        if position is not None:
            self._reference(group, position, at)
        parts: list[Tree] = []
        while group.waiting:
            index, elements = group.waiting.pop(0)
            inner = group.level + 1 + sum(1 for _ in bound_inside(elements, group.level))
            parts.append(self.of(initial[index], elements, inner))
            with self._inside(group):
                parts.append(self.of(yielded[index], elements, inner))
        return tuple(parts)

    def _slots(self, group: Group, at: Coordinates) -> tuple[Coordinates, Coordinates]:
        """Return coordinates with symbols bound inside the loop renumbered, and those symbols."""
        inside = list(bound_inside(at, group.level))
        renumbered: dict[Any, Term] = {
            symbol: bound(group.level + 1 + number, symbol.high + 1).term
            for number, symbol in enumerate(inside)
        }
        replaced = Substitution(renumbered)
        return tuple(replaced(term) for term in at), tuple(symbol.term for symbol in inside)

    def _reference(self, group: Group, place: int, at: Coordinates) -> Tree:
        elements, given = self._slots(group, at)
        key = (place, elements)
        number = group.numbers.get(key)
        if number is None:
            number = group.numbers[key] = len(group.numbers)
            group.waiting.append(key)
        return tree("carried", (group.level, number, given))
