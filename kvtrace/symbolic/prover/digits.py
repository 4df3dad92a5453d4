"""Variables that must be equal if two accesses touch the same byte: addresses as digits.

The addresses of both accesses are linear forms over the same variables, whose values may differ
between the accesses unless they are shared. Variables with equal coefficients are digits of a
mixed radix if each coefficient is larger than the sum of all smaller summands: then equal addresses
have equal digits, as 1000 * i + j with j below 1000 determines i and j. Equal digits may determine
the program or the lane: by algebra, as a quotient and its remainder determine the dividend, or else
by a table over the grid or the block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.functions import Choice, array_quotient
from kvtrace.symbolic.prover.intervals import Ranges
from kvtrace.symbolic.prover.linear import Linear, Variable, constant, interval
from kvtrace.symbolic.prover.procedure import Given, proves_at_least
from kvtrace.symbolic.terms import Atom, Symbol

MOST_TABULATED: Final = 1 << 20
"""Limit on the programs of a grid (or lanes of a block) that a table covers."""

_ROUNDS: Final = 8
_SAME_FOR_ALL: Final = ("scalar", "programs")
"""Kinds of symbols that are the same for all programs."""


Shared: TypeAlias = Callable[[Symbol], bool]
"""Function that returns whether a symbol has the same number on both sides."""


def nothing(symbol: Symbol) -> bool:  # noqa: ARG001
    """Return False, as two programs share no symbol."""
    return False


@dataclass(frozen=True, eq=False)
class Side:
    """One of two accesses: its address `form`, in bytes from the start of the storage.

    `width` is the bytes of an element, and `given` has the conditions under which a lane is active.
    """

    form: Linear
    width: int
    given: Given

    @property
    def ranges(self) -> Ranges:
        """The ranges of all variables."""
        return self.given.ranges

    @cached_property
    def reach(self) -> tuple[int | float, int | float]:
        """The lowest and highest address, by the variables' ranges."""
        return interval(self.form, self.ranges.intervals)


def are_apart(one: Side, other: Side) -> bool:
    """Return whether two sides are proven to share no byte, for all programs."""
    return are_far_apart(one, other) or any(
        _ends_before(low, high) for low, high in ((one, other), (other, one))
    )


def are_far_apart(first: Side, second: Side) -> bool:
    """Return whether the address ranges of two accesses are disjoint."""
    return (
        first.reach[1] + first.width <= second.reach[0]
        or second.reach[1] + second.width <= first.reach[0]
    )


def _ends_before(low: Side, high: Side) -> bool:
    """Return whether access `low` is proven to end before `high` begins, by either's range."""
    start, end = high.reach[0], low.reach[1] + low.width
    if math.isfinite(start) and _proves(constant(int(start) - low.width) - low.form, low):
        return True
    return math.isfinite(end) and _proves(high.form - constant(int(end)), high)


def _proves(goal: Linear, side: Side) -> bool:
    return proves_at_least(goal, side.given) is not None


