"""Two renamed copies of a kernel's formulas, one for each actor, to decide whether the two meet.

All symbols that an actor has for itself (its program's ids, lanes, trips, loaded values) are
renamed in the second copy. Scalars and the grid are shared, and so are the symbols that `Shared`
names: for two lanes of one program its ids, and the trips of loops that both lanes are in together.

Example: lanes of program `p` store to bytes `256 * p + 4 * l`. The second copy stores to `256 * p'
+ 4 * l'`. The claim to prove is that the two addresses differ by 4 or more wherever `p != p'` and
`0 <= l, l' < 64`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
    equal,
    less,
)
from kvtrace.symbolic.functions import Choice
from kvtrace.symbolic.prover import Given, Interval, Point, Ranges
from kvtrace.symbolic.prover.digits import Shared, nothing
from kvtrace.symbolic.terms import MOST_PROGRAMS, Atom, Substitution, Symbol, Term

_OWN: Final = frozenset({"program", "lane", "trip", "content", "unknown"})
"""Kinds of symbols that have a separate value in each lane of each program."""

Copy = tuple[Term, int, Sequence[Condition]]
"""An access: its address, the width of its elements in bytes, and conditions of active lanes."""

When = Callable[[Substitution], Condition]
"""A function of the second side's renaming of symbols that returns a condition on both sides."""


@dataclass(frozen=True)
class Actors:
    """Two programs, or two lanes of one program.

    At least one of the `differing` symbols has different values for the two actors (None: all may
    be equal). `shared` tells which symbols are always equal: none for two programs. `when` adds
    conditions on both actors, such as an order of their trips.
    """

    differing: Sequence[Symbol] | None
    shared: Shared = nothing
    when: When | None = None

    @property
    def are_programs(self) -> bool:
        """The actors are two programs, which share no symbols of their own."""
        return self.shared is nothing


def two_programs(grid: Sequence[int]) -> Actors:
    """Return the actors that are two programs of a grid, which differ along one of its axes."""
    axes = (axis for axis, extent in enumerate(grid) if extent > 1)
    return Actors(tuple(Symbol("program", axis, 0, MOST_PROGRAMS - 1) for axis in axes))


