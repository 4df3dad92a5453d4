"""Integers in memory that say where the data of a row begin, as `cu_seqlens` does.

For rows of 3, 4 and 2 tokens, `cu_seqlens` is [0, 3, 7, 9]. Other rows decide these integers: with
one more token in the first row they are [0, 4, 8, 10], and the data of the second row move as a
whole. A value depends on its own row alone if it is unchanged when the row's data and these
integers move by any distance. Addresses move along; the difference of an end and a begin (8 - 4)
does not change. A begin that is rounded to blocks, or used as a number, does change.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct

from kvtrace.addons.invariance.coordinates import is_uniform
from kvtrace.symbolic.conditions import Condition, in_order
from kvtrace.symbolic.functions import Quotient
from kvtrace.symbolic.terms import Monomial, Substitution, Symbol, Term

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from kvtrace.symbolic.terms import Atom
    from kvtrace.symbolic.trees.tree import Tree

Through = Literal["data", "mask", "address", "guard", "trips", "integer"]
_THROUGH: Final[Mapping[str, Through]] = {"integer": "integer", "loop": "trips"}


class MovingUse(Struct, frozen=True):
    """A use of a loaded integer, by a tree node or else a guard, that changes when data move."""

    content: Symbol
    through: Through
    node: Tree | None


def moving_uses(
    nodes: Sequence[Tree], guards: Sequence[Condition], store: Term, rows: Collection[Symbol]
) -> tuple[list[MovingUse], frozenset[object]]:
    """Return uses of loaded integers by which a row's value depends on other rows' data.

    Without any, also return the tensors of integers that move with the row's data in all uses.

    Args:
        nodes: All nodes of the stored tree.
        guards: Conditions of the store.
        store: The byte offset of the store.
        rows: The coordinates that number the rows.
    """
    addresses = [node.detail[1] for node in nodes if node.what == "element" and node.detail[1]]
    kinds: dict[Symbol, str] = {}
    for address in (*addresses, store):
        kinds |= locating_integers(address, rows)
    begins = {integer for integer, kind in kinds.items() if kind == "begin"}
    tensors = {_tensor(begin) for begin in begins} | _offset_tensors(nodes, guards, rows)
    uses = _changed_uses(nodes, guards, tensors)
    if uses:  # an end may be in another tensor than the begin, at the same place
        begin_at = {begin.at for begin in begins}
        end_tensors = {_tensor(end) for end in _contents(nodes, guards) if end.at in begin_at}
        uses_with_ends = _changed_uses(nodes, guards, tensors | end_tensors)
        if len(uses_with_ends) < len(uses):
            uses, tensors = uses_with_ends, tensors | end_tensors
    uses += _uses_as_floats(nodes, {integer for integer, kind in kinds.items() if kind == "item"})
    return uses, frozenset() if uses else frozenset(tensors)


def _uses_as_floats(nodes: Sequence[Tree], items: Collection[Symbol]) -> Iterator[MovingUse]:
    """Yield uses of numbers of items as operands of ops on floats."""
    for node in nodes:
        if node.what == "op" and node.detail[2].startswith(("f", "bf")):
            for part in node.parts:
                if part.what == "integer":
                    numbers = part.detail[0].symbols("content") & items
                    yield from (MovingUse(item, "integer", node) for item in in_order(numbers))


def stays_when_moved(formula: Condition) -> bool:
    """Return whether a formula is the same if all its integers in memory move by any distance."""
    tensors = {_tensor(content) for content in formula.symbols("content")}
    return _MovedFormulas(tensors).changing_content(formula) is None


def locating_integers(address: Term, rows: Collection[Symbol]) -> dict[Symbol, str]:
    """Return the loaded integers that locate an element: each is a "begin" or an "item".

    A begin is a position on an axis along which the address steps on: `4 * cu_seqlens[row] + 4 * i`
    has the factor 4 for both. An item is the number of an item: `4 * size * pages[row] + 4 * i`.
    Empty if the address has row coordinates themselves.
    """
    atoms_by_factor: dict[tuple[Monomial, int], list[Atom]] = {}
    factor_by_integer: dict[Symbol, tuple[Monomial, int]] = {}
    for monomial, number in address.coefficients.items():
        varying_atoms = [atom for atom in monomial if not is_uniform(atom)]
        if any(atom in rows for atom in varying_atoms):
            return {}
        if len(varying_atoms) == 1:
            (atom,) = varying_atoms
            factor = tuple(atom for atom in monomial if is_uniform(atom)), abs(number)
            atoms_by_factor.setdefault(factor, []).append(atom)
            if isinstance(atom, Symbol) and atom.kind == "content":
                factor_by_integer[atom] = factor

    def has_step(factor: tuple[Monomial, int]) -> bool:
        return any(map(_is_step, atoms_by_factor.get(factor, ())))

    def is_of_row(integer: Symbol) -> bool:
        return not integer.within().isdisjoint(rows)

    kinds = {
        integer: "begin" if has_step(factor) else "item"
        for integer, factor in factor_by_integer.items()
        if is_of_row(integer)
    }
    for (uniform_atoms, number), atoms in atoms_by_factor.items():
        for atom in atoms:  # as in 64 * (begin // 16) + 4 * i
            divisor = atom.arguments[1].constant if isinstance(atom, Quotient) else None
            if divisor and (
                has_step((uniform_atoms, number)) or has_step((uniform_atoms, number // divisor))
            ):
                contents = atom.term.symbols("content")
                kinds |= {content: "begin" for content in contents if is_of_row(content)}
    return kinds


def _is_step(atom: Atom) -> bool:
    """Return whether an atom is an index along an axis, and not an integer in memory."""
    symbols = (symbol for symbol in atom.within() if isinstance(symbol, Symbol))
    return all(symbol.kind != "content" for symbol in symbols)


def _offset_tensors(
    nodes: Sequence[Tree], guards: Sequence[Condition], rows: Collection[Symbol]
) -> set[object]:
    """Return tensors of which a row's entry and the next row's are read: `t[row]`, `t[row + 1]`.

    These are offsets: a row ends where the next row begins, at the sum of all lengths before it.
    """
    indices_by_tensor: dict[object, list[Term]] = {}
    for content in _contents(nodes, guards):
        if len(content.at) == 1 and not content.within().isdisjoint(rows):
            indices_by_tensor.setdefault(_tensor(content), []).append(content.at[0])
    return {
        tensor
        for tensor, indices in indices_by_tensor.items()
        for index, other_index in itertools.permutations(indices, 2)
        if (distance := (index - other_index).constant) and distance in _row_steps(index, rows)
    }


def _row_steps(index: Term, rows: Collection[Symbol]) -> set[int]:
    """Return the distances between the entries of a row and of the next row."""
    return {
        number
        for monomial, number in index.coefficients.items()
        if len(monomial) == 1 and not monomial[0].within().isdisjoint(rows)
    }


def _changed_uses(
    nodes: Sequence[Tree], guards: Sequence[Condition], tensors: Collection[object]
) -> list[MovingUse]:
    """Return uses that change when integers in some tensors move by any distance, if any."""
    if not tensors:
        return []
    uses = []
    moved_formulas = _MovedFormulas(tensors)
    for node in nodes:
        through = _THROUGH.get(node.what, "data")
        for formula in node.formulas():
            if node.what == "element" and formula is node.detail[1]:
                changed = moved_formulas.changing_content_of_address(formula)
            else:
                changed = moved_formulas.changing_content(formula)
            if changed is not None:
                uses.append(MovingUse(changed, through, node))
    for guard in guards:
        changed = moved_formulas.changing_content(guard)
        if changed is not None:
            uses.append(MovingUse(changed, "guard", None))
    return uses


class _MovedFormulas:
    """Formulas in which all integers of some tensors are moved by one distance."""

    _DISTANCE: Final = Symbol("unknown", ("distance", "of begins"), -(1 << 40), 1 << 40).term

    def __init__(self, tensors: Collection[object]) -> None:
        self._tensors = tensors

    def changing_content(self, formula: Term | Condition) -> Symbol | None:
        """Return a loaded integer whose move changes a formula, or None."""
        contents = self._contents(formula)
        if not contents:
            return None
        shift = Substitution({content: content.term + self._DISTANCE for content in contents})
        moved = shift(formula) if isinstance(formula, Term) else formula.substitute(shift)
        return None if moved == formula else min(contents, key=lambda content: content.order)

    def changing_content_of_address(self, address: Any) -> Symbol | None:
        """Return a loaded integer that changes an address other than as a summand, or None."""
        contents = self._contents(address)
        if not contents:
            return None
        other_summands = {
            monomial: number
            for monomial, number in address.coefficients.items()
            if not any(atom in contents for atom in monomial)
        }
        return self.changing_content(Term(other_summands))

    def _contents(self, formula: Term | Condition) -> list[Symbol]:
        return [atom for atom in formula.symbols("content") if _tensor(atom) in self._tensors]


def _contents(nodes: Sequence[Tree], guards: Sequence[Condition]) -> set[Symbol]:
    formulas = [*guards, *(each for node in nodes for each in node.formulas())]
    return {atom for formula in formulas for atom in formula.symbols("content")}


def _tensor(content: Symbol) -> object:
    return content.key[1] if isinstance(content.key, tuple) else content.key
