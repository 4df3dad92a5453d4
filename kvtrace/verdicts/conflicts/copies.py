"""Renamed copies of a kernel's formulas, one for each actor, to decide whether both meet.

Symbols that differ between actors (program ids, lanes, trips, loaded values) are
renamed in the second copy. Scalars and the grid are shared, and so are the symbols that `Shared`
names: for two lanes of one program its ids, and the trips of loops that both lanes are in together.

Example: lanes of program `p` store to bytes `256 * p + 4 * l`. The second copy stores to `256 * p'
+ 4 * l'`. The claim to prove is that the two addresses differ by 4 or more wherever `p != p'` and
`0 <= l, l' < 64`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

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
    in_order,
    less,
)
from kvtrace.symbolic.functions import Choice
from kvtrace.symbolic.prover import Given, Interval, Point, Ranges
from kvtrace.symbolic.prover.digits import Shared, nothing
from kvtrace.symbolic.terms import MOST_PROGRAMS, Atom, Substitution, Symbol, Term

ACTOR_KINDS: Final = frozenset({"program", "lane", "trip", "content", "unknown"})
"""Kinds of symbols that have a separate value in each lane of each program."""

Copy = tuple[Term, int, Sequence[Condition]]
"""The address of an access, the bytes of its elements, and the conditions of active lanes."""

When = Callable[[Substitution], Condition]
"""A function from the renaming of the second actor's symbols to a condition on both actors."""


class Actors(Struct, frozen=True):
    """Two programs, or two lanes of one program.

    At least one of the `differing` symbols has different values for the two actors (None: all may
    be equal). `shared` is true for symbols that are always equal: none for two programs. `when`
    adds conditions on both actors, such as an order of their trips.
    """

    differing: Sequence[Symbol] | None
    shared: Shared = nothing
    when: When | None = None

    @property
    def are_programs(self) -> bool:
        """The actors are two programs, which share no symbols of their own."""
        return self.shared is nothing


