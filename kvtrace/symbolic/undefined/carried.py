"""Taint of undefined elements that loops carry from trip to trip.

The body is first visited with a placeholder for each carried value's taint. An outcome without
the placeholder is the taint of the previous trip; a disjunction with the placeholder is the taint
of any earlier trip. For other outcomes the taint is over-approximated: it covers more elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kvtrace.symbolic.conditions import (
    FALSE,
    Condition,
    Opaque,
    at_least,
    conjunction,
    disjunction,
    less,
)
from kvtrace.symbolic.terms import Substitution, Symbol
from kvtrace.symbolic.undefined.definedness import (
    NOWHERE,
    Undefined,
    limited_taint,
    placeholder,
    somewhere,
    with_solutions,
)

if TYPE_CHECKING:
    from kvtrace.ir import Op
    from kvtrace.symbolic.summary import Loop

Shape = tuple[int, ...]

_PARTS: Final = ("surely", "possibly")
"""The names of a taint's two conditions."""


class CarriedValue:
    """A value that a loop carries: its taint before the loop, in a trip, and after that trip."""

    def __init__(self, key: tuple[object, int], shape: Shape, initial: Undefined) -> None:
        self.key = key
        self.shape = shape
        self.initial = initial
        self.outcome = NOWHERE
        surely, possibly = (placeholder((*key, part), shape) for part in _PARTS)
        self.placeholder = Undefined(surely, possibly)

    def slot(self, part: str) -> _Slot:
        """Return one of the two conditions of each taint."""
        taints = self.placeholder, self.initial, self.outcome
        return _Slot(self.key, self.shape, *(getattr(taint, part) for taint in taints))


class _Slot(Struct, frozen=True, eq=False):
    """One of a carried value's two conditions.

    `key` is that of the value, so that both conditions have the same solution if they are equal.
    """

    key: object
    shape: Shape
    placeholder: Opaque
    initial: Condition
    outcome: Condition

    def anywhere(self, condition: Condition) -> Condition:
        """Return the condition that another one holds for some element."""
        return somewhere(condition, self.shape, range(len(self.shape)), self.key)


def solved(carried: Sequence[CarriedValue], loop: Loop) -> list[Undefined]:
    """Return the taints of the values that a loop carries in a trip, in their order."""
    surely, possibly = (_solved([value.slot(part) for value in carried], loop) for part in _PARTS)
    return list(map(limited_taint, surely, possibly, _sources(carried)))


def _sources(carried: Sequence[CarriedValue]) -> list[frozenset[Op]]:
    """Return the loads that cause the values' taint, also by way of other carried values."""
    sources = [value.initial.sources | value.outcome.sources for value in carried]
    numbers = {
        opaque.key: number
        for number, value in enumerate(carried)
        for opaque in value.placeholder.possibly.opaques()
    }
    for _ in carried:
        for number, value in enumerate(carried):
            for opaque in value.outcome.possibly.opaques():
                if opaque.key in numbers:
                    sources[number] |= sources[numbers[opaque.key]]
    return sources


def _solved(slots: Sequence[_Slot], loop: Loop) -> list[Condition]:
    """Return each slot's condition in a trip: first of those that depend on no other unsolved one.

    Slots that depend on each other have one solution together.
    """
    unsolved: dict[object, _Slot] = {slot.placeholder.key: slot for slot in slots}
    solutions: dict[object, tuple[Shape, Condition]] = {}
    while unsolved:
        group, outcomes = list(unsolved.values()), list[Condition]()
        for key, slot in unsolved.items():
            outcomes.append(with_solutions(slot.outcome, solutions))
            needed = {opaque.key for opaque in outcomes[-1].opaques()} & unsolved.keys()
            if needed <= {key}:
                group, outcomes = [slot], outcomes[-1:]
                break
        solution = _solution(group, outcomes, loop)
        for slot in group:
            del unsolved[slot.placeholder.key]
            solutions[slot.placeholder.key] = slot.shape, solution
    return [solutions[slot.placeholder.key][1] for slot in slots]


def _solution(slots: Sequence[_Slot], outcomes: Sequence[Condition], loop: Loop) -> Condition:
    """Return one condition for slots that depend on each other: where any of them was ever true.

    The condition of a slot that each trip replaces is exact: its outcome in the trip before.
    """
    slots_by_key = {slot.placeholder.key: slot for slot in slots}
    placeholders = [
        opaque for outcome in outcomes for opaque in outcome.opaques() if opaque.key in slots_by_key
    ]
    if not placeholders:
        (slot,), (outcome,), trip = slots, outcomes, loop.trip.term
        before = outcome.substitute({loop.trip: trip - 1})
        return (less(trip, 1) & slot.initial) | (at_least(trip, 1) & before)
    elements_stay = len({slot.shape for slot in slots}) == 1 and all(
        opaque.at == slots_by_key[opaque.key].placeholder.at for opaque in placeholders
    )
    untainted: dict[object, tuple[Shape, Condition]]
    untainted = {key: (slot.shape, FALSE) for key, slot in slots_by_key.items()}
    parts: list[Condition] = []
    for slot, outcome in zip(slots, outcomes, strict=True):
        initial, in_trip = slot.initial, with_solutions(outcome, untainted)
        if not elements_stay:
            initial, in_trip = slot.anywhere(initial), slot.anywhere(in_trip)
        parts += [initial, _in_earlier_trip(in_trip, loop, slot.key)]
    return disjunction(parts)


def _in_earlier_trip(condition: Condition, loop: Loop, key: object) -> Condition:
    """Return the condition that another one held in an earlier trip, a new symbol."""
    if condition is FALSE:
        return FALSE
    trip = Symbol("trip", ("earlier", key), 0, loop.trip.high)
    renamed = Substitution({loop.trip: trip.term})
    before = less(trip.term, loop.trip.term)
    return conjunction((before, loop.running.substitute(renamed), condition.substitute(renamed)))
