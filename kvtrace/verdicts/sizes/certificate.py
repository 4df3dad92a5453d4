"""Certificates of upper bounds: proofs that a bound holds, and that it is reached.

A bound is certified if its steps add up to its limit exactly, each factor is never negative, and
each fact follows from the conditions; how elimination found the bound does not matter. For `i <=
127` and `i * stride`, the step `stride * (127 - i)` gives the limit `127 * stride`. A bound is
reached if values of programs, lanes and trips, as terms of the parameters, are proven to be active
and to give the limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kvtrace.symbolic.conditions import Condition, at_least, conjunction, equal, in_order
from kvtrace.symbolic.functions import Quotient, quotient
from kvtrace.symbolic.prover import Given, Proven, Ranges, prove
from kvtrace.symbolic.terms import ONE, Atom, Symbol, Term, as_term, programs
from kvtrace.verdicts.sizes.upper_bounds import (
    Bound,
    is_of_parameters,
    positive_sizes,
    split,
    varies,
)

_SECONDS: Final = 0.2
_MAX_ALTERNATIVES: Final = 4


class Certifier:
    """A prover of bounds of terms under fixed `conditions`."""

    def __init__(self, conditions: Iterable[Condition]) -> None:
        self._conditions = tuple(conditions)
        atoms = frozenset().union(*(condition.atoms() for condition in self._conditions))
        self._stated = frozenset(self._conditions)
        self._base = (*self._conditions, *_within_grid(atoms))
        self._ranges = Ranges({})
        self._given = Given(self._base, self._ranges)
        self._facts: dict[Term, bool] = {}

    def certifies(self, term: Term, bound: Bound) -> bool:
        """Return whether the bound's steps prove `bound.scale * term <= bound.limit`."""
        total, scale = term, 1
        for step in bound.steps:
            if step.scale < 1 or self._ranges.interval(step.factor)[0] < 0:
                return False
            if not self._follows(step.fact):
                return False
            total = total * step.scale + step.factor * step.fact
            scale *= step.scale
        return scale == bound.scale and total == bound.limit and is_of_parameters(bound.limit)

    def _follows(self, fact: Term) -> bool:
        if fact not in self._facts:
            claim = at_least(fact)
            given = self._given
            within_grid = _within_grid(fact.atoms())
            if not all(condition in self._base for condition in within_grid):
                given = Given((*self._base, *within_grid), self._ranges)
            self._facts[fact] = (
                claim in self._stated
                or _is_monotonous(fact, given)
                or isinstance(prove(claim, given, seconds=_SECONDS), Proven)
            )
        return self._facts[fact]


def _is_monotonous(fact: Term, given: Given) -> bool:
    """Return whether `a / d - b / d >= 0` follows from `d >= 1` and `a >= b`."""
    monomials = {coefficient: monomial for monomial, coefficient in fact.coefficients.items()}
    if len(fact.coefficients) != 2 or monomials.keys() != {1, -1}:
        return False
    larger, smaller = (monomials[sign] for sign in (1, -1))
    if len(larger) != 1 or len(smaller) != 1:
        return False
    left, right = larger[0], smaller[0]
    if not (isinstance(left, Quotient) and isinstance(right, Quotient)):
        return False
    if left.floor != right.floor or left.arguments[1] != right.arguments[1]:
        return False
    claim = conjunction(
        (at_least(left.arguments[1] - 1), at_least(left.arguments[0] - right.arguments[0]))
    )
    return isinstance(prove(claim, given, seconds=_SECONDS), Proven)


def _within_grid(atoms: Iterable[Atom]) -> tuple[Condition, ...]:
    """Return the conditions that program ids among the atoms are below the grid's extents."""
    return tuple(
        at_least(programs(atom.key) - 1 - atom.term)
        for atom in in_order(atoms)
        if isinstance(atom, Symbol) and atom.kind == "program" and isinstance(atom.key, int)
    )


# -- reached --------------------------------------------------------------------------------------


def is_reached(
    term: Term,
    bounds: Sequence[Bound],
    active: Sequence[Condition],
    parameters: Sequence[Condition],
) -> bool:
    """Return whether a term provably reaches its smallest bound in an active lane.

    The proof assumes `parameters`, and sizes of at least 1.
    """
    if not bounds or len(bounds) > _MAX_ALTERNATIVES or any(b.scale != 1 for b in bounds):
        return False
    return all(_reaches(term, bound, bounds, active, parameters) for bound in bounds)


