"""Quotients and remainders in addresses: digits of indices that are sums of programs and lanes."""

from __future__ import annotations

from collections.abc import Iterable

from kvtrace.addons.invariance.coordinates import is_placing
from kvtrace.symbolic.functions import Quotient, Remainder, quotient, remainder, single
from kvtrace.symbolic.terms import Atom, Monomial, Symbol, Term


def divided_parts(
    index: Term, divisor: Term, quotient_coordinate: Symbol, remainder_coordinate: Symbol
) -> dict[Atom, Term]:
    """Return coordinates for an index's quotients and remainders, in both rounding modes."""
    parts: dict[Atom, Term] = {}
    for floor in (False, True):
        for term, coordinate in (
            (quotient(index, divisor, floor=floor), quotient_coordinate),
            (remainder(index, divisor, floor=floor), remainder_coordinate),
        ):
            atom = single(term)
            if atom is not None:
                parts[atom] = coordinate.term
    return parts


def divided_index(part: Quotient | Remainder) -> Term:
    """Return the dividend of a quotient or remainder, or of nested ones."""
    while isinstance(nested := single(part.arguments[0]), Quotient | Remainder):
        part = nested
    return part.arguments[0]


def division_step(division: Quotient | Remainder) -> int | None:
    """Return the distance of indices at which a quotient, or a remainder's dividend, changes.

    For nested divisions, the product of their divisors. None if a divisor is not a number.
    """
    step = 1
    atom: Atom | None = division
    while isinstance(atom, Quotient | Remainder):
        divisor = atom.arguments[1].constant
        if divisor is None or divisor < 1:
            return None
        if atom is division or isinstance(atom, Quotient):
            step *= divisor
        atom = single(atom.arguments[0])
    return step


def positions_by_factor(offset: Term) -> dict[Monomial, Term]:
    """Split an offset into positions by their factor, the part that no lane changes.

    Example: `s * (4 * program + lane) + 4 * lane` gives {s: 4 * program + lane, 1: 4 * lane}.
    """
    by_factor_of_lanes: dict[Monomial, dict[Monomial, int]] = {}
    for monomial, coefficient in offset.coefficients.items():
        has_trip = any(isinstance(atom, Symbol) and atom.kind == "trip" for atom in monomial)
        varying_atoms = tuple(
            atom
            for atom in monomial
            if placing_symbols(atom.term) or (has_trip and is_grid_extent(atom))
        )
        factor = tuple(atom for atom in monomial if atom not in varying_atoms)
        if varying_atoms:
            by_factor = by_factor_of_lanes.setdefault(factor, {})
            by_factor[varying_atoms] = by_factor.get(varying_atoms, 0) + coefficient
    for (
        factor,
        summands,
    ) in by_factor_of_lanes.items():  # as `(rows - 1 - program) * stride`: an index, too
        if factor and all(coefficient < 0 for coefficient in summands.values()):
            summands |= _multiples(offset, factor)
        elif not factor:
            falling = {-coefficient for coefficient in summands.values() if coefficient < 0}
            constant_multiples = _multiples(offset, factor).items()
            summands |= {
                monomial_of_constant: n
                for monomial_of_constant, n in constant_multiples
                if monomial_of_constant and n in falling
            }
    constant = offset.coefficients.get((), 0)
    if constant and () in by_factor_of_lanes:
        by_factor_of_lanes[()][()] = constant
    return {factor: Term(summands) for factor, summands in by_factor_of_lanes.items()}


def _multiples(offset: Term, pure: Monomial) -> dict[Monomial, int]:
    """Return the summands that no lane changes and that have a factor, divided by the factor."""
    multiples: dict[Monomial, int] = {}
    for monomial, number in offset.coefficients.items():
        if any(placing_symbols(atom.term) for atom in monomial):
            continue
        other_atoms = list(monomial)
        for atom in set(pure) & set(other_atoms):
            other_atoms.remove(atom)
        if len(other_atoms) + len(pure) == len(monomial):
            multiples[tuple(other_atoms)] = number
    return multiples


def is_grid_extent(atom: Atom) -> bool:
    """Return whether an atom is an extent of the grid, the step of a grid-stride loop."""
    return isinstance(atom, Symbol) and atom.kind == "programs"


def placing_symbols(term: Term) -> frozenset[Symbol]:
    """Return the programs, trips and lanes in a term, without coordinates."""
    return frozenset(atom for atom in term.atoms() if isinstance(atom, Symbol) and is_placing(atom))


def solvable_symbol(position: Term, replaced: Iterable[Atom]) -> Symbol | None:
    """Return a symbol that a position has exactly once, as a summand with factor 1 or -1.

    Lanes are preferred to trips, and trips to programs. None: there is no such symbol.
    """
    excluded = frozenset(replaced)
    choices: list[Symbol] = []
    for monomial, number in position.coefficients.items():
        atom = monomial[0] if len(monomial) == 1 else None
        if abs(number) != 1 or not isinstance(atom, Symbol):
            continue
        if not is_placing(atom) or atom in excluded:
            continue
        others = Term({other: n for other, n in position.coefficients.items() if other != monomial})
        if atom not in others.atoms():
            choices.append(atom)
    order = ("lane", "trip", "program")
    return min(choices, key=lambda atom: (order.index(atom.kind), atom.order), default=None)


def divided_by(term: Term, divisor: int) -> Term:
    """Return a term divided by a number that divides all its coefficients."""
    return Term({monomial: number // divisor for monomial, number in term.coefficients.items()})
