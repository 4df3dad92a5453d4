"""Values that loops carry from trip to trip, as formulas of the trip.

The body is first visited with a placeholder for each carried number (a pointer's displacement, a
Boolean as 0 or 1). The yielded term decides the formula:

* placeholder + a term that is the same in all trips: `initial + term * trip`, as for `k += 32`;
* a term without placeholders: the term of the trip before, and `initial` in the first trip;
* any other outcome: unknown, within a range that the body preserves, if one is found, and within
  the bounds that `invariants` proves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.ir import Op, Value
from kvtrace.ir.types import integer_bits, shape_of
from kvtrace.symbolic.conditions import Condition, at_least
from kvtrace.symbolic.functions import choice
from kvtrace.symbolic.meanings.invariants import Bound, proven_bounds
from kvtrace.symbolic.meanings.merging import as_number, as_truth, same
from kvtrace.symbolic.meanings.tt_memory import moved
from kvtrace.symbolic.summary import BlockPointer, CarriedInteger, Formula, Loop, Pointer
from kvtrace.symbolic.terms import ZERO, Atom, Key, Substitution, Symbol, Term, signed_range
from kvtrace.symbolic.walk import Walk

_FARTHEST = 1 << 62
_WIDENINGS = 4


class _CarriedNumber(Struct, eq=False):
    """A number in a carried value.

    `inside` is its term in a trip, `rule` the function from a number of trips to its term,
    `outcome` the yielded term, and `bounds` its range if it has no rule; `bounds_by_trip` are
    proven bounds.
    """

    value: Value
    placeholder: Symbol
    initial: Term
    outcome: Term | None = None
    inside: Term | None = None
    rule: Callable[[Term], Term] | None = None
    bounds: tuple[int, int] | None = None
    bounds_by_trip: list[Bound] = []


_Ranges = dict[_CarriedNumber, tuple[int, int]]


class CarriedValues:
    """The carried values of one loop, with the formulas of their numbers."""

    def __init__(
        self,
        walk: Walk,
        op: Op,
        loop: Loop,
        arguments: Sequence[Value],
        initial: Sequence[Formula | None],
    ) -> None:
        self._walk, self._op, self._loop = walk, op, loop
        self._arguments, self._initial = arguments, initial
        self._slots: list[list[_CarriedNumber]] = [
            [
                self._slot(value, position, part, number)
                for part, number in enumerate(_numbers_of(formula))
            ]
            for position, (value, formula) in enumerate(zip(arguments, initial, strict=True))
        ]
        self._all_slots = [slot for parts in self._slots for slot in parts]
        self._unfollowed_positions: set[int] = set()

    def _slot(self, value: Value, position: int, part: int, initial: Term) -> _CarriedNumber:
        walk = self._walk
        bits = integer_bits(value.type)
        low, high = (-_FARTHEST, _FARTHEST) if bits is None else signed_range(bits)
        at = (*walk.coordinates(shape_of(value.type)), self._loop.trip.term)
        key = (walk.key(self._op, position, part), "carried by a loop")
        return _CarriedNumber(value, Symbol("unknown", key, low, high, at), initial)

    # -- finding the rules -----------------------------------------------------------------------

    def solve(
        self, run: Callable[[], list[Formula | None]], running: Callable[[], Condition]
    ) -> None:
        """Find the formulas of all carried values.

        `run` visits the body and returns the yielded formulas; `running` is called after `run`, and
        returns the condition that a trip is executed.
        """
        slots = self._all_slots
        if not slots and not any(isinstance(formula, BlockPointer) for formula in self._initial):
            return  # a descriptor has no numbers here, but may be another one after a trip
        walk = self._walk
        with walk.rehearsal(), walk.inside(self._loop):
            for position, value in enumerate(self._arguments):
                walk.set(
                    value,
                    self._value_of_numbers(
                        position, [s.placeholder.term for s in self._slots[position]]
                    ),
                )
            outcomes = run()
        for position, outcome in enumerate(outcomes):
            self._record_outcome(position, outcome)
        self._solve(slots)
        open_ = [slot for slot in slots if slot.inside is None]
        if open_:
            self._find_ranges(open_, running())

    def _record_outcome(self, position: int, outcome: Formula | None) -> None:
        """Store the yielded numbers of a value, unless its kind of formula changes."""
        slots, initial = self._slots[position], self._initial[position]
        numbers = _numbers_after(initial, outcome)
        if numbers is None:
            self._unfollowed_positions.add(position)
            return
        for slot, number in zip(slots, numbers, strict=True):
            slot.outcome = number

    def _solve(self, slots: Sequence[_CarriedNumber]) -> None:
        solved: dict[Symbol, Term | int] = {}
        while True:
            before = len(solved)
            for slot in slots:
                if slot.placeholder in solved or slot.outcome is None:
                    continue
                inside = self._solve_number(slot, slots, Substitution(dict(solved)))
                if inside is not None:
                    slot.inside = solved[slot.placeholder] = inside
            if len(solved) == before:
                return

    def _solve_number(
        self, slot: _CarriedNumber, slots: Sequence[_CarriedNumber], solved: Substitution
    ) -> Term | None:
        """Set a number's rule if the yielded term allows it; return its term in a trip, or None."""
        assert slot.outcome is not None
        trip = self._loop.trip
        outcome = solved(slot.outcome)
        open_ = frozenset(number.placeholder for number in slots if number.inside is None)
        growth = outcome - slot.placeholder.term
        initial = slot.initial
        if open_.isdisjoint(growth.atoms()) and trip not in growth.atoms():
            slot.rule = lambda trips: initial + growth * trips
        elif open_.isdisjoint(outcome.atoms()):

            def before(trips: Term) -> Term:
                return choice(at_least(trips, 1), outcome.substitute({trip: trips - 1}), initial)

            slot.rule = before
        return None if slot.rule is None else slot.rule(trip.term)

    def _find_ranges(self, numbers: Sequence[_CarriedNumber], running: Condition) -> None:
        """Find ranges that the body does not leave, widening them up to the types' ranges.

        Then find bounds that are terms of the trip.
        """
        solved = self._terms_in_trip()
        ranges: _Ranges = {number: (number.initial.low, number.initial.high) for number in numbers}
        for attempt in range(2 * _WIDENINGS):
            wider_ranges = self._widened(ranges, solved, up_to_types=attempt >= _WIDENINGS)
            if wider_ranges is None:
                self._find_bounds(numbers, ranges, Substitution(solved), running)
                return
            ranges = wider_ranges
        ranges = {number: (number.placeholder.low, number.placeholder.high) for number in numbers}
        self._find_bounds(numbers, ranges, Substitution(solved), running)

    def _widened(
        self, ranges: _Ranges, solved: Mapping[Atom, Term | int], *, up_to_types: bool
    ) -> _Ranges | None:
        """Return the numbers' ranges before or after a trip; None if no number leaves its range.

        From (0, 0), `n = n // 2 + 1` yields 1: (0, 1), which it does not leave. For `n = n * 2 + 1`
        that would never end: `up_to_types`, an end that is left becomes its type's.
        """
        inside = {n.placeholder: self._symbol_within(n, ends).term for n, ends in ranges.items()}
        inner = Substitution({**solved, **inside})
        widened: _Ranges = {}
        is_left = False
        for number, (low, high) in ranges.items():
            first, last = _outcome_range(number, inner)
            is_left |= first < low or last > high
            if up_to_types:
                first = number.placeholder.low if first < low else low
                last = number.placeholder.high if last > high else high
            widened[number] = min(low, first), max(high, last)
        return widened if is_left else None

    def _find_bounds(
        self, slots: Sequence[_CarriedNumber], ranges: _Ranges, solved: Substitution,
        running: Condition,
    ) -> None:  # fmt: skip
        """Find bounds that are terms of the trip, and set the numbers' terms in a trip."""
        for slot in slots:  # `integers`, whose bounds are proven, needs the ranges and their terms
            self._set_bounds(slot, ranges[slot])
        inside = Substitution({slot.placeholder: slot.inside or ZERO for slot in slots})
        conditions = running.substitute(solved).substitute(inside).conjuncts()
        for bound in proven_bounds(self.integers(), conditions, self._loop.trip):
            slot = next(slot for slot in slots if slot.placeholder.key == bound.integer.now.key)
            slot.bounds_by_trip.append(bound)
        for slot in slots:
            self._set_bounds(slot, _with_constant_bounds(ranges[slot], slot.bounds_by_trip))

    def _set_bounds(self, slot: _CarriedNumber, bounds: tuple[int, int]) -> None:
        """Set a number's range and its term in a trip, which also has the bounds proven so far."""
        term = self._symbol_within(slot, bounds).term
        slot.bounds = bounds
        slot.inside = _with_bounds(term, slot.bounds_by_trip, Substitution({}))

    def integers(self) -> tuple[CarriedInteger, ...]:
        """Return the integers for which no formula of the trip was found."""
        inside = Substitution(self._terms_in_trip())
        return tuple(
            CarriedInteger(
                self._symbol_within(slot, slot.bounds),
                inside(slot.outcome),
                slot.initial,
                (slot.placeholder.key, self._key_after(slot)),
            )
            for slot in self._all_slots
            if slot.bounds is not None and slot.outcome is not None
        )

    def _symbol_within(self, slot: _CarriedNumber, bounds: tuple[int, int]) -> Symbol:
        symbol = slot.placeholder
        low, high = max(bounds[0], symbol.low), min(bounds[1], symbol.high)
        return Symbol(symbol.kind, symbol.key, low, max(low, high), symbol.at)

    def _terms_in_trip(self) -> dict[Atom, Term | int]:
        return {s.placeholder: s.inside for s in self._all_slots if s.inside is not None}

    # -- using them ------------------------------------------------------------------------------

    def set_in_trip(self) -> None:
        """Set the formulas of the body's arguments in a trip."""
        for position, value in enumerate(self._arguments):
            numbers = [slot.inside or ZERO for slot in self._slots[position]]
            self._walk.set(value, self._value_of_numbers(position, numbers))

    def after(self, trips: Term, results: Sequence[Value]) -> list[Formula | None]:
        """Return the formulas of the loop's results after a number of trips; None for floats."""
        return [self._value_after(position, trips, value) for position, value in enumerate(results)]

    def _value_after(self, position: int, trips: Term, value: Value) -> Formula | None:
        if position in self._unfollowed_positions:
            return self._unfollowed(value)
        numbers = []
        for slot in self._slots[position]:
            if slot.rule is not None:
                numbers.append(slot.rule(trips))
                continue
            key = self._key_after(slot)
            low, high = slot.bounds or (slot.placeholder.low, slot.placeholder.high)
            at = self._walk.coordinates(shape_of(value.type))
            after = Symbol("unknown", key, low, high, at).term
            numbers.append(
                _with_bounds(after, slot.bounds_by_trip, Substitution({self._loop.trip: trips}))
            )
        return self._value_of_numbers(position, numbers)

    def _key_after(self, slot: _CarriedNumber) -> Key:
        """Return the key of a number's symbol after the loop."""
        assert isinstance(slot.placeholder.key, tuple)
        return (slot.placeholder.key[0], "carried out of a loop")

    def _unfollowed(self, value: Value) -> Formula | None:
        return self._walk.unknown_formula(value, self._op, "carried by a loop, and not followed")

    def _value_of_numbers(self, position: int, numbers: Sequence[Term]) -> Formula | None:
        """Return the formula of a carried value with new numbers; None for floats."""
        initial, value = self._initial[position], self._arguments[position]
        if position in self._unfollowed_positions:
            return self._unfollowed(value)
        if isinstance(initial, Term):
            return numbers[0]
        if isinstance(initial, Condition):
            return as_truth(numbers[0])
        if isinstance(initial, Pointer):
            return moved(initial, numbers[0], initial.shape)
        if isinstance(initial, BlockPointer):
            return replace(initial, positions=tuple(numbers))
        return None