def _reaches(
    term: Term,
    bound: Bound,
    bounds: Sequence[Bound],
    active: Sequence[Condition],
    parameters: Sequence[Condition],
) -> bool:
    """Return whether a term equals a bound at some point, if the other bounds are not smaller."""
    point = _extreme_point(term, bound, active)
    if point is None:
        return False
    claim = conjunction(
        (
            equal(term.substitute(point), bound.limit),
            *(condition.substitute(point) for condition in active),
            *(_in_range(atom, value) for atom, value in point.items()),
        )
    )
    is_smallest = [
        _without_positive_factors(other_bound.limit - bound.limit)
        for other_bound in bounds
        if other_bound is not bound
    ]
    return _follows_for_positive_sizes(claim, (*parameters, *is_smallest))


def _without_positive_factors(gap: Term) -> Condition:
    """Return the condition that a term is not negative, without its factors of at least 1."""
    monomials = list(gap.coefficients)
    for atom in monomials[0] if monomials else ():
        if isinstance(atom, Symbol) and atom.kind == "scalar" and atom.low in (0, 1):
            coefficient, rest = split(gap, atom)
            gap = gap if rest.coefficients else coefficient
    return at_least(gap)


def _follows_for_positive_sizes(claim: Condition, given: Sequence[Condition]) -> bool:
    """Return whether conditions prove a claim if all sizes are at least 1."""
    atoms = claim.atoms().union(*(condition.atoms() for condition in given))
    positive = positive_sizes(atoms)
    claim = claim.substitute(positive)
    given_positive = Given((condition.substitute(positive) for condition in given), Ranges({}))
    return isinstance(prove(claim, given_positive, seconds=_SECONDS), Proven)


def _extreme_point(
    term: Term, bound: Bound, active: Sequence[Condition]
) -> Mapping[Atom, Term] | None:
    """Return values of all variables at which a bound's facts are 0, else None."""
    point: dict[Atom, Term] = {}
    for step in bound.steps:
        fact = step.fact.substitute(point)
        solved = _solve(fact)
        if solved is None:
            if any(map(varies, fact.atoms())) or fact.coefficients:
                return None
            continue
        atom, value = solved
        point = {variable: term.substitute({atom: value}) for variable, term in point.items()}
        point[atom] = value
    atoms = term.atoms().union(*(c.atoms() for c in active), *(v.atoms() for v in point.values()))
    for free_symbol in in_order(atoms):
        if not isinstance(free_symbol, Symbol) or not varies(free_symbol) or free_symbol in point:
            continue
        if free_symbol.kind not in ("program", "lane", "trip"):
            return None
        value = _free_value(free_symbol, point)
        point = {
            variable: term.substitute({free_symbol: value}) for variable, term in point.items()
        }
        point[free_symbol] = value
    return point


def _solve(fact: Term) -> tuple[Symbol, Term] | None:
    """Return a variable (lanes first) and the value at which a fact is 0, else None."""
    variables = [
        atom
        for (*rest, atom) in (monomial for monomial in fact.coefficients if monomial)
        if not rest and isinstance(atom, Symbol) and atom.kind in ("lane", "trip", "program")
    ]
    kinds = ("lane", "trip", "program")
    for atom in sorted(variables, key=lambda variable: kinds.index(variable.kind)):
        coefficient, rest = split(fact, atom)
        if abs(coefficient.constant or 0) == 1 and atom not in rest.atoms():
            return atom, -rest if coefficient == ONE else rest
    return None


def _free_value(atom: Symbol, point: Mapping[Atom, Term]) -> Term:
    """Return a value of a free variable: `x // 128` if `lane = x - 128 * variable`, else 0."""
    for variable, value in point.items():
        if not isinstance(variable, Symbol) or variable.kind != "lane":
            continue
        coefficient, rest = split(value, atom)
        number = coefficient.constant
        if number is not None and number < 0 and atom not in rest.atoms():
            return quotient(rest, -number)
    return as_term(0)


def _in_range(atom: Atom, value: Term) -> Condition:
    assert isinstance(atom, Symbol)
    if atom.kind == "program":
        assert isinstance(atom.key, int)
        return conjunction((at_least(value), at_least(programs(atom.key) - 1 - value)))
    return conjunction((at_least(value), at_least(as_term(atom.high) - value)))
