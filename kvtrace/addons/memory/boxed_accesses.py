"""Accesses of a call as formulas over boxes, from the kernel's symbolic summary.

Offsets need to be affine only in the digits of programs, trips and lanes (`digit_forms.py`). Ideal
integers are those of the kernel only where no arithmetic wraps around, which is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from kvtrace.addons.memory.digit_forms import (
    KINDS,
    Box,
    Digit,
    Form,
    Forms,
    NoBoxes,
    Number,
    at_least_zero,
    boxes,
    cases_of,
    digits_of,
    existing,
    in_digits,
)
from kvtrace.addons.memory.formulas import AffineAxis, AffineFormula, FormulaAccess
from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.types import value_type
from kvtrace.ir import Op, Value
from kvtrace.ir.feeding import feeding
from kvtrace.ir.flow import constant_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.symbolic.conditions import TRUE, Condition, conjunction
from kvtrace.symbolic.functions import ways
from kvtrace.symbolic.prover import Proven, interval
from kvtrace.symbolic.summary import Access as SymbolicAccess
from kvtrace.symbolic.terms import Atom, Monomial, Substitution, Symbol, Term
from kvtrace.verdicts.binding import BoundCall, Budget

#: The Boolean that, as one operand, keeps the other one.
_NEUTRAL: Final = {"arith.andi": True, "arith.ori": False}
#: Ops of integers that are 0 where an operand is 0, whatever the other one is.
_ZEROED: Final = ("arith.andi", "arith.muli")


@dataclass(frozen=True, slots=True, eq=False)
class BoxedAccesses:
    """Accesses of a call in the order of the program, as formulas.

    Those whose masks are not known are not `certain`, and have all lanes that may be active.
    `unresolved` are the ops of which not all accesses are known, with the reason. `complete`: all
    accesses are known and certain. `lanes` is the number of lanes of all memory ops, masked ones
    included.
    """

    accesses: tuple[FormulaAccess, ...]
    unresolved: Mapping[int, str]
    complete: bool
    lanes: int


def boxed_accesses(call: Call) -> BoxedAccesses:
    """Return the accesses of a call whose offsets and masks are affine in digits."""
    boxing = Boxing(call)
    accesses: list[FormulaAccess] = []
    unresolved: dict[int, str] = {}
    is_complete = True
    for access in boxing.symbolic:
        try:
            accesses += boxing.boxed(access, access.active)
        except NoBoxes as error:
            is_complete = False
            reason = boxing.why_not_derived(access, error)
            try:
                accesses += boxing.perhaps(access, reason)
            except NoBoxes:
                unresolved.setdefault(access.op.index, reason)
    resolved = tuple(access for access in accesses if access.op.index not in unresolved)
    return BoxedAccesses(resolved, unresolved, is_complete, boxing.lanes)


def _is_known(condition: Condition) -> bool:
    """Return whether a condition is made of comparisons of sums over digits."""
    try:
        for case in cases_of(condition.conjuncts()):
            forms = Forms(case)
            for part in case:
                at_least_zero(part, forms)
    except NoBoxes:
        return False
    return True


class Boxing:
    """The accesses of a call's summary, and their formulas over boxes.

    `symbolic` are the accesses in the order of the program, `lanes` the number of all their lanes.
    """

    def __init__(self, call: Call) -> None:
        self._bound = BoundCall(call, budget=Budget(solver_seconds_a_call=0.0))
        self.symbolic: Sequence[SymbolicAccess] = self._bound.summary.accesses
        self.lanes = self._bound.lanes
        atoms: set[Atom] = {loop.trip for loop in self._bound.summary.loops}
        for access in self.symbolic:
            atoms |= access.offset.atoms() | access.active.atoms()
        self._in_range = Substitution(dict(self._ranges_of(atoms)))
        self._axis_numbers: dict[object, int] = {}

    def _ranges_of(self, atoms: Iterable[Atom]) -> Iterator[tuple[Symbol, Term | int]]:
        """Yield symbols with their only value, or with themselves in the range of this call."""
        for atom in atoms:
            if isinstance(atom, Symbol) and not atom.at:
                low, high = self._bound.ranges.of(atom)
                if low == high:
                    yield atom, low
                elif atom.kind in KINDS:
                    yield atom, Symbol(atom.kind, atom.key, low, high).term

    def chosen(self, choice: Op, value: Value, access: SymbolicAccess) -> Condition | None:
        """Return the condition that a choice keeps a value of an access, lane by lane.

        `choice` is an op that `is_choice`. None where the condition is not known in the access's
        lanes and trips of loops.
        """
        deciding = _deciding(choice, value)
        if deciding is None:
            return TRUE
        condition, kept_if = deciding
        formula = self._bound.summary.values.get(condition.id)
        place = None if choice.block is None else self._bound.summary.places.get(choice.block)
        is_lane_by_lane = value_type(value.type).shape == access.shape
        if not isinstance(formula, Condition) or not is_lane_by_lane or access.calls:
            return None
        if place is None or place.loops != access.loops:
            return None
        formula = formula.substitute(dict(self._ranges_of(formula.atoms())))
        kept = formula if kept_if else ~formula
        return kept if _is_known(kept) else None

    def boxed(self, access: SymbolicAccess, active: Condition) -> Iterator[FormulaAccess]:
        """Yield an access for each box of the digits for which it is active; raise NoBoxes.

        `active` is the condition to apply: that of the access, or a part of it.
        """
        if access.argument is None or access.unknown is not None:
            raise NoBoxes(access.unknown or "its pointer is no argument")
        for arithmetic in self._bound.arithmetic_of(access):
            if not isinstance(self._bound.width(arithmetic), Proven):
                raise NoBoxes("an integer of its address or mask may wrap around")
        mask = active.substitute(self._in_range)
        symbols = self._symbols_of(access)
        for choices, offset in ways(access.offset.substitute(self._in_range)):
            for case in cases_of((*mask.conjuncts(), *choices)):
                yield from self._boxed(access, symbols, offset, case)

    def why_not_derived(self, access: SymbolicAccess, error: NoBoxes) -> str:
        """Return why an access is no formula: data that were not recorded, else the error."""
        tensors = self._bound.contents.read_by(feeding(access.op, self._bound.call.module))
        names = ", ".join(dict.fromkeys(tensor.name for tensor in tensors))
        if names:
            return f"it depends on the data of {names}"
        return f"{error}, and it has {self.lanes:,} lanes, too many to evaluate"

    def perhaps(self, access: SymbolicAccess, reason: str) -> list[FormulaAccess]:
        """Return an access without the parts of its mask that are no boxes; raise NoBoxes."""
        mask = access.active.substitute(self._in_range)
        known = [part for part in mask.conjuncts() if _is_known(part)]
        return [
            replace(boxed, active=None, certain=False, reason=reason)
            for boxed in self.boxed(access, conjunction(known))
        ]

    def _boxed(
        self,
        access: SymbolicAccess,
        symbols: Sequence[Symbol],
        offset: Term,
        conditions: Sequence[Condition],
    ) -> Iterator[FormulaAccess]:
        """Yield an access for each box of the digits for which all conditions hold."""
        forms = Forms((offset, *conditions))
        sums = [s for condition in conditions for s in at_least_zero(condition, forms)]
        place = forms.quotients(offset)
        numbers = dict.fromkeys(forms.number_of(symbol) for symbol in symbols)
        digits = digits_of(numbers, [place, *sums])
        claims = [*existing(digits), *(in_digits(s, digits) for s in sums)]
        place_in_digits = in_digits(place, digits)
        for box in boxes(claims, (digit for parts in digits.values() for digit in parts)):
            yield self._access(access, symbols, digits, place_in_digits, box)

    def _symbols_of(self, access: SymbolicAccess) -> list[Symbol]:
        """Return the programs, trips and lanes of an access that vary, slowest first."""
        programs = [(axis, self._bound.call.grid[axis]) for axis in (2, 1, 0)]
        lanes = enumerate(access.shape)
        trips = [self._in_range(loop.trip.term).atoms() for loop in access.loops]
        return [
            *(Symbol("program", axis, 0, extent - 1) for axis, extent in programs if extent > 1),
            *(atom for atoms in trips for atom in atoms if isinstance(atom, Symbol)),
            *(Symbol("lane", axis, 0, extent - 1) for axis, extent in lanes if extent > 1),
        ]

    def _access(
        self,
        access: SymbolicAccess,
        symbols: Sequence[Symbol],
        digits: Mapping[Number, Sequence[Digit]],
        offset: Form,
        box: Box,
    ) -> FormulaAccess:
        argument = self._bound.call.arguments[access.argument or 0]
        assert isinstance(argument, TensorArgument)
        low, high = interval(offset, box)
        axes = tuple(self._axes(symbols, digits, offset.coefficients, box))
        formula = AffineFormula(offset.coefficients.get((), 0), axes, argument.offset_bytes)
        active = prod(last - first + 1 for first, last in box.values())
        return FormulaAccess(
            access.op, access.kind, access.argument, access.element_bytes, active, active, active,
            low, high, formula=formula,
        )  # fmt: skip

    def _axes(
        self,
        symbols: Sequence[Symbol],
        digits: Mapping[Number, Sequence[Digit]],
        steps: Mapping[Monomial, int],
        box: Box,
    ) -> Iterator[AffineAxis]:
        """Yield the axes of programs, then of trips, then of all others.

        Digits of a trip, or of a trip and lanes as one number, are axes of lanes: they say nothing
        of the order of two accesses. The loop then has an axis that moves no address.
        """
        undivided = {
            number.symbols[0]: parts[0] for number, parts in digits.items() if len(parts) == 1
            and len(number.symbols) == 1
        }  # fmt: skip
        named = [(symbol, undivided.get(symbol)) for symbol in symbols]
        for kind in ("program", "trip"):
            for symbol, digit in named:
                if symbol.kind != kind:
                    continue
                number = self._axis_numbers.setdefault(symbol, len(self._axis_numbers))
                if digit is not None:
                    yield AffineAxis(symbol.kind, number, steps.get((digit,), 0), *box[digit,])
                elif kind == "trip":
                    yield AffineAxis("trip", number, 0, symbol.low, symbol.high)
        outside = {digit for symbol, digit in named if symbol.kind != "lane"}
        for parts in digits.values():
            for digit in parts:
                if digit not in outside:
                    yield AffineAxis("lane", 0, steps.get((digit,), 0), *box[digit,])


def is_choice(op: Op) -> bool:
    """Return whether an op may drop an operand: a select, a mask of integers, "and" or "or"."""
    if op.name == "arith.select":
        return True
    if op.name in _NEUTRAL and value_type(op.results[0].type).element.kind == "b":
        return True
    return op.name in _ZEROED and any(map(_nonzero_if, op.operands))


def _deciding(choice: Op, value: Value) -> tuple[Value, bool] | None:
    """Return the Boolean that decides whether a choice keeps a value, and that for which it does.

    None: the choice keeps it, or it is the Boolean that decides.
    """
    if choice.name == "arith.select":
        condition = choice.operand("condition")
        first, second = choice.operand("first") is value, choice.operand("second") is value
        return None if value is condition or first is second else (condition, first)
    others = [operand for operand in choice.operands if operand is not value]
    if not others:
        return None
    if value_type(value.type).element.kind == "b":
        return others[0], _NEUTRAL[choice.name]
    mask = _nonzero_if(others[0])
    return None if mask is None else (mask, True)


def _nonzero_if(value: Value) -> Value | None:
    """Return the Boolean without which an integer is 0: of a mask that was made an integer."""
    op = value.owner
    if not isinstance(op, Op):
        return None
    if op.name in ("arith.extui", "arith.extsi"):
        (source,) = op.operands
        return source if value_type(source.type).element.kind == "b" else _nonzero_if(source)
    if op.name == "arith.subi" and constant_of(op.operands[0]) == 0:
        return _nonzero_if(op.operands[1])
    if op.name == "arith.select" and constant_of(op.operand("second")) == 0:
        return op.operand("condition")
    return None
