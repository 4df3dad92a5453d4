"""Trees whose integers and conditions are proven equal, and numbers at which they may differ.

Random numbers rarely tell formulas of integers apart: `a % 1000 == 7 and a // 1000 == 3` is true
for one of four billion. So formulas are compared by `kvtrace.symbolic.prover`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from kvtrace.addons.invariance.formulas import is_followed
from kvtrace.addons.invariance.trees import Tree
from kvtrace.symbolic.conditions import Condition, conjunction, disjunction, equal
from kvtrace.symbolic.prover import Decision, Given, Proven, Ranges, Refuted, prove
from kvtrace.symbolic.terms import Symbol, Term

_MOST_CLAIMS: Final = 12
"""Claims that are decided about a pair of trees, in at most 0.3 s each; and pairs of trees."""
_SHARED: Final = frozenset({"content", "lane"})
"""Kinds of symbols that mean the same in two kernels: a trip or a program may be of another loop or
grid."""
_FORMULAS: Final = ("integer", "condition")


class Alike:
    """Comparison of trees over the same symbols, by proofs."""

    def __init__(self) -> None:
        self._ranges = Ranges({})
        self._equal: dict[tuple[Tree, Tree], bool] = {}
        self._claims = 0

    def are_equal(self, one: Tree, other: Tree) -> bool:
        """Return whether two trees are proven to have the same value for all numbers."""
        if one is other:
            return True
        pair = one, other
        if pair not in self._equal:
            self._equal[pair] = self._is_proven(*pair)
        return self._equal[pair]

    def _is_proven(self, one: Tree, other: Tree) -> bool:
        if one.what in _FORMULAS and one.what == other.what and one.detail[1:] == other.detail[1:]:
            return isinstance(self._equality(one.detail[0], other.detail[0]), Proven)
        if one.what != other.what or one.detail != other.detail:
            return False
        return len(one.parts) == len(other.parts) and all(
            map(self.are_equal, one.parts, other.parts)
        )

    def parting(self, one: Tree, other: Tree) -> Iterator[int]:
        """Yield integers in memory for which formulas of two trees, or their conditions, differ."""
        if one.what == other.what == "integer":
            yield from _contents_of(self._equality(one.detail[0], other.detail[0]))
        mine, theirs = (
            {node.detail[0] for node in tree.walk() if node.what == "condition"}
            for tree in (one, other)
        )
        for condition in sorted(mine ^ theirs, key=repr):
            for claim in (condition, ~condition):
                yield from _contents_of(self._decided(claim))

    def _equality(self, one: Term | Condition, other: Term | Condition) -> Decision | None:
        if isinstance(one, Term) and isinstance(other, Term):
            return self._decided(equal(one, other))
        if isinstance(one, Condition) and isinstance(other, Condition):
            both, neither = conjunction((one, other)), conjunction((~one, ~other))
            return self._decided(disjunction((both, neither)))
        return None

    def _decided(self, claim: Condition) -> Decision | None:
        kinds = {atom.kind for atom in claim.atoms() if isinstance(atom, Symbol)}
        if self._claims == _MOST_CLAIMS or not is_followed(claim) or not kinds <= _SHARED:
            return None
        self._claims += 1
        return prove(claim, Given((), self._ranges))


def _contents_of(decision: Decision | None) -> Iterator[int]:
    if isinstance(decision, Refuted):
        for symbol, number in decision.model.items():
            if isinstance(symbol, Symbol) and symbol.kind == "content":
                yield number


def parting_integers(one: Iterable[Tree], other: Iterable[Tree]) -> set[int]:
    """Return integers in memory for which trees of two versions may differ."""
    alike = Alike()
    pairs = ((mine, theirs) for mine in one for theirs in other if mine is not theirs)
    return {number for pair in islice(pairs, _MOST_CLAIMS) for number in alike.parting(*pair)}
