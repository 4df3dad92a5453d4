"""Trees whose integers and conditions are proven equal, and numbers at which they may differ.

What random numbers in memory show of a formula of integers is little: 7 and 3 in `a % 1000 == 7 and
a // 1000 == 3` are met once in four billion. So formulas are compared by `kvtrace.symbolic.decide`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from kvtrace.addons.invariance.formulas import is_followed
from kvtrace.addons.invariance.trees import Tree
from kvtrace.symbolic.conditions import Condition, conjunction, disjunction, equal
from kvtrace.symbolic.decide import Decision, Proven, Refuted, decide
from kvtrace.symbolic.intervals import Ranges
from kvtrace.symbolic.terms import Symbol, Term

_MOST_CLAIMS: Final = 12
"""Formulas that are asked about for a pair of trees, 0.3 s each at most."""
_SHARED: Final = frozenset({"content", "lane"})
"""Kinds of symbols that mean the same in two kernels: a trip or a program may be of another loop or
grid."""
_FORMULAS: Final = ("integer", "condition")


class Alike:
    """Compares trees whose symbols mean the same."""

    def __init__(self) -> None:
        self._ranges = Ranges({})
        self._known: dict[tuple[Tree, Tree], bool] = {}
        self._asked = 0

    def are_equal(self, one: Tree, other: Tree) -> bool:
        """Whether two trees have the same value for all numbers; false: that is not proven."""
        found = self._known.get((one, other))
        if found is None:
            found = self._known[one, other] = one is other or self._is_proven(one, other)
        return found

    def _is_proven(self, one: Tree, other: Tree) -> bool:
        if one.what in _FORMULAS and one.what == other.what and one.detail[1:] == other.detail[1:]:
            return isinstance(self._decided(one.detail[0], other.detail[0]), Proven)
        if one.what != other.what or one.detail != other.detail:
            return False
        pairs = zip(one.parts, other.parts, strict=False)
        return len(one.parts) == len(other.parts) and all(self.are_equal(*pair) for pair in pairs)

    def parting(self, one: Tree, other: Tree) -> Iterator[int]:
        """Yield integers in memory at which formulas of the two trees part, or change."""
        if one.what == other.what == "integer":
            yield from _contents_of(self._decided(one.detail[0], other.detail[0]))
        mine, theirs = (
            {node.detail[0] for node in tree.walk() if node.what == "condition"}
            for tree in (one, other)
        )
        for each in sorted(mine ^ theirs, key=repr):
            for claim in (each, ~each):
                yield from _contents_of(self._claimed(claim))

    def _decided(self, one: Term | Condition, other: Term | Condition) -> Decision | None:
        if isinstance(one, Term) and isinstance(other, Term):
            return self._claimed(equal(one, other))
        if isinstance(one, Condition) and isinstance(other, Condition):
            both = conjunction((one, other)), conjunction((~one, ~other))
            return self._claimed(disjunction(both))
        return None

    def _claimed(self, claim: Condition) -> Decision | None:
        kinds = {atom.kind for atom in claim.atoms() if isinstance(atom, Symbol)}
        if self._asked == _MOST_CLAIMS or not is_followed(claim) or not kinds <= _SHARED:
            return None
        self._asked += 1
        return decide(claim, (), self._ranges)


def _contents_of(decision: Decision | None) -> Iterator[int]:
    if isinstance(decision, Refuted):
        for symbol, number in decision.model.items():
            if isinstance(symbol, Symbol) and symbol.kind == "content":
                yield number


def parting_integers(one: Iterable[Tree], other: Iterable[Tree]) -> set[int]:
    """Return integers in memory at which two versions' trees may part."""
    alike = Alike()
    pairs = ((mine, theirs) for mine in one for theirs in other if mine is not theirs)
    return {number for pair in islice(pairs, _MOST_CLAIMS) for number in alike.parting(*pair)}
