"""Decision procedure for claims: intervals, then multiples of assumptions, then a solver.

A claim is decided for all values of its symbols at once, without enumerating programs, lanes and
trips. A proof holds at every point in the ranges that satisfies the assumptions. A refutation has a
point that satisfies the assumptions and not the claim, checked with exact arithmetic.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from kvtrace.symbolic.conditions import (
    And,
    AtLeast,
    Condition,
    Equal,
    Not,
    Opaque,
    Or,
    conjunction,
)
from kvtrace.symbolic.functions import Choice
from kvtrace.symbolic.prover.intervals import Ranges
from kvtrace.symbolic.prover.linear import (
    Interval,
    Linear,
    Variable,
    first_point,
    interval,
    is_implied,
    lowest,
    propagated,
    tightened,
)
from kvtrace.symbolic.terms import Symbol, Term

Method = Literal["interval", "affine", "solver"]
Point: TypeAlias = Mapping[Symbol | Opaque, int]
Forms: TypeAlias = tuple[Linear, ...]

SOLVER_SECONDS: Final = 0.3
"""Limit on the solver's time for one claim."""

_MOST_ALTERNATIVES: Final = 16
_MOST_FORMS: Final = 160
_MOST_SPLITS: Final = 4
_MOST_CASES: Final = 16
_METHODS: Final[tuple[Method, ...]] = ("interval", "affine", "solver")
"""Methods of proofs, the weakest first."""


@dataclass(frozen=True, slots=True)
class Proven:
    """The claim holds wherever the assumptions do; `method` is the strongest of the proof."""

    method: Method
    solver_ns: int = 0


@dataclass(frozen=True, slots=True)
class Refuted:
    """The claim does not hold at `model`, a point where all assumptions hold.

    `model` has a number for each symbol, and a truth (0 or 1) for each opaque condition, of the
    claim and the assumptions.
    """

    model: Point
    method: Method
    solver_ns: int = 0


@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither a proof nor a counterexample was found; `reason` explains why."""

    reason: str
    solver_ns: int = 0


Decision: TypeAlias = Proven | Refuted | Unknown


class Given:
    """Assumptions of claims, as alternatives of linear forms, prepared once for many claims.

    `exact` are the assumed conditions. They imply the forms, which are weaker if the conditions are
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
        """Return the bounds of a term under the assumptions, or None if these never hold."""
        form = self.ranges.form(term)
        low = high = None
        for forms in self.alternatives:
            box = {v: self.ranges.intervals[v] for v in _variables((*forms, form))}
            if not propagated(forms, box):
                continue
            least, most = interval(form, box)
            low = least if low is None else min(low, least)
            high = most if high is None else max(high, most)
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
        order: symbols that a counterexample should have small, the first foremost.

    """
    method, open_parts = _proof_of_parts(claim, given)
    if not open_parts:
        return Proven(method)
    point = _counterexample(open_parts, given, order)
    if point is not None:
        return Refuted(_completed(point, claim, given), "affine")
    if seconds <= 0:
        return Unknown("linear reasoning finds neither a proof nor a counterexample")
    return _solved(claim, conjunction(open_parts), given, seconds)


def follows(claim: Condition, given: Given) -> Proven | None:
    """Return a proof of a claim by intervals and linear reasoning alone, or None."""
    method, open_parts = _proof_of_parts(claim, given)
    return None if open_parts else Proven(method)


def strongest(methods: Iterable[Method]) -> Method:
    """Return the strongest of some methods; "interval" if there are none."""
    return max(methods, key=_METHODS.index, default=_METHODS[0])


def _proof_of_parts(claim: Condition, given: Given) -> tuple[Method, list[Condition]]:
    """Return the strongest method that proved parts of a claim, and the unproven parts."""
    open_parts = []
    methods: list[Method] = []
    for part in claim.conjuncts():
        method = _proof(part, given)
        if method is None:
            open_parts.append(part)
        else:
            methods.append(method)
    return strongest(methods), open_parts


def _solved(claim: Condition, rest: Condition, given: Given, seconds: float) -> Decision:
    """Return the solver's decision on a claim; `rest` is its unproven part."""
    try:
        from kvtrace.symbolic.prover import solver
    except ImportError:
        return Unknown("linear reasoning does not decide it, and z3-solver is not installed")
    started = time.perf_counter_ns()
    answer = solver.counterexample(rest, given.exact, given.ranges, seconds)
    solver_ns = time.perf_counter_ns() - started
    if answer is None:
        return Proven("solver", solver_ns)
    if isinstance(answer, str):
        return Unknown(answer, solver_ns)
    point = _completed(answer, claim, given)
    if not is_counterexample(point, claim, given.exact):
        return Unknown("a solver's counterexample does not hold exactly", solver_ns)
    return Refuted(point, "solver", solver_ns)


