"""Laws of planned integers: arithmetic on affine forms, as long as results stay affine.

A law returns None if the result is not affine (and is then computed as an array), or raises
SplitAxis or FactorAxis if cutting or factoring a program axis would make the result affine: with
id = 4 * outer + inner, id // 4 is outer.
"""

from __future__ import annotations

from collections.abc import Callable

from kvtrace.evaluate.errors import FactorAxis, SplitAxis
from kvtrace.evaluate.plan.affine import (
    ZERO,
    Affine,
    Interval,
    multiples,
    over,
    plus,
    shifted,
    times,
    whole,
)
from kvtrace.evaluate.plan.masks import resolved
from kvtrace.evaluate.plan.values import Condition, Integer
from kvtrace.evaluate.plan.walk import Walk, has_placeholder
from kvtrace.ir.integers import divided

Law = Callable[[Walk, Integer, Integer], Affine | None]


def fits(walk: Walk, form: Affine, shape: tuple[int, ...], limits: Interval) -> bool:
    """Return whether all values of a form of this shape lie within limits."""
    first, last = limits
    if form.is_constant:
        return first <= form.constant <= last
    if has_placeholder(form):
        return True  # checked again once the loop's step is known
    low, high = walk.domain.extremes(form, whole(shape) if form.lanes else ())
    return first <= low and high <= last


def total(_walk: Walk, left: Integer, right: Integer) -> Affine | None:
    """Return left + right."""
    return plus(left.form, right.form)


def difference(_walk: Walk, left: Integer, right: Integer) -> Affine | None:
    """Return left - right."""
    return plus(left.form, right.form, -1)


def product(walk: Walk, left: Integer, right: Integer) -> Affine | None:
    """Return left * right if an operand is a constant, else None."""
    factor = walk.constant_of(right)
    if factor is not None:
        return times(left.form, factor)
    factor = walk.constant_of(left)
    return None if factor is None else times(right.form, factor)


def quotient(walk: Walk, left: Integer, right: Integer) -> Affine | None:
    """Return left / right, rounded toward zero; None if it is not affine."""
    results = _divided(walk, left, right)
    return None if results is None else results[0]


def remainder(walk: Walk, left: Integer, right: Integer) -> Affine | None:
    """Return the remainder of left / right; None if it is not affine."""
    results = _divided(walk, left, right)
    return None if results is None else results[1]


def _divided(walk: Walk, left: Integer, right: Integer) -> tuple[Affine, Affine] | None:
    """Return the affine quotient and remainder by a positive constant, else None.

    Raises FactorAxis or SplitAxis if dividing or cutting a program axis makes them affine.
    """
    divisor = walk.constant_of(right)
    if divisor is None or divisor <= 0:
        return None
    form = walk.domain.folded(left.form)
    if divisor == 1:
        return form, ZERO
    if form.is_constant:
        constant_quotient = divided(form.constant, divisor)
        return Affine(constant_quotient), Affine(form.constant - constant_quotient * divisor)
    if walk.extremes(form, left.shape)[0] < 0:
        return None
    multiple_terms, other_terms = multiples(form, divisor)
    low, high = walk.extremes(other_terms, left.shape)
    offset_quotient = low // divisor
    if offset_quotient == high // divisor:
        quotient_form = shifted(over(multiple_terms, divisor), offset_quotient)
        return quotient_form, shifted(other_terms, -offset_quotient * divisor)
    _request_axis(walk, other_terms, divisor, left.shape)
    return None


_MOST_PERIODS = 4
"""The most periods of a divisor over which a block of lanes may extend and still be split."""


def _request_axis(walk: Walk, terms: Affine, divisor: int, shape: tuple[int, ...]) -> None:
    """Raise a SplitAxis or FactorAxis that makes a division affine; return if there is none."""
    for symbol, coefficient in terms.outer:
        if symbol in walk.nest or coefficient <= 0 or divisor % coefficient:
            continue
        period = divisor // coefficient
        first, last = walk.domain.ranges[symbol]
        extent = last - first + 1
        is_only_term = len(terms.outer) == 1 and not terms.lanes
        if (
            is_only_term
            and (terms.constant + coefficient * first) % divisor == 0
            and extent > period
        ):
            if extent % period:
                raise SplitAxis(symbol, first + extent // period * period)
            raise FactorAxis(symbol, period)
        cut = first + period - (terms.constant // coefficient + first) % period
        if first < cut <= last:
            raise SplitAxis(symbol, cut)
    low, high = walk.extremes(terms, shape)
    if high // divisor - low // divisor > _MOST_PERIODS:
        return
    for symbol, coefficient in terms.outer:
        cut_at = _cut_at_multiple(walk, divisor, symbol, coefficient, low, high)
        if cut_at is not None:
            raise SplitAxis(symbol, cut_at)


def _cut_at_multiple(
    walk: Walk, divisor: int, symbol: int, coefficient: int, low: int, high: int
) -> int | None:
    """Return where to cut a symbol so that fewer blocks hold a multiple, or None."""
    first, last = walk.domain.ranges[symbol]
    if coefficient <= 0:
        return None
    rest_low, rest_high = low - coefficient * first, high - coefficient * last
    multiple = (low // divisor + 1) * divisor
    for cut in (-((rest_high - multiple) // coefficient), -((rest_low - multiple) // coefficient)):
        if first < cut <= last:
            return cut
    return None


def smaller(walk: Walk, left: Integer, right: Integer) -> Affine | None:
    """Return the signed minimum; None if it is not affine."""
    return _extreme(walk, left, right, smallest=True)


def larger(walk: Walk, left: Integer, right: Integer) -> Affine | None:
    """Return the signed maximum; None if it is not affine."""
    return _extreme(walk, left, right, smallest=False)


def _extreme(walk: Walk, left: Integer, right: Integer, *, smallest: bool) -> Affine | None:
    """Return the operand that is smaller (larger) everywhere; SplitAxis if programs differ."""
    gap = walk.domain.folded(plus(right.form, left.form, -1))
    low, high = walk.extremes(gap, left.shape)
    if low >= 0:
        return left.form if smallest else right.form
    if high <= 0:
        return right.form if smallest else left.form
    if gap.lanes:
        return None
    # right >= left holds or fails along a program axis or a trip.
    resolved(walk, Condition((gap,), ()))
    return None


def non_negative(law: Law) -> Law:
    """Return a law that returns None if an operand may be negative."""

    def checked(walk: Walk, left: Integer, right: Integer) -> Affine | None:
        for value in (left, right):
            if walk.extremes(value.form, value.shape)[0] < 0:
                return None
        return law(walk, left, right)

    return checked


def shifted_left(walk: Walk, left: Integer, right: Integer) -> Affine | None:
    """Return left * 2^right for a constant right, else None."""
    shift = walk.constant_of(right)
    if shift is None or not 0 <= shift < left.bits - 1:
        return None
    return times(left.form, 1 << shift)


def shifted_right(walk: Walk, left: Integer, right: Integer) -> Affine | None:
    """Return left / 2^right for a non-negative left and a constant right, else None."""
    shift = walk.constant_of(right)
    if shift is None or not 0 <= shift < left.bits - 1:
        return None
    if walk.extremes(left.form, left.shape)[0] < 0:
        return None
    return quotient(walk, left, Integer(Affine(1 << shift), left.shape, left.bits))