class Common:
    """The variables that are equal in both accesses if they touch the same byte.

    `variables` must be equal because of the addresses, or of other equal variables. `is_nowhere`:
    the accesses share no byte.
    """

    def __init__(self, one: Side, other: Side, shared: Shared = nothing) -> None:
        self._one = one
        self._other = other
        self._shared = shared
        self._ranges = one.ranges
        self._intervals = one.ranges.intervals
        self._solved: set[tuple[Any, ...]] = set()
        self.variables: set[Variable] = set()
        self.is_nowhere = False
        self._solve(one.form, other.form, max(one.width, other.width) - 1)
        self._add_dividends()

    def determines(self, variable: Variable) -> bool:
        """Return whether a variable is equal in both accesses."""
        if variable in self.variables:
            return True
        if isinstance(variable, Symbol):
            low, high = self._ranges.of(variable)
            return low == high or variable.kind in _SAME_FOR_ALL or self._shared(variable)
        return _is_followed(variable) and all(self.determines(v) for v in _inside(variable))

    def is_form_equal_in_both(self, form: Linear) -> bool:
        """Return whether a form is equal in both accesses, by its variables or as the address."""
        unknown = [v for v in form.coefficients if not self.determines(v)]
        return not unknown or self._is_of_address(form, unknown)

    def _is_of_address(self, form: Linear, unknown: Sequence[Variable]) -> bool:
        """Return whether the variables of a form that may differ are a multiple of the address."""
        address, width = self._one.form.coefficients, self._one.width
        if address != self._other.form.coefficients or width != self._other.width:
            return False
        if self._one.form.constant != self._other.form.constant:
            return False
        if any(factor % width for factor in address.values()):
            return False  # elements may overlap by parts
        undetermined = {v for v in address if not self.determines(v)}
        form_factor, address_factor = form.coefficients[unknown[0]], address.get(unknown[0], 0)
        return undetermined == set(unknown) and all(
            form.coefficients[v] * address_factor == address[v] * form_factor for v in unknown
        )

    @cached_property
    def spread(self) -> int | float:
        """The bytes from the lowest to the highest address of both, without shared summands."""
        forms = self._without_shared(self._one.form, self._other.form)
        ends = [interval(form, self._intervals) for form in forms]
        return max(
            high + side.width
            for (_, high), side in zip(ends, (self._one, self._other), strict=True)
        ) - min(low for low, _ in ends)

    def are_equal(self, axes: Sequence[Symbol]) -> bool:
        """Return whether indices along axes, from 0, are equal where both touch the same byte."""
        if self.is_nowhere:
            return True
        if all(axis in self.variables for axis in axes):
            return True
        extents = [int(self._ranges.of(axis)[1]) + 1 for axis in axes]
        if math.prod(extents) > MOST_TABULATED or not self._cover(axes):
            return False
        return are_distinct(self.variables, axes, extents)

    def _cover(self, axes: Iterable[Symbol]) -> bool:
        """Return whether the equal variables together depend on all axes."""
        visited: set[Variable] = set()
        queue = list(self.variables)
        while queue:
            variable = queue.pop()
            if variable not in visited:
                visited.add(variable)
                queue += _inside(variable) if not isinstance(variable, Symbol) else ()
        return visited.issuperset(axes)

    @property
    def are_apart(self) -> bool:
        """The accesses share no byte, even if the equal digits are left out of the addresses."""
        form, other_form = (side.form for side in (self._one, self._other))
        equal_variables = [
            v for v, k in form.coefficients.items() if other_form.coefficients.get(v) == k
        ]
        equal_variables = [variable for variable in equal_variables if self.determines(variable)]
        return are_apart(
            replace(self._one, form=_without_variables(form, equal_variables)),
            replace(self._other, form=_without_variables(other_form, equal_variables)),
        )

    # -- digits --------------------------------------------------------------------------------

    def _solve(self, form: Linear, other_form: Linear, slack: int) -> None:
        """Add the variables that must be equal if two forms differ by at most `slack`."""
        if self._shared is not nothing:
            form, other_form = self._without_shared(form, other_form)
        common = [v for v, k in form.coefficients.items() if other_form.coefficients.get(v) == k]
        sizes = sorted({abs(form.coefficients[variable]) for variable in common})
        for size in sizes:
            digits = [v for v in common if abs(form.coefficients[v]) >= size]
            digits.sort(key=lambda variable: abs(form.coefficients[variable]))
            remaining, other_remaining = (
                _without_variables(form, digits),
                _without_variables(other_form, digits),
            )
            distance = self._distance(remaining, other_remaining, size - 1 - slack)
            if distance is None or not self._are_digits(form, digits, distance + slack):
                continue
            self.variables.update(digits)
            if slack and self._are_apart(remaining, other_remaining):
                self.is_nowhere = True
                return
            if remaining.coefficients or other_remaining.coefficients:
                self._solve(remaining, other_remaining, slack)
            return

    def _without_shared(self, one: Linear, other: Linear) -> tuple[Linear, Linear]:
        """Return both forms without summands that are equal in both accesses."""
        shared_variables = [
            variable
            for variable, factor in one.coefficients.items()
            if other.coefficients.get(variable) == factor and self._is_shared(variable)
        ]
        return (
            (_without_variables(one, shared_variables), _without_variables(other, shared_variables))
            if shared_variables
            else (one, other)
        )

    def _is_shared(self, variable: Variable) -> bool:
        if isinstance(variable, Symbol):
            return variable.kind in _SAME_FOR_ALL or self._shared(variable)
        return _is_followed(variable) and all(self._is_shared(v) for v in _inside(variable))

    def _are_apart(self, one: Linear, other: Linear) -> bool:
        """Return whether addresses without their equal digits share no byte."""
        if one == other:
            return False
        sides = tuple(
            Side(form, side.width, side.given)
            for form, side in ((one, self._one), (other, self._other))
        )
        return are_apart(*sides)

    def _are_digits(self, form: Linear, digits: Sequence[Variable], reach: int | float) -> bool:
        """Return whether each coefficient exceeds `reach` plus all smaller summands."""
        for variable in digits:
            coefficient = abs(form.coefficients[variable])
            if coefficient <= reach:
                return False
            low, high = self._intervals[variable]
            reach += coefficient * (high - low)
        return True

    def _distance(self, one: Linear, other: Linear, most: int) -> int | float | None:
        """Return an upper bound of the distance of two forms, or None if it may be above `most`."""
        if most < 0:
            return None
        intervals = [interval(form, self._intervals) for form in (one, other)]
        distance = max(intervals[0][1] - intervals[1][0], intervals[1][1] - intervals[0][0])
        if distance <= most:
            return distance
        checks = ((one, self._one, intervals[1]), (other, self._other, intervals[0]))
        for lowest in (True, False):
            if all(self._is_within(form, side, end, most, lowest) for form, side, end in checks):
                return most
        return None

    @staticmethod
    def _is_within(
        form: Linear,
        side: Side,
        other_interval: tuple[int | float, int | float],
        most: int,
        lowest: bool,
    ) -> bool:
        """Return whether a form is proven to pass the other form's end by at most `most`."""
        bound = other_interval[0] if lowest else other_interval[1]
        if not math.isfinite(bound):
            return False
        difference = form.shifted(-int(bound))
        return _proves((-difference if lowest else difference).shifted(most), side)

    # -- dividends --------------------------------------------------------------------------

    def _add_dividends(self) -> None:
        """Add dividends with equal quotients and remainders, and variables they determine."""
        for _ in range(_ROUNDS):
            count = len(self.variables)
            for dividend in tuple(self._dividends()):
                self._solve(dividend, dividend, 0)
            if len(self.variables) == count:
                return

    def _dividends(self) -> Iterator[Linear]:
        for variable in self.variables:
            if not isinstance(variable, tuple) or variable[0] not in ("%", "%%"):
                continue
            quotient = ("/" if variable[0] == "%" else "//", *variable[1:])
            if variable in self._solved or quotient not in self.variables:
                continue
            if variable[0] == "%%" and not self.is_form_equal_in_both(_form_of(variable[2])):
                continue
            self._solved.add(variable)
            yield _form_of(variable[1])