def is_counterexample(point: Point, claim: Condition, given: Sequence[Condition]) -> bool:
    """Return whether all of `given` hold at a point and `claim` does not, by exact arithmetic.

    Args:
        point: numbers of symbols, and truths of opaque conditions; False if one is missing.
        claim: the claim to refute.
        given: the assumptions.

    """
    try:
        return all(condition.value(point) for condition in given) and not claim.value(point)
    except KeyError:
        return False


def proves_at_least(goal: Linear, given: Given) -> Method | None:
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
    against = Given((*given.exact, ~claim), ranges)
    nothing = Linear(-1, {})
    return "affine" if _holds_in_all(nothing, against) else None


def _holds_in_all(goal: Linear, given: Given) -> bool:
    """Return whether a form is proven >= 0 under each alternative of the assumptions."""
    cases = _Cases(given.ranges)
    return all(cases.holds(goal, forms, _MOST_SPLITS) for forms in given.alternatives)


class _Cases:
    """Proofs of forms by a limited number of cases of their variables."""

    def __init__(self, ranges: Ranges) -> None:
        self._ranges = ranges
        self._remaining = _MOST_CASES

    def holds(self, goal: Linear, forms: Forms, splits: int) -> bool:
        """Return whether forms >= 0 prove a goal >= 0, with definitions or cases of variables."""
        self._remaining -= 1
        constraints = _with_definitions(goal, forms, self._ranges)
        if is_implied(goal, constraints, self._ranges.intervals):
            return True
        variable = _splittable(goal, constraints, self._ranges)
        if variable is None or splits <= 0:
            return False
        for branch, by in _branches(variable, self._ranges):
            if self._remaining <= 0:
                return False
            replaced = tuple(_replaced(form, variable, by) for form in (*forms, *branch))
            holds = self.holds(_replaced(goal, variable, by), replaced, splits - 1)
            if not holds and not self._is_impossible(replaced):
                return False
        return True

    def _is_impossible(self, forms: Forms) -> bool:
        """Return whether intervals show that forms are never all >= 0."""
        box = {variable: self._ranges.intervals[variable] for variable in _variables(forms)}
        return not propagated(forms, box)


def _branches(variable: Variable, ranges: Ranges) -> Iterator[tuple[Forms, Linear]]:
    """Yield the cases of a variable: forms that are >= 0 in the case, and the variable's form."""
    for form, when in ranges.cases[variable]:
        branches = _alternatives((when,), ranges) if isinstance(when, Condition) else (when,)
        for branch in branches:
            yield branch, form


def _with_definitions(goal: Linear, forms: Forms, ranges: Ranges) -> list[Linear]:
    """Return forms with the definitions of their variables, up to a limit."""
    constraints = list(forms)
    seen: set[Variable] = set()
    queue = [goal, *forms]
    while queue and len(constraints) < _MOST_FORMS:
        for variable in queue.pop().coefficients:
            if variable in seen:
                continue
            seen.add(variable)
            more = ranges.definitions(variable)
            constraints += more
            queue += more
    return constraints


def _splittable(goal: Linear, constraints: Sequence[Linear], ranges: Ranges) -> Variable | None:
    """Return a variable that has cases, first of the goal's variables, or None."""
    if not ranges.cases:
        return None
    for form in (goal, *constraints):
        for variable in form.coefficients:
            if variable in ranges.cases:
                return variable
    return None


