"""Integers that trees load from memory: numbers to try for them, and formulas that few satisfy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.invariance.reads import terms_in
from kvtrace.symbolic.conditions import AtLeast, Condition, Equal
from kvtrace.symbolic.functions import Choice, single
from kvtrace.symbolic.terms import Atom, Symbol, Term

if TYPE_CHECKING:
    from kvtrace.symbolic.trees.tree import Tree

SMALL: Final = 8
"""Random integers in memory are below this limit, or near a number in a comparison with them."""
_SPREAD: Final = np.asarray(
    [*range(-8, 0), *(sign * ((5 << n) + n) for n in range(1, 60) for sign in (-1, 1))], np.int64
)
"""Further values of integers that are data alone: -8 to -1, ±11, ±22, ±43 and so on to 5 · 2^59."""
_BEYOND_INT64: Final = 1 << 63
_SMALL_FACTORS: Final = 1 << 12


def data_keys(trees: Iterable[Tree], store_conditions: Iterable[Condition]) -> frozenset[object]:
    """Return the keys of the integers in memory that are only data.

    No address, mask, loop bound or store condition depends on these integers.
    """
    data, placing = set[object](), _loaded_keys(store_conditions)
    for tree in trees:
        for node in tree.walk():
            keys = data if node.what in ("integer", "condition") else placing
            keys.update(_loaded_keys(node.formulas()))
    return frozenset(data - placing)


def _loaded_keys(formulas: Iterable[Term | Condition]) -> set[object]:
    return {atom.key for formula in formulas for atom in formula.symbols("content")}


def compared_integers(trees: Iterable[Tree]) -> tuple[int, ...]:
    """Return the constants of formulas of loaded integers, and their neighbors; sorted.

    For `a == 100` these are -101, -100, -99, 99, 100 and 101.
    """
    constants = {
        term.coefficients.get((), 0)
        for tree in trees for node in tree.walk() for formula in node.formulas()
        if formula.symbols("content")
        for term in terms_in(formula)
    }  # fmt: skip
    neighbors = {sign * n + step for n in constants for sign in (-1, 1) for step in (-1, 0, 1)}
    return tuple(sorted(neighbors - {*range(SMALL)}))


def may_exceed_int64(formula: Term | Condition) -> bool:
    """Return whether a formula of loaded integers may overflow 64 bits in some part.

    Formulas of programs, lanes and trips alone do not overflow in any launch.
    """
    parts = [part for atom in formula.atoms() for part in getattr(atom, "arguments", ())]
    parts += [formula] if isinstance(formula, Term) else []
    return any(
        (part.low < -_BEYOND_INT64 or part.high >= _BEYOND_INT64) and part.symbols("content")
        for part in parts
    )


def is_rare(condition: Condition) -> bool:
    """Return whether random integers may never satisfy a condition, as `a % 1000 == 7`."""
    if isinstance(condition, AtLeast | Equal):
        return _may_be_missed(condition.term)
    return any(isinstance(part, Condition) and is_rare(part) for part in condition.inside())


def _may_be_missed(term: Term) -> bool:
    """Return whether random loaded integers may miss numbers of a term, as of `a % 1000`.

    They cover `a - i` of an index `i`: random integers are small, or from `compared_integers`.
    """
    factors = {monomial: factor for monomial, factor in term.coefficients.items() if monomial}
    of_data = [m for m in factors if any(atom.term.symbols("content") for atom in m)]
    has_index = len(of_data) < len(factors)
    is_covered = has_index and all(
        len(monomial) == 1 and abs(factors[monomial]) == 1 and _is_tried(monomial[0])
        for monomial in of_data
    )
    return bool(of_data) and not is_covered


def is_sum_of_integers(term: Term) -> bool:
    """Return whether a term is a sum of loaded integers, choices and numbers, as `a + 2 * b - 1`.

    Factors are small, so that they differ modulo the prime of the field.
    """
    return all(
        abs(factor) < _SMALL_FACTORS
        and (not monomial or (len(monomial) == 1 and _is_integer(monomial[0])))
        for monomial, factor in term.coefficients.items()
    )


def _is_integer(atom: Atom) -> bool:
    return isinstance(atom, Choice) or (isinstance(atom, Symbol) and atom.kind == "content")


def _is_tried(atom: Atom | None) -> bool:
    """Return whether an atom takes all values that random memory has for a loaded integer."""
    if isinstance(atom, Choice):
        return not is_rare(atom.condition) and all(
            _is_tried(single(branch))
            for branch in (atom.then, atom.otherwise)
            if branch.symbols("content")
        )
    return isinstance(atom, Symbol)


def with_integers_of_all_sizes(integers: NDArray[np.int64], symbol: Symbol) -> NDArray[np.int64]:
    """Return choices for an integer that is only data, half of them negative or large."""
    spread = _SPREAD[(symbol.low <= _SPREAD) & (symbol.high >= _SPREAD)]
    repetitions = 1 + spread.size // integers.size
    return np.append(np.tile(integers, repetitions), spread)
