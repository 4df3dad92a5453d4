"""Proofs that two trees are equal, and loaded integers for which two trees may differ.

Random integers rarely show that two formulas differ: `a % 1000 == 7 and a // 1000 == 3` is true for
one of four billion integers. So formulas are compared by `kvtrace.symbolic.prover`.
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
"""Limit on the claims to prove about a pair of trees (0.3 s each), and on the pairs of trees."""
_SHARED: Final = frozenset({"content", "lane"})
"""Kinds of symbols that mean the same in two kernels; trips and programs may be of another loop or
grid."""
_FORMULAS: Final = ("integer", "condition")


class TreeProver:
    """Prover of the equality of trees over the same symbols; at most `_MOST_CLAIMS` claims."""

    def __init__(self) -> None:
        self._ranges = Ranges({})
        self._equal: dict[tuple[Tree, Tree], bool] = {}
        self._claims = 0

    def are_equal(self, first: Tree, second: Tree) -> bool:
        """Return whether two trees are proven to have the same value for all contents of memory."""
        if first is second:
            return True
        pair = first, second
        if pair not in self._equal:
            self._equal[pair] = self._is_proven(*pair)
        return self._equal[pair]

    def _is_proven(self, first: Tree, second: Tree) -> bool:
        if (
            first.what in _FORMULAS
            and first.what == second.what
            and first.detail[1:] == second.detail[1:]
        ):
            return isinstance(self._decide_equality(first.detail[0], second.detail[0]), Proven)
        if first.what != second.what or first.detail != second.detail:
            return False
        return len(first.parts) == len(second.parts) and all(
            map(self.are_equal, first.parts, second.parts)
        )

    def differing_integers(self, first: Tree, second: Tree) -> Iterator[int]:
        """Yield loaded integers for which the prover finds two trees' formulas unequal."""
        if first.what == second.what == "integer":
            yield from _refuting_contents(self._decide_equality(first.detail[0], second.detail[0]))
        first_conditions, second_conditions = (
            {node.detail[0] for node in tree.walk() if node.what == "condition"}
            for tree in (first, second)
        )
        for condition in sorted(first_conditions ^ second_conditions, key=repr):
            for claim in (condition, ~condition):
                yield from _refuting_contents(self._decide(claim))

    def _decide_equality(
        self, first: Term | Condition, second: Term | Condition
    ) -> Decision | None:
        if isinstance(first, Term) and isinstance(second, Term):
            return self._decide(equal(first, second))
        if isinstance(first, Condition) and isinstance(second, Condition):
            both, neither = conjunction((first, second)), conjunction((~first, ~second))
            return self._decide(disjunction((both, neither)))
        return None

    def _decide(self, claim: Condition) -> Decision | None:
        kinds = {atom.kind for atom in claim.atoms() if isinstance(atom, Symbol)}
        if self._claims == _MOST_CLAIMS or not is_followed(claim) or not kinds <= _SHARED:
            return None
        self._claims += 1
        return prove(claim, Given((), self._ranges))


def _refuting_contents(decision: Decision | None) -> Iterator[int]:
    if isinstance(decision, Refuted):
        for symbol, number in decision.model.items():
            if isinstance(symbol, Symbol) and symbol.kind == "content":
                yield number


def differing_integers(first_trees: Iterable[Tree], second_trees: Iterable[Tree]) -> set[int]:
    """Return loaded integers for which some tree of each version may differ."""
    prover = TreeProver()
    pairs = (
        (first, second) for first in first_trees for second in second_trees if first is not second
    )
    return {
        number
        for pair in islice(pairs, _MOST_CLAIMS)
        for number in prover.differing_integers(*pair)
    }