def _replaced(form: Linear, variable: Variable, by: Linear) -> Linear:
    factor = form.coefficients.get(variable)
    if factor is None:
        return form
    rest = {other: number for other, number in form.coefficients.items() if other is not variable}
    return Linear(form.constant, rest).plus(by, factor)


# -- what is given --------------------------------------------------------------------------------


def _alternatives(conditions: Iterable[Condition], ranges: Ranges) -> tuple[Forms, ...]:
    """Return conditions as lists of forms that are all >= 0: one of the lists holds.

    None of them: the conditions never hold. What linear forms cannot express is left out.
    """
    forms: list[Linear] = []
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
    lists: list[Forms] = [tuple(forms)]
    for parts in choices:
        branches = [branch for part in parts for branch in _alternatives((part,), ranges)]
        if len(lists) * len(branches) > _MOST_ALTERNATIVES:
            continue
        lists = [(*one, *branch) for one in lists for branch in branches]
    return tuple(lists)


# -- counterexamples ------------------------------------------------------------------------------


def _counterexample(
    claims: Sequence[Condition], given: Given, order: Sequence[Symbol]
) -> Point | None:
    """Return a counterexample found by narrowing ranges and checked exactly, or None."""
    ranges = given.ranges
    for claim in claims:
        for against in _alternatives((~claim,), ranges):
            for forms in given.alternatives:
                narrowed = _narrowed((*forms, *against), ranges, order)
                if narrowed is None:
                    continue
                point = _completed(narrowed, claim, given)
                if is_counterexample(point, claim, given.exact):
                    return point
    return None


def _completed(point: Point, claim: Condition, given: Given) -> Point:
    """Return a point with the missing symbols and opaque conditions, on which nothing depends."""
    whole = dict(point)
    conditions = (claim, *given.exact)
    for symbol in _symbols(conditions):
        if symbol not in whole:
            low, high = given.ranges.of(symbol)
            whole[symbol] = min(max(0, low), high)
    for opaque in _opaques(conditions):
        whole.setdefault(opaque, 1)
    return whole


def _narrowed(
    forms: Forms, ranges: Ranges, order: Sequence[Symbol], splits: int = _MOST_SPLITS
) -> dict[Symbol | Opaque, int] | None:
    """Return a point at which forms are >= 0, searched by cases of variables, or None."""
    constraints = _with_definitions(Linear(0, {}), forms, ranges)
    variable = _splittable(Linear(0, {}), constraints, ranges) if splits > 0 else None
    if variable is not None:
        for branch, by in _branches(variable, ranges):
            replaced = tuple(_replaced(form, variable, by) for form in (*forms, *branch))
            in_case = _narrowed(replaced, ranges, order, splits - 1)
            if in_case is not None:
                return in_case
        return None
    box = {variable: ranges.intervals[variable] for variable in _variables(constraints)}
    rank = {symbol: place for place, symbol in enumerate(order)}
    free = [variable for variable in box if isinstance(variable, Symbol)]
    free.sort(key=lambda symbol: (rank.get(symbol, len(rank)), symbol.order))
    point = first_point(constraints, box, free)
    return None if point is None else {symbol: point[symbol] for symbol in free}


def _variables(forms: Iterable[Linear]) -> dict[Variable, None]:
    return {variable: None for form in forms for variable in form.coefficients}


def _symbols(conditions: Sequence[Condition]) -> list[Symbol]:
    atoms = frozenset().union(*(condition.atoms() for condition in conditions))
    return sorted((a for a in atoms if isinstance(a, Symbol)), key=lambda s: s.order)


def _opaques(conditions: Sequence[Condition]) -> frozenset[Opaque]:
    """Return all opaque conditions, also those that choices inside terms depend on."""
    direct = [condition.opaques() for condition in conditions]
    atoms = frozenset().union(*(condition.atoms() for condition in conditions))
    inside = [atom.condition.opaques() for atom in atoms if isinstance(atom, Choice)]
    return frozenset().union(*direct, *inside)
