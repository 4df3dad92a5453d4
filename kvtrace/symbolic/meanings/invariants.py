"""What holds of all trips of a loop: bounds of what it carries, and of how many trips there are.

Bounds are formulas of the trip that every trip keeps: guessed, then proven by induction.

Of each carried integer it is guessed that it grows or shrinks by at most so much a trip, and that a
count stays below what there is to count. All guesses are supposed of a trip, and those that are not
proven of the next one are dropped, until all that are left are.
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
    """That a carried integer is at most (or at least) `limit`, a term of the trip."""

    integer: CarriedInteger
    upper: bool
    limit: Term

    def of(self, value: Term, limit: Term) -> Condition:
        """Return that a value keeps a limit."""
        return at_least(limit - value) if self.upper else at_least(value - limit)

    def applied(self, value: Term, at: Substitution) -> Term:
        """Return a value that keeps the bound, `at` a trip, as a formula that shows it."""
        return (minimum if self.upper else maximum)(value, at(self.limit))


def kept_bounds(
    integers: Sequence[CarriedInteger], running: Sequence[Condition], trip: Symbol
) -> list[Bound]:
    """Return the guesses that hold in the first trip and are kept by each; `running`: there is one.

    All of it holds for ideal integers.
    """
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
    """Return bounds that hold in the first trip and say more than an integer's range."""
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
    """Return what a count reaches whose step is at most what is left to count in a trip."""
    for atom in step.atoms():
        if isinstance(atom, Minimum | Maximum):
            for part in atom.arguments:
                varying = {a for a in part.atoms() if isinstance(a, Symbol) and trip in a.within()}
                if varying == {trip}:
                    yield initial + maximum(part.substitute({trip: 0}), 0)


def most_trips(loop: Loop) -> int:
    """Return the number of the last trip of a loop whose condition is asked for at most.

    It follows from what holds where a trip comes after another: `while not found` whose body sets
    `found` once it has counted to ten.
    """
    trip = loop.trip
    following = {each.now: each.following for each in loop.carried}
    at_next = Substitution({trip: trip.term + 1, **following})
    ranges = Ranges({})
    last = -1
    for conditions in _cases((loop.going_on, loop.going_on.substitute(at_next))):
        bounds = Given(conditions, ranges).bounds(trip.term)
        if bounds is not None:
            last = max(last, bounds[1])
    return min(last + 2, trip.high)


def _cases(conditions: Sequence[Condition]) -> list[tuple[Condition, ...]]:
    """Return conditions that all hold as lists, one for each outcome of choices: one holds."""
    cases: list[tuple[Condition, ...]] = [()]
    for part in (part for condition in conditions for part in condition.conjuncts()):
        outcomes: list[tuple[Condition, ...]] = [(part,)]
        if isinstance(part, AtLeast | Equal):
            as_before = at_least if isinstance(part, AtLeast) else equal
            outcomes = [(*when, as_before(value)) for when, value in ways(part.term)]
        if len(cases) * len(outcomes) <= _MOST_CASES:
            cases = [(*one, *other) for one in cases for other in outcomes]
    return cases
