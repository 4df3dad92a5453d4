"""Decision of claims by intervals, multiples of assumptions, a solver, then point by point.

A claim is decided for all values of its symbols at once; programs, lanes and trips are enumerated
only where the solver fails and they are few. A proof holds at every point in the ranges that
satisfies the assumptions. A refutation has a point that satisfies the assumptions but not the
claim, checked with exact arithmetic.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from math import prod
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from msgspec import Struct

from kvtrace.symbolic.conditions import (
    And,
    AtLeast,
    Condition,
    Equal,
    Not,
    Opaque,
    Or,
    conjunction,
    in_order,
)
from kvtrace.symbolic.functions import Applied, Choice
from kvtrace.symbolic.prover.intervals import Ranges
from kvtrace.symbolic.prover.linear import (
    first_point,
    interval,
    is_implied,
    lowest,
    propagated,
    tightened,
)
from kvtrace.symbolic.prover.work import count
from kvtrace.symbolic.terms import ZERO, Interval, Monomial, Symbol, Term, as_term, plus

Method = Literal["interval", "affine", "solver"]
Point: TypeAlias = Mapping[Symbol | Opaque, int]
Forms: TypeAlias = tuple[Term, ...]

SOLVER_SECONDS: Final = 0.3
"""Limit on the solver's time for one claim."""

_MOST_ALTERNATIVES: Final = 16
_MOST_FORMS: Final = 160
_MOST_SPLITS: Final = 4
_MOST_CASES: Final = 16
_MOST_POINTS: Final = 1 << 18
_POINTS_A_STEP: Final = 64  # of the work that budgets count
_STEPS_A_CLAIM: Final = 10
_METHODS: Final[tuple[Method, ...]] = ("interval", "affine", "solver")
"""Methods of proofs, the weakest first."""


class Proven(Struct, frozen=True):
    """The claim holds wherever the assumptions hold, by a proof with `method` as the strongest."""

    method: Method
    solver_ns: int = 0


class Refuted(Struct, frozen=True):
    """The claim does not hold at `model`, a point where all assumptions hold.

    `model` has a number for each symbol, and a truth (0 or 1) for each opaque condition, of the
    claim and the assumptions.
    """

    model: Point
    method: Method
    solver_ns: int = 0


class Unknown(Struct, frozen=True):
    """Neither a proof nor a counterexample was found; `reason` explains why."""

    reason: str
    solver_ns: int = 0


Decision: TypeAlias = Proven | Refuted | Unknown


class Given:
    """Assumptions of claims, as alternatives of linear forms prepared once for many claims.

    `exact` are the assumed conditions. They imply the forms; the forms are weaker if conditions are
    opaque or have too many alternatives.
    """

    def __init__(self, conditions: Iterable[Condition], ranges: Ranges) -> None:
        self.exact = tuple(conditions)
        self.ranges = ranges
        self.alternatives = _alternatives(self.exact, ranges)
        #: Cached methods that proved parts of claims, None for parts without a proof.
        self.proofs: dict[Condition, Method | None] = {}

    @property
    def is_impossible(self) -> bool:
        """Intervals show that the assumptions never hold."""
        return not self.alternatives

    def bounds(self, term: Term) -> Interval | None:
        """Return a term's bounds under the assumptions, or None if these never hold."""
        form = self.ranges.form(term)
        low = high = None
        for forms in self.alternatives:
            narrowed = {v: self.ranges.intervals[v] for v in _variables((*forms, form))}
            if not propagated(forms, narrowed):
                continue
            form_low, form_high = interval(form, narrowed)
            low = form_low if low is None else min(low, form_low)
            high = form_high if high is None else max(high, form_high)
        return None if low is None or high is None else (low, high)


def prove(
    claim: Condition,
    given: Given,
    *,
    seconds: float = SOLVER_SECONDS,
    order: Sequence[Symbol] = (),
) -> Decision:
    """Decide whether `claim` holds wherever `given` does, for all symbols within their ranges.

    Args:
        claim: the claim to prove.
        given: the assumptions and the ranges of symbols; reusable for other claims.
        seconds: the solver's time; 0: no solver.
        order: symbols to keep small in a counterexample, the most important first.

    """
    method, open_parts = _proof_of_parts(claim, given)
    if not open_parts:
        return Proven(method)
    point = _counterexample(open_parts, given, order)
    if point is not None:
        return Refuted(_completed(point, claim, given), "affine")
    if seconds <= 0:
        return Unknown("linear reasoning finds neither a proof nor a counterexample")
    return _decide_by_solver(claim, conjunction(open_parts), given, seconds)