class Question:
    """The question whether two actors touch the same byte of a storage.

    `claim` says that they do not. It is to be decided wherever `given` holds: both are active, and
    one of the `differing` symbols differs. `is_lost`: an address depends on a branch that is not
    tracked, so its two copies cannot be distinguished.
    """

    def __init__(
        self,
        one: Copy,
        other: Copy,
        actors: Actors,
        ranges: Ranges,
        nbytes: int,
        about: Iterable[Term | Condition] = (),
    ) -> None:
        """Rename the symbols of the second side, and of the formulas `about`.

        Addresses are in bytes from the start of one storage of `nbytes`. Bytes outside are not
        shared.
        """
        differing, shared, when = actors.differing, actors.shared, actors.when
        atoms = {atom for side in (one, other) for part in side[2] for atom in part.atoms()}
        atoms |= one[0].atoms() | other[0].atoms() | set(differing or ())
        atoms = atoms.union(*(condition.atoms() for condition in about))
        symbols = sorted((a for a in atoms if isinstance(a, Symbol)), key=lambda s: s.order)
        intervals: dict[tuple[str, object], Interval] = {}
        self._renamed: dict[Symbol, Symbol] = {}
        for number, symbol in enumerate(symbols):
            low, high = ranges.of(symbol)
            before = intervals.get((symbol.kind, symbol.key), (low, high))
            intervals[symbol.kind, symbol.key] = min(low, before[0]), max(high, before[1])
            if symbol.kind in _OWN and not shared(symbol):
                key = ("other", number)
                self._renamed[symbol] = Symbol(symbol.kind, key, symbol.low, symbol.high)
                intervals[symbol.kind, key] = low, high
        self._shared = shared
        self._rename = rename = Substitution({s: by.term for s, by in self._renamed.items()})
        opaques = (o for a in atoms if isinstance(a, Choice) for o in a.condition.opaques())
        self.is_lost = any(_is_own(opaque, rename, shared) for opaque in opaques)
        self._address, self._other_address = one[0], rename(other[0])
        self.distance = self._address - self._other_address
        apart = at_least(self.distance, other[1]), at_least(-self.distance, one[1])
        self.claim = disjunction(apart)
        conditions = [*one[2], *(_renamed(condition, rename, shared) for condition in other[2])]
        if differing is not None:
            conditions.append(self._differ(differing))
        if when is not None:
            conditions.append(when(rename))
        for address, width in ((self._address, one[1]), (self._other_address, other[1])):
            conditions += (at_least(address), at_least(nbytes - width - address))
        self.given = Given(conjunction(conditions).conjuncts(), Ranges(intervals))

    def renamed(self, symbol: Symbol) -> Symbol:
        """Return the second side's name of a symbol of the first side."""
        return self._renamed.get(symbol, symbol)

    def _differ(self, symbols: Sequence[Symbol]) -> Condition:
        ways = []
        for symbol in symbols:
            first, second = symbol.term, self._renamed[symbol].term
            ways += [less(first, second), less(second, first)]
        return disjunction(ways)

    def both(self, condition: Condition) -> tuple[Condition, Condition]:
        """Return a condition on the first side, and the same on the second side's symbols."""
        return condition, _renamed(condition, self._rename, self._shared)

    def gap(self, term: Term) -> Term:
        """Return the difference between a term on the first side and on the second."""
        return term - self._rename(term)

    @property
    def is_one_place(self) -> Condition:
        """The condition that both addresses are equal."""
        return equal(self._address, self._other_address)

    def sides(self, point: Point) -> tuple[Point, Point]:
        """Return the values of each side's symbols at a point, by the names of the first side."""
        renamed = set(self._renamed.values())
        one: dict[Symbol | Opaque, int] = {
            symbol: number
            for symbol, number in point.items()
            if isinstance(symbol, Symbol) and symbol not in renamed
        }
        other = {symbol: number for symbol, number in one.items() if symbol not in self._renamed}
        other.update({symbol_: point[by] for symbol_, by in self._renamed.items() if by in point})
        return one, other

    def byte(self, point: Point) -> int:
        """Return the first byte of the storage that both sides touch at a point."""
        assert all(isinstance(key, Symbol | Opaque) for key in point)
        return max(self._value(term, point) for term in (self._address, self._other_address))

    def _value(self, term: Term, point: Mapping[Symbol | Opaque, int]) -> int:
        """Return the value of a term at a point; symbols that the point lacks have any value."""
        defaults: dict[Symbol | Opaque, int] = {}
        for atom in term.atoms():
            if isinstance(atom, Symbol):
                low, high = self.given.ranges.of(atom)
                defaults[atom] = min(max(0, low), high)
            elif isinstance(atom, Choice):
                defaults.update(dict.fromkeys(atom.condition.opaques(), 1))
        return term.value({**defaults, **point})


def _renamed(condition: Condition, rename: Substitution, shared: Shared) -> Condition:
    """Return a condition renamed for the second side, where untracked conditions may differ."""
    if isinstance(condition, And | Or):
        join = conjunction if isinstance(condition, And) else disjunction
        return join(_renamed(part, rename, shared) for part in condition.parts)
    if isinstance(condition, Not):
        return ~_renamed(condition.inner, rename, shared)
    if isinstance(condition, Opaque):
        if not _is_own(condition, rename, shared):
            return condition
        key = condition.key if isinstance(condition.key, tuple) else (condition.key,)
        return Opaque(("other", *key), condition.reason, tuple(rename(t) for t in condition.at))
    return condition.substitute(rename)


def _is_own(opaque: Opaque, rename: Substitution, shared: Shared) -> bool:
    """Return whether an untracked condition may have another truth on the second side."""
    atoms = frozenset[Atom]().union(*(term.atoms() for term in opaque.at))
    return shared is nothing or not rename.leaves(atoms)
