"""Invariants of loops: bounds of carried integers, and of the number of trips.

A bound is a formula of the trip, guessed and then proven by induction. The guesses: each carried
integer grows or shrinks by at most a constant per trip (after `i += 1` or `i += 3`, it is at most
`initial + 3 * trip`), and a count stays below its limit. All guesses are assumed for a trip; the
guesses that are not proven for the next trip are dropped, until all remaining guesses are proven.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kvtrace.symbolic.conditions import AtLeast, Condition, Equal, at_least, equal
from kvtrace.symbolic.functions import Maximum, Minimum, maximum, minimum, ways
from kvtrace.symbolic.prover import Given, Ranges, follows
from kvtrace.symbolic.summary import CarriedInteger, Loop
from kvtrace.symbolic.terms import MOST_TRIPS, Substitution, Symbol, Term

#: The most by which a value is guessed to grow in a trip.
_MOST_STEP: Final = 1 << 20
_MOST_INTEGERS: Final = 12
_MOST_CASES: Final = 16


@dataclass(frozen=True, eq=False)
class Bound:
    """A bound of a carried integer: at most (or at least) `limit`, a term of the trip."""

    integer: CarriedInteger
    upper: bool
    limit: Term

    def of(self, value: Term, limit: Term) -> Condition:
        """Return the condition that a value keeps a limit."""
        return at_least(limit - value) if self.upper else at_least(value - limit)

    def applied(self, value: Term, at: Substitution) -> Term:
        """Return a value as its minimum or maximum with the bound `at` a trip."""
        return (minimum if self.upper else maximum)(value, at(self.limit))


def kept_bounds(
    integers: Sequence[CarriedInteger], running: Sequence[Condition], trip: Symbol
) -> list[Bound]:
    """Return the guesses proven by induction for ideal integers; `running`: there is a trip."""
    if len(integers) > _MOST_INTEGERS:
        return []
    ranges = Ranges({})
    kept = [bound for integer in integers for bound in _guesses(integer, trip)]
    outcomes = {integer: ways(integer.following) for integer in integers}
    at_next = Substitution({trip: trip.term + 1})
    while kept:
        supposed = [bound.of(bound.integer.now.term, bound.limit) for bound in kept]
        given = {
            integer: [
                (value, Given((*running, *supposed, *when), ranges))
                for when, value in outcomes[integer]
            ]
            for integer in dict.fromkeys(bound.integer for bound in kept)
        }
        left = [
            bound
            for bound in kept
            if all(
                follows(bound.of(value, at_next(bound.limit)), each)
                for value, each in given[bound.integer]
            )
        ]
        if len(left) == len(kept):
            break
        kept = left
    return kept


def _guesses(integer: CarriedInteger, trip: Symbol) -> Iterator[Bound]:
    """Return guessed bounds that hold in the first trip and are tighter than the type's range."""
    now, initial = integer.now, integer.initial
    step = integer.following - now.term
    first = integer.following.substitute({now: initial}) - initial
    for upper, most in (
        (True, min(step.high, first.high)),
        (False, max(step.low, first.low)),
    ):
        limits = [initial]
        if 0 < abs(most) < _MOST_STEP and trip.high < MOST_TRIPS:
            limits.append(initial + (max if upper else min)(most, 0) * trip.term)
        if upper:
            limits += _totals(initial, step, trip)
        for limit in dict.fromkeys(limits):
            if limit.low < now.high if upper else limit.high > now.low:
                yield Bound(integer, upper, limit)


def _totals(initial: Term, step: Term, trip: Symbol) -> Iterator[Term]:
    """Return the limit of a count whose step is at most the remaining distance to that limit."""
    for atom in step.atoms():
        if isinstance(atom, Minimum | Maximum):
            for part in atom.arguments:
                varying = {a for a in part.atoms() if isinstance(a, Symbol) and trip in a.within()}
                if varying == {trip}:
                    yield initial + maximum(part.substitute({trip: 0}), 0)


def most_trips(loop: Loop) -> int:
    """Return an upper bound of the number of the last trip of a loop with a condition.

    The bound follows from the condition of two successive trips: `while not done`, whose body sets
    `done` when a counter reaches 10, has at most 11 checks.
    """
    trip = loop.trip
    following = {integer.now: integer.following for integer in loop.carried}
    at_next = Substitution({trip: trip.term + 1, **following})
    ranges = Ranges({})
    last = -1
    for conditions in _cases((loop.going_on, loop.going_on.substitute(at_next))):
        bounds = Given(conditions, ranges).bounds(trip.term)
        if bounds is not None:
            last = max(last, bounds[1])
    return min(last + 2, trip.high)


def _cases(conditions: Sequence[Condition]) -> list[tuple[Condition, ...]]:
    """Return alternatives of conditions, one list for each outcome of choices; one holds."""
    cases: list[tuple[Condition, ...]] = [()]
    for part in (part for condition in conditions for part in condition.conjuncts()):
        outcomes: list[tuple[Condition, ...]] = [(part,)]
        if isinstance(part, AtLeast | Equal):
            as_before = at_least if isinstance(part, AtLeast) else equal
            outcomes = [(*when, as_before(value)) for when, value in ways(part.term)]
        if len(cases) * len(outcomes) <= _MOST_CASES:
            cases = [(*one, *other) for one in cases for other in outcomes]
    return cases