def follows(claim: Condition, given: Given) -> Proven | None:
    """Return a proof of a claim by intervals and linear reasoning alone, or None."""
    method, open_parts = _proof_of_parts(claim, given)
    return None if open_parts else Proven(method)


def strongest(methods: Iterable[Method]) -> Method:
    """Return the strongest of the given methods; "interval" if there are none."""
    return max(methods, key=_METHODS.index, default=_METHODS[0])


def _proof_of_parts(claim: Condition, given: Given) -> tuple[Method, list[Condition]]:
    """Return (strongest method of the proven parts, unproven parts) of a claim."""
    open_parts = []
    methods: list[Method] = []
    for part in claim.conjuncts():
        method = _proof(part, given)
        if method is None:
            open_parts.append(part)
        else:
            methods.append(method)
    return strongest(methods), open_parts


def _decide_by_solver(claim: Condition, rest: Condition, given: Given, seconds: float) -> Decision:
    """Return the solver's decision on a claim whose unproven part is `rest`."""
    try:
        from kvtrace.symbolic.prover import solver
    except ImportError:
        return Unknown("linear reasoning does not decide it, and z3-solver is not installed")
    started = time.perf_counter_ns()
    answer = solver.counterexample(rest, given.exact, given.ranges, seconds)
    solver_ns = time.perf_counter_ns() - started
    if answer is None:
        return Proven("solver", solver_ns)
    if not isinstance(answer, str):
        point = _completed(answer, claim, given)
        if is_counterexample(point, claim, given.exact):
            return Refuted(point, "solver", solver_ns)
        answer = "a solver's counterexample does not hold exactly"
    return _decide_at_each_point(claim, given, solver_ns) or Unknown(answer, solver_ns)


def _decide_at_each_point(claim: Condition, given: Given, solver_ns: int) -> Decision | None:
    """Return the decision on a claim by all numbers of its symbols, None if these are too many."""
    ranges = given.ranges
    conditions = [condition.substitute(ranges) for condition in (claim, *given.exact)]
    symbols = _symbols(conditions)
    bounds = [ranges.of(symbol) for symbol in symbols]
    shape = tuple(high - low + 1 for low, high in bounds)
    if prod(shape) > _MOST_POINTS or _opaques(conditions):
        return None
    if not all(_fits_64_bits(condition, ranges) for condition in conditions):
        return None
    count(prod(shape) / _POINTS_A_STEP)
    axes = [np.arange(low, high + 1) for low, high in bounds]
    numbers = dict(zip(symbols, np.ix_(*axes), strict=True))
    claimed, *assumed = (condition.values(numbers) for condition in conditions)
    refuting = np.broadcast_to(reduce(np.logical_and, assumed, ~claimed), shape)
    if not refuting.any():
        return Proven("solver", solver_ns)
    places = zip(symbols, axes, np.unravel_index(int(refuting.argmax()), shape), strict=True)
    point = _completed({symbol: int(axis[at]) for symbol, axis, at in places}, claim, given)
    return Refuted(point, "solver", solver_ns)


def _fits_64_bits(condition: Condition, ranges: Ranges) -> bool:
    """Return whether no sum of a condition, nor of its atoms' arguments, leaves 64 bits."""
    pending: list[Any] = [condition, *condition.atoms()]
    while pending:
        part = pending.pop()
        if isinstance(part, Term):
            if _size(part, ranges) >= 1 << 62:
                return False
        elif isinstance(part, Condition):
            pending += part.inside()
        elif isinstance(part, Choice):
            pending += (part.condition, part.then, part.otherwise)
        elif isinstance(part, Applied):
            pending += part.arguments
    return True


def _size(term: Term, ranges: Ranges) -> int | float:
    """Return a bound of the absolute value of a term and of all its partial sums."""
    return sum(
        abs(factor) * max(map(abs, ranges.intervals[monomial]))
        for monomial, factor in term.coefficients.items()
    )


def is_counterexample(point: Point, claim: Condition, given: Sequence[Condition]) -> bool:
    """Return whether all assumptions hold at a point and the claim does not, by exact arithmetic.

    Args:
        point: numbers of symbols, and truths of opaque conditions; False if one is missing.
        claim: the claim to refute.
        given: the assumptions.
    """
    try:
        return all(condition.value(point) for condition in given) and not claim.value(point)
    except KeyError:
        return False


def proves_at_least(goal: Term, given: Given) -> Method | None:
    """Return the method that proves a form >= 0 without a solver, or None."""
    if not given.alternatives:
        return "interval"
    if lowest(goal, given.ranges.intervals) >= 0:
        return "interval"
    if _holds_in_all(goal, given):
        return "affine"
    return None


