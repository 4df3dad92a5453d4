"""Integers in memory that say where the data of a row begin, as `cu_seqlens` does.

Other rows decide them: the data of a row move as a whole when rows before it get longer. So a value
is the row's own if it stays what it is when its data and these integers move by any distance: an
address moves along, and all else stays, as the difference of a begin and an end does. A begin that
is rounded to blocks, or is a number by itself, does not.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from kvtrace.symbolic.conditions import Condition
from kvtrace.symbolic.functions import Quotient
from kvtrace.symbolic.terms import Monomial, Substitution, Symbol, Term

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kvtrace.addons.invariance.trees import Tree
    from kvtrace.symbolic.terms import Atom

Through = Literal["data", "mask", "address", "guard", "trips", "integer"]


@dataclass(frozen=True, slots=True)
class MovingUse:
    """A use of an integer in memory that changes when the row's data move; `node` None: a guard."""

    content: Symbol
    through: Through
    node: Tree | None


def begins_moving(
    nodes: Sequence[Tree], guards: Sequence[Condition], store: Term, rows: Collection[Symbol]
) -> tuple[list[MovingUse], frozenset[object]]:
    """Return uses of integers in memory by which a row's value depends on other rows' data.

    Also return the tensors of integers that move with the row's data in all other uses.

    Args:
        nodes: All nodes of the stored tree.
        guards: Conditions of the store.
        store: The byte offset of the store.
        rows: The coordinates that number the rows.

    """
    places = [node.detail[1] for node in nodes if node.what == "element" and node.detail[1]]
    moving = {
        atom: kind for place in (*places, store) for atom, kind in places_in(place, rows).items()
    }
    begins = {atom for atom, kind in moving.items() if kind == "begin"}
    tensors = {_tensor(atom) for atom in begins} | _offset_tensors(nodes, guards, rows)
    found = _uses(nodes, guards, tensors)
    if found:  # an end may be in another tensor than the begin, at the same place
        at = {atom.at for atom in begins}
        others = {_tensor(atom) for atom in _contents(nodes, guards) if atom.at in at}
        together = _uses(nodes, guards, tensors | others)
        if len(together) < len(found):
            found, tensors = together, tensors | others
    items = {atom for atom, kind in moving.items() if kind == "item"}
    found += [
        MovingUse(content, "integer", node)
        for node in nodes
        if node.what == "op" and node.detail[2].startswith(("f", "bf"))
        for part in node.parts
        if part.what == "integer"
        for content in items & part.detail[0].symbols("content")
    ]
    return found, frozenset() if found else frozenset(tensors)


def stays_when_moved(formula: Condition) -> bool:
    """Return whether a formula is the same if all its integers in memory move by any distance."""
    tensors = {_tensor(content) for content in formula.symbols("content")}
    return _Moved(tensors).content_of(formula) is None