def _numbers_of(formula: Formula | None) -> tuple[Term, ...]:
    """Return the numbers of a formula that may change between trips; 0 for a pointer."""
    if isinstance(formula, Term):
        return (formula,)
    if isinstance(formula, Condition):
        return (as_number(formula),)
    if isinstance(formula, Pointer):
        return (ZERO,)
    return formula.positions if isinstance(formula, BlockPointer) else ()


def _numbers_after(initial: Formula | None, outcome: Formula | None) -> tuple[Term, ...] | None:
    """Return the numbers in a yielded formula, or None if other parts of the formula changed."""
    if isinstance(initial, Term) and isinstance(outcome, Term):
        return (outcome,)
    if isinstance(initial, Condition) and isinstance(outcome, Condition):
        return (as_number(outcome),)
    if isinstance(initial, Pointer) and isinstance(outcome, Pointer):
        return _displacement(initial, outcome)
    if isinstance(initial, BlockPointer) and isinstance(outcome, BlockPointer):
        unmoved = replace(outcome, positions=initial.positions)
        return outcome.positions if same(initial, unmoved) else None
    return () if initial is None and outcome is None else None


def _displacement(initial: Pointer, outcome: Pointer) -> tuple[Term] | None:
    if len(initial.choices) != len(outcome.choices):
        return None
    gaps = set()
    for before, after in zip(initial.choices, outcome.choices, strict=True):
        if before.argument is None or before.argument != after.argument:
            return None
        if before.condition != after.condition:
            return None
        gaps.add(after.offset - before.offset)
    return (gaps.pop(),) if len(gaps) == 1 else None


def _with_constant_bounds(bounds: tuple[int, int], proven: Sequence[Bound]) -> tuple[int, int]:
    """Return a range narrowed by constant bounds."""
    low, high = bounds
    for bound in proven:
        limit = bound.limit.constant
        if limit is not None:
            low, high = (low, min(high, limit)) if bound.upper else (max(low, limit), high)
    return low, high


def _with_bounds(value: Term, proven: Sequence[Bound], at: Substitution) -> Term:
    """Return a term limited by bounds, as minima and maxima."""
    for bound in proven:
        value = bound.applied(value, at)
    return value


def _outcome_range(slot: _CarriedNumber, substitution: Substitution) -> tuple[int, int]:
    if slot.outcome is None:
        return slot.placeholder.low, slot.placeholder.high
    outcome = substitution(slot.outcome)
    return outcome.low, outcome.high
