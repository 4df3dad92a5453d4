"""Taint of undefined elements that loops carry from trip to trip.

The body is first visited with a placeholder for each carried value's taint. The outcome shows the
course over trips: without the placeholder, the taint is that of the trip before; as a disjunction
with the placeholder, it is that of any earlier trip. For all other outcomes the taint is
over-approximated: it covers more elements, never fewer.
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
from kvtrace.symbolic.undefined.definedness import filled, somewhere

if TYPE_CHECKING:
    from kvtrace.symbolic.summary import Loop

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Slot:
    """A carried condition: its initial value, and its outcome of a trip, with placeholders."""

    own: Opaque
    shape: Shape
    initial: Condition
    outcome: Condition


@dataclass(frozen=True)
class Course:
    """A carried condition in a trip of the loop, and after the last trip."""

    inside: Condition
    after: Condition


def courses(slots: Sequence[Slot], loop: Loop) -> list[Course]:
    """Return the courses of all conditions that a loop carries."""
    unsolved: dict[object, Slot] = {slot.own.key: slot for slot in slots}
    inside: dict[object, tuple[Shape, Condition]] = {}
    solved: dict[object, Course] = {}
    while unsolved:
        solvable = None
        for key, slot in unsolved.items():
            outcome = filled(slot.outcome, inside)
            if not _mentioned(outcome, unsolved) - {key}:
                solvable = key, slot, outcome
                break
        if solvable is None:
            together = _together(list(unsolved.values()), inside, loop)
            solved.update(dict.fromkeys(unsolved, together))
            break
        key, slot, outcome = solvable
        del unsolved[key]
        solved[key] = _course(slot, outcome, loop)
        inside[key] = (slot.shape, solved[key].inside)
    return [solved[slot.own.key] for slot in slots]


def _mentioned(condition: Condition, keys: Mapping[object, Slot]) -> set[object]:
    return {opaque.key for opaque in condition.opaques() if opaque.key in keys}


def _course(slot: Slot, outcome: Condition, loop: Loop) -> Course:
    mentions = [opaque for opaque in outcome.opaques() if opaque.key == slot.own.key]
    trip, trips = loop.trip.term, loop.trips
    if not mentions:
        return Course(
            _replaced(slot.initial, outcome, loop, trip),
            _replaced(slot.initial, outcome, loop, trips),
        )
    parts = outcome.parts if isinstance(outcome, Or) else (outcome,)
    added = filled(disjunction(parts), {slot.own.key: (slot.shape, FALSE)})
    initial = slot.initial
    if any(opaque.at != slot.own.at for opaque in mentions):  # elements change places
        initial, added = (_anywhere(each, slot) for each in (initial, added))
    inside = initial | _earlier(added, loop, slot.own.key)
    return Course(inside, inside.substitute({loop.trip: trips}))


def _replaced(initial: Condition, outcome: Condition, loop: Loop, trips: Term) -> Condition:
    """Return the condition after some trips, if each trip replaces it by its outcome."""
    before = outcome.substitute({loop.trip: trips - 1})
    return (less(trips, 1) & initial) | (at_least(trips, 1) & before)


def _earlier(condition: Condition, loop: Loop, key: object) -> Condition:
    """Return the condition that another held in an earlier trip, which is a new symbol."""
    if condition is FALSE:
        return FALSE
    trip = Symbol("trip", ("earlier", key), 0, loop.trip.high)
    renamed = Substitution({loop.trip: trip.term})
    before = less(trip.term, loop.trip.term)
    return conjunction((before, loop.running.substitute(renamed), condition.substitute(renamed)))


def _anywhere(condition: Condition, slot: Slot) -> Condition:
    return somewhere(condition, slot.shape, range(len(slot.shape)), slot.own.key)


def _together(
    slots: Sequence[Slot], inside: Mapping[object, tuple[Shape, Condition]], loop: Loop
) -> Course:
    """Return one course for mutually dependent conditions: true where any ever was."""
    nothing: dict[object, tuple[Shape, Condition]] = {
        slot.own.key: (slot.shape, FALSE) for slot in slots
    }
    own = {slot.own.key: slot for slot in slots}
    outcomes = [filled(slot.outcome, inside) for slot in slots]
    mentions = [each for outcome in outcomes for each in outcome.opaques() if each.key in own]
    in_place = len({slot.shape for slot in slots}) == 1 and all(
        each.at == own[each.key].own.at for each in mentions
    )
    parts: list[Condition] = []
    for slot, outcome in zip(slots, outcomes, strict=True):
        both = [slot.initial, filled(outcome, nothing)]
        if not in_place:
            both = [_anywhere(each, slot) for each in both]
        parts += [both[0], _earlier(both[1], loop, slot.own.key)]
    whole = disjunction(parts)
    return Course(whole, whole.substitute({loop.trip: loop.trips}))
