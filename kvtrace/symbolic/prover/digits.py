"""Monomials that must be equal if two accesses touch the same byte: addresses as digits.

The addresses of both accesses are linear forms over the same variables, whose values may differ
between the accesses unless they are shared. Monomials with equal coefficients are digits of a
mixed radix if each coefficient is larger than the sum of all smaller summands: then equal addresses
have equal digits, as 1000 * i + j with j below 1000 determines i and j. Equal digits may determine
the program or the lane: by algebra, as a quotient and its remainder determine the dividend, or else
by a table over the grid or the block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.functions import Applied, Choice, Quotient, Remainder
from kvtrace.symbolic.prover.intervals import Ranges
from kvtrace.symbolic.prover.linear import interval
from kvtrace.symbolic.prover.procedure import Given, proves_at_least
from kvtrace.symbolic.terms import Evaluation, Monomial, Symbol, Term

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


class Side(Struct, frozen=True, eq=False, dict=True):
    """One of two accesses: its address `form`, in bytes from the start of the storage.

    `width` is the bytes of an element, and `given` has the conditions under which a lane is active.
    """

    form: Term
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
    if math.isfinite(start) and _proves(int(start) - low.width - low.form, low):
        return True
    return math.isfinite(end) and _proves(high.form - int(end), high)


def _proves(goal: Term, side: Side) -> bool:
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
        self._solved: set[Monomial] = set()
        self.variables: set[Monomial] = set()
        self.is_nowhere = False
        self._solve(one.form, other.form, max(one.width, other.width) - 1)
        self._add_dividends()

    def determines(self, variable: Monomial) -> bool:
        """Return whether a variable is equal in both accesses."""
        if variable in self.variables:
            return True
        symbol = _symbol(variable)
        if symbol is not None:
            low, high = self._ranges.of(symbol)
            return low == high or symbol.kind in _SAME_FOR_ALL or self._shared(symbol)
        return _is_followed(variable) and all(self.determines(v) for v in _inside(variable))

    def is_form_equal_in_both(self, form: Term) -> bool:
        """Return whether a form is equal in both accesses, by its variables or as the address."""
        unknown = [v for v in form.coefficients if not self.determines(v)]
        return not unknown or self._is_of_address(form, unknown)

    def _is_of_address(self, form: Term, unknown: Sequence[Monomial]) -> bool:
        """Return whether the variables of a form that may differ are a multiple of the address."""
        address, width = self._one.form.coefficients, self._one.width
        if self._one.form != self._other.form or width != self._other.width:
            return False
        if any(factor % width for variable, factor in address.items() if variable):
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
        if all((axis,) in self.variables for axis in axes):
            return True
        extents = [int(self._ranges.of(axis)[1]) + 1 for axis in axes]
        if math.prod(extents) > MOST_TABULATED or not self._cover(axes):
            return False
        return are_distinct(self.variables, axes, extents)

    def _cover(self, axes: Iterable[Symbol]) -> bool:
        """Return whether the equal variables together depend on all axes."""
        visited: set[Monomial] = set()
        queue = list(self.variables)
        while queue:
            variable = queue.pop()
            if variable not in visited:
                visited.add(variable)
                queue += _inside(variable)
        return visited.issuperset((axis,) for axis in axes)

    @property
    def are_apart(self) -> bool:
        """The accesses share no byte, even if the equal digits are left out of the addresses."""
        form, other_form = (side.form for side in (self._one, self._other))
        equal_variables = [v for v in _common(form, other_form) if self.determines(v)]
        return are_apart(
            replace(self._one, form=_without_variables(form, equal_variables)),
            replace(self._other, form=_without_variables(other_form, equal_variables)),
        )

    # -- digits --------------------------------------------------------------------------------

    def _solve(self, form: Term, other_form: Term, slack: int) -> None:
        """Add the variables that must be equal if two forms differ by at most `slack`."""
        if self._shared is not nothing:
            form, other_form = self._without_shared(form, other_form)
        common = _common(form, other_form)
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
            if remaining.constant is None or other_remaining.constant is None:
                self._solve(remaining, other_remaining, slack)
            return

    def _without_shared(self, one: Term, other: Term) -> tuple[Term, Term]:
        """Return both forms without summands that are equal in both accesses."""
        shared_variables = [v for v in _common(one, other) if self._is_shared(v)]
        return (
            (_without_variables(one, shared_variables), _without_variables(other, shared_variables))
            if shared_variables
            else (one, other)
        )

    def _is_shared(self, variable: Monomial) -> bool:
        symbol = _symbol(variable)
        if symbol is not None:
            return symbol.kind in _SAME_FOR_ALL or self._shared(symbol)
        return _is_followed(variable) and all(self._is_shared(v) for v in _inside(variable))

    def _are_apart(self, one: Term, other: Term) -> bool:
        """Return whether addresses without their equal digits share no byte."""
        if one == other:
            return False
        sides = tuple(
            Side(form, side.width, side.given)
            for form, side in ((one, self._one), (other, self._other))
        )
        return are_apart(*sides)

    def _are_digits(self, form: Term, digits: Sequence[Monomial], reach: int | float) -> bool:
        """Return whether each coefficient exceeds `reach` plus all smaller summands."""
        for variable in digits:
            coefficient = abs(form.coefficients[variable])
            if coefficient <= reach:
                return False
            low, high = self._intervals[variable]
            reach += coefficient * (high - low)
        return True

    def _distance(self, one: Term, other: Term, most: int) -> int | float | None:
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
        form: Term,
        side: Side,
        other_interval: tuple[int | float, int | float],
        most: int,
        lowest: bool,
    ) -> bool:
        """Return whether a form is proven to pass the other form's end by at most `most`."""
        bound = other_interval[0] if lowest else other_interval[1]
        if not math.isfinite(bound):
            return False
        difference = form - int(bound)
        return _proves(most - difference if lowest else difference + most, side)

    # -- dividends --------------------------------------------------------------------------

    def _add_dividends(self) -> None:
        """Add dividends with equal quotients and remainders, and variables they determine."""
        for _ in range(_ROUNDS):
            count = len(self.variables)
            for dividend in tuple(self._dividends()):
                self._solve(dividend, dividend, 0)
            if len(self.variables) == count:
                return

    def _dividends(self) -> Iterator[Term]:
        for variable in self.variables:
            atom = variable[0]
            if not isinstance(atom, Remainder) or variable in self._solved:
                continue
            dividend, divisor = atom.arguments
            if (Quotient(atom.arguments, atom.floor),) not in self.variables:
                continue
            if not self.is_form_equal_in_both(divisor):
                continue
            self._solved.add(variable)
            yield dividend