def _without_variables(form: Linear, variables: Iterable[Variable]) -> Linear:
    remaining = dict(form.coefficients)
    for variable in variables:
        remaining.pop(variable, None)
    return Linear(form.constant, remaining)


def _form_of(key: Any) -> Linear:
    """Return the linear form of an argument's key; the inverse of `intervals.key_of`."""
    return Linear(key[0], dict(key[1]))


def _inside(variable: Variable) -> Iterator[Variable]:
    """Yield the variables or symbols in the arguments of a function."""
    if isinstance(variable, tuple):
        if variable[0] == "*":
            yield from variable[1:]
            return
        for key in argument_keys(variable):
            yield from (inner for inner, _ in key[1])
    elif isinstance(variable, Atom):
        yield from (atom for atom in variable.within() if isinstance(atom, Symbol))


def _is_followed(variable: Variable) -> bool:
    """Return whether a variable's value depends on variables only, not on opaque conditions."""
    if not isinstance(variable, Atom):
        return True
    choices = (atom for atom in variable.within() if isinstance(atom, Choice))
    return not any(choice.condition.opaques() for choice in choices)


# -- tables of functions ---------------------------------------------------------------------------


Values = NDArray[np.int64]

_FUNCTIONS: Final = frozenset({"/", "%", "trunc", "rest", "//", "%%", "min", "max"})
"""Names of the functions in variables; see `kvtrace.symbolic.prover.intervals`."""