# -- proofs ---------------------------------------------------------------------------------------


def _proof(claim: Condition, given: Given) -> Method | None:
    """Return the cached method that proves a part of a claim without a solver, or None."""
    if claim not in given.proofs:
        given.proofs[claim] = _new_proof(claim, given)
    return given.proofs[claim]


def _new_proof(claim: Condition, given: Given) -> Method | None:
    count(_STEPS_A_CLAIM)
    if not given.alternatives:
        return "interval"
    ranges = given.ranges
    truth = ranges.truth(claim)
    if truth:
        return "interval"
    if isinstance(claim, AtLeast):
        return proves_at_least(ranges.form(claim.term), given)
    if isinstance(claim, Equal):
        form = ranges.form(claim.term)
        both = (proves_at_least(form, given), proves_at_least(-form, given))
        return None if None in both else "affine"
    if isinstance(claim, And):
        parts = [_proof(part, given) for part in claim.parts]
        return None if None in parts else "affine"
    # A proof by contradiction: the assumptions and the negated claim must be impossible.
    contradiction = Given((*given.exact, ~claim), ranges)
    return "affine" if _holds_in_all(as_term(-1), contradiction) else None


def _holds_in_all(goal: Term, given: Given) -> bool:
    """Return whether a form is proven >= 0 under each alternative of the assumptions."""
    cases = _Cases(given.ranges)
    return all(cases.holds(goal, forms, _MOST_SPLITS) for forms in given.alternatives)


class _Cases:
    """Proofs of forms by distinguishing cases of variables, `_MOST_CASES` in total."""

    def __init__(self, ranges: Ranges) -> None:
        self._ranges = ranges
        self._remaining = _MOST_CASES

    def holds(self, goal: Term, forms: Forms, splits: int) -> bool:
        """Return whether forms >= 0 prove a goal >= 0, with up to `splits` nested cases."""
        self._remaining -= 1
        constraints = _with_definitions(goal, forms, self._ranges)
        if is_implied(goal, constraints, self._ranges.intervals):
            return True
        variable = _variable_with_cases(goal, constraints, self._ranges)
        if variable is None or splits <= 0:
            return False
        for case_forms, case_form in _cases_of(variable, self._ranges):
            if self._remaining <= 0:
                return False
            all_forms = tuple(
                _with_replacement(form, variable, case_form) for form in (*forms, *case_forms)
            )
            holds = self.holds(_with_replacement(goal, variable, case_form), all_forms, splits - 1)
            if not holds and not self._is_impossible(all_forms):
                return False
        return True

    def _is_impossible(self, forms: Forms) -> bool:
        """Return whether intervals show that the forms cannot all be >= 0."""
        box = {variable: self._ranges.intervals[variable] for variable in _variables(forms)}
        return not propagated(forms, box)


def _cases_of(variable: Monomial, ranges: Ranges) -> Iterator[tuple[Forms, Term]]:
    """Yield (forms that are >= 0 in the case, the variable's form) for each case of a variable."""
    for form, condition in ranges.cases(variable):
        for branch in _alternatives((condition,), ranges):
            yield branch, form


def _with_definitions(goal: Term, forms: Forms, ranges: Ranges) -> list[Term]:
    """Return forms and the definitions of all their variables, up to `_MOST_FORMS`."""
    constraints = list(forms)
    visited: set[Monomial] = set()
    queue = [goal, *forms]
    while queue and len(constraints) < _MOST_FORMS:
        for variable in queue.pop().coefficients:
            if variable in visited:
                continue
            visited.add(variable)
            definitions = ranges.definitions(variable)
            constraints += definitions
            queue += definitions
    return constraints


def _variable_with_cases(
    goal: Term, constraints: Sequence[Term], ranges: Ranges
) -> Monomial | None:
    """Return a variable with cases, preferably one of the goal, or None."""
    for form in (goal, *constraints):
        for variable in form.coefficients:
            if ranges.cases(variable):
                return variable
    return None


def _with_replacement(form: Term, variable: Monomial, replacement: Term) -> Term:
    factor = form.coefficients.get(variable)
    if factor is None:
        return form
    other_coefficients = {
        other_variable: number
        for other_variable, number in form.coefficients.items()
        if other_variable != variable
    }
    return plus(Term(other_coefficients), replacement, factor)


# -- assumptions ----------------------------------------------------------------------------------


