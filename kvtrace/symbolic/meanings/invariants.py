"""Invariants of loops: bounds of carried integers, and of the number of trips.

A bound is a formula of the trip, guessed and then proven by induction. The guesses: each carried
integer grows or shrinks by at most a constant per trip (after `i += 1` or `i += 3`, it is at most
`initial + 3 * trip`), and a count stays below its limit. All guesses are assumed for a trip; the
guesses that are not proven for the next trip are dropped, until all remaining guesses are proven.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from kvtrace.symbolic.conditions import AtLeast, Condition, Equal, at_least, equal, in_order
from kvtrace.symbolic.functions import Maximum, Minimum, maximum, minimum, ways
from kvtrace.symbolic.prover import Given, Ranges, follows
from kvtrace.symbolic.summary import CarriedInteger, Loop
from kvtrace.symbolic.terms import MOST_TRIPS, Substitution, Symbol, Term

#: Limit on the guessed growth of a value per trip.
_MOST_STEP: Final = 1 << 20
_MOST_INTEGERS: Final = 12
_MOST_CASES: Final = 16


class Bound(Struct, frozen=True, eq=False):
    """A bound of a carried integer: at most (or at least) `limit`, a term of the trip."""

    integer: CarriedInteger
    upper: bool
    limit: Term

    def holds_for(self, value: Term, limit: Term) -> Condition:
        """Return the condition that a value is within a limit."""
        return at_least(limit - value) if self.upper else at_least(value - limit)

    def applied(self, value: Term, at: Substitution) -> Term:
        """Return a value limited by the bound in the trip that `at` substitutes."""
        return (minimum if self.upper else maximum)(value, at(self.limit))


def proven_bounds(
    integers: Sequence[CarriedInteger], running: Sequence[Condition], trip: Symbol
) -> list[Bound]:
    """Return guessed bounds that induction proves, if `running` is the condition of a trip."""
    if len(integers) > _MOST_INTEGERS:
        return []
    ranges = Ranges({})
    bounds = [bound for integer in integers for bound in _guesses(integer, trip)]
    outcomes = {integer: ways(integer.following) for integer in integers}
    at_next = Substitution({trip: trip.term + 1})
    while bounds:
        hypotheses = [bound.holds_for(bound.integer.now.term, bound.limit) for bound in bounds]
        assumptions = {
            integer: [
                (value, Given((*running, *hypotheses, *conditions), ranges))
                for conditions, value in outcomes[integer]
            ]
            for integer in dict.fromkeys(bound.integer for bound in bounds)
        }
        proven = [
            bound
            for bound in bounds
            if all(
                follows(bound.holds_for(value, at_next(bound.limit)), assumption)
                for value, assumption in assumptions[bound.integer]
            )
        ]
        if len(proven) == len(bounds):
            break
        bounds = proven
    return bounds


def _guesses(integer: CarriedInteger, trip: Symbol) -> Iterator[Bound]:
    """Yield bounds that hold in the first trip and are tighter than the type's range."""
    now, initial = integer.now, integer.initial
    step = integer.following - now.term
    first_step = integer.following.substitute({now: initial}) - initial
    for upper, largest_step in (
        (True, min(step.high, first_step.high)),
        (False, max(step.low, first_step.low)),
    ):
        limits = [initial]
        if 0 < abs(largest_step) < _MOST_STEP and trip.high < MOST_TRIPS:
            limits.append(initial + (max if upper else min)(largest_step, 0) * trip.term)
        if upper:
            limits += _count_limits(initial, step, trip)
        for limit in dict.fromkeys(limits):
            if limit.low < now.high if upper else limit.high > now.low:
                yield Bound(integer, upper, limit)


def _count_limits(initial: Term, step: Term, trip: Symbol) -> Iterator[Term]:
    """Yield limits of a count whose step is at most the remaining distance to the limit."""
    for atom in in_order(step.atoms()):
        if isinstance(atom, Minimum | Maximum):
            for part in atom.arguments:
                varying = {a for a in part.atoms() if isinstance(a, Symbol) and trip in a.within()}
                if varying == {trip}:
                    yield initial + maximum(part.substitute({trip: 0}), 0)


def most_trips(loop: Loop) -> int:
    """Return an upper bound of a conditional loop's number of trips, with its last check.

    The bound follows from the condition in two successive trips: `while not done`, whose body sets
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
    """Return alternatives of conditions by the outcomes of choices; one alternative holds."""
    cases: list[tuple[Condition, ...]] = [()]
    for part in (part for condition in conditions for part in condition.conjuncts()):
        outcomes: list[tuple[Condition, ...]] = [(part,)]
        if isinstance(part, AtLeast | Equal):
            same_comparison = at_least if isinstance(part, AtLeast) else equal
            outcomes = [
                (*choice_conditions, same_comparison(value))
                for choice_conditions, value in ways(part.term)
            ]
        if len(cases) * len(outcomes) <= _MOST_CASES:
            cases = [(*case, *outcome) for case in cases for outcome in outcomes]
    return cases
