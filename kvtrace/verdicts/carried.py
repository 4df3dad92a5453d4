"""Ranges of what loops carry, with a call's numbers: guessed, then proven by induction.

Where no formula says what a loop carries, it often stays between what the loop's integers began
with, as both ends of a binary search do, or goes beyond that by one. That is supposed of a trip and
has to be proven of the next one; what is not proven is dropped.
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

#: How often guesses are made wider before they are given up.
_ROUNDS: Final = 6


class CarriedRanges:
    """The ranges of one call's carried integers, those of a loop made when first asked for."""

    def __init__(
        self, summary: Summary, supposing: Callable[[Mapping[tuple[str, Any], Interval]], Ranges]
    ) -> None:
        """`supposing` makes ranges of the call as they are if so much more is known."""
        self._supposing = supposing
        self._loops = {
            key: loop for loop in summary.loops for each in loop.carried for key in each.keys
        }
        self._found: dict[Key, Interval | None] = {}

    def of(self, symbol: Symbol) -> Interval | None:
        """Return the range of a carried integer; None for any other symbol."""
        loop = self._loops.get(symbol.key) if symbol.kind == "unknown" else None
        if loop is None:
            return None
        if symbol.key not in self._found:
            self._find(loop)
        return self._found[symbol.key]

    def _find(self, loop: Loop) -> None:
        """Find a loop's ranges; those found while its own were open are dropped."""
        before = dict(self._found)
        self._found |= {key: None for each in loop.carried for key in each.keys}
        found = _Induction(loop, self._supposing).ranges()
        self._found = before | {key: found[each] for each in loop.carried for key in each.keys}


class _Induction:
    """Finds the ranges of what one loop carries."""

    def __init__(
        self, loop: Loop, supposing: Callable[[Mapping[tuple[str, Any], Interval]], Ranges]
    ) -> None:
        self._loop, self._supposing = loop, supposing
        self._outcomes = {each: ways(each.following) for each in loop.carried}

    def ranges(self) -> dict[CarriedInteger, Interval]:
        """Return ranges that the integers begin in, and that no trip leaves."""
        carried = self._loop.carried
        ranges = self._given({each: (each.now.low, each.now.high) for each in carried})
        initial = {each: ranges.interval(each.initial) for each in carried}
        widest = {
            each: _within(
                (each.now.low, each.now.high),
                _hull(initial[each], ranges.interval(each.following)),
            )
            for each in carried
        }
        guessed = {
            each: _within(widest[each], _hull(*(initial[other] for other in self._mixed(each))))
            for each in carried
        }
        found = guessed
        for _ in range(_ROUNDS):
            wider = self._wider(found, guessed, widest)
            if wider == found:
                return found
            found = wider
        return widest

    def _given(self, found: Mapping[CarriedInteger, Interval]) -> Ranges:
        return self._supposing(
            {("unknown", key): interval for each, interval in found.items() for key in each.keys}
        )

    def _mixed(self, integer: CarriedInteger) -> list[CarriedInteger]:
        """Return the integer and others that its next value is made of."""
        atoms = integer.following.atoms()
        return [each for each in self._loop.carried if each is integer or each.now in atoms]

    def _wider(
        self,
        found: Mapping[CarriedInteger, Interval],
        guessed: Mapping[CarriedInteger, Interval],
        widest: Mapping[CarriedInteger, Interval],
    ) -> dict[CarriedInteger, Interval]:
        """Return ranges whose ends that a trip may leave are one beyond the guess, or widest."""
        ranges = self._given(found)
        conditions = (self._loop.going_on, *self._loop.guard.conjuncts())
        wider: dict[CarriedInteger, Interval] = {}
        for each, (low, high) in found.items():
            trips = [
                (value, Given((*conditions, *when), ranges)) for when, value in self._outcomes[each]
            ]
            (first, last), (least, most) = guessed[each], widest[each]
            if high < most and not all(follows(at_least(high - v), given) for v, given in trips):
                high = high + 1 if high == last else most
            if low > least and not all(follows(at_least(v, low), given) for v, given in trips):
                low = low - 1 if low == first else least
            wider[each] = low, high
        return wider


def _hull(*intervals: Interval) -> Interval:
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def _within(one: Interval, other: Interval) -> Interval:
    return max(one[0], other[0]), min(one[1], other[1])