def two_programs(grid: Sequence[int]) -> Actors:
    """Return the actors for two programs of a grid with different ids along some axis."""
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
        left: Copy,
        right: Copy,
        actors: Actors,
        ranges: Ranges,
        nbytes: int,
        about: Iterable[Term | Condition] = (),
    ) -> None:
        """Build the claim; symbols of `about` are renamed with those of the second actor.

        Addresses are in bytes from the start of one storage of `nbytes`. Bytes outside are not
        shared.
        """
        differing, shared, when = actors.differing, actors.shared, actors.when
        atoms = {
            atom for copy in (left, right) for condition_ in copy[2] for atom in condition_.atoms()
        }
        atoms |= left[0].atoms() | right[0].atoms() | set(differing or ())
        atoms = atoms.union(*(condition.atoms() for condition in about))
        symbols = in_order(a for a in atoms if isinstance(a, Symbol))
        intervals: dict[tuple[str, object], Interval] = {}
        self._renamed: dict[Symbol, Symbol] = {}
        for position, symbol in enumerate(symbols):
            low, high = ranges.of(symbol)
            interval = intervals.get((symbol.kind, symbol.key), (low, high))
            intervals[symbol.kind, symbol.key] = min(low, interval[0]), max(high, interval[1])
            if symbol.kind in ACTOR_KINDS and not shared(symbol):
                key = ("other", position)
                self._renamed[symbol] = Symbol(symbol.kind, key, symbol.low, symbol.high)
                intervals[symbol.kind, key] = low, high
        self._shared = shared
        self._rename = rename = Substitution(
            {symbol_: new_symbol.term for symbol_, new_symbol in self._renamed.items()}
        )
        opaque_conditions = (
            opaque_ for a in atoms if isinstance(a, Choice) for opaque_ in a.condition.opaques()
        )
        self.is_lost = any(_may_differ(opaque, rename, shared) for opaque in opaque_conditions)
        self._address, self._other_address = left[0], rename(right[0])
        self.distance = self._address - self._other_address
        is_apart = at_least(self.distance, right[1]), at_least(-self.distance, left[1])
        self.claim = disjunction(is_apart)
        conditions = [*left[2], *(_renamed(condition, rename, shared) for condition in right[2])]
        if differing is not None:
            pairs = ((symbol.term, self._renamed[symbol].term) for symbol in differing)
            conditions.append(are_different(pairs))
        if when is not None:
            conditions.append(when(rename))
        for address, width in ((self._address, left[1]), (self._other_address, right[1])):
            conditions += (at_least(address), at_least(nbytes - width - address))
        self.given = Given(conjunction(conditions).conjuncts(), Ranges(intervals))

    def renamed(self, symbol: Symbol) -> Symbol:
        """Return the second actor's symbol for a symbol of the first."""
        return self._renamed.get(symbol, symbol)

    def both(self, condition: Condition) -> tuple[Condition, Condition]:
        """Return a condition on the first actor, and the same condition on the second."""
        return condition, _renamed(condition, self._rename, self._shared)

    def gap(self, term: Term) -> Term:
        """Return the difference of a term's values for the first and the second actor."""
        return term - self._rename(term)

    @property
    def is_same_address(self) -> Condition:
        """The condition that both addresses are equal."""
        return equal(self._address, self._other_address)

    def sides(self, point: Point) -> tuple[Point, Point]:
        """Return the values of each actor's symbols at a point, under the first actor's names."""
        renamed = set(self._renamed.values())
        first_values: dict[Symbol | Opaque, int] = {
            symbol: number
            for symbol, number in point.items()
            if isinstance(symbol, Symbol) and symbol not in renamed
        }
        second_values = {
            symbol: number for symbol, number in first_values.items() if symbol not in self._renamed
        }
        second_values.update(
            {
                original: point[new_symbol]
                for original, new_symbol in self._renamed.items()
                if new_symbol in point
            }
        )
        return first_values, second_values

    def byte(self, point: Point) -> int:
        """Return the first byte of the storage that both actors touch at a point."""
        assert all(isinstance(key, Symbol | Opaque) for key in point)
        return max(self._value(term, point) for term in (self._address, self._other_address))

    def _value(self, term: Term, point: Mapping[Symbol | Opaque, int]) -> int:
        """Return a term's value at a point; a symbol that is not in the point has a default."""
        defaults: dict[Symbol | Opaque, int] = {}
        for atom in term.atoms():
            if isinstance(atom, Symbol):
                low, high = self.given.ranges.of(atom)
                defaults[atom] = min(max(0, low), high)
            elif isinstance(atom, Choice):
                defaults.update(dict.fromkeys(atom.condition.opaques(), 1))
        return term.value({**defaults, **point})


def are_different(pairs: Iterable[tuple[Term, Term]]) -> Condition:
    """Return the condition that the terms of at least one pair differ."""
    return disjunction(
        part for first, second in pairs for part in (less(first, second), less(second, first))
    )


def _renamed(condition: Condition, rename: Substitution, shared: Shared) -> Condition:
    """Return a condition on the second actor; untracked conditions become separate ones."""
    if isinstance(condition, And | Or):
        join = conjunction if isinstance(condition, And) else disjunction
        return join(_renamed(part, rename, shared) for part in condition.parts)
    if isinstance(condition, Not):
        return ~_renamed(condition.inner, rename, shared)
    if isinstance(condition, Opaque):
        if not _may_differ(condition, rename, shared):
            return condition
        key = condition.key if isinstance(condition.key, tuple) else (condition.key,)
        return Opaque(("other", *key), condition.reason, tuple(rename(t) for t in condition.at))
    return condition.substitute(rename)


def _may_differ(opaque: Opaque, rename: Substitution, shared: Shared) -> bool:
    """Return whether an untracked condition may hold for one actor and not for the other."""
    atoms = frozenset[Atom]().union(*(term.atoms() for term in opaque.at))
    return shared is nothing or not rename.leaves(atoms)
