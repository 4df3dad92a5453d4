"""Variables that are equal wherever two lanes touch the same byte: addresses as digits.

Both sides' addresses are linear forms over the same variables; each variable has a separate value
on either side, unless both share it. Variables with equal coefficients are digits of a mixed radix
if each coefficient is larger than all smaller summands together: then equal addresses force equal
digits, as 1000 * i + j with j below 1000 forces i and j. The digits may determine the program or
the lane, by algebra (a quotient and its remainder give the dividend) or, only if algebra does not
suffice, by a table over the grid or the block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.functions import Choice
from kvtrace.symbolic.prover.intervals import Ranges
from kvtrace.symbolic.prover.linear import Linear, Variable, constant, interval
from kvtrace.symbolic.prover.procedure import Given, proves_at_least
from kvtrace.symbolic.prover.tables import keys_of, tell_apart
from kvtrace.symbolic.terms import Atom, Symbol

MOST_TABULATED: Final = 1 << 20
"""Limit on the programs of a grid (or lanes of a block) that a table covers."""

_ROUNDS: Final = 8
_GIVEN: Final = ("scalar", "programs")
"""Kinds of symbols that are the same for all programs."""


Shared: TypeAlias = Callable[[Symbol], bool]
"""Function that returns whether a symbol has the same number on both sides."""


def nothing(symbol: Symbol) -> bool:  # noqa: ARG001
    """Return False: two programs share no symbol."""
    return False


@dataclass(frozen=True, eq=False)
class Side:
    """One access as a side of a race: its address in bytes from the start of the storage.

    `width` is the bytes of an element, `given` all that holds where a lane is active.
    """

    form: Linear
    width: int
    given: Given

    @property
    def ranges(self) -> Ranges:
        """Ranges of all variables."""
        return self.given.ranges

    @cached_property
    def reach(self) -> tuple[int | float, int | float]:
        """Lowest and highest address by the variables' ranges."""
        return interval(self.form, self.ranges.intervals)


def are_apart(one: Side, other: Side) -> bool:
    """Return whether two sides are proven to share no byte, for all programs."""
    return are_far_apart(one, other) or any(
        _begins_behind(low, high) for low, high in ((one, other), (other, one))
    )


def are_far_apart(one: Side, other: Side) -> bool:
    """Return whether the address ranges of two sides are disjoint."""
    return (
        one.reach[1] + one.width <= other.reach[0] or other.reach[1] + other.width <= one.reach[0]
    )


def _begins_behind(low: Side, high: Side) -> bool:
    """Return whether `low` is proven to end before `high` begins, by the range of either side."""
    start, end = high.reach[0], low.reach[1] + low.width
    if math.isfinite(start) and _proves(constant(int(start) - low.width) - low.form, low):
        return True
    return math.isfinite(end) and _proves(high.form - constant(int(end)), high)


def _proves(goal: Linear, side: Side) -> bool:
    return proves_at_least(goal, side.given) is not None


