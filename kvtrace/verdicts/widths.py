"""Uses of integers at which their width matters: the claims to prove for the rule overflow.

Sums, products, left shifts and bitwise ops are the same modulo 2^n whether or not their operands
have wrapped around. A wrap shows only where a value is extended, divided, compared or ordered, or
is a pointer's offset; it matters only if that decides an address, a mask, a branch or a loop's end.
These uses are found once per module, backward from each memory access, with each value in the
lanes of the access. If a value has no formula, its uses are unknown, and all of its
sources must fit their widths.

Example: in `load(x + (a * b - c))` with 32-bit integers only the offset `a * b - c` is a use, where
it is extended to 64 bits: `a * b` may wrap if the difference wraps back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.feeding import feeding_values, modular_ops
from kvtrace.ir.flow import (
    counter_of,
    deciding,
    enclosing_ops,
    flow_of,
    leading_to,
)
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import (
    BRANCHES,
    CALLS,
    COMBINING,
    DESCRIBING,
    FUNCTIONS,
    GIVEN,
    LOOPS,
    MODULAR,
    READING,
    SIGNED,
    SPREADING,
    address_of,
    computing,
    mask_of,
    named,
    operator_of,
)
from kvtrace.ir.types import FloatType, element_of, integer_bits, is_pointer, shape_of
from kvtrace.ir.updates import positions_of
from kvtrace.symbolic.conditions import TRUE, Condition, Opaque, at_least, conjunction
from kvtrace.symbolic.hashes import hashes_read_by, is_mixed
from kvtrace.symbolic.meanings.arith import with_unsigned_contents
from kvtrace.symbolic.meanings.tt_shape import lanes_of, source_indices
from kvtrace.symbolic.summary import (
    Access,
    Arithmetic,
    BlockPointer,
    Place,
    Pointer,
    Summary,
    op_index,
)
from kvtrace.symbolic.terms import Atom, Substitution, Symbol, Term, lane, signed_range
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.comparisons import Compared, compared, compared_together, is_unsigned
from kvtrace.verdicts.deciding import (
    STORED,
    Purpose,
    has_sign,
    selected_operands,
    shows_below_zero,
    stored_index,
    stored_part,
    unsigned_differences,
)

Lanes = tuple[Term, ...] | None
"""The index along each axis of a value as terms of the access's lanes; None if unknown."""

_UNSIGNED: Final = named(lambda row: row.reading in ("unsigned", "mixing"))
_WIDTH_SENSITIVE: Final = _UNSIGNED | named(lambda row: row.reading == "signed")
"""Ops whose result differs if an operand has wrapped around."""
#: Ops of a reduction whose result is right modulo 2^n even if elements have wrapped around.
_MODULAR_COMBINING: Final = MODULAR & computing("+", "*", "&", "|", "^")


