"""Ranges of loop-carried integers of a call: guessed, then proven by induction.

A carried integer without a formula often stays between the initial values of the loop's integers,
as both ends of a binary search do, or exceeds them by one. Such a range is assumed for one trip and
has to be proven for the next; an end that is not proven is widened by one, then to the widest
range.

Example: `low, high = 0, n` with `mid = (low + high) // 2` and `low = mid + 1` or `high = mid`. The
guess for both is [0, n]; from it a trip gives low <= n and high >= 0, so the guess is proven.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kvtrace.symbolic.conditions import at_least
from kvtrace.symbolic.functions import ways
from kvtrace.symbolic.prover import Given, follows

if TYPE_CHECKING:
    from kvtrace.symbolic.prover import Interval, Ranges
    from kvtrace.symbolic.summary import CarriedInteger, Loop, Summary
    from kvtrace.symbolic.terms import Key, Symbol

#: Rounds in which guesses are widened before the widest ranges are used.
_ROUNDS: Final = 6


class CarriedRanges:
    """The ranges of one call's carried integers, computed per loop when first needed."""

    def __init__(self, summary: Summary, ranges: Ranges) -> None:
        self._call_ranges = ranges
        self._loops = {
            key: loop
            for loop in summary.loops
            for carried_integer in loop.carried
            for key in carried_integer.keys
        }
        self._ranges: dict[Key, Interval | None] = {}

    def of(self, symbol: Symbol) -> Interval | None:
        """Return the range of a carried integer; None for any other symbol."""
        loop = self._loops.get(symbol.key) if symbol.kind == "unknown" else None
        if loop is None:
            return None
        if symbol.key not in self._ranges:
            self._compute(loop)
        return self._ranges[symbol.key]

    def _compute(self, loop: Loop) -> None:
        """Compute a loop's ranges; ranges computed meanwhile for other loops are dropped."""
        earlier_ranges = dict(self._ranges)
        self._ranges |= {key: None for integer in loop.carried for key in integer.keys}
        ranges = _InductiveRanges(loop, self._call_ranges).ranges()
        self._ranges = earlier_ranges | {
            key: ranges[integer] for integer in loop.carried for key in integer.keys
        }


class _InductiveRanges:
    """The search for intervals of one loop's carried integers that are proven by induction."""

    def __init__(self, loop: Loop, ranges: Ranges) -> None:
        self._loop, self._call_ranges = loop, ranges
        self._outcomes = {
            carried_integer: ways(carried_integer.following) for carried_integer in loop.carried
        }

    def ranges(self) -> dict[CarriedInteger, Interval]:
        """Return an interval of each carried integer that holds before and after every trip.

        If no narrower one is proven within a few rounds, it is the widest interval.
        """
        carried = self._loop.carried
        ranges = self._ranges_with(
            {integer: (integer.now.low, integer.now.high) for integer in carried}
        )
        initial = {integer: ranges.interval(integer.initial) for integer in carried}
        widest = {
            integer: _intersection(
                (integer.now.low, integer.now.high),
                _hull(initial[integer], ranges.interval(integer.following)),
            )
            for integer in carried
        }
        guessed = {
            integer: _intersection(
                widest[integer], _hull(*(initial[other] for other in self._related(integer)))
            )
            for integer in carried
        }
        current = guessed
        for _ in range(_ROUNDS):
            wider = self._wider(current, guessed, widest)
            if wider == current:
                return current
            current = wider
        return widest

    def _ranges_with(self, intervals: Mapping[CarriedInteger, Interval]) -> Ranges:
        return self._call_ranges.supposing(
            {
                ("unknown", key): interval
                for integer, interval in intervals.items()
                for key in integer.keys
            }
        )

    def _related(self, integer: CarriedInteger) -> list[CarriedInteger]:
        """Return an integer and the other carried integers in the formula of its next value."""
        atoms = integer.following.atoms()
        return [
            candidate
            for candidate in self._loop.carried
            if candidate is integer or candidate.now in atoms
        ]

    def _wider(
        self,
        intervals: Mapping[CarriedInteger, Interval],
        guesses: Mapping[CarriedInteger, Interval],
        widest: Mapping[CarriedInteger, Interval],
    ) -> dict[CarriedInteger, Interval]:
        """Return the intervals; bounds that are not proven to hold after a trip are widened."""
        ranges = self._ranges_with(intervals)
        conditions = (self._loop.going_on, *self._loop.guard.conjuncts())
        wider: dict[CarriedInteger, Interval] = {}
        for integer, (low, high) in intervals.items():
            outcomes = [
                (next_value, Given((*conditions, *path_conditions), ranges))
                for path_conditions, next_value in self._outcomes[integer]
            ]
            (guessed_low, guessed_high), (widest_low, widest_high) = (
                guesses[integer],
                widest[integer],
            )
            if high < widest_high and not all(
                follows(at_least(high - next_value_), given) for next_value_, given in outcomes
            ):
                high = high + 1 if high == guessed_high else widest_high
            if low > widest_low and not all(
                follows(at_least(next_value_, low), given) for next_value_, given in outcomes
            ):
                low = low - 1 if low == guessed_low else widest_low
            wider[integer] = low, high
        return wider


def _hull(*intervals: Interval) -> Interval:
    """Return the smallest interval that contains all intervals."""
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def _intersection(left: Interval, right: Interval) -> Interval:
    return max(left[0], right[0]), min(left[1], right[1])
