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
        for name, number in self.outer:
            if name == symbol:
                return number
        return 0

    def __repr__(self) -> str:
        outer = "".join(f" + {number}*s{symbol}" for symbol, number in self.outer)
        lanes = "".join(f" + {number}*l{axis}" for axis, number in enumerate(self.lanes) if number)
        return f"{self.constant}{outer}{lanes}"


ZERO = Affine(0)


def plus(left: Affine, right: Affine, factor: int = 1) -> Affine:
    """Return left + factor * right; both are over the same lane axes."""
    constant = left.constant + factor * right.constant
    if not right.outer:
        outer = left.outer
    elif not left.outer:
        outer = right.outer
        if factor != 1:
            outer = tuple([(symbol, factor * number) for symbol, number in outer])
    else:
        merged = dict(left.outer)
        for symbol, number in right.outer:
            merged[symbol] = merged.get(symbol, 0) + factor * number
        outer = tuple(sorted([pair for pair in merged.items() if pair[1]]))
    if not right.lanes:
        lanes = left.lanes
    elif not left.lanes:
        lanes = right.lanes
        if factor != 1:
            lanes = tuple([factor * number for number in lanes])
    else:
        lanes = tuple([a + factor * b for a, b in zip(left.lanes, right.lanes, strict=True)])
        if not any(lanes):
            lanes = ()
    return Affine(constant, outer, lanes)


def times(form: Affine, factor: int) -> Affine:
    """Return factor * form."""
    if factor == 1:
        return form
    if factor == 0:
        return ZERO
    return Affine(
        form.constant * factor,
        tuple([(symbol, number * factor) for symbol, number in form.outer]),
        tuple([number * factor for number in form.lanes]),
    )


def shifted(form: Affine, by: int) -> Affine:
    """Return form + by."""
    return Affine(form.constant + by, form.outer, form.lanes)


def substituted(form: Affine, symbol: int, value: Affine) -> Affine:
    """Return a form with a symbol replaced by a form over other symbols."""
    number = form.coefficient(symbol)
    if not number:
        return form
    rest = tuple(pair for pair in form.outer if pair[0] != symbol)
    return plus(Affine(form.constant, rest, form.lanes), value, number)


def multiples(form: Affine, divisor: int) -> tuple[Affine, Affine]:
    """Return the terms whose coefficients are multiples of a divisor, and the rest.

    The constant is part of the rest.
    """
    even = tuple([pair for pair in form.outer if pair[1] % divisor == 0])
    odd = tuple([pair for pair in form.outer if pair[1] % divisor])
    even_lanes = tuple([number if number % divisor == 0 else 0 for number in form.lanes])
    odd_lanes = tuple([number if number % divisor else 0 for number in form.lanes])
    return (
        Affine(0, even, even_lanes if any(even_lanes) else ()),
        Affine(form.constant, odd, odd_lanes if any(odd_lanes) else ()),
    )


def over(form: Affine, divisor: int) -> Affine:
    """Return form / divisor, for a form whose numbers are all multiples of the divisor."""
    return Affine(
        form.constant // divisor,
        tuple((symbol, number // divisor) for symbol, number in form.outer),
        tuple(number // divisor for number in form.lanes),
    )


class Domain:
    """The ranges of symbols."""

    __slots__ = ("ranges",)

    def __init__(self, ranges: dict[int, Interval]) -> None:
        self.ranges = ranges

    def extent(self, symbol: int) -> int:
        """Return the number of values of a symbol."""
        first, last = self.ranges[symbol]
        return last - first + 1

    def folded(self, form: Affine) -> Affine:
        """Return a form with the values of symbols that have only one."""
        constant = form.constant
        outer = []
        ranges = self.ranges
        for symbol, number in form.outer:
            first, last = ranges[symbol]
            if first == last:
                constant += number * first
            else:
                outer.append((symbol, number))
        if len(outer) == len(form.outer):
            return form
        return Affine(constant, tuple(outer), form.lanes)

    def extremes(self, form: Affine, lanes: Sequence[Interval]) -> Interval:
        """Return the smallest and largest value (both occur); `lanes`: ranges of lane axes."""
        low, high = within(form, lanes)
        ranges = self.ranges
        for symbol, number in form.outer:
            first, last = ranges[symbol]
            if number > 0:
                low += number * first
                high += number * last
            else:
                low += number * last
                high += number * first
        return low, high


def within(form: Affine, lanes: Sequence[Interval]) -> Interval:
    """Return the smallest and largest value over lanes if all symbols are 0."""
    low = high = form.constant
    for number, (first, last) in zip(form.lanes, lanes, strict=False):
        if number > 0:
            low += number * first
            high += number * last
        elif number:
            low += number * last
            high += number * first
    return low, high


@lru_cache(maxsize=256)
def whole(shape: tuple[int, ...]) -> tuple[Interval, ...]:
    """Return the range of every lane axis of a shape."""
    return tuple([(0, extent - 1) for extent in shape])
