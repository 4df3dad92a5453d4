"""Two copies of a kernel's formulas, one for each of two programs: do they meet?

All that is a program's own (ids, lanes, trips, what it loads) is renamed in the second copy;
scalars and the grid are shared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kvtrace.symbolic.conditions import (
    And,
    Condition,
    Not,
    Opaque,
    Or,
    at_least,
    conjunction,
    disjunction,
    less,
)
from kvtrace.symbolic.decide import Given, Point
from kvtrace.symbolic.functions import Choice
from kvtrace.symbolic.intervals import Ranges
from kvtrace.symbolic.linear import Interval
from kvtrace.symbolic.terms import Substitution, Symbol, Term

_OWN: Final = frozenset({"program", "lane", "trip", "content", "unknown"})
"""Kinds of symbols that have a value of their own in each program."""


class Question:
    """Whether two different programs touch one byte, with addresses in bytes of one storage.

    `claim`, that they do not, is to be decided wherever `given` holds: both are active, and the
    programs differ. `is_lost`: a branch that is not followed is part of an address, so two copies
    of it cannot be told apart.
    """

    def __init__(
        self,
        one: tuple[Term, int, Sequence[Condition]],
        other: tuple[Term, int, Sequence[Condition]],
        axes: Sequence[Symbol],
        ranges: Ranges,
        nbytes: int,
    ) -> None:
        """Each side is its address, the width of its elements in bytes, and what holds there.

        Only what lies inside the storage, of `nbytes`, is shared: the rest is out of bounds.
        """
        self._axes = axes
        atoms = {atom for side in (one, other) for part in side[2] for atom in part.atoms()}
        atoms |= one[0].atoms() | other[0].atoms() | set(axes)
        symbols = sorted((a for a in atoms if isinstance(a, Symbol)), key=lambda s: s.order)
        self.is_lost = any(isinstance(a, Choice) and a.condition.opaques() for a in atoms)
        known: dict[tuple[str, object], Interval] = {}
        self._renamed: dict[Symbol, Symbol] = {}
        for number, symbol in enumerate(symbols):
            low, high = ranges.of(symbol)
            before = known.get((symbol.kind, symbol.key), (low, high))
            known[symbol.kind, symbol.key] = min(low, before[0]), max(high, before[1])
            if symbol.kind in _OWN:
                key = ("other", number)
                self._renamed[symbol] = Symbol(symbol.kind, key, symbol.low, symbol.high)
                known[symbol.kind, key] = low, high
        rename = Substitution({s: by.term for s, by in self._renamed.items()})
        self._address, self._other_address = one[0], rename(other[0])
        self.gap = self._address - self._other_address
        self.claim = disjunction((at_least(self.gap, other[1]), at_least(-self.gap, one[1])))
        conditions = [*one[2], *(_renamed(each, rename) for each in other[2]), self._differ()]
        for address, width in ((self._address, one[1]), (self._other_address, other[1])):
            conditions += (at_least(address), at_least(nbytes - width - address))
        self.given = Given(conjunction(conditions).conjuncts(), Ranges(known))

    def renamed(self, symbol: Symbol) -> Symbol:
        """Return what a symbol of the first program is in the second."""
        return self._renamed.get(symbol, symbol)

    def _differ(self) -> Condition:
        ways = []
        for axis in self._axes:
            own, other = axis.term, self._renamed[axis].term
            ways += [less(own, other), less(other, own)]
        return disjunction(ways)

    def witness(self, point: Point, grid: tuple[int, int, int]) -> tuple[tuple[int, int], int]:
        """Return both programs (linear ids), and the first byte that they share, at a point."""
        assert all(isinstance(key, Symbol | Opaque) for key in point)
        programs = [0, 0]
        stride = 1
        for number, extent in enumerate(grid):
            for axis in self._axes:
                if axis.key == number:
                    programs[0] += stride * point.get(axis, 0)
                    programs[1] += stride * point.get(self._renamed[axis], 0)
            stride *= extent
        byte = max(self._value(term, point) for term in (self._address, self._other_address))
        return (programs[0], programs[1]), byte

    def _value(self, term: Term, point: Mapping[Symbol | Opaque, int]) -> int:
        """Return the number at a point, which may leave out symbols that have one value only."""
        symbols = [atom for atom in term.atoms() if isinstance(atom, Symbol)]
        intervals = {symbol: self.given.ranges.of(symbol) for symbol in symbols}
        settled = {symbol: low for symbol, (low, high) in intervals.items() if low == high}
        return term.value({**settled, **point})


def _renamed(condition: Condition, rename: Substitution) -> Condition:
    """Return a condition of the second program: what is not followed may be otherwise there."""
    if isinstance(condition, And | Or):
        join = conjunction if isinstance(condition, And) else disjunction
        return join(_renamed(part, rename) for part in condition.parts)
    if isinstance(condition, Not):
        return ~_renamed(condition.inner, rename)
    if isinstance(condition, Opaque):
        key = condition.key if isinstance(condition.key, tuple) else (condition.key,)
        return Opaque(("other", *key), condition.reason, tuple(rename(t) for t in condition.at))
    return condition.substitute(rename)
