"""Affine forms over program axes, loop trips and lane axes, and the ranges of these variables.

`7 + 4 * s0 + 2 * l1` is 7 + 4 times symbol 0 + 2 times the lane of axis 1. Program axes and trips
are *symbols*, numbered per region; lanes are the axes of the tensor that a form describes. All
numbers are exact Python integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

Interval = tuple[int, int]
"""First and last value (both included)."""


class Affine:
    """`constant + sum(coefficient * symbol) + sum(coefficient * lane)`.

    `outer` holds (symbol, coefficient) pairs in ascending order without zeros. `lanes` holds one
    coefficient per lane axis, or nothing if the form does not vary over lanes.
    """

    __slots__ = ("constant", "lanes", "outer")

    def __init__(
        self,
        constant: int,
        outer: tuple[tuple[int, int], ...] = (),
        lanes: tuple[int, ...] = (),
    ) -> None:
        self.constant = constant
        self.outer = outer
        self.lanes = lanes

    @property
    def is_constant(self) -> bool:
        """The form is the same for all programs, trips and lanes."""
        return not self.outer and not self.lanes

    def coefficient(self, symbol: int) -> int:
        """Return the coefficient of a symbol, 0 if it does not occur."""
        for name, coefficient in self.outer:
            if name == symbol:
                return coefficient
        return 0


ZERO = Affine(0)


def plus(left: Affine, right: Affine, factor: int = 1) -> Affine:
    """Return left + factor * right; both are over the same lane axes."""
    constant = left.constant + factor * right.constant
    if not right.outer:
        outer = left.outer
    elif not left.outer:
        outer = right.outer
        if factor != 1:
            outer = tuple([(symbol, factor * coefficient) for symbol, coefficient in outer])
    else:
        merged = dict(left.outer)
        for symbol, coefficient in right.outer:
            merged[symbol] = merged.get(symbol, 0) + factor * coefficient
        outer = tuple(sorted([pair for pair in merged.items() if pair[1]]))
    if not right.lanes:
        lanes = left.lanes
    elif not left.lanes:
        lanes = right.lanes
        if factor != 1:
            lanes = tuple([factor * coefficient for coefficient in lanes])
    else:
        lanes = tuple([a + factor * b for a, b in zip(left.lanes, right.lanes, strict=True)])
        if not any(lanes):
            lanes = ()
    return Affine(constant, outer, lanes)


def times(form: Affine, factor: int) -> Affine:
    """Return form * factor."""
    if factor == 1:
        return form
    if factor == 0:
        return ZERO
    return Affine(
        form.constant * factor,
        tuple([(symbol, coefficient * factor) for symbol, coefficient in form.outer]),
        tuple([coefficient * factor for coefficient in form.lanes]),
    )


def shifted(form: Affine, distance: int) -> Affine:
    """Return form + distance."""
    return Affine(form.constant + distance, form.outer, form.lanes)


def substituted(form: Affine, symbol: int, value: Affine) -> Affine:
    """Return a form with a symbol replaced by the form `value`."""
    coefficient = form.coefficient(symbol)
    if not coefficient:
        return form
    other_terms = tuple(pair for pair in form.outer if pair[0] != symbol)
    return plus(Affine(form.constant, other_terms, form.lanes), value, coefficient)


def multiples(form: Affine, divisor: int) -> tuple[Affine, Affine]:
    """Return two forms: the terms whose coefficients are multiples of a divisor, and the others.

    The constant belongs to the others.
    """
    multiple_terms = tuple([pair for pair in form.outer if pair[1] % divisor == 0])
    other_terms = tuple([pair for pair in form.outer if pair[1] % divisor])
    multiple_lanes = tuple(
        [coefficient if coefficient % divisor == 0 else 0 for coefficient in form.lanes]
    )
    other_lanes = tuple([coefficient if coefficient % divisor else 0 for coefficient in form.lanes])
    return (
        Affine(0, multiple_terms, multiple_lanes if any(multiple_lanes) else ()),
        Affine(form.constant, other_terms, other_lanes if any(other_lanes) else ()),
    )


def over(form: Affine, divisor: int) -> Affine:
    """Return form / divisor; the constant and all coefficients must be multiples of it."""
    return Affine(
        form.constant // divisor,
        tuple((symbol, coefficient // divisor) for symbol, coefficient in form.outer),
        tuple(coefficient // divisor for coefficient in form.lanes),
    )


class Domain:
    """The range of each symbol: first and last value."""

    __slots__ = ("ranges",)

    def __init__(self, ranges: dict[int, Interval]) -> None:
        self.ranges = ranges

    def extent(self, symbol: int) -> int:
        """Return how many values a symbol takes."""
        first, last = self.ranges[symbol]
        return last - first + 1

    def folded(self, form: Affine) -> Affine:
        """Return a form in which symbols of a single value are replaced by the value."""
        constant = form.constant
        outer = []
        ranges = self.ranges
        for symbol, coefficient in form.outer:
            first, last = ranges[symbol]
            if first == last:
                constant += coefficient * first
            else:
                outer.append((symbol, coefficient))
        if len(outer) == len(form.outer):
            return form
        return Affine(constant, tuple(outer), form.lanes)

    def extremes(self, form: Affine, lanes: Sequence[Interval]) -> Interval:
        """Return the exact smallest and largest value; `lanes` are the lane axes' ranges."""
        low, high = within(form, lanes)
        ranges = self.ranges
        for symbol, coefficient in form.outer:
            first, last = ranges[symbol]
            if coefficient > 0:
                low += coefficient * first
                high += coefficient * last
            else:
                low += coefficient * last
                high += coefficient * first
        return low, high


def within(form: Affine, lanes: Sequence[Interval]) -> Interval:
    """Return the smallest and largest value of a form over lanes, with all symbols 0."""
    low = high = form.constant
    for coefficient, (first, last) in zip(form.lanes, lanes, strict=False):
        if coefficient > 0:
            low += coefficient * first
            high += coefficient * last
        elif coefficient:
            low += coefficient * last
            high += coefficient * first
    return low, high


@lru_cache(maxsize=256)
def whole(shape: tuple[int, ...]) -> tuple[Interval, ...]:
    """Return the range (0, extent - 1) of every lane axis of a shape."""
    return tuple([(0, extent - 1) for extent in shape])
