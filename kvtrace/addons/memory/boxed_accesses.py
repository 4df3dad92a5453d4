"""Bytes of a call's accesses by formulas over boxes, from the kernel's symbolic summary.

Offsets need to be affine only in the digits of programs, trips and lanes (`digit_forms.py`), and
in integers that were recorded: the programs, trips and lanes that select these are enumerated. The
cost of the others, as the columns of a paged cache, does not depend on their number. Ideal
integers are those of the kernel only where no arithmetic wraps around, which is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.memory.access_bytes import ORIGIN, TouchedBytes
from kvtrace.addons.memory.digit_forms import (
    KINDS,
    Forms,
    NoBoxes,
    at_least_zero,
    boxes,
    cases_of,
    digits_of,
    existing,
    in_digits,
)
from kvtrace.ir import Module, Op, Value
from kvtrace.ir.feeding import feeding, feeding_execution, feeding_values
from kvtrace.ir.flow import constant_of
from kvtrace.ir.ops import mask_of
from kvtrace.ir.types import integer_bits
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.conditions import (
    TRUE,
    AtLeast,
    Condition,
    conjunction,
    in_order,
)
from kvtrace.symbolic.functions import ways
from kvtrace.symbolic.prover import interval
from kvtrace.symbolic.summary import Access, Loop, Place
from kvtrace.symbolic.terms import ZERO, Atom, Substitution, Symbol, Term
from kvtrace.verdicts.binding import BoundCall, Budget
from kvtrace.verdicts.contents.by_contents import ByContents
from kvtrace.verdicts.contents.read_values import Reading, TooLarge

_Formula = TypeVar("_Formula", Term, Condition)

#: Ops of integers of which one operand may decide what becomes of the other one.
_CHOOSING: Final = ("arith.andi", "arith.ori", "arith.muli")


def _is_boxed(condition: Condition) -> bool:
    """Return whether a condition is made of comparisons of sums over digits."""
    try:
        for case in cases_of(condition.conjuncts()):
            forms = Forms(case)
            for part in case:
                at_least_zero(part, forms)
    except NoBoxes:
        return False
    return True


BoxedAccess = tuple[Access, TouchedBytes, str]
"""An access with its bytes, and why it only may happen ("": it does)."""


class Boxing:
    """The accesses of a call's summary, in the order of the program, and the bytes of their lanes.

    Errors as `BoundCall`.
    """

    def __init__(self, call: Call) -> None:
        self.bound = BoundCall(call, budget=Budget(solver_seconds_a_call=0.0))
        self.accesses: Sequence[Access] = self.bound.summary.accesses
        self._origins = [getattr(argument, "offset_bytes", 0) for argument in call.arguments]
        atoms: set[Atom] = {loop.trip for loop in self.bound.summary.loops}
        for access in self.accesses:
            atoms |= access.offset.atoms() | access.active.atoms()
        self._in_range = Substitution(dict(self._ranges_of(atoms)))

    def _ranges_of(self, atoms: Iterable[Atom]) -> Iterator[tuple[Symbol, Term | int]]:
        """Yield symbols with their only value, or with themselves in the range of this call."""
        for atom in atoms:
            if isinstance(atom, Symbol) and not atom.at:
                low, high = self.bound.ranges.of(atom)
                if low == high:
                    yield atom, low
                elif atom.kind in KINDS:
                    yield atom, Symbol(atom.kind, atom.key, low, high).term

    def is_known(self, condition: Condition) -> bool:
        """Return whether a condition is about digits, or about integers that were recorded."""
        atoms = condition.atoms()
        if not condition.opaques() and self.bound.by_contents.is_about(atoms):
            return all(map(self._is_recorded, atoms))
        return _is_boxed(condition)

    def _is_recorded(self, atom: Atom) -> bool:
        """Return whether an atom has a known range or recorded contents, or is no symbol."""
        if not isinstance(atom, Symbol):
            return True
        if atom.kind == "content":
            return self.bound.by_contents.is_about((atom,))
        low, high = self.bound.ranges.of(atom)
        return atom.kind in KINDS or low == high

    def has_ideal_lanes(self, place: Place) -> bool:
        """Return whether no integer may wrap around that decides if an op runs, and in which lanes.

        An address may; of blocks with bounds, it decides lanes as well.
        """
        if isinstance(place, Access) and place.mask is not TRUE and mask_of(place.op) is None:
            return False
        feeders = feeding_execution(place.op, self.bound.call.module)
        return not any(
            arithmetic.op.index in feeders and arithmetic.bits > 1 and self.bound.wraps(arithmetic)
            for arithmetic in self.bound.summary.arithmetic
        )

    def of_call(self, formula: _Formula) -> _Formula:
        """Return a formula with the values and ranges that its symbols have in the call."""
        return formula.substitute(dict(self._ranges_of(formula.atoms())))

    @cached_property
    def missing_choices(self) -> str:
        """A phrase that names integers that choose lanes and were not recorded, or ""."""
        module = self.bound.call.module
        changed = {
            self.bound.call.tensor(access.argument).storage
            for access in self.accesses
            if access.kind != "load" and access.argument is not None
        }
        read = self.bound.contents.read_by(feeding_values(deciding_values(module), module))
        names = dict.fromkeys(
            tensor.name
            for tensor in read
            if tensor.dtype[0] in "iu" and tensor.storage not in changed
        )
        return f", by the data of {', '.join(names)}" if names else ""

    def touched(
        self, access: Access, active: Condition, *, by_contents: bool = True
    ) -> TouchedBytes:
        """Return the bytes of an access in the lanes for which a condition holds; raise NoBoxes.

        `active` is the access's own condition, or another one of its lanes. A grid without programs
        has none. `by_contents`: recorded integers may decide.
        """
        if not prod(self.bound.call.grid):
            return TouchedBytes()
        if access.argument is None or access.unknown is not None:
            raise NoBoxes(access.unknown or "its pointer is no argument")
        if not self.bound.is_ideal(access):
            raise NoBoxes("an integer of its address or mask may wrap around")
        touched = TouchedBytes()
        mask = active.substitute(self._in_range)
        for choices, offset in ways(access.offset.substitute(self._in_range)):
            for case in cases_of((*mask.conjuncts(), *choices)):
                self._add(touched, access, offset, case, by_contents=by_contents)
        return touched

    def derived(self) -> tuple[list[BoxedAccess], dict[int, str]]:
        """Return the accesses with known bytes, and ops of which some have none, with the reason.

        Of a mask, parts that are no boxes are left out: the access is then in doubt.
        """
        accesses: list[BoxedAccess] = []
        unresolved: dict[int, str] = {}
        for access in self.accesses:
            try:
                active = access.active
                accesses.append((access, self.touched(access, active, by_contents=False), ""))
            except NoBoxes as error:
                reason = self._why_not_derived(access, error)
                mask = access.active.substitute(self._in_range)
                certain = conjunction(filter(_is_boxed, mask.conjuncts()))
                try:
                    touched = self.touched(access, certain, by_contents=False)
                    accesses.append((access, touched, reason))
                except NoBoxes:
                    unresolved.setdefault(access.op.index, reason)
        return accesses, unresolved

    def _why_not_derived(self, access: Access, error: NoBoxes) -> str:
        """Return why an access is no formula: data that were not recorded, else the error."""
        tensors = self.bound.contents.read_by(feeding(access.op, self.bound.call.module))
        names = ", ".join(dict.fromkeys(tensor.name for tensor in tensors))
        if names:
            return f"it depends on the data of {names}"
        return f"{error}, and it has {self.bound.lanes:,} lanes, too many to evaluate"

    def _add(
        self,
        touched: TouchedBytes,
        access: Access,
        offset: Term,
        conditions: Sequence[Condition],
        *,
        by_contents: bool,
    ) -> None:
        """Add the bytes of each box of the digits for which all conditions hold."""
        origin = self._origins[access.argument or 0]
        begins, atoms = ORIGIN, offset.atoms().union(*(c.atoms() for c in conditions))
        if by_contents and self.bound.by_contents.is_about(atoms):
            if not all(map(_ends_once, access.loops)):
                raise NoBoxes("its loop may end before its condition fails")
            selected = _Selected(self.bound.by_contents, offset, conditions)
            offset, conditions, begins = selected.offset, selected.conditions, selected.begins()
        forms = Forms((offset, *conditions))
        sums = [s for condition in conditions for s in at_least_zero(condition, forms)]
        place = forms.quotients(offset)
        numbers = dict.fromkeys(map(forms.number_of, self._symbols_of(access)))
        digits = digits_of(numbers, [place, *sums])
        claims = [*existing(digits), *(in_digits(s, digits) for s in sums)]
        form = in_digits(place, digits)
        factors = {digit: factor for digit, factor in form.coefficients.items() if digit}
        for box in boxes(claims, (digit for parts in digits.values() for digit in parts)):
            first, _ = interval(form, box)
            counts = {digit: last - low + 1 for digit, (low, last) in box.items()}
            steps = sorted((abs(f), counts[digit]) for digit, f in factors.items())
            touched.add_elements(
                first + origin,
                tuple(step for step in steps if step[1] > 1),
                access.element_bytes,
                begins,
            )

    def _symbols_of(self, access: Access) -> Iterator[Symbol]:
        """Yield the programs, trips and lanes of an access that vary."""
        for axis, extent in enumerate(self.bound.call.grid):
            if extent > 1:
                yield Symbol("program", axis, 0, extent - 1)
        for loop in access.loops:
            for atom in in_order(self._in_range(loop.trip.term).atoms()):
                if isinstance(atom, Symbol):
                    yield atom
        for axis, extent in enumerate(access.shape):
            if extent > 1:
                yield Symbol("lane", axis, 0, extent - 1)


class _Selected:
    """The terms and conditions of an access with loaded, recorded integers: listed, not boxed.

    `offset` and `conditions` are the rest, which has none of these symbols.
    """

    def __init__(self, contents: ByContents, offset: Term, conditions: Sequence[Condition]) -> None:
        self._values = contents.values
        parts = [(c, c.atoms()) for c in conditions]
        terms = [(Term({m: f}), Term({m: f}).atoms()) for m, f in offset.coefficients.items()]
        deciding = {atom for _, atoms in (*parts, *terms) for atom in atoms if _is_content(atom)}
        while True:  # what shares a condition or a product with them is selected with them
            chosen = [atoms for _, atoms in (*parts, *terms) if not deciding.isdisjoint(atoms)]
            symbols = self._values.free(frozenset().union(*chosen))
            if symbols <= deciding:
                break
            deciding |= symbols
        if len({(symbol.kind, symbol.key) for symbol in symbols}) < len(symbols):
            raise NoBoxes("its address or mask is not affine")
        self._symbols = symbols
        self._filters = [c for c, atoms in parts if not deciding.isdisjoint(atoms)]
        self.conditions = [c for c, atoms in parts if deciding.isdisjoint(atoms)]
        self._place = sum((t for t, a in terms if not deciding.isdisjoint(a)), ZERO)
        self.offset = offset - self._place

    def begins(self) -> NDArray[np.int64]:
        """Return the offsets of the selected part where its conditions hold; raise NoBoxes."""
        begins = [np.zeros(0, np.int64)]
        try:
            for rows in self._values.rows(self._symbols, self._filters):
                reading = Reading(self._values, rows)
                if len(rows) and not (rows.certain & ~reading.doubt(self._place)).all():
                    raise NoBoxes("its address or mask depends on the contents of a tensor")
                begins.append(np.unique(np.broadcast_to(reading(self._place), len(rows))))
        except TooLarge:
            raise NoBoxes("its address or mask depends on too many contents") from None
        return np.unique(np.concatenate(begins))


def _ends_once(loop: Loop) -> bool:
    """Return whether a loop that goes on in a trip did so in all trips before, by its formula.

    `while j < n` does; `while tl.load(flags + j)` may have ended before a trip with a flag.
    """
    if not loop.is_asked_once_more:
        return True
    for part in loop.going_on.conjuncts():
        if not isinstance(part, AtLeast):
            return False
        factor = part.term.coefficients.get((loop.trip,), 0)
        if factor > 0 or loop.trip in (part.term - loop.trip.term * factor).atoms():
            return False
    return True


def _is_content(atom: Atom) -> bool:
    return isinstance(atom, Symbol) and atom.kind == "content"


def deciding_values(module: Module) -> Iterator[Value]:
    """Yield the Booleans that decide what choices of a kernel keep.

    A choice is a select, "and" or "or", or a mask of integers.
    """
    for op in module.ops:
        if op.name == "arith.select":
            yield op.operand("condition")
        elif op.name in _CHOOSING:
            yield from filter(None, map(_nonzero_if, op.operands))


def _nonzero_if(value: Value) -> Value | None:
    """Return the Boolean without which an integer is 0: itself, or a mask made an integer."""
    op = value.owner
    if integer_bits(value.type) == 1:
        return value
    if not isinstance(op, Op):
        return None
    if op.name in ("arith.extui", "arith.extsi"):
        return _nonzero_if(op.operands[0])
    if op.name == "arith.subi" and constant_of(op.operands[0]) == 0:
        return _nonzero_if(op.operands[1])
    if op.name == "arith.select" and constant_of(op.operand("second")) == 0:
        return op.operand("condition")
    return None