class Use(Struct, frozen=True, eq=False):
    """A use of an integer that may have wrapped around.

    `right` says that no wrap shows: the ideal `term` fits its width, or a comparison gives the same
    as with ideal numbers. `fits` implies `right` and is simpler: all numbers fit. The claim is
    about lanes that are active in `access` (`exact_lanes`), or about every execution of the use:
    `place`. `arithmetic` made the value; `purpose` is what the use decides.
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
    """Return the uses of integers that affect memory accesses outside of called functions."""
    return tuple(_UseSearch(summarize(module)).all())


class _UseSearch:
    """The search for uses, backward from each memory access of a kernel."""

    def __init__(self, summary: Summary) -> None:
        self._summary = summary
        self._values = summary.values
        self._places = summary.places
        self._accesses = summary.accesses
        kernel_arithmetic = [
            arithmetic for arithmetic in summary.arithmetic if not arithmetic.calls
        ]
        self._arithmetic = {
            arithmetic.op.index: arithmetic
            for arithmetic in kernel_arithmetic
            if counter_of(arithmetic.op) is None
        }
        self._counters: dict[int, list[Arithmetic]] = defaultdict(list)
        for arithmetic in kernel_arithmetic:
            if counter_of(arithmetic.op) is not None:
                self._counters[arithmetic.op.index].append(arithmetic)
        self._main = summary.module.main.op
        self._flow = flow_of(summary.module)
        self._uses: dict[object, Use] = {}
        self._traced: set[tuple[int, Lanes, Purpose, bool]] = set()
        self._sources: dict[int, Arithmetic | None] = {}
        self._together: dict[int, tuple[Op, ...]] = {}

    def all(self) -> Iterator[Use]:
        """Yield the uses found backward from all accesses, each once."""
        ops = self._summary.module.ops
        if not self._summary.arithmetic and not any(map(shows_below_zero, ops)):
            return
        for access in self._accesses:
            if access.calls:
                continue
            self._access = access
            self._traced = set()
            address = address_of(access.op)
            self._trace(address, lanes_of(shape_of(address.type)), "address")
            mask = mask_of(access.op)
            self._together = compared_together(mask)
            if mask is not None:
                self._trace(mask, lanes_of(shape_of(mask.type)), "mask")
            stored = stored_index(access.op, self._summary.module)
            if stored is not None:
                lanes = lanes_of(shape_of(stored.type))
                self._trace(stored, lanes, "index", by=access.op, signed=False)
                if has_sign(stored, self._summary.module):
                    self._use(access.op, stored, lanes, "signed index", signed=True)
            part = stored_part(access.op, self._summary.module)
            if part is not None:
                self._trace(part, lanes_of(shape_of(part.type)), "part")
            for value in positions_of(access.op):
                # They decide which lanes are active, so that active lanes prove nothing of them.
                self._trace(value, (), "mask", by=access.op)
            self._trace_execution(access.op)
        yield from self._uses.values()

    def _trace_execution(self, op: Op) -> None:
        """Trace backward the conditions of branches, jumps and loops under which an op runs."""
        block = op.block
        for parent in enclosing_ops(op):
            if parent is self._main:
                for predecessor in () if block is None else leading_to(block):
                    self._trace_decisions(predecessor.ops[-1], "branch")
            else:
                self._trace_decisions(parent, "loop" if parent.name in LOOPS else "branch")
            block = parent.block

    def _trace_decisions(self, op: Op, purpose: Purpose) -> None:
        """Trace the operands that select the path of a branch, jump or loop."""
        for value in deciding(op):
            is_condition = integer_bits(value.type) == 1  # a loop's trips are counted by comparing
            self._trace(value, (), purpose, by=None if is_condition else op)
        counter = counter_of(op)
        if counter is not None:
            for arithmetic in self._counters[op.index]:
                self._require_fit(op, arithmetic, counter, purpose, place=arithmetic)

    # -- backwards -------------------------------------------------------------------------------

    def _trace(
        self,
        value: Value,
        lanes: Lanes,
        purpose: Purpose,
        *,
        by: Op | None = None,
        signed: bool = True,
        strictly: bool = False,
    ) -> None:
        """Trace a value and its sources; `by` is an op where its width shows, as `signed` or not.

        `strictly`: the op that uses the value is not tracked, so every width shows.
        """
        if by is not None:
            self._use(by, value, lanes, purpose, signed=signed)
        if is_mixed(value):  # of what goes into a hash, only what shows there counts
            strictly, lanes = False, None
        elif not strictly and self._is_untracked(value):
            strictly, lanes = True, None
        if (value.id, lanes, purpose, strictly) in self._traced:
            return
        self._traced.add((value.id, lanes, purpose, strictly))
        if isinstance(value.owner, Block):
            self._trace_argument(value, value.owner, lanes, purpose, strictly=strictly)
        elif isinstance(value.owner, Op):
            if strictly:
                self._trace_strictly(value, value.owner, purpose)
            else:
                self._trace_result(value, value.owner, lanes, purpose)

    def _is_untracked(self, value: Value) -> bool:
        """Return whether a value has no formula in terms of tracked symbols."""
        formula = self._values.get(value.id)
        owner = value.owner
        if isinstance(owner, Op):
            if owner.name in READING or owner.name in GIVEN:
                return False
            arithmetic = self._arithmetic.get(owner.index)
            if arithmetic is not None and not arithmetic.followed:
                return True
        if isinstance(formula, Pointer):
            return any(choice.argument is None for choice in formula.choices)
        if isinstance(formula, Term):
            unknown = formula.symbols("unknown")
            maker = owner.region.owner if isinstance(owner, Block) else owner
            is_bare = len(unknown) == 1 and formula == next(iter(unknown)).term
            return is_bare or any(
                maker is not None and op_index(symbol) == maker.index for symbol in unknown
            )
        return not isinstance(formula, Condition | BlockPointer) or isinstance(formula, Opaque)

    def _trace_strictly(self, value: Value, op: Op, purpose: Purpose) -> None:
        """Trace the operands and inner ops of an untracked op; every result has to fit."""
        if op.name in READING or op.name in GIVEN:
            return
        arithmetic = self._arithmetic.get(op.index)
        if arithmetic is not None:
            self._require_fit(op, arithmetic, value, purpose)
        if op.name in CALLS:
            self._require_callee_fits(op, value, purpose)
        if op.name in LOOPS or op.name in BRANCHES:
            self._trace_forwarded(value, op, None, purpose, strictly=True)
            return
        if (
            op.name in _WIDTH_SENSITIVE
        ):  # operands that are right here are right for all that follows
            for operand in op.operands:
                self._trace(operand, None, purpose, by=op, signed=op.name not in _UNSIGNED)
            return
        selected = selected_operands(op, value.position)
        if selected is not None:
            for operand in selected:
                self._trace(operand, None, purpose, by=op)
            return
        for operand in op.operands:
            self._trace(operand, None, purpose, by=op, strictly=True)
        for inner in op.walk() if op.regions else ():
            for operand in inner.operands if inner is not op else ():
                self._trace(operand, None, purpose, by=inner, strictly=True)

    def _require_callee_fits(self, op: Op, value: Value, purpose: Purpose) -> None:
        """Require that all integer ops in a called function stay within their widths."""
        for arithmetic in self._summary.arithmetic:
            if op in arithmetic.calls:
                self._require_fit(op, arithmetic, value, purpose, place=arithmetic)

    def _require_fit(
        self,
        by: Op,
        arithmetic: Arithmetic,
        value: Value,
        purpose: Purpose,
        *,
        place: Place | None = None,
    ) -> None:
        """Record the claim that an integer op stays within its width."""
        fits = arithmetic.stays_in_width
        self._add_use(
            by, arithmetic, value, arithmetic.result, (fits, fits), purpose, None, place=place
        )

    def _trace_result(self, value: Value, op: Op, lanes: Lanes, purpose: Purpose) -> None:
        """Trace the operands of an op according to how its result depends on their widths."""
        name, operator = op.name, operator_of(op)
        if name in SPREADING:
            for operand in op.operands:
                self._trace(operand, lanes if shape_of(operand.type) else (), purpose)
        elif operator in ("expand_dims", "trans", "reshape"):
            source_lanes = None if lanes is None else source_indices(op, 0, lanes)
            self._trace(op.operand("source"), source_lanes, purpose)
        elif name in SIGNED or name in _UNSIGNED:
            for operand in op.operands:
                self._trace(operand, lanes, purpose, by=op, signed=name in SIGNED)
        elif name in MODULAR:
            if integer_bits(value.type) == 1 and (flags := self._arithmetic.get(op.index)):
                self._require_fit(op, flags, value, purpose)
            part_lanes = None if operator in ("join", "split", "cat") else lanes
            for operand in op.operands:
                self._trace(operand, part_lanes if shape_of(operand.type) else (), purpose)
        elif operator == "<<":
            self._trace(op.operand("left"), lanes, purpose)
            self._trace(op.operand("right"), lanes, purpose, by=op)
        elif operator == "compare" and not _is_float(op.operand("left")):
            self._require_comparison(op, lanes, purpose)
        elif operator == "+" and is_pointer(value.type):
            self._trace(op.operand("pointer"), lanes, purpose)
            self._trace(op.operand("offset"), lanes, purpose, by=op)
        elif name in LOOPS or name in BRANCHES:
            self._trace_forwarded(value, op, lanes, purpose)
        elif name in DESCRIBING:
            for operand in op.operands:
                self._trace(operand, (), "mask" if integer_bits(operand.type) else purpose, by=op)
        elif name in COMBINING and _combining_op_name(op) in _MODULAR_COMBINING:
            for operand in op.operands:
                self._trace(operand, None, purpose)
        elif name not in READING and name not in GIVEN:
            self._trace_strictly(value, op, purpose)

    def _trace_forwarded(
        self, value: Value, op: Op, lanes: Lanes, purpose: Purpose, *, strictly: bool = False
    ) -> None:
        """Trace values that a branch or loop forwards, and the operands that select its path."""
        by = op if strictly else None

        def look(operand: Value) -> None:
            self._trace(operand, lanes, purpose, by=by, strictly=strictly)

        for operand in self._flow.origins(value):
            look(operand)
        self._trace_decisions(op, "loop" if op.name in LOOPS else purpose)

    def _trace_argument(
        self, value: Value, block: Block, lanes: Lanes, purpose: Purpose, *, strictly: bool
    ) -> None:
        owner = block.region.owner
        by = owner if strictly else None

        def look(operand: Value) -> None:
            self._trace(operand, lanes, purpose, by=by, strictly=strictly)

        if owner.name in LOOPS:
            origins = self._flow.origins(value)
            for operand in origins:
                look(operand)
            if not origins:  # the loop's counter
                self._trace_decisions(owner, "loop")
        elif owner.name in FUNCTIONS and block is not owner.regions[0].blocks[0]:
            for op in owner.walk():
                if op.successors:
                    for operand in op.operands:
                        self._trace(operand, None, purpose, by=by and op, strictly=strictly)

    # -- uses ------------------------------------------------------------------------------------

    def _use(self, op: Op, value: Value, lanes: Lanes, purpose: Purpose, *, signed: bool) -> None:
        """Add the claim that a value fits its width where `op` reads it as (un)signed."""
        source = self._source(value)
        term = self._term(value, lanes)
        bits = integer_bits(value.type)
        if term is None or bits is None or bits == 1:
            return
        hashes = hashes_read_by(op, self._summary.module)
        if hashes and any(o.index in hashes for o in modular_ops(value, self._summary.module)):
            return  # it wraps around by intent
        low, high = signed_range(bits)
        if not signed:
            difference = self._difference(value) if shows_below_zero(op) else None
            low, source = (low, source) if difference is None else (0, source or difference)
            high = (1 << bits) - 1
            term = with_unsigned_contents(term, bits) if purpose == "part" else term
        if source is None or (low <= term.low and term.high <= high):
            return
        fits = conjunction((at_least(term, low), at_least(high - term)))
        self._add_use(op, source, value, term, (fits, fits), purpose, lanes)

    def _difference(self, value: Value) -> Arithmetic | None:
        """Return the difference behind an unsigned integer, which may be negative, else None."""
        for op in modular_ops(value, self._summary.module):
            result = self._values.get(op.results[0].id)
            place = None if op.block is None else self._places.get(op.block)
            is_difference = op.index in unsigned_differences(self._summary.module)
            if is_difference and isinstance(result, Term) and result.low < 0 and place is not None:
                bits = integer_bits(op.results[0].type) or 64
                shape = shape_of(op.results[0].type)
                return Arithmetic(op, place.guard, place.loops, place.calls, result, bits, shape)
        return None

    def _require_comparison(self, op: Op, lanes: Lanes, purpose: Purpose) -> None:
        """Add the claim that a comparison gives the same result as with ideal numbers.

        In a mask the claim is about all comparisons of a number that have to hold together.
        """
        for operand in op.operands:
            operand_lanes = lanes if shape_of(operand.type) else ()
            self._trace(operand, operand_lanes, purpose)
            if is_unsigned(op):
                self._use(op, operand, operand_lanes, purpose, signed=False)
        one = self._compared(op, lanes)
        sources = (self._source(value) for value in ((one.value, *op.operands) if one else ()))
        source = next((source for source in sources if source is not None), None)
        if one is None or source is None:
            return
        group = self._together.get(op.index, (op,)) if purpose == "mask" else (op,)
        every = [each for each in (self._compared(other, lanes) for other in group) if each]
        ideal = conjunction(each.ideal for each in every)
        actual = conjunction(each.actual for each in every)
        fits = conjunction(each.fits for each in every)
        agrees = (ideal & actual) | (~ideal & ~actual)
        self._add_use(op, source, one.value, one.term, (fits, agrees), purpose, lanes)

    def _compared(self, op: Op, lanes: Lanes) -> Compared | None:
        left, right = (self._term(op.operand(name), lanes) for name in ("left", "right"))
        return compared(op, left, right)

    def _add_use(
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
        """Add a use with two claims (`fits` and `right`), unless it is trivial or known already."""
        fits, right = claims
        if right is TRUE:
            return
        exact_lanes = purpose in ("address", *STORED) and lanes is not None
        if place is None and op.block is not None:
            place = self._places.get(op.block)
        key = (source.op.index, right, id(self._access), exact_lanes, id(place))
        if key not in self._uses:
            access = self._access
            self._uses[key] = Use(
                access, place or access, source, value, term, fits, right, purpose, exact_lanes
            )

    def _term(self, value: Value, lanes: Lanes) -> Term | None:
        """Return an integer's formula in the access's lanes, None for other values."""
        formula = self._values.get(value.id)
        if not isinstance(formula, Term) or lanes is None:
            return formula if isinstance(formula, Term) else None
        replacements: dict[Atom, Term | int] = {}
        for axis, (extent, index) in enumerate(zip(shape_of(value.type), lanes, strict=False)):
            if extent > 1 and index != lane(axis, extent):
                replacements[Symbol("lane", axis, 0, extent - 1)] = index
        return Substitution(replacements)(formula) if replacements else formula

    def _source(self, value: Value) -> Arithmetic | None:
        """Return the nearest integer op from which a value comes, None if there is none; cached."""
        if value.id not in self._sources:
            self._sources[value.id] = self._nearest_arithmetic(value)
        return self._sources[value.id]

    def _nearest_arithmetic(self, value: Value) -> Arithmetic | None:
        """Return the first integer op on the way back from a value, else any that feeds it."""
        pending, visited_ids = [value], {value.id}
        while pending:
            current = pending.pop(0)
            op = current.owner
            if isinstance(op, Op) and op.index in self._arithmetic:
                return self._arithmetic[op.index]
            for operand in self._flow.sources(current):
                if operand.id not in visited_ids:
                    visited_ids.add(operand.id)
                    pending.append(operand)
        feeders = feeding_values((value,), self._summary.module)
        return next(
            (self._arithmetic[op] for op in sorted(feeders) if op in self._arithmetic), None
        )


def _is_float(value: Value) -> bool:
    return isinstance(element_of(value.type), FloatType)


def _combining_op_name(op: Op) -> str:
    """Return the name of the single op in a reduction's body, or "" if the body has several."""
    block = op.regions[0].blocks[0]
    return block.ops[0].name if len(block.ops) == 2 and len(op.operands) == 1 else ""