def places_in(place: Term, rows: Collection[Symbol]) -> dict[Symbol, str]:
    """Return the integers in memory that locate an element, each a "begin" or an item's number.

    A begin is a position on an axis along which the address steps on.
    """
    factors: dict[tuple[Monomial, int], list[Atom]] = {}
    contents: dict[Symbol, tuple[Monomial, int]] = {}
    for monomial, number in place.coefficients.items():
        moving = [atom for atom in monomial if not _is_uniform(atom)]
        pure = tuple(atom for atom in monomial if _is_uniform(atom))
        if any(atom in rows for atom in moving):
            return {}
        if len(moving) == 1:
            (atom,) = moving
            factors.setdefault((pure, abs(number)), []).append(atom)
            if isinstance(atom, Symbol) and atom.kind == "content":
                contents[atom] = (pure, abs(number))
    kinds = {
        atom: "begin" if any(map(_is_step, factors[factor])) else "item"
        for atom, factor in contents.items()
        if not atom.within().isdisjoint(rows)
    }
    for (pure, factor), atoms in factors.items():
        for atom in atoms:
            if isinstance(atom, Quotient) and (by := atom.arguments[1].constant):
                steps = (*factors[pure, factor], *factors.get((pure, factor // by), ()))
                if any(map(_is_step, steps)):
                    own = (each for each in atom.term.symbols("content"))
                    kinds |= {each: "begin" for each in own if not each.within().isdisjoint(rows)}
    return kinds


def _is_step(atom: Atom) -> bool:
    """Return whether an atom is an index along an axis, and not an integer in memory."""
    inside = (each for each in atom.within() if isinstance(each, Symbol))
    return all(each.kind != "content" for each in inside)


def _offset_tensors(
    nodes: Sequence[Tree], guards: Sequence[Condition], rows: Collection[Symbol]
) -> set[object]:
    """Return tensors of offsets: the entries of a row and of the next row are read.

    A row ends where the next row begins, so that an offset is the sum of all lengths before it.
    """
    places: dict[object, list[Term]] = {}
    for content in _contents(nodes, guards):
        if len(content.at) == 1 and not content.within().isdisjoint(rows):
            places.setdefault(_tensor(content), []).append(content.at[0])
    return {
        tensor
        for tensor, own in places.items()
        for one, other in itertools.permutations(own, 2)
        if (apart := (one - other).constant)
        and any(
            len(monomial) == 1 and not monomial[0].within().isdisjoint(rows) and number == apart
            for monomial, number in one.coefficients.items()
        )
    }


def _is_uniform(atom: Atom) -> bool:
    inside = (each for each in (atom, *atom.within()) if isinstance(each, Symbol))
    return all(each.kind in ("scalar", "programs") for each in inside)


def _uses(
    nodes: Sequence[Tree], guards: Sequence[Condition], tensors: Collection[object]
) -> list[MovingUse]:
    """Return uses that change when the integers in these tensors move by any distance."""
    if not tensors:
        return []
    found = []
    moved = _Moved(tensors)
    for node in nodes:
        through: Through = "integer" if node.what == "integer" else "data"
        through = "trips" if node.what == "loop" else through
        for formula in node.formulas():
            if node.what == "element" and formula is node.detail[1]:
                changed = moved.content_of_address(formula)
            else:
                changed = moved.content_of(formula)
            if changed is not None:
                found.append(MovingUse(changed, through, node))
    changes = map(moved.content_of, guards)
    return [*found, *(MovingUse(each, "guard", None) for each in changes if each is not None)]


class _Moved:
    """Formulas in which the integers of some tensors are moved by a distance."""

    _DISTANCE: Final = Symbol("unknown", ("distance", "of begins"), -(1 << 40), 1 << 40).term

    def __init__(self, tensors: Collection[object]) -> None:
        self._tensors = tensors

    def content_of(self, formula: Term | Condition) -> Symbol | None:
        """Return an integer in memory whose move changes a formula, if any."""
        contents = self._contents(formula)
        if not contents:
            return None
        by = Substitution({each: each.term + self._DISTANCE for each in contents})
        moved = by(formula) if isinstance(formula, Term) else formula.substitute(by)
        return None if moved == formula else min(contents, key=lambda each: each.order)

    def content_of_address(self, address: Any) -> Symbol | None:
        """Return an integer by which more of an address changes than where its data are."""
        contents = self._contents(address)
        if not contents:
            return None
        rest = Term(
            {
                monomial: number
                for monomial, number in address.coefficients.items()
                if not any(atom in contents for atom in monomial)
            }
        )
        return self.content_of(rest)

    def _contents(self, formula: Term | Condition) -> list[Symbol]:
        return [atom for atom in formula.symbols("content") if _tensor(atom) in self._tensors]


def _contents(nodes: Sequence[Tree], guards: Sequence[Condition]) -> set[Symbol]:
    formulas = [*guards, *(each for node in nodes for each in node.formulas())]
    return {atom for formula in formulas for atom in formula.symbols("content")}


def _tensor(content: Symbol) -> object:
    return content.key[1] if isinstance(content.key, tuple) else content.key
