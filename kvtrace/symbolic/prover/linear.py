"""Linear forms over integers with ranges: proofs by multiples of constraints, and points.

A form is proven >= 0 if it is a sum of nonnegative multiples of constraints (forms that are >= 0)
and of a rest whose interval is >= 0 (Farkas' lemma). With the constraint `n - i - 1`, the form `4*n
- 4*i - 4` is 4 times the constraint plus 0. If no such sum is found, the result is unknown.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, MutableMapping, Sequence
from math import gcd
from typing import Final, TypeAlias

from kvtrace.symbolic.functions import Interval
from kvtrace.symbolic.prover.work import count

Variable: TypeAlias = Hashable
_DEPTH: Final = 8
_NODES: Final = 80
_ROUNDS: Final = 12
_STEPS_A_NODE: Final = 8


class Linear:
    """The immutable form `constant + sum(coefficient * variable)`, without zero coefficients."""

    __slots__ = ("coefficients", "constant")

    def __init__(self, constant: int, coefficients: dict[Variable, int]) -> None:
        self.constant = constant
        self.coefficients = coefficients

    def __add__(self, other: Linear) -> Linear:
        return self.plus(other, 1)

    def __sub__(self, other: Linear) -> Linear:
        return self.plus(other, -1)

    def __neg__(self) -> Linear:
        return self.scaled(-1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Linear):
            return NotImplemented
        return self.constant == other.constant and self.coefficients == other.coefficients

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        parts = [f"{factor}*{variable}" for variable, factor in self.coefficients.items()]
        return " + ".join([*parts, str(self.constant)])

    @property
    def is_constant(self) -> bool:
        """The form has no variables."""
        return not self.coefficients

    def plus(self, other: Linear, factor: int) -> Linear:
        """Return `self + factor * other`."""
        if not factor:
            return self
        if not other.coefficients:
            return Linear(self.constant + factor * other.constant, self.coefficients)
        total = dict(self.coefficients)
        for variable, coefficient in other.coefficients.items():
            value = total.get(variable, 0) + factor * coefficient
            if value:
                total[variable] = value
            else:
                del total[variable]
        return Linear(self.constant + factor * other.constant, total)

    def scaled(self, factor: int) -> Linear:
        """Return `factor * self`."""
        if factor == 1:
            return self
        if not factor:
            return Linear(0, {})
        scaled = {variable: factor * value for variable, value in self.coefficients.items()}
        return Linear(factor * self.constant, scaled)

    def shifted(self, by: int) -> Linear:
        """Return `self + by`."""
        return Linear(self.constant + by, self.coefficients) if by else self

    def value(self, point: Mapping[Variable, int]) -> int:
        """Return the form's value for values of all its variables."""
        return self.constant + sum(k * point[v] for v, k in self.coefficients.items())


def constant(value: int) -> Linear:
    """Return a constant linear form."""
    return Linear(value, {})


def single(variable: Variable) -> Linear:
    """Return the linear form of one variable."""
    return Linear(0, {variable: 1})


def interval(form: Linear, ranges: Mapping[Variable, Interval]) -> Interval:
    """Return a form's bounds by its variables' ranges; exact for independent variables."""
    low = high = form.constant
    for variable, factor in form.coefficients.items():
        first, last = ranges[variable]
        if factor > 0:
            low += factor * first
            high += factor * last
        else:
            low += factor * last
            high += factor * first
    return low, high


def lowest(form: Linear, ranges: Mapping[Variable, Interval]) -> int:
    """Return a form's lower bound, by the ranges of its variables."""
    low = form.constant
    for variable, factor in form.coefficients.items():
        first, last = ranges[variable]
        low += factor * (first if factor > 0 else last)
    return low


def tightened(form: Linear) -> Linear:
    """Return a constraint divided by the common divisor of its coefficients, rounded down."""
    divisor = gcd(*form.coefficients.values())
    if divisor <= 1:
        return form
    smaller = {variable: value // divisor for variable, value in form.coefficients.items()}
    return Linear(form.constant // divisor, smaller)


def is_implied(goal: Linear, given: Sequence[Linear], ranges: Mapping[Variable, Interval]) -> bool:
    """Return whether `goal >= 0` is proven from forms `given` that are all >= 0, and the ranges.

    Each step subtracts the multiple of a given form that cancels one variable of the goal.
    """
    if lowest(goal, ranges) >= 0:
        return True
    by_variable: dict[tuple[Variable, bool], list[int]] = {}
    for index, form in enumerate(given):
        for variable, factor in form.coefficients.items():
            by_variable.setdefault((variable, factor > 0), []).append(index)
    search = _Search(given, by_variable, ranges)
    return search.proves(goal, 1, frozenset(), _DEPTH)


class _Search:
    """Depth-first search for multiples of constraints; the largest lower bound is tried first."""

    def __init__(
        self,
        given: Sequence[Linear],
        by_variable: Mapping[tuple[Variable, bool], list[int]],
        ranges: Mapping[Variable, Interval],
    ) -> None:
        self._constraints = given
        self._by_variable = by_variable
        self._ranges = ranges
        self._nodes = _NODES

    def proves(self, goal: Linear, scale: int, used: frozenset[int], depth: int) -> bool:
        """Return whether `goal`, `scale` times the claim minus constraints, proves the claim.

        The claim is an integer: it is >= 0 if `scale` times the claim is more than `-scale`.
        """
        steps: list[tuple[float, int, int, Linear, int, int]] = []
        count(_STEPS_A_NODE)
        for variable, factor in goal.coefficients.items():
            for index in self._by_variable.get((variable, factor > 0), ()):
                if index in used:
                    continue
                form = self._constraints[index]
                divisor = gcd(factor, form.coefficients[variable])
                goal_factor = abs(form.coefficients[variable]) // divisor
                remaining = goal.scaled(goal_factor).plus(form, -(abs(factor) // divisor))
                lower_bound, new_scale = lowest(remaining, self._ranges), scale * goal_factor
                if lower_bound > -new_scale:
                    return True
                steps.append(
                    (
                        lower_bound / new_scale,
                        len(remaining.coefficients),
                        len(steps),
                        remaining,
                        new_scale,
                        index,
                    )
                )
        if depth <= 1:
            return False
        steps.sort(key=lambda step: (-step[0], step[1], step[2]))
        for _, _, _, remaining, new_scale, index in steps:
            if self._nodes <= 0:
                return False
            self._nodes -= 1
            if self.proves(remaining, new_scale, used | {index}, depth - 1):
                return True
        return False


def propagated(given: Iterable[Linear], ranges: MutableMapping[Variable, Interval]) -> bool:
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


def _narrow_by(form: Linear, ranges: MutableMapping[Variable, Interval]) -> bool | None:
    """Narrow ranges by one constraint; return whether one changed, None if it cannot hold."""
    high = interval(form, ranges)[1]
    if high < 0:
        return None
    changed = False
    for variable, factor in form.coefficients.items():
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
    given: Sequence[Linear],
    ranges: Mapping[Variable, Interval],
    order: Iterable[Variable],
) -> dict[Variable, int] | None:
    """Return a point that satisfies constraints as far as narrowing shows, or None.

    Variables are fixed in `order`, to the smallest or else the largest remaining value, and the
    other ranges are narrowed each time. The caller must check the point.
    """
    current = dict(ranges)
    if not propagated(given, current):
        return None
    point: dict[Variable, int] = {}
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