def _alternatives(conditions: Iterable[Condition], ranges: Ranges) -> tuple[Forms, ...]:
    """Return conditions as alternatives, of which one holds: forms that are all >= 0.

    An empty tuple means that the conditions never hold. Conditions that linear forms cannot express
    are left out.
    """
    forms: list[Term] = []
    choices: list[Sequence[Condition]] = []
    queue = list(conditions)
    while queue:
        condition = queue.pop()
        truth = ranges.truth(condition)
        if truth is not None:
            if not truth:
                return ()
            continue
        if isinstance(condition, AtLeast):
            forms.append(tightened(ranges.form(condition.term)))
        elif isinstance(condition, Equal):
            form = ranges.form(condition.term)
            forms += (form, -form)
        elif isinstance(condition, And):
            queue += condition.parts
        elif isinstance(condition, Or):
            choices.append(condition.parts)
        elif isinstance(condition, Not) and isinstance(condition.inner, Equal):
            gap = condition.inner.term
            choices.append((AtLeast(gap - 1), AtLeast(-gap - 1)))
        elif isinstance(condition, Not) and isinstance(condition.inner, And | Or):
            queue.append(~condition.inner)
    alternatives: list[Forms] = [tuple(forms)]
    for parts in choices:
        branches = [branch for part in parts for branch in _alternatives((part,), ranges)]
        if len(alternatives) * len(branches) > _MOST_ALTERNATIVES:
            continue
        alternatives = [
            (*alternative, *branch) for alternative in alternatives for branch in branches
        ]
    return tuple(alternatives)


# -- counterexamples ------------------------------------------------------------------------------


def _counterexample(
    claims: Sequence[Condition], given: Given, order: Sequence[Symbol]
) -> Point | None:
    """Return a point found by narrowing ranges that refutes a claim, checked exactly, or None."""
    ranges = given.ranges
    for claim in claims:
        for negation in _alternatives((~claim,), ranges):
            for forms in given.alternatives:
                narrowed = _point_by_narrowing((*forms, *negation), ranges, order)
                if narrowed is None:
                    continue
                point = _completed(narrowed, claim, given)
                if is_counterexample(point, claim, given.exact):
                    return point
    return None


def _completed(point: Point, claim: Condition, given: Given) -> Point:
    """Return a point completed by missing symbols and opaque conditions, which do not matter."""
    whole = dict(point)
    conditions = (claim, *given.exact)
    for symbol in _symbols(conditions):
        if symbol not in whole:
            low, high = given.ranges.of(symbol)
            whole[symbol] = min(max(0, low), high)
    for opaque in in_order(_opaques(conditions)):
        whole.setdefault(opaque, 1)
    return whole


def _point_by_narrowing(
    forms: Forms, ranges: Ranges, order: Sequence[Symbol], splits: int = _MOST_SPLITS
) -> dict[Symbol | Opaque, int] | None:
    """Return a point at which forms are >= 0, searched by cases of variables, or None."""
    constraints = _with_definitions(ZERO, forms, ranges)
    variable = _variable_with_cases(ZERO, constraints, ranges) if splits > 0 else None
    if variable is not None:
        for case_forms, case_form in _cases_of(variable, ranges):
            forms_in_case = tuple(
                _with_replacement(form, variable, case_form) for form in (*forms, *case_forms)
            )
            in_case = _point_by_narrowing(forms_in_case, ranges, order, splits - 1)
            if in_case is not None:
                return in_case
        return None
    variable_ranges = {variable: ranges.intervals[variable] for variable in _variables(constraints)}
    rank = {symbol: position for position, symbol in enumerate(order)}
    symbols = [v[0] for v in variable_ranges if len(v) == 1 and isinstance(v[0], Symbol)]
    symbols.sort(key=lambda symbol: (rank.get(symbol, len(rank)), symbol.order))
    point = first_point(constraints, variable_ranges, [(symbol,) for symbol in symbols])
    return None if point is None else {symbol: point[symbol,] for symbol in symbols}


def _variables(forms: Iterable[Term]) -> dict[Monomial, None]:
    return {variable: None for form in forms for variable in form.coefficients if variable}


def _symbols(conditions: Sequence[Condition]) -> list[Symbol]:
    atoms = frozenset().union(*(condition.atoms() for condition in conditions))
    return in_order(a for a in atoms if isinstance(a, Symbol))


def _opaques(conditions: Sequence[Condition]) -> frozenset[Opaque]:
    """Return all opaque conditions, including those of choices inside terms."""
    atoms = frozenset().union(*(condition.atoms() for condition in conditions))
    choices = (atom.condition for atom in atoms if isinstance(atom, Choice))
    return frozenset().union(*(part.opaques() for part in (*conditions, *choices)))
