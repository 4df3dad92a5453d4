"""Where integers of a kernel are used so that their width shows: what the overflow rule asks about.

Sums, products, left shifts and bitwise ops are the same modulo 2^n whether or not what they are
made of has wrapped around. What wrapped shows only where a value is extended, divided, compared or
ordered, or is a pointer's offset; and matters only where that decides an address, a mask, a branch
or a loop's end. So those uses are found, once per module, from each memory access backwards, each
value in the lanes of the access. Where a value is not followed by a formula, nothing is known of
where it is used: then all that it is made of must fit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kvtrace.evaluate.shadows.ideal.integers import FIRST_UNSIGNED
from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.flow import counter_of, deciding, enclosing_ops, flow_of, leading_to
from kvtrace.ir.memo import once_per_module
from kvtrace.ir.ops import (
    BRANCHES,
    CALLS,
    COMBINING,
    FUNCTIONS,
    GIVEN,
    LOOPS,
    MIXING,
    MODULAR,
    READING,
    SIGNED,
    SPREADING,
    UNSIGNED,
    Kind,
    address_of,
    computing,
    mask_of,
    named,
    operator_of,
    positions_of,
)
from kvtrace.ir.types import FloatType
from kvtrace.symbolic.bits import wrapped
from kvtrace.symbolic.conditions import TRUE, Condition, Opaque, at_least, conjunction
from kvtrace.symbolic.hashes import is_hash, is_mixed
from kvtrace.symbolic.meanings.arith import comparison
from kvtrace.symbolic.summary import Access, Arithmetic, BlockPointer, Place, Pointer, Summary
from kvtrace.symbolic.terms import Atom, Substitution, Symbol, Term, lane, signed_range
from kvtrace.symbolic.walk import summarise
from kvtrace.symbolic.walk_types import element_of, integer_bits, is_pointer, number_of, shape_of
from kvtrace.verdicts.deciding import Purpose, modular_ops, stored_index
from kvtrace.verdicts.feeding import feeding_values
from kvtrace.verdicts.lanes import Lanes, lanes_before, lanes_of_operand, own_lanes

_UNSIGNED: Final = named(lambda row: row.reading in ("unsigned", "mixing"))
_SHOWING: Final = _UNSIGNED | named(lambda row: row.reading == "signed")
"""Ops whose result is another where what they take has wrapped around."""
#: What a reduction is made of that takes one of its elements as it is.
_SELECTING: Final = computing("compare", "where", "&", "|", "^", "constant")
#: What one op combines so that it does not matter whether elements have wrapped around.
_MODULAR_COMBINING: Final = MODULAR & computing("+", "*", "&", "|", "^")
_REDUCING: Final = named(lambda row: row.kind is Kind.REDUCTION)
#: What makes descriptors and block pointers, whose numbers are scalars.
_BLOCKS: Final = named(
    lambda row: row.kind is Kind.ADDRESS and row.has("pointer") and row.operator != "+"
)


@dataclass(frozen=True, eq=False)
class Use:
    """A use of an integer that may have wrapped around.

    `right` says that nothing shows: the ideal `term` fits its width, or a comparison comes out as
    with ideal numbers; `fits` is enough for that, and plainer: that all numbers fit. It is claimed
    of lanes that are active in `access` (`exact_lanes`), or wherever the use is reached: `place`.
    `arithmetic` is what made the value; `purpose` is what the use decides.
    """

    access: Access
    place: Place
    arithmetic: Arithmetic
    value: Value
    term: Term
    fits: Condition
    right: Condition
    purpose: Purpose
    exact_lanes: bool


@once_per_module
def uses(module: Module) -> tuple[Use, ...]:
    """Return the uses that decide memory accesses of the kernel itself."""
    return tuple(_Finder(summarise(module)).all())


class _Finder:
    def __init__(self, summary: Summary) -> None:
        self._summary = summary
        self._values = summary.values
        self._places = summary.places
        self._accesses = summary.accesses
        own = [each for each in summary.arithmetic if not each.calls]
        self._arithmetic = {each.op.index: each for each in own if counter_of(each.op) is None}
        self._counters: dict[int, list[Arithmetic]] = defaultdict(list)
        for each in own:
            if counter_of(each.op) is not None:
                self._counters[each.op.index].append(each)
        self._main = summary.module.main.op
        self._flow = flow_of(summary.module)
        self._found: dict[object, Use] = {}
        self._seen: set[tuple[int, Lanes, Purpose, bool]] = set()
        self._sources: dict[int, Arithmetic | None] = {}

    def all(self) -> Iterator[Use]:
        """Look backwards from all accesses."""
        ops = self._summary.module.ops
        if not self._summary.arithmetic and not any(op.name in UNSIGNED for op in ops):
            return
        for access in self._accesses:
            if access.calls:
                continue
            self._access = access
            self._seen = set()
            address = address_of(access.op)
            self._look(address, own_lanes(address), "address")
            mask = mask_of(access.op)
            if mask is not None:
                self._look(mask, own_lanes(mask), "mask")
            stored = stored_index(access.op, self._summary.module)
            if stored is not None:
                self._look(stored, own_lanes(stored), "index", by=access.op, signed=False)
            for value in positions_of(access.op):
                self._look(value, (), "address", by=access.op)
            self._execution(access.op)
        yield from self._found.values()

    def _execution(self, op: Op) -> None:
        """Look at what decides that an op runs."""
        block = op.block
        for parent in enclosing_ops(op):
            if parent is self._main:
                for before in () if block is None else leading_to(block):
                    self._ways(before.ops[-1], "branch")
            else:
                self._ways(parent, "loop" if parent.name in LOOPS else "branch")
            block = parent.block

    def _ways(self, op: Op, purpose: Purpose) -> None:
        """Look at what decides which way an op goes."""
        for value in deciding(op):
            truth = integer_bits(value.type) == 1  # a loop's trips are counted by comparing
            self._look(value, (), purpose, by=None if truth else op)
        counter = counter_of(op)
        if counter is not None:
            for arithmetic in self._counters[op.index]:
                self._fits(op, arithmetic, counter, purpose, place=arithmetic)

    # -- backwards -------------------------------------------------------------------------------

    def _look(
        self,
        value: Value,
        lanes: Lanes,
        purpose: Purpose,
        *,
        by: Op | None = None,
        signed: bool = True,
        strictly: bool = False,
    ) -> None:
        """Look at a value and all that it is made of; `by`: its width shows there, `signed`.

        `strictly`: what it goes into is not followed, so that every width shows.
        """
        if by is not None:
            self._use(by, value, lanes, purpose, signed=signed)
        if is_mixed(value):  # of what goes into a hash, only what shows there counts
            strictly, lanes = False, None
        elif not strictly and self._is_lost(value):
            strictly, lanes = True, None
        if (value.id, lanes, purpose, strictly) in self._seen:
            return
        self._seen.add((value.id, lanes, purpose, strictly))
        if isinstance(value.owner, Block):
            self._argument(value, value.owner, lanes, purpose, strictly=strictly)
        elif isinstance(value.owner, Op):
            if strictly:
                self._strictly(value, value.owner, purpose)
            else:
                self._result(value, value.owner, lanes, purpose)

    def _is_lost(self, value: Value) -> bool:
        """Whether no formula says what a value is."""
        known = self._values.get(value.id)
        owner = value.owner
        if isinstance(owner, Op):
            if owner.name in READING or owner.name in GIVEN:
                return False
            arithmetic = self._arithmetic.get(owner.index)
            if arithmetic is not None and not arithmetic.followed:
                return True
        if isinstance(known, Pointer):
            return any(choice.argument is None for choice in known.choices)
        if isinstance(known, Term):
            unknown = known.symbols("unknown")
            maker = owner.region.owner if isinstance(owner, Block) else owner
            bare = len(unknown) == 1 and known == next(iter(unknown)).term
            return bare or any(
                maker is not None and _maker(symbol) == maker.index for symbol in unknown
            )
        return not isinstance(known, Condition | BlockPointer) or isinstance(known, Opaque)

    def _strictly(self, value: Value, op: Op, purpose: Purpose) -> None:
        """Look at all that an op takes, and at all ops in it, and ask of each that it fits."""
        if op.name in READING or op.name in GIVEN:
            return
        arithmetic = self._arithmetic.get(op.index)
        if arithmetic is not None:
            self._fits(op, arithmetic, value, purpose)
        if op.name in CALLS:
            self._called(op, value, purpose)
        if op.name in LOOPS or op.name in BRANCHES:
            self._control(value, op, None, purpose, strictly=True)
            return
        if op.name in _SHOWING:  # right here, its operands are right for whatever follows
            for operand in op.operands:
                self._look(operand, None, purpose, by=op, signed=op.name not in _UNSIGNED)
            return
        selected = _selected(op, value.position)
        if selected is not None:
            for operand in selected:
                self._look(operand, None, purpose, by=op)
            return
        for operand in op.operands:
            self._look(operand, None, purpose, by=op, strictly=True)
        for inner in op.walk() if op.regions else ():
            for operand in inner.operands if inner is not op else ():
                self._look(operand, None, purpose, by=inner, strictly=True)

    def _called(self, op: Op, value: Value, purpose: Purpose) -> None:
        """Ask of all arithmetic of a function that is called that it fits."""
        for arithmetic in self._summary.arithmetic:
            if op in arithmetic.calls:
                self._fits(op, arithmetic, value, purpose, place=arithmetic)

    def _fits(
        self,
        by: Op,
        arithmetic: Arithmetic,
        value: Value,
        purpose: Purpose,
        *,
        place: Place | None = None,
    ) -> None:
        right = arithmetic.stays_in_width
        self._note(
            by, arithmetic, value, arithmetic.result, (right, right), purpose, None, place=place
        )

    def _result(self, value: Value, op: Op, lanes: Lanes, purpose: Purpose) -> None:
        name, operator = op.name, operator_of(op)
        if name in SPREADING:
            for operand in op.operands:
                self._look(operand, lanes if shape_of(operand.type) else (), purpose)
        elif operator in ("expand_dims", "trans", "reshape"):
            self._look(op.operand("source"), lanes_before(op, lanes), purpose)
        elif name in SIGNED or name in _UNSIGNED:
            for operand in op.operands:
                self._look(operand, lanes, purpose, by=op, signed=name in SIGNED)
        elif name in MODULAR:
            for operand in op.operands:
                self._look(operand, lanes_of_operand(operand, op, lanes), purpose)
        elif operator == "<<":
            self._look(op.operand("left"), lanes, purpose)
            self._look(op.operand("right"), lanes, purpose, by=op)
        elif operator == "compare" and not _is_float(op.operand("left")):
            self._compare(op, lanes, purpose)
        elif operator == "+" and is_pointer(value.type):
            self._look(op.operand("pointer"), lanes, purpose)
            self._look(op.operand("offset"), lanes, purpose, by=op)
        elif name in LOOPS or name in BRANCHES:
            self._control(value, op, lanes, purpose)
        elif name in _BLOCKS:
            for operand in op.operands:
                self._look(operand, (), purpose, by=op)
        elif name in COMBINING and _combining(op) in _MODULAR_COMBINING:
            for operand in op.operands:
                self._look(operand, None, purpose)
        elif name not in READING and name not in GIVEN:
            self._strictly(value, op, purpose)

    def _control(
        self, value: Value, op: Op, lanes: Lanes, purpose: Purpose, *, strictly: bool = False
    ) -> None:
        """Look at what branches and loops give, and at what decides which."""
        by = op if strictly else None

        def look(operand: Value) -> None:
            self._look(operand, lanes, purpose, by=by, strictly=strictly)

        for operand in self._flow.origins(value):
            look(operand)
        self._ways(op, "loop" if op.name in LOOPS else purpose)

    def _argument(
        self, value: Value, block: Block, lanes: Lanes, purpose: Purpose, *, strictly: bool
    ) -> None:
        owner = block.region.owner
        by = owner if strictly else None

        def look(operand: Value) -> None:
            self._look(operand, lanes, purpose, by=by, strictly=strictly)

        if owner.name in LOOPS:
            origins = self._flow.origins(value)
            for operand in origins:
                look(operand)
            if not origins:  # the loop's counter
                self._ways(owner, "loop")
        elif owner.name in FUNCTIONS and block is not owner.regions[0].blocks[0]:
            for op in owner.walk():
                if op.successors:
                    for operand in op.operands:
                        self._look(operand, None, purpose, by=by and op, strictly=strictly)

    # -- uses ------------------------------------------------------------------------------------

    def _use(self, op: Op, value: Value, lanes: Lanes, purpose: Purpose, *, signed: bool) -> None:
        source = self._source(value)
        term = self._term(value, lanes)
        bits = integer_bits(value.type)
        if term is None or bits is None or bits == 1:
            return
        if op.name in MIXING and any(map(is_hash, modular_ops(value, self._summary.module))):
            return  # it wraps around by intent
        low, high = signed_range(bits)
        if not signed:
            difference = self._difference(value) if op.name in UNSIGNED else None
            low, source = (low, source) if difference is None else (0, source or difference)
            high = (1 << bits) - 1
        if source is None or (low <= term.low and term.high <= high):
            return
        right = conjunction((at_least(term, low), at_least(high - term)))
        self._note(op, source, value, term, (right, right), purpose, lanes)

    def _difference(self, value: Value) -> Arithmetic | None:
        """Return the difference that an unsigned integer is made of: it may go below zero."""
        for op in modular_ops(value, self._summary.module):
            result = self._values.get(op.results[0].id)
            place = None if op.block is None else self._places.get(op.block)
            if operator_of(op) == "-" and isinstance(result, Term) and place is not None:
                bits = integer_bits(op.results[0].type) or 64
                shape = shape_of(op.results[0].type)
                return Arithmetic(op, place.guard, place.loops, place.calls, result, bits, shape)
        return None

    def _compare(self, op: Op, lanes: Lanes, purpose: Purpose) -> None:
        """A comparison is right if it comes out as with ideal numbers."""
        left, right = op.operand("left"), op.operand("right")
        for operand in (left, right):
            self._look(operand, lanes if shape_of(operand.type) else (), purpose)
        first, second = self._term(left, lanes), self._term(right, lanes)
        bits = integer_bits(left.type)
        predicate = number_of(op, "predicate")
        if first is None or second is None or bits is None or bits == 1:
            return
        if predicate >= FIRST_UNSIGNED:
            for operand in (left, right):
                by_operand = lanes if shape_of(operand.type) else ()
                self._use(op, operand, by_operand, purpose, signed=False)
            return
        wrapped_ones = [wrapped(term, bits, signed=True) for term in (first, second)]
        if wrapped_ones == [first, second]:
            return
        ideal = comparison(first, second, predicate, bits)
        actual = comparison(wrapped_ones[0], wrapped_ones[1], predicate, bits)
        if ideal is None or actual is None:
            return
        agrees = (ideal & actual) | (~ideal & ~actual)
        value, other, term = (left, right, first)
        if wrapped_ones[0] == first:
            value, other, term = (right, left, second)
        source = self._source(value) or self._source(other)
        if source is not None:
            low, high = signed_range(bits)
            fits = conjunction(
                part
                for each in (first, second)
                for part in (at_least(each, low), at_least(high - each))
            )
            self._note(op, source, value, term, (fits, agrees), purpose, lanes)

    def _note(
        self,
        op: Op,
        source: Arithmetic,
        value: Value,
        term: Term,
        claims: tuple[Condition, Condition],
        purpose: Purpose,
        lanes: Lanes,
        *,
        place: Place | None = None,
    ) -> None:
        fits, right = claims
        if right is TRUE:
            return
        exact = purpose in ("address", "index") and lanes is not None
        if place is None and op.block is not None:
            place = self._places.get(op.block)
        key = (source.op.index, right, id(self._access), exact, id(place))
        if key not in self._found:
            access = self._access
            self._found[key] = Use(
                access, place or access, source, value, term, fits, right, purpose, exact
            )

    def _term(self, value: Value, lanes: Lanes) -> Term | None:
        """Return an integer in the lanes of the access."""
        known = self._values.get(value.id)
        if not isinstance(known, Term) or lanes is None:
            return known if isinstance(known, Term) else None
        replacements: dict[Atom, Term | int] = {}
        for axis, (extent, place) in enumerate(zip(shape_of(value.type), lanes, strict=False)):
            if extent > 1 and place != lane(axis, extent):
                replacements[Symbol("lane", axis, 0, extent - 1)] = place
        return Substitution(replacements)(known) if replacements else known

    def _source(self, value: Value) -> Arithmetic | None:
        """Return the arithmetic that makes a value, seen through what only moves it."""
        if value.id not in self._sources:
            self._sources[value.id] = self._nearest(value)
        return self._sources[value.id]

    def _nearest(self, value: Value) -> Arithmetic | None:
        waiting, seen = [value], {value.id}
        while waiting:
            current = waiting.pop(0)
            op = current.owner
            if isinstance(op, Op) and op.index in self._arithmetic:
                return self._arithmetic[op.index]
            for operand in self._flow.sources(current):
                if operand.id not in seen:
                    seen.add(operand.id)
                    waiting.append(operand)
        fed = feeding_values((value,), self._summary.module)
        return next((self._arithmetic[op] for op in sorted(fed) if op in self._arithmetic), None)


def _maker(symbol: Symbol) -> int | None:
    """Return the index of the op that made a symbol for what it does not follow."""
    place = symbol.key[0] if isinstance(symbol.key, tuple) else symbol.key
    found = place[0] if isinstance(place, tuple) else place
    return found if isinstance(found, int) else None


def _is_float(value: Value) -> bool:
    return isinstance(element_of(value.type), FloatType)


def _selected(op: Op, position: int) -> list[Value] | None:
    """Return what a reduction's result is made of, if it is one of the elements of an operand.

    An argmax gives one of the indices that it is given. Floats by which it finds which one select
    the index and do not compute it: whatever they are, it is one of these.
    """
    if op.name not in _REDUCING:
        return None
    block = op.regions[0].blocks[0]
    *inner, end = block.ops
    if any(each.name not in _SELECTING for each in inner):
        return None
    places = (position, position + len(op.operands))
    waiting = [end.group("passed")[position]]
    while waiting:
        value = waiting.pop()
        if isinstance(value.owner, Block):
            if value.position not in places:
                return None
        elif isinstance(value.owner, Op) and operator_of(value.owner) == "where":
            waiting += (value.owner.operand(name) for name in ("first", "second"))
        else:
            return None
    return [
        value
        for place, value in enumerate(op.operands)
        if place == position or integer_bits(value.type) is not None
    ]


def _combining(op: Op) -> str:
    """Name the one op that combines two elements, "" if there are more."""
    block = op.regions[0].blocks[0]
    return block.ops[0].name if len(block.ops) == 2 and len(op.operands) == 1 else ""
