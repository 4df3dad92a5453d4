"""Ranges of loop-carried integers of a call: guessed, then proven by induction.

Without a formula, a carried integer often stays between the initial values of the loop's integers,
as both ends of a binary search do, or exceeds them by one. Such a range is assumed for one trip and
has to be proven for the next; an end that is not proven is widened by one, then to the widest
range.

Example: `low, high = 0, n` with `mid = (low + high) // 2` and `low = mid + 1` or `high = mid`. The
guess for both is [0, n]; from it a trip gives low <= n and high >= 0, so the guess is proven.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

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

    def __init__(
        self, summary: Summary, supposing: Callable[[Mapping[tuple[str, Any], Interval]], Ranges]
    ) -> None:
        """`supposing` returns the call's ranges with additional ranges of some symbols."""
        self._supposing = supposing
        self._loops = {
            key: loop for loop in summary.loops for integer in loop.carried for key in integer.keys
        }
        self._ranges: dict[Key, Interval | None] = {}

    def of(self, symbol: Symbol) -> Interval | None:
        """Return the range of a carried integer; None for any other symbol."""
        loop = self._loops.get(symbol.key) if symbol.kind == "unknown" else None
        if loop is None:
            return None
        if symbol.key not in self._ranges:
            self._find(loop)
        return self._ranges[symbol.key]

    def _find(self, loop: Loop) -> None:
        """Compute a loop's ranges; ranges computed meanwhile for other loops are dropped."""
        before = dict(self._ranges)
        self._ranges |= {key: None for integer in loop.carried for key in integer.keys}
        ranges = _Induction(loop, self._supposing).ranges()
        self._ranges = before | {
            key: ranges[integer] for integer in loop.carried for key in integer.keys
        }


class _Induction:
    """A search for the ranges of one loop's carried integers."""

    def __init__(
        self, loop: Loop, supposing: Callable[[Mapping[tuple[str, Any], Interval]], Ranges]
    ) -> None:
        self._loop, self._supposing = loop, supposing
        self._outcomes = {integer: ways(integer.following) for integer in loop.carried}

    def ranges(self) -> dict[CarriedInteger, Interval]:
        """Return ranges that contain the initial integers and that no trip leaves."""
        carried = self._loop.carried
        ranges = self._given({integer: (integer.now.low, integer.now.high) for integer in carried})
        initial = {integer: ranges.interval(integer.initial) for integer in carried}
        widest = {
            integer: _within(
                (integer.now.low, integer.now.high),
                _hull(initial[integer], ranges.interval(integer.following)),
            )
            for integer in carried
        }
        guessed = {
            integer: _within(
                widest[integer], _hull(*(initial[other] for other in self._mixed(integer)))
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

    def _given(self, intervals: Mapping[CarriedInteger, Interval]) -> Ranges:
        return self._supposing(
            {
                ("unknown", key): interval
                for integer, interval in intervals.items()
                for key in integer.keys
            }
        )

    def _mixed(self, integer: CarriedInteger) -> list[CarriedInteger]:
        """Return an integer and the other carried integers in the formula of its next value."""
        atoms = integer.following.atoms()
        return [other for other in self._loop.carried if other is integer or other.now in atoms]

    def _wider(
        self,
        intervals: Mapping[CarriedInteger, Interval],
        guessed: Mapping[CarriedInteger, Interval],
        widest: Mapping[CarriedInteger, Interval],
    ) -> dict[CarriedInteger, Interval]:
        """Return ranges with each end that a trip may leave widened: by one, or to the widest."""
        ranges = self._given(intervals)
        conditions = (self._loop.going_on, *self._loop.guard.conjuncts())
        wider: dict[CarriedInteger, Interval] = {}
        for integer, (low, high) in intervals.items():
            trips = [
                (value, Given((*conditions, *when), ranges))
                for when, value in self._outcomes[integer]
            ]
            (first, last), (least, most) = guessed[integer], widest[integer]
            if high < most and not all(follows(at_least(high - v), given) for v, given in trips):
                high = high + 1 if high == last else most
            if low > least and not all(follows(at_least(v, low), given) for v, given in trips):
                low = low - 1 if low == first else least
            wider[integer] = low, high
        return wider


def _hull(*intervals: Interval) -> Interval:
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def _within(one: Interval, other: Interval) -> Interval:
    return max(one[0], other[0]), min(one[1], other[1])
