"""What loaded integers would have to be for an access to be safe, as a certified condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvtrace.symbolic.conditions import at_least
from kvtrace.symbolic.decide import Given, proves_at_least
from kvtrace.symbolic.linear import Interval, Linear, constant, interval, propagated
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import Symbol, as_term

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall


def assumption_of(
    bound: BoundCall, access: Access, limits: Interval, contents: Sequence[Symbol]
) -> str | None:
    """Give a condition on loaded integers under which an access lies within byte limits.

    None where its address is not affine in a single one of them. The condition is proven to
    suffice before it is given.
    """
    form = bound.ranges.form(access.offset)
    loaded = [symbol for symbol in dict.fromkeys(contents) if symbol in form.coefficients]
    names = {t.name for symbol in loaded for t in bound.contents.sources(symbol)}
    if len(loaded) != 1 or len(names) != 1:
        return None
    span = _span(bound, access, limits, loaded[0], form)
    if span is None:
        return None
    low, high = span
    claim = (at_least(loaded[0].term, low), at_least(as_term(high), loaded[0].term))
    given = Given((*bound.active(access).exact, *claim), bound.ranges)
    goals = (form.shifted(-limits[0]), constant(limits[1] - access.element_bytes) - form)
    if any(proves_at_least(goal, given) is None for goal in goals):
        return None
    return f"{low} <= {names.pop()} < {high + 1}"


def _span(
    bound: BoundCall, access: Access, limits: Interval, symbol: Symbol, form: Linear
) -> Interval | None:
    """Solve for the range of one symbol, the others being anywhere that what is given leaves."""
    factor = form.coefficients[symbol]
    rest = form.plus(Linear(0, {symbol: factor}), -1)
    least = most = None
    for forms in bound.active(access).alternatives:
        narrowed = {
            variable: bound.ranges.intervals[variable]
            for each in (*forms, form)
            for variable in each.coefficients
        }
        if not propagated(forms, narrowed):
            continue
        low, high = interval(rest, narrowed)
        least = low if least is None else min(least, low)
        most = high if most is None else max(most, high)
    if least is None or most is None:
        return None
    room = limits[0] - least, limits[1] - access.element_bytes - most
    if factor < 0:
        room = -room[1], -room[0]
    factor = abs(factor)
    first, last = -(-room[0] // factor), room[1] // factor
    return (first, last) if first <= last else None