class Common:
    """Variables that are equal on both sides wherever they touch the same byte.

    `variables` are forced to be equal by the addresses, or by other equal variables. `is_nowhere`:
    the sides share no byte.
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
        self._close()

    def determines(self, variable: Variable) -> bool:
        """Return whether a variable is equal on both sides."""
        if variable in self.variables:
            return True
        if isinstance(variable, Symbol):
            low, high = self._ranges.of(variable)
            return low == high or variable.kind in _GIVEN or self._shared(variable)
        return _is_followed(variable) and all(self.determines(v) for v in _inside(variable))

    def determines_form(self, form: Linear) -> bool:
        """Return whether a form is equal on both sides, by its variables or as the address."""
        unknown = [v for v in form.coefficients if not self.determines(v)]
        return not unknown or self._is_of_address(form, unknown)

    def _is_of_address(self, form: Linear, unknown: Sequence[Variable]) -> bool:
        """Return whether the form's unknown part is a multiple of the address, which is equal."""
        address, width = self._one.form.coefficients, self._one.width
        if address != self._other.form.coefficients or width != self._other.width:
            return False
        if self._one.form.constant != self._other.form.constant:
            return False
        if any(factor % width for factor in address.values()):
            return False  # elements may overlap by parts
        parts = {v for v in address if not self.determines(v)}
        above, below = form.coefficients[unknown[0]], address.get(unknown[0], 0)
        return parts == set(unknown) and all(
            form.coefficients[v] * below == address[v] * above for v in unknown
        )

    @cached_property
    def spread(self) -> int | float:
        """Bytes from the least to the greatest address of both sides, without shared summands."""
        forms = self._without_shared(self._one.form, self._other.form)
        ends = [interval(form, self._intervals) for form in forms]
        return max(
            high + side.width
            for (_, high), side in zip(ends, (self._one, self._other), strict=True)
        ) - min(low for low, _ in ends)

    def are_equal(self, axes: Sequence[Symbol]) -> bool:
        """Return whether indices along `axes`, from 0, are equal where both touch the same byte."""
        if self.is_nowhere:
            return True
        if all(axis in self.variables for axis in axes):
            return True
        extents = [int(self._ranges.of(axis)[1]) + 1 for axis in axes]
        if math.prod(extents) > MOST_TABULATED or not self._cover(axes):
            return False
        return tell_apart(self.variables, axes, extents)

    def _cover(self, axes: Iterable[Symbol]) -> bool:
        """Return whether the equal variables depend on every axis."""
        reached: set[Variable] = set()
        queue = list(self.variables)
        while queue:
            variable = queue.pop()
            if variable not in reached:
                reached.add(variable)
                queue += _inside(variable) if not isinstance(variable, Symbol) else ()
        return reached.issuperset(axes)

    @property
    def are_apart(self) -> bool:
        """The sides share no byte, judged without the digits that both share."""
        one, other = (side.form for side in (self._one, self._other))
        equal = [v for v, k in one.coefficients.items() if other.coefficients.get(v) == k]
        equal = [variable for variable in equal if self.determines(variable)]
        return are_apart(
            replace(self._one, form=_without(one, equal)),
            replace(self._other, form=_without(other, equal)),
        )

    # -- digits --------------------------------------------------------------------------------

    def _solve(self, one: Linear, other: Linear, slack: int) -> None:
        """Add the variables that must be equal where the forms are at most `slack` apart."""
        if self._shared is not nothing:
            one, other = self._without_shared(one, other)
        equal = [v for v, k in one.coefficients.items() if other.coefficients.get(v) == k]
        sizes = sorted({abs(one.coefficients[variable]) for variable in equal})
        for size in sizes:
            digits = [v for v in equal if abs(one.coefficients[v]) >= size]
            digits.sort(key=lambda variable: abs(one.coefficients[variable]))
            rest, other_rest = _without(one, digits), _without(other, digits)
            apart = self._distance(rest, other_rest, size - 1 - slack)
            if apart is None or not self._are_digits(one, digits, apart + slack):
                continue
            self.variables.update(digits)
            if slack and self._are_apart(rest, other_rest):
                self.is_nowhere = True
                return
            if rest.coefficients or other_rest.coefficients:
                self._solve(rest, other_rest, slack)
            return

    def _without_shared(self, one: Linear, other: Linear) -> tuple[Linear, Linear]:
        """Return both forms without the summands that are equal in both."""
        same = [
            variable
            for variable, factor in one.coefficients.items()
            if other.coefficients.get(variable) == factor and self._is_shared(variable)
        ]
        return (_without(one, same), _without(other, same)) if same else (one, other)

    def _is_shared(self, variable: Variable) -> bool:
        if isinstance(variable, Symbol):
            return variable.kind in _GIVEN or self._shared(variable)
        return _is_followed(variable) and all(self._is_shared(v) for v in _inside(variable))

    def _are_apart(self, one: Linear, other: Linear) -> bool:
        """Return whether both addresses without their equal digits share no byte."""
        if one == other:
            return False
        sides = tuple(
            Side(form, side.width, side.given)
            for form, side in ((one, self._one), (other, self._other))
        )
        return are_apart(*sides)

    def _are_digits(self, form: Linear, digits: Sequence[Variable], reach: int | float) -> bool:
        for variable in digits:
            size = abs(form.coefficients[variable])
            if size <= reach:
                return False
            low, high = self._intervals[variable]
            reach += size * (high - low)
        return True

    def _distance(self, one: Linear, other: Linear, most: int) -> int | float | None:
        """Return an upper bound, at most `most`, of the forms' distance, or None if unknown."""
        if most < 0:
            return None
        ends = [interval(form, self._intervals) for form in (one, other)]
        widest = max(ends[0][1] - ends[1][0], ends[1][1] - ends[0][0])
        if widest <= most:
            return widest
        sides = ((one, self._one, ends[1]), (other, self._other, ends[0]))
        for lowest in (True, False):
            if all(self._within(form, side, end, most, lowest) for form, side, end in sides):
                return most
        return None

    @staticmethod
    def _within(
        form: Linear, side: Side, end: tuple[int | float, int | float], most: int, lowest: bool
    ) -> bool:
        """Return whether a form is proven to pass the other form's end by at most `most`."""
        bound = end[0] if lowest else end[1]
        if not math.isfinite(bound):
            return False
        room = form.shifted(-int(bound))
        return _proves((-room if lowest else room).shifted(most), side)

    # -- what follows --------------------------------------------------------------------------

    def _close(self) -> None:
        """Add dividends with equal quotients and remainders, and the variables that these force."""
        for _ in range(_ROUNDS):
            before = len(self.variables)
            for dividend in tuple(self._dividends()):
                self._solve(dividend, dividend, 0)
            if len(self.variables) == before:
                return

    def _dividends(self) -> Iterator[Linear]:
        for variable in self.variables:
            if not isinstance(variable, tuple) or variable[0] not in ("%", "%%"):
                continue
            quotient = ("/" if variable[0] == "%" else "//", *variable[1:])
            if variable in self._solved or quotient not in self.variables:
                continue
            if variable[0] == "%%" and not self.determines_form(_form_of(variable[2])):
                continue
            self._solved.add(variable)
            yield _form_of(variable[1])


def _without(form: Linear, variables: Iterable[Variable]) -> Linear:
    left = dict(form.coefficients)
    for variable in variables:
        left.pop(variable, None)
    return Linear(form.constant, left)


def _form_of(key: Any) -> Linear:
    """Return the form of a variable's key; see `intervals.key_of`."""
    return Linear(key[0], dict(key[1]))


def _inside(variable: Variable) -> Iterator[Variable]:
    """Return the variables or symbols among a function's arguments."""
    if isinstance(variable, tuple):
        if variable[0] == "*":
            yield from variable[1:]
            return
        for key in keys_of(variable):
            yield from (inner for inner, _ in key[1])
    elif isinstance(variable, Atom):
        yield from (atom for atom in variable.within() if isinstance(atom, Symbol))


def _is_followed(variable: Variable) -> bool:
    """Return whether a function depends on variables alone."""
    if not isinstance(variable, Atom):
        return True
    choices = (atom for atom in variable.within() if isinstance(atom, Choice))
    return not any(choice.condition.opaques() for choice in choices)
