"""Values that loops carry from trip to trip, as formulas of the trip.

The body is first visited with a placeholder for each carried number (a pointer's displacement, a
Boolean as 0 or 1). The outcome of the visit decides the formula:

* placeholder + a term that is the same in all trips: `initial + term * trip`, as for `k += 32`;
* a term without placeholders: the term of the trip before, and `initial` in the first trip;
* any other outcome: unknown, within a range that the body preserves, if one is found, and within
  the bounds that `invariants` proves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kvtrace.symbolic.conditions import Condition, at_least
from kvtrace.symbolic.functions import choice
from kvtrace.symbolic.meanings.invariants import Bound, kept_bounds
from kvtrace.symbolic.meanings.merging import as_number, as_truth, same
from kvtrace.symbolic.meanings.tt_memory import moved
from kvtrace.symbolic.summary import BlockPointer, CarriedInteger, Known, Loop, Pointer
from kvtrace.symbolic.terms import ZERO, Key, Substitution, Symbol, Term, signed_range
from kvtrace.symbolic.walk_types import integer_bits, shape_of

if TYPE_CHECKING:
    from kvtrace.ir import Op, Value
    from kvtrace.symbolic.walk import Walk

_FARTHEST = 1 << 62
_WIDENINGS = 4


@dataclass(eq=False)
class _Slot:
    """A carried number: `inside` is its term in a trip, `rule` its term after some trips."""

    value: Value
    placeholder: Symbol
    initial: Term
    outcome: Term | None = None
    inside: Term | None = None
    rule: Callable[[Term], Term] | None = None
    bounds: tuple[int, int] | None = None
    kept: list[Bound] = field(default_factory=list)


class Carried:
    """The carried values of one loop."""

    def __init__(
        self,
        walk: Walk,
        op: Op,
        loop: Loop,
        arguments: Sequence[Value],
        initial: Sequence[Known | None],
    ) -> None:
        self._walk, self._op, self._loop = walk, op, loop
        self._arguments, self._initial = arguments, initial
        self._slots: list[list[_Slot]] = [
            [
                self._slot(value, position, part, number)
                for part, number in enumerate(_numbers_of(known))
            ]
            for position, (value, known) in enumerate(zip(arguments, initial, strict=True))
        ]
        self._lost: set[int] = set()

    def _slot(self, value: Value, position: int, part: int, initial: Term) -> _Slot:
        walk = self._walk
        bits = integer_bits(value.type)
        low, high = (-_FARTHEST, _FARTHEST) if bits is None else signed_range(bits)
        at = (*walk.coordinates(shape_of(value.type)), self._loop.trip.term)
        key = (walk.key(self._op, position, part), "carried by a loop")
        return _Slot(value, Symbol("unknown", key, low, high, at), initial)

    # -- finding the rules -----------------------------------------------------------------------

    def settle(
        self, run: Callable[[], list[Known | None]], running: Callable[[], Condition]
    ) -> None:
        """Find the formulas of all carried values; `run` visits the body and returns the next.

        `running` returns, after `run`, the condition that there is a trip.
        """
        slots = [slot for parts in self._slots for slot in parts]
        if not slots:
            return
        walk = self._walk
        with walk.rehearsal(), walk.inside(self._loop):
            for position, value in enumerate(self._arguments):
                walk.set(
                    value,
                    self._known(position, [s.placeholder.term for s in self._slots[position]]),
                )
            outcomes = run()
        for position, outcome in enumerate(outcomes):
            self._take(position, outcome)
        self._solve(slots)
        open_ = [slot for slot in slots if slot.inside is None]
        if open_:
            self._bound(open_, running())

    def _take(self, position: int, outcome: Known | None) -> None:
        """Record the numbers that the body yields for a value, if it keeps its kind."""
        slots, initial = self._slots[position], self._initial[position]
        numbers = _numbers_after(initial, outcome)
        if numbers is None:
            self._lost.add(position)
            return
        for slot, number in zip(slots, numbers, strict=True):
            slot.outcome = number

    def _solve(self, slots: Sequence[_Slot]) -> None:
        solved: dict[Symbol, Term | int] = {}
        while True:
            before = len(solved)
            for slot in slots:
                if slot.placeholder in solved or slot.outcome is None:
                    continue
                inside = self._follow(slot, slots, Substitution(dict(solved)))
                if inside is not None:
                    slot.inside = solved[slot.placeholder] = inside
            if len(solved) == before:
                return

    def _follow(self, slot: _Slot, slots: Sequence[_Slot], solved: Substitution) -> Term | None:
        """Set a slot's rule, and return the slot's term in a trip."""
        assert slot.outcome is not None
        trip = self._loop.trip
        outcome = solved(slot.outcome)
        open_ = frozenset(other.placeholder for other in slots if other.inside is None)
        growth = outcome - slot.placeholder.term
        initial = slot.initial
        if open_.isdisjoint(growth.atoms()) and trip not in growth.atoms():
            slot.rule = lambda trips: initial + growth * trips
        elif open_.isdisjoint(outcome.atoms()):

            def before(trips: Term) -> Term:
                return choice(at_least(trips, 1), outcome.substitute({trip: trips - 1}), initial)

            slot.rule = before
        return None if slot.rule is None else slot.rule(trip.term)

    def _bound(self, slots: Sequence[_Slot], running: Condition) -> None:
        """Find ranges that the body does not leave, widening them to those of the types.

        Then find bounds that are formulas, which are seen in what the slots are in a trip.
        """
        solved: dict[Symbol, Term | int] = {
            slot.placeholder: slot.inside
            for parts in self._slots
            for slot in parts
            if slot.inside is not None
        }
        ranges = {slot: (slot.initial.low, slot.initial.high) for slot in slots}
        for attempt in range(2 * _WIDENINGS):
            inner = Substitution(
                {
                    **solved,
                    **{slot.placeholder: self._within(slot, ranges[slot]).term for slot in slots},
                }
            )
            changed = False
            for slot in slots:
                low, high = ranges[slot]
                first, last = _outcome_range(slot, inner)
                if first < low or last > high:
                    changed = True
                    if attempt >= _WIDENINGS:
                        first = slot.placeholder.low if first < low else low
                        last = slot.placeholder.high if last > high else high
                    ranges[slot] = (min(low, first), max(high, last))
            if not changed:
                break
        else:
            ranges = {slot: (slot.placeholder.low, slot.placeholder.high) for slot in slots}
        self._keep(slots, ranges, Substitution(solved), running)

    def _keep(
        self,
        slots: Sequence[_Slot],
        ranges: dict[_Slot, tuple[int, int]],
        solved: Substitution,
        running: Condition,
    ) -> None:
        """Find bounds that are formulas, and set the slots' terms in a trip with these bounds."""
        for slot in slots:
            slot.bounds = ranges[slot]
            slot.inside = self._within(slot, ranges[slot]).term
        inside = Substitution({slot.placeholder: slot.inside or ZERO for slot in slots})
        conditions = running.substitute(solved).substitute(inside).conjuncts()
        for bound in kept_bounds(self.integers(), conditions, self._loop.trip):
            slot = next(slot for slot in slots if slot.placeholder.key == bound.integer.now.key)
            slot.kept.append(bound)
        for slot in slots:
            slot.bounds = _narrowed(ranges[slot], slot.kept)
            slot.inside = _seen(self._within(slot, slot.bounds).term, slot.kept, Substitution({}))

    def integers(self) -> tuple[CarriedInteger, ...]:
        """Return the integers that have no formula of the trip."""
        slots = [slot for parts in self._slots for slot in parts]
        inside = Substitution({s.placeholder: s.inside for s in slots if s.inside is not None})
        return tuple(
            CarriedInteger(
                self._within(slot, slot.bounds),
                inside(slot.outcome),
                slot.initial,
                (slot.placeholder.key, self._key_after(slot)),
            )
            for slot in slots
            if slot.bounds is not None and slot.outcome is not None
        )

    def _within(self, slot: _Slot, bounds: tuple[int, int]) -> Symbol:
        symbol = slot.placeholder
        low, high = max(bounds[0], symbol.low), min(bounds[1], symbol.high)
        return Symbol(symbol.kind, symbol.key, low, max(low, high), symbol.at)

    # -- using them ------------------------------------------------------------------------------

    def bind(self) -> None:
        """Set the body's arguments to their formulas in a trip."""
        for position, value in enumerate(self._arguments):
            numbers = [slot.inside or ZERO for slot in self._slots[position]]
            self._walk.set(value, self._known(position, numbers))

    def after(self, trips: Term, results: Sequence[Value]) -> list[Known | None]:
        """Return the values after the loop, results of its op."""
        return [self._after(position, trips, value) for position, value in enumerate(results)]

    def _after(self, position: int, trips: Term, value: Value) -> Known | None:
        if position in self._lost:
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
            numbers.append(_seen(after, slot.kept, Substitution({self._loop.trip: trips})))
        return self._known(position, numbers)

    def _key_after(self, slot: _Slot) -> Key:
        """Return the key of a slot's symbol after the loop."""
        assert isinstance(slot.placeholder.key, tuple)
        return (slot.placeholder.key[0], "carried out of a loop")

    def _unfollowed(self, value: Value) -> Known | None:
        return self._walk.unknown_of(value, self._op, "carried by a loop, and not followed")

    def _known(self, position: int, numbers: Sequence[Term]) -> Known | None:
        """Return a carried value with its numbers replaced."""
        initial, value = self._initial[position], self._arguments[position]
        if position in self._lost:
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


