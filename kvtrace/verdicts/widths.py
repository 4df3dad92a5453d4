"""Where integers of a kernel are used so that their width shows: what the overflow rule asks about.

Sums, products, left shifts and bitwise ops are the same modulo 2^n whether or not what they are
made of has wrapped around. What wrapped shows only where a value is extended, divided, compared or
ordered, or is a pointer's offset; and matters only where that decides an address, a mask, a branch
or a loop's end. So those uses are found, once per module, from each memory access backwards, each
value in the lanes of the access. Where a value is not followed by a formula, nothing is known of
how it goes on: then all that it is made of must fit.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from kvtrace.ir import Block, Op, Value
from kvtrace.ir.attributes import DenseArrayAttribute
from kvtrace.symbolic.conditions import TRUE, Condition, Opaque, at_least, conjunction
from kvtrace.symbolic.functions import quotient, remainder, wrapped
from kvtrace.symbolic.meanings.arith import comparison
from kvtrace.symbolic.summary import Access, Arithmetic, BlockPointer, Place, Pointer, Summary
from kvtrace.symbolic.terms import ZERO, Atom, Substitution, Symbol, Term, lane, signed_range
from kvtrace.symbolic.walk_types import integer_bits, number_of, shape_of
from kvtrace.verdicts.arithmetic import within_width
from kvtrace.verdicts.deciding import (
    COUNTING,
    MIXING,
    MODULAR,
    Purpose,
    carried,
    is_hash,
    mask_of,
    modular_ops,
    stored_index,
)
from kvtrace.verdicts.exact_integers import FIRST_UNSIGNED
from kvtrace.verdicts.feeding import READING, feeding_values

Lanes = tuple[Term, ...] | None
"""The index along each axis of a value, in the lanes of the access; None: its own lanes."""

_UNCHANGED: Final = frozenset({"tt.splat", "tt.unsplat", "tt.broadcast", "ttg.convert_layout"})
_SIGNED: Final = frozenset(
    {
        "arith.extsi", "arith.index_cast", "arith.divsi", "arith.remsi", "arith.floordivsi",
        "arith.ceildivsi", "arith.minsi", "arith.maxsi", "arith.shrsi", "math.absi",
    }
)  # fmt: skip
_UNSIGNED: Final = COUNTING | MIXING
#: What one op combines so that it does not matter whether elements have wrapped around.
_MODULAR_COMBINING: Final = frozenset(
    {"arith.addi", "arith.muli", "arith.andi", "arith.ori", "arith.xori"}
)
_GIVEN: Final = frozenset(
    {
        "arith.constant", "llvm.mlir.constant", "tt.get_program_id", "tt.get_num_programs",
        "tt.make_range", "ub.poison", "llvm.mlir.undef", "llvm.mlir.poison",
    }
)  # fmt: skip
"""Ops that give integers which are made of no others."""
_FUNCTIONS: Final = ("tt.func", "func.func", "llvm.func")


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


def uses(summary: Summary) -> tuple[Use, ...]:
    """Give the uses that decide memory accesses of the kernel itself; made once per module."""
    found = _uses.get(summary.module.op)
    if found is None:
        found = _uses[summary.module.op] = tuple(_Finder(summary).all())
    return found


_uses: weakref.WeakKeyDictionary[Op, tuple[Use, ...]] = weakref.WeakKeyDictionary()


class _Finder:
    def __init__(self, summary: Summary) -> None:
        self._summary = summary
        self._values = summary.values
        self._places = summary.places
        self._accesses = summary.accesses
        self._arithmetic = {each.op.index: each for each in summary.arithmetic if not each.calls}
        self._main = summary.module.main.op
        self._found: dict[object, Use] = {}
        self._seen: set[tuple[int, Lanes, Purpose, bool]] = set()

    def all(self) -> Iterator[Use]:
        """Look backwards from all accesses."""
        ops = self._summary.module.ops
        if not self._summary.arithmetic and not any(op.name in COUNTING for op in ops):
            return
        for access in self._accesses:
            if access.calls:
                continue
            self._access = access
            self._seen = set()
            for value in access.op.operands[:1]:
                self._look(value, _own_lanes(value), "address")
            mask = mask_of(access.op)
            if mask is not None:
                self._look(mask, _own_lanes(mask), "mask")
            stored = stored_index(access.op, self._summary.module)
            if stored is not None:
                self._look(stored, _own_lanes(stored), "index", by=access.op, signed=False)
            for value in _positions_of(access.op):
                self._look(value, (), "address", by=access.op)
            self._execution(access.op)
        yield from self._found.values()

    def _execution(self, op: Op) -> None:
        """Look at what decides that an op runs."""
        parent = op.parent
        while parent is not None:
            if parent.name == "scf.if":
                self._look(parent.operands[0], (), "branch")
            elif parent.name == "scf.index_switch":
                self._look(parent.operands[0], (), "branch", by=parent)
            elif parent.name == "scf.for":
                self._bounds(parent)
            elif parent.name == "scf.while":
                self._look(parent.regions[0].blocks[0].ops[-1].operands[0], (), "loop")
            elif parent is self._main:
                for inner in parent.walk():
                    if inner.name == "cf.cond_br" and inner.parent is parent:
                        self._look(inner.operands[0], (), "branch")
            parent = parent.parent

    def _bounds(self, loop: Op) -> None:
        """Look at where a loop begins and ends: its trips are counted by comparing."""
        for value in loop.operands[:3]:
            self._look(value, (), "loop", by=loop)

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
        if not strictly and self._is_lost(value):
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
            if owner.name in READING or owner.name in _GIVEN:
                return False
            arithmetic = self._arithmetic.get(owner.index)
            if arithmetic is not None and not arithmetic.followed:
                return True
        if isinstance(known, Pointer):
            return any(choice.argument is None for choice in known.choices)
        if isinstance(known, Term):
            ((monomial, factor),) = tuple(known.coefficients.items())[:1] or (((), 0),)
            atom = monomial[0] if len(monomial) == 1 == factor == len(known.coefficients) else None
            return isinstance(atom, Symbol) and atom.kind == "unknown"
        return not isinstance(known, Condition | BlockPointer) or isinstance(known, Opaque)

    def _strictly(self, value: Value, op: Op, purpose: Purpose) -> None:
        """Look at all that an op takes, and at all ops in it, and ask of each that it fits."""
        if op.name in READING or op.name in _GIVEN:
            return
        arithmetic = self._arithmetic.get(op.index)
        if arithmetic is not None:
            self._fits(op, arithmetic, value, purpose)
        if op.name in ("tt.call", "func.call"):
            self._called(op, value, purpose)
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
        right = within_width(arithmetic)
        self._note(
            by, arithmetic, value, arithmetic.result, (right, right), purpose, None, place=place
        )

    def _result(self, value: Value, op: Op, lanes: Lanes, purpose: Purpose) -> None:
        name = op.name
        if name in _UNCHANGED:
            self._look(op.operands[0], () if not shape_of(op.operands[0].type) else lanes, purpose)
        elif name in _SIGNED or name in _UNSIGNED:
            for operand in op.operands:
                self._look(operand, lanes, purpose, by=op, signed=name in _SIGNED)
        elif name in MODULAR:
            for operand in op.operands:
                self._look(operand, _lanes_of(operand, op, lanes), purpose)
        elif name == "arith.shli":
            self._look(op.operands[0], lanes, purpose)
            self._look(op.operands[1], lanes, purpose, by=op)
        elif name == "arith.cmpi":
            self._compare(op, lanes, purpose)
        elif name == "tt.addptr":
            self._look(op.operands[0], lanes, purpose)
            self._look(op.operands[1], lanes, purpose, by=op)
        elif name in ("tt.expand_dims", "tt.trans", "tt.reshape"):
            self._look(op.operands[0], _before(op, lanes), purpose)
        elif name in ("scf.if", "scf.for", "scf.while"):
            self._control(value, op, lanes, purpose)
        elif name.startswith("tt.make_tensor_") or name == "tt.advance":
            for operand in op.operands:
                self._look(operand, (), purpose, by=op)
        elif name in ("tt.reduce", "tt.scan") and _combining(op) in _MODULAR_COMBINING:
            for operand in op.operands:
                self._look(operand, None, purpose)
        elif name not in READING and name not in _GIVEN:
            self._strictly(value, op, purpose)

    def _control(self, value: Value, op: Op, lanes: Lanes, purpose: Purpose) -> None:
        """Look at what branches and loops give, and at what decides which."""
        if op.name == "scf.for":
            self._look(op.operands[3 + value.position], lanes, purpose)
            self._bounds(op)
        elif op.name == "scf.if":
            self._look(op.operands[0], (), purpose)
        else:
            goes_on, *forwarded = op.regions[0].blocks[0].ops[-1].operands
            self._look(goes_on, (), "loop")
            self._look(forwarded[value.position], lanes, purpose)
            return
        for region in op.regions:
            for block in region.blocks:
                self._look(block.ops[-1].operands[value.position], lanes, purpose)

    def _argument(
        self, value: Value, block: Block, lanes: Lanes, purpose: Purpose, *, strictly: bool
    ) -> None:
        owner = block.region.owner
        by = owner if strictly else None

        def look(operand: Value) -> None:
            self._look(operand, lanes, purpose, by=by, strictly=strictly)

        if owner.name == "scf.for":
            if value.position == 0:
                self._bounds(owner)
                return
            look(owner.operands[2 + value.position])
            look(block.ops[-1].operands[value.position - 1])
        elif owner.name == "scf.while":
            before, after = (region.blocks[0] for region in owner.regions)
            if block is before:
                look(owner.operands[value.position])
                look(after.ops[-1].operands[value.position])
            else:
                look(before.ops[-1].operands[1 + value.position])
        elif owner.name in _FUNCTIONS and block is not owner.regions[0].blocks[0]:
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
            return  # it is meant to wrap around
        low, high = signed_range(bits)
        if not signed:
            difference = self._difference(value) if op.name in COUNTING else None
            low, source = (low, source) if difference is None else (0, source or difference)
            high = (1 << bits) - 1
        if source is None or (low <= term.low and term.high <= high):
            return
        right = conjunction((at_least(term, low), at_least(high - term)))
        self._note(op, source, value, term, (right, right), purpose, lanes)

    def _difference(self, value: Value) -> Arithmetic | None:
        """Give the difference that an unsigned integer is made of: it may go below zero."""
        for op in modular_ops(value, self._summary.module):
            result = self._values.get(op.results[0].id)
            place = None if op.block is None else self._places.get(op.block)
            if op.name == "arith.subi" and isinstance(result, Term) and place is not None:
                bits = integer_bits(op.results[0].type) or 64
                shape = shape_of(op.results[0].type)
                return Arithmetic(op, place.guard, place.loops, place.calls, result, bits, shape)
        return None

    def _compare(self, op: Op, lanes: Lanes, purpose: Purpose) -> None:
        """A comparison is right if it comes out as with ideal numbers."""
        operands = []
        for operand in op.operands:
            scalar = not shape_of(operand.type)
            self._look(operand, () if scalar else lanes, purpose)
            operands.append(self._term(operand, lanes))
        first, second = operands
        bits = integer_bits(op.operands[0].type)
        predicate = number_of(op, "predicate")
        if first is None or second is None or bits is None or bits == 1:
            return
        if predicate >= FIRST_UNSIGNED:
            for operand in op.operands:
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
        right = (ideal & actual) | (~ideal & ~actual)
        which = 0 if wrapped_ones[0] != first else 1
        source = self._source(op.operands[which]) or self._source(op.operands[1 - which])
        if source is not None:
            term = operands[which]
            assert term is not None
            low, high = signed_range(bits)
            fits = conjunction(
                part
                for each in (first, second)
                for part in (at_least(each, low), at_least(high - each))
            )
            self._note(op, source, op.operands[which], term, (fits, right), purpose, lanes)

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
        """Give an integer in the lanes of the access."""
        known = self._values.get(value.id)
        if not isinstance(known, Term) or lanes is None:
            return known if isinstance(known, Term) else None
        replacements: dict[Atom, Term | int] = {}
        for axis, (extent, place) in enumerate(zip(shape_of(value.type), lanes, strict=False)):
            if extent > 1 and place != lane(axis, extent):
                replacements[Symbol("lane", axis, 0, extent - 1)] = place
        return Substitution(replacements)(known) if replacements else known

    def _source(self, value: Value) -> Arithmetic | None:
        """Give the arithmetic that makes a value, seen through what only moves it."""
        waiting, seen = [value], {value.id}
        while waiting:
            current = waiting.pop(0)
            op = current.owner
            if isinstance(op, Block):
                following = carried(current, op)
            elif op is None:
                continue
            elif op.index in self._arithmetic:
                return self._arithmetic[op.index]
            elif op.name in ("scf.if", "scf.for"):
                following = [
                    block.ops[-1].operands[current.position]
                    for region in op.regions
                    for block in region.blocks
                ]
                following += op.operands[3:][current.position : current.position + 1]
            elif op.name == "scf.while":
                following = [op.regions[0].blocks[0].ops[-1].operands[1 + current.position]]
            else:
                following = list(op.operands)
            for operand in following:
                if operand.id not in seen:
                    seen.add(operand.id)
                    waiting.append(operand)
        fed = feeding_values((value,), self._summary.module)
        return next((self._arithmetic[op] for op in sorted(fed) if op in self._arithmetic), None)


def _own_lanes(value: Value) -> tuple[Term, ...]:
    return tuple(lane(axis, extent) for axis, extent in enumerate(shape_of(value.type)))


def _before(op: Op, lanes: Lanes) -> Lanes:
    """Give the lanes of what an op rearranges, from those of its result."""
    if lanes is None:
        return None
    if op.name == "tt.expand_dims":
        axis = number_of(op, "axis")
        return lanes[:axis] + lanes[axis + 1 :]
    source, target = shape_of(op.operands[0].type), shape_of(op.results[0].type)
    if op.name == "tt.trans":
        order = op.attributes.get("order")
        if not isinstance(order, DenseArrayAttribute):
            return None
        axes = [int(axis) for axis in order.values]
        return tuple(lanes[axes.index(axis)] for axis in range(len(source)))
    linear = ZERO
    for extent, place in zip(target, lanes, strict=True):
        linear = linear * extent + place
    return tuple(
        remainder(quotient(linear, prod(source[axis + 1 :])), extent)
        for axis, extent in enumerate(source)
    )


def _lanes_of(operand: Value, op: Op, lanes: Lanes) -> Lanes:
    """Give the lanes of an operand of an elementwise op; others put elements elsewhere."""
    if op.name in ("tt.join", "tt.split", "tt.cat"):
        return None
    return lanes if shape_of(operand.type) else ()


def _combining(op: Op) -> str:
    """Name the one op that combines two elements, "" if there are more."""
    block = op.regions[0].blocks[0]
    return block.ops[0].name if len(block.ops) == 2 and len(op.operands) == 1 else ""


def _positions_of(op: Op) -> Sequence[Value]:
    """Give where in a descriptor's tensor a block begins."""
    if not op.name.startswith("tt.descriptor_"):
        return ()
    return [value for value in op.operands[1:] if integer_bits(value.type) == 32]