def _common(one: Term, other: Term) -> list[Monomial]:
    """Return the variables that have the same coefficient in two forms."""
    coefficients = other.coefficients
    return [v for v, factor in one.coefficients.items() if v and coefficients.get(v) == factor]


def _without_variables(form: Term, variables: Iterable[Monomial]) -> Term:
    remaining = dict(form.coefficients)
    for variable in variables:
        remaining.pop(variable, None)
    return Term(remaining)


def _symbol(variable: Monomial) -> Symbol | None:
    """Return the symbol that a variable is, None for products and functions."""
    atom = variable[0] if len(variable) == 1 else None
    return atom if isinstance(atom, Symbol) else None


def _inside(variable: Monomial) -> Iterator[Monomial]:
    """Yield the factors of a product, and the variables or symbols in a function's arguments."""
    if len(variable) != 1:
        yield from ((atom,) for atom in variable)
    elif isinstance(variable[0], Applied):
        for term in variable[0].arguments:
            yield from filter(None, term.coefficients)
    elif isinstance(variable[0], Choice):
        yield from ((atom,) for atom in variable[0].within() if isinstance(atom, Symbol))


def _is_followed(variable: Monomial) -> bool:
    """Return whether a variable's value depends on variables only, not on opaque conditions."""
    choices = (a for atom in variable for a in atom.within() if isinstance(a, Choice))
    return not any(choice.condition.opaques() for choice in choices)


def are_distinct(
    variables: Iterable[Monomial], axes: Sequence[Symbol], extents: Sequence[int]
) -> bool:
    """Return whether any two places along axes differ in the value of some variable."""
    count = math.prod(extents)
    grids = np.meshgrid(*(np.arange(extent) for extent in extents), indexing="ij")
    places = dict(zip(axes, (grid.reshape(-1) for grid in grids), strict=True))
    evaluation = Evaluation(places, None, arrays=True)
    key: NDArray[np.int64] = np.zeros(count, np.int64)
    key_count = 1
    for variable in variables:
        try:
            values = evaluation(Term({variable: 1}))
        except KeyError:  # it needs other symbols
            continue
        low, high = int(values.min()), int(values.max())
        key_count *= high - low + 1
        if key_count >= 1 << 62:
            return False
        key = key * (high - low + 1) + (values - low)
    return len(np.unique(key)) == count