def _numbers_of(known: Known | None) -> tuple[Term, ...]:
    """Return the numbers of a value that may change from trip to trip."""
    if isinstance(known, Term):
        return (known,)
    if isinstance(known, Condition):
        return (as_number(known),)
    if isinstance(known, Pointer):
        return (ZERO,)
    return known.positions if isinstance(known, BlockPointer) else ()


def _numbers_after(initial: Known | None, outcome: Known | None) -> tuple[Term, ...] | None:
    """Return these numbers of the yielded value, or None if other parts changed, too."""
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


def _narrowed(bounds: tuple[int, int], kept: Sequence[Bound]) -> tuple[int, int]:
    """Return a range narrowed by the constant bounds among those kept."""
    low, high = bounds
    for bound in kept:
        limit = bound.limit.constant
        if limit is not None:
            low, high = (low, min(high, limit)) if bound.upper else (max(low, limit), high)
    return low, high


def _seen(value: Term, kept: Sequence[Bound], at: Substitution) -> Term:
    """Return a value as a formula with its bounds: minima and maxima."""
    for bound in kept:
        value = bound.applied(value, at)
    return value


def _outcome_range(slot: _Slot, inner: Substitution) -> tuple[int, int]:
    if slot.outcome is None:
        return slot.placeholder.low, slot.placeholder.high
    outcome = inner(slot.outcome)
    return outcome.low, outcome.high
