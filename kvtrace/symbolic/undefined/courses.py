"""Taint of undefined elements that loops carry from trip to trip.

The body is first visited with a placeholder for each carried value's taint. An outcome without
the placeholder is the taint of the previous trip; a disjunction with the placeholder is the taint
of any earlier trip. For other outcomes the taint is over-approximated: it covers more elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtrace.symbolic.conditions import (
    FALSE,
    Condition,
    Opaque,
    Or,
    at_least,
    conjunction,
    disjunction,
    less,
)
from kvtrace.symbolic.terms import Substitution, Symbol, Term
from kvtrace.symbolic.undefined.definedness import somewhere, with_solutions

if TYPE_CHECKING:
    from kvtrace.symbolic.summary import Loop

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CarriedTaint:
    """A carried condition: its placeholder, its initial value, and its outcome of a trip."""

    placeholder: Opaque
    shape: Shape
    initial: Condition
    outcome: Condition


@dataclass(frozen=True)
class Course:
    """A carried condition in a trip of the loop (`inside`), and after the last trip."""

    inside: Condition
    after: Condition


def solved_courses(slots: Sequence[CarriedTaint], loop: Loop) -> list[Course]:
    """Return the courses of all conditions that a loop carries, in their order."""
    unsolved: dict[object, CarriedTaint] = {slot.placeholder.key: slot for slot in slots}
    inside: dict[object, tuple[Shape, Condition]] = {}
    solved: dict[object, Course] = {}
    while unsolved:
        solvable = None
        for key, slot in unsolved.items():
            outcome = with_solutions(slot.outcome, inside)
            if not {opaque.key for opaque in outcome.opaques() if opaque.key in unsolved} - {key}:
                solvable = key, slot, outcome
                break
        if solvable is None:
            common = _common_course(list(unsolved.values()), inside, loop)
            solved.update(dict.fromkeys(unsolved, common))
            break
        key, slot, outcome = solvable
        del unsolved[key]
        solved[key] = _course_of(slot, outcome, loop)
        inside[key] = (slot.shape, solved[key].inside)
    return [solved[slot.placeholder.key] for slot in slots]


def _course_of(slot: CarriedTaint, outcome: Condition, loop: Loop) -> Course:
    references = [opaque for opaque in outcome.opaques() if opaque.key == slot.placeholder.key]
    trip, trips = loop.trip.term, loop.trips
    if not references:
        return Course(
            _after_replacement(slot.initial, outcome, loop, trip),
            _after_replacement(slot.initial, outcome, loop, trips),
        )
    parts = outcome.parts if isinstance(outcome, Or) else (outcome,)
    condition_of_trip = with_solutions(
        disjunction(parts), {slot.placeholder.key: (slot.shape, FALSE)}
    )
    initial = slot.initial
    if any(opaque.at != slot.placeholder.at for opaque in references):  # elements change places
        initial, condition_of_trip = (
            _anywhere(condition, slot) for condition in (initial, condition_of_trip)
        )
    inside = initial | _in_earlier_trip(condition_of_trip, loop, slot.placeholder.key)
    return Course(inside, inside.substitute({loop.trip: trips}))


def _after_replacement(
    initial: Condition, outcome: Condition, loop: Loop, trips: Term
) -> Condition:
    """Return the condition after some trips, if each trip replaces it by its outcome."""
    before = outcome.substitute({loop.trip: trips - 1})
    return (less(trips, 1) & initial) | (at_least(trips, 1) & before)


def _in_earlier_trip(condition: Condition, loop: Loop, key: object) -> Condition:
    """Return the condition that another one held in an earlier trip, a new symbol."""
    if condition is FALSE:
        return FALSE
    trip = Symbol("trip", ("earlier", key), 0, loop.trip.high)
    renamed = Substitution({loop.trip: trip.term})
    before = less(trip.term, loop.trip.term)
    return conjunction((before, loop.running.substitute(renamed), condition.substitute(renamed)))


def _anywhere(condition: Condition, slot: CarriedTaint) -> Condition:
    return somewhere(condition, slot.shape, range(len(slot.shape)), slot.placeholder.key)


def _common_course(
    slots: Sequence[CarriedTaint], inside: Mapping[object, tuple[Shape, Condition]], loop: Loop
) -> Course:
    """Return one course for mutually dependent conditions: where any of them was ever true."""
    false_solutions: dict[object, tuple[Shape, Condition]] = {
        slot.placeholder.key: (slot.shape, FALSE) for slot in slots
    }
    slots_by_key = {slot.placeholder.key: slot for slot in slots}
    outcomes = [with_solutions(slot.outcome, inside) for slot in slots]
    placeholders = [
        opaque for outcome in outcomes for opaque in outcome.opaques() if opaque.key in slots_by_key
    ]
    in_place = len({slot.shape for slot in slots}) == 1 and all(
        opaque.at == slots_by_key[opaque.key].placeholder.at for opaque in placeholders
    )
    parts: list[Condition] = []
    for slot, outcome in zip(slots, outcomes, strict=True):
        conditions = [slot.initial, with_solutions(outcome, false_solutions)]
        if not in_place:
            conditions = [_anywhere(condition, slot) for condition in conditions]
        parts += [conditions[0], _in_earlier_trip(conditions[1], loop, slot.placeholder.key)]
    whole = disjunction(parts)
    return Course(whole, whole.substitute({loop.trip: loop.trips}))
