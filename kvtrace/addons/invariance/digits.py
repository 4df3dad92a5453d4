"""Quotients and remainders in addresses: the digits of indices that programs and lanes make up."""

from __future__ import annotations

from collections.abc import Iterable

from kvtrace.addons.invariance.coordinates import is_placing
from kvtrace.symbolic.functions import Quotient, Remainder, quotient, remainder, single
from kvtrace.symbolic.terms import Atom, Monomial, Symbol, Term


def divided_parts(index: Term, by: Term, first: Symbol, second: Symbol) -> dict[Atom, Term]:
    """Return coordinates for an index's quotients and remainders, in both roundings."""
    parts: dict[Atom, Term] = {}
    for floor in (False, True):
        for term, part in (
            (quotient(index, by, floor=floor), first),
            (remainder(index, by, floor=floor), second),
        ):
            atom = single(term)
            if atom is not None:
                parts[atom] = part.term
    return parts


def divided_index(part: Quotient | Remainder) -> Term:
    """Return the dividend of a quotient or remainder, or of nested ones."""
    while isinstance(inner := single(part.arguments[0]), Quotient | Remainder):
        part = inner
    return part.arguments[0]


def step_of(part: Quotient | Remainder) -> int | None:
    """Return how far an index goes until a quotient, or what a remainder is taken of, takes a step.

    None where that is not a number.
    """
    step = 1
    atom: Atom | None = part
    while isinstance(atom, Quotient | Remainder):
        number = atom.arguments[1].constant
        if number is None or number < 1:
            return None
        if atom is part or isinstance(atom, Quotient):
            step *= number
        atom = single(atom.arguments[0])
    return step


def groups_of(offset: Term) -> dict[Monomial, Term]:
    """Return positions by factor: by what of each monomial is the same in all lanes."""
    found: dict[Monomial, dict[Monomial, int]] = {}
    for monomial, number in offset.coefficients.items():
        strided = any(isinstance(atom, Symbol) and atom.kind == "trip" for atom in monomial)
        moving = tuple(atom for atom in monomial if placing(atom.term) or (strided and grid(atom)))
        pure = tuple(atom for atom in monomial if atom not in moving)
        if moving:
            share = found.setdefault(pure, {})
            share[moving] = share.get(moving, 0) + number
    for pure, positions in found.items():  # as `(rows - 1 - program) * stride`: an index, too
        if pure and all(number < 0 for number in positions.values()):
            positions |= _multiples(offset, pure)
        elif not pure:
            falling = {-number for number in positions.values() if number < 0}
            others = _multiples(offset, pure).items()
            positions |= {each: n for each, n in others if each and n in falling}
    first = offset.coefficients.get((), 0)
    if first and () in found:
        found[()][()] = first
    return {pure: Term(positions) for pure, positions in found.items()}


def _multiples(offset: Term, pure: Monomial) -> dict[Monomial, int]:
    """Return what a factor is multiplied with in monomials that no lane changes."""
    found: dict[Monomial, int] = {}
    for monomial, number in offset.coefficients.items():
        if any(placing(atom.term) for atom in monomial):
            continue
        rest = list(monomial)
        for atom in set(pure) & set(rest):
            rest.remove(atom)
        if len(rest) + len(pure) == len(monomial):
            found[tuple(rest)] = number
    return found


def grid(atom: Atom) -> bool:
    """Return whether an atom is an extent of the grid, the step of a grid-stride loop."""
    return isinstance(atom, Symbol) and atom.kind == "programs"


def placing(term: Term) -> frozenset[Symbol]:
    """Return the symbols in a term that tell lanes of a launch apart, coordinates left out."""
    return frozenset(atom for atom in term.atoms() if isinstance(atom, Symbol) and is_placing(atom))


def solvable(position: Term, replaced: Iterable[Atom]) -> Symbol | None:
    """Return a symbol that a position has once, as a summand: a lane, a trip or a program."""
    taken = frozenset(replaced)
    choices: list[Symbol] = []
    for monomial, number in position.coefficients.items():
        atom = monomial[0] if len(monomial) == 1 else None
        if abs(number) != 1 or not isinstance(atom, Symbol):
            continue
        if not is_placing(atom) or atom in taken:
            continue
        others = Term({each: n for each, n in position.coefficients.items() if each != monomial})
        if atom not in others.atoms():
            choices.append(atom)
    order = ("lane", "trip", "program")
    return min(choices, key=lambda atom: (order.index(atom.kind), atom.order), default=None)


def divided(term: Term, by: int) -> Term:
    """Return a term divided by a number that divides all its coefficients."""
    return Term({monomial: number // by for monomial, number in term.coefficients.items()})