def are_distinct(
    variables: Iterable[Variable], axes: Sequence[Symbol], extents: Sequence[int]
) -> bool:
    """Return whether any two places along axes differ in the value of some variable."""
    count = math.prod(extents)
    table = _Table(axes, extents)
    key: Values = np.zeros(count, np.int64)
    key_count = 1
    for variable in variables:
        values = table.of(variable)
        if values is None:
            continue
        low, high = int(values.min()), int(values.max())
        key_count *= high - low + 1
        if key_count >= 1 << 62:
            return False
        key = key * (high - low + 1) + (values - low)
    return len(np.unique(key)) == count


class _Table:
    """Values of variables at all places, as flat arrays; None if they need other symbols."""

    def __init__(self, axes: Sequence[Symbol], extents: Sequence[int]) -> None:
        grids = np.meshgrid(*(np.arange(extent) for extent in extents), indexing="ij")
        self._known: dict[Variable, Values | None] = {
            axis: grid.reshape(-1) for axis, grid in zip(axes, grids, strict=True)
        }
        self._count = math.prod(extents)

    def of(self, variable: Variable) -> Values | None:
        if variable not in self._known:
            self._known[variable] = self._computed(variable)
        return self._known[variable]

    def _computed(self, variable: Variable) -> Values | None:
        if not isinstance(variable, tuple):
            return None
        name = variable[0]
        if name == "*":
            factors = [self.of(factor_variable) for factor_variable in variable[1:]]
            known_factors = [factor for factor in factors if factor is not None]
            return math.prod(known_factors) if len(known_factors) == len(factors) else None  # type: ignore[return-value]
        if name not in _FUNCTIONS:
            return None
        forms = [self._form(key) for key in argument_keys(variable)]
        arguments = [form for form in forms if form is not None]
        if len(arguments) < len(forms):
            return None
        if name in ("min", "max"):
            return np.asarray(
                (np.minimum if name == "min" else np.maximum)(arguments[0], arguments[-1])
            )
        if name in ("//", "%%"):
            return _divided(arguments[0], arguments[1], floor=variable[3], rest=name == "%%")
        divisor = np.full_like(arguments[0], variable[2])
        return _divided(arguments[0], divisor, floor=name in ("/", "%"), rest=name in ("%", "rest"))

    def _form(self, key: Any) -> Values | None:
        total: Values = np.full(self._count, key[0], np.int64)
        for variable, factor in key[1]:
            values = self.of(variable)
            if values is None:
                return None
            total = total + factor * values
        return total


def _divided(left: Values, right: Values, *, floor: bool, rest: bool) -> Values:
    quotients: Values = array_quotient(left, right, floor=floor)
    return left - right * quotients if rest else quotients


def argument_keys(variable: Variable) -> Iterator[Any]:
    """Yield the keys of a function's arguments."""
    assert isinstance(variable, tuple)
    if variable[0] in ("//", "%%"):
        yield from variable[1:3]
    elif variable[0] in ("min", "max"):
        yield from variable[1]
    else:
        yield variable[1]
