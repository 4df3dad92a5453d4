"""What loaded integers would have to be for an access to be safe, as a certified condition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kvtrace.symbolic.decide import Given, proves_at_least
from kvtrace.symbolic.linear import Interval, Linear, constant, interval, propagated
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import Symbol
from kvtrace.verdicts.arithmetic import fits

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall


def assumption_of(
    bound: BoundCall, access: Access, limits: Interval, symbols: Iterable[Symbol]
) -> str | None:
    """Return a condition on loaded integers under which an access lies within byte limits.

    None where its address is not affine in a single one of `symbols` that is a content. Before it
    is given it is proven to suffice, also for the arithmetic of the address to stay in its width.
    """
    form = bound.ranges.form(access.offset)
    loaded = [s for s in dict.fromkeys(symbols) if s.kind == "content" and s in form.coefficients]
    if not loaded:
        loaded = [s for s in form.coefficients if isinstance(s, Symbol) and s.kind == "content"]
    names = {tensor.name for symbol in loaded for tensor in bound.contents.sources(symbol)}
    if len(loaded) != 1 or len(names) != 1:
        return None
    span = _span(bound, access, limits, loaded[0], form)
    if span is None or not _suffices(bound, access, limits, loaded[0], span):
        return None
    return f"{span[0]} <= {names.pop()} < {span[1] + 1}"


def _suffices(
    bound: BoundCall, access: Access, limits: Interval, symbol: Symbol, span: Interval
) -> bool:
    """Prove that an access is safe if all that a load gives lies in a range."""
    ranges = bound.supposing({(symbol.kind, symbol.key): span})
    given = Given(bound.active(access).exact, ranges)
    form = ranges.form(access.offset)
    goals = (form.shifted(-limits[0]), constant(limits[1] - access.element_bytes) - form)
    if any(proves_at_least(goal, given) is None for goal in goals):
        return False
    return all(
        fits(arithmetic, Given(bound.given(arithmetic).exact, ranges))
        for arithmetic in bound.arithmetic_of(access)
    )


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
