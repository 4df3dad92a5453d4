"""Linear reasoning over integers with ranges: proofs by multiples of constraints, and points.

A term is a linear form whose variables are its monomials, but for the constant's, which is (). A
form is proven >= 0 if it is a sum of nonnegative multiples of constraints (forms that are >= 0) and
of a rest whose interval is >= 0 (Farkas' lemma). With the constraint `n - i - 1`, the form `4*n -
4*i - 4` is 4 times the constraint plus 0. If no such sum is found, the result is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from math import gcd
from typing import Final, NamedTuple

from kvtrace.symbolic.prover.work import count
from kvtrace.symbolic.terms import Interval, Monomial, Term, plus

_DEPTH: Final = 8
_NODES: Final = 80
_ROUNDS: Final = 12
_STEPS_A_NODE: Final = 8


def interval(form: Term, ranges: Mapping[Monomial, Interval]) -> Interval:
    """Return a form's bounds by its variables' ranges; exact for independent variables."""
    low = high = form.coefficients.get((), 0)
    for variable, factor in form.coefficients.items():
        if not variable:
            continue
        first, last = ranges[variable]
        if factor > 0:
            low += factor * first
            high += factor * last
        else:
            low += factor * last
            high += factor * first
    return low, high


def lowest(form: Term, ranges: Mapping[Monomial, Interval]) -> int:
    """Return a form's lower bound, by the ranges of its variables."""
    low = form.coefficients.get((), 0)
    for variable, factor in form.coefficients.items():
        if not variable:
            continue
        first, last = ranges[variable]
        low += factor * (first if factor > 0 else last)
    return low


def tightened(form: Term) -> Term:
    """Return a constraint divided by the common divisor of its coefficients, rounded down."""
    divisor = gcd(*(factor for variable, factor in form.coefficients.items() if variable))
    if divisor <= 1:
        return form
    divided = {variable: factor // divisor for variable, factor in form.coefficients.items()}
    return Term({variable: factor for variable, factor in divided.items() if factor})


def is_implied(goal: Term, given: Sequence[Term], ranges: Mapping[Monomial, Interval]) -> bool:
    """Return whether `goal >= 0` is proven from forms `given` that are all >= 0, and the ranges.

    Each step subtracts the multiple of a given form that cancels one variable of the goal.
    """
    if lowest(goal, ranges) >= 0:
        return True
    by_variable: dict[tuple[Monomial, bool], list[int]] = {}
    for index, form in enumerate(given):
        for variable, factor in form.coefficients.items():
            if variable:
                by_variable.setdefault((variable, factor > 0), []).append(index)
    search = _Search(given, by_variable, ranges)
    return search.proves(goal, 1, frozenset(), _DEPTH)


class _Step(NamedTuple):
    """A goal minus a multiple of a constraint, with its lower bound per unit of the claim."""

    low: float
    goal: Term
    scale: int
    constraint: int


class _Search:
    """Depth-first search for multiples of constraints; the largest lower bound is tried first."""

    def __init__(
        self,
        given: Sequence[Term],
        by_variable: Mapping[tuple[Monomial, bool], list[int]],
        ranges: Mapping[Monomial, Interval],
    ) -> None:
        self._constraints = given
        self._by_variable = by_variable
        self._ranges = ranges
        self._nodes = _NODES

    def proves(self, goal: Term, scale: int, used: frozenset[int], depth: int) -> bool:
        """Return whether `goal`, `scale` times the claim minus constraints, proves the claim.

        The claim is an integer: it is >= 0 if `scale` times the claim is more than `-scale`.
        """
        steps: list[_Step] = []
        count(_STEPS_A_NODE)
        for variable, factor in goal.coefficients.items():
            for index in self._by_variable.get((variable, factor > 0), ()):
                if index in used:
                    continue
                form = self._constraints[index]
                divisor = gcd(factor, form.coefficients[variable])
                goal_factor = abs(form.coefficients[variable]) // divisor
                remaining = plus(goal * goal_factor, form, -(abs(factor) // divisor))
                lower_bound, new_scale = lowest(remaining, self._ranges), scale * goal_factor
                if lower_bound > -new_scale:
                    return True
                steps.append(_Step(lower_bound / new_scale, remaining, new_scale, index))
        if depth <= 1:
            return False
        steps.sort(key=lambda step: (-step.low, len(step.goal.coefficients)))
        for step in steps:
            if self._nodes <= 0:
                return False
            self._nodes -= 1
            if self.proves(step.goal, step.scale, used | {step.constraint}, depth - 1):
                return True
        return False


def propagated(given: Iterable[Term], ranges: MutableMapping[Monomial, Interval]) -> bool:
    """Narrow `ranges` in place by constraints; return False if a constraint cannot hold."""
    forms = list(given)
    for _ in range(_ROUNDS):
        changed = False
        count(len(forms))
        for form in forms:
            outcome = _narrow_by(form, ranges)
            if outcome is None:
                return False
            changed = changed or outcome
        if not changed:
            break
    return True


def _narrow_by(form: Term, ranges: MutableMapping[Monomial, Interval]) -> bool | None:
    """Narrow ranges by one constraint; return whether one changed, None if it cannot hold."""
    high = interval(form, ranges)[1]
    if high < 0:
        return None
    changed = False
    for variable, factor in form.coefficients.items():
        if not variable:
            continue
        first, last = ranges[variable]
        # The other summands are at most `slack` in sum; this variable must not subtract more.
        slack = high - (factor * last if factor > 0 else factor * first)
        if factor > 0:
            lower_limit = -(slack // factor)
            if lower_limit > first:
                first, changed = lower_limit, True
        else:
            upper_limit = slack // -factor
            if upper_limit < last:
                last, changed = upper_limit, True
        if first > last:
            return None
        ranges[variable] = (first, last)
    return changed


def first_point(
    given: Sequence[Term],
    ranges: Mapping[Monomial, Interval],
    order: Iterable[Monomial],
) -> dict[Monomial, int] | None:
    """Return a point that satisfies constraints as far as narrowing shows, or None.

    Monomials are fixed in `order`, to the smallest or else the largest remaining value, and the
    other ranges are narrowed each time. The caller must check the point.
    """
    current = dict(ranges)
    if not propagated(given, current):
        return None
    point: dict[Monomial, int] = {}
    for variable in order:
        for candidate in dict.fromkeys(current[variable]):
            narrowed = dict(current)
            narrowed[variable] = (candidate, candidate)
            if propagated(given, narrowed):
                current = narrowed
                point[variable] = candidate
                break
        else:
            return None
    return point
