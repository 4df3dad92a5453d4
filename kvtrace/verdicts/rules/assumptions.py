"""Certified conditions on loaded integers under which an access is safe: `0 <= index < 1000`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kvtrace.symbolic.prover import Given, Interval, follows
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import Symbol

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall


def assumption_of(
    bound: BoundCall, access: Access, limits: Interval, symbols: Iterable[Symbol]
) -> str | None:
    """Return a condition on loaded integers under which an access lies within byte limits.

    The condition is proven to suffice, also for the address not to overflow. None if there is no
    such proof, or if the address is not affine in exactly one loaded value.
    """
    form = bound.ranges.form(access.offset)
    loaded = [s for s in dict.fromkeys(symbols) if s.kind == "content" and s in form.coefficients]
    if not loaded:
        loaded = [s for s in form.coefficients if isinstance(s, Symbol) and s.kind == "content"]
    names = {tensor.name for symbol in loaded for tensor in bound.contents.sources(symbol)}
    if len(loaded) != 1 or len(names) != 1:
        return None
    symbol = loaded[0]
    span = _span(bound, access, limits, symbol, form.coefficients[symbol])
    if span is None or not _suffices(bound, access, limits, symbol, span):
        return None
    return f"{span[0]} <= {names.pop()} < {span[1] + 1}"


def _suffices(
    bound: BoundCall, access: Access, limits: Interval, symbol: Symbol, span: Interval
) -> bool:
    """Return whether an access is proven safe if every loaded value lies in a range."""
    ranges = bound.supposing({(symbol.kind, symbol.key): span})
    claims = [(access.lies_within(*limits), bound.active(access))]
    claims += [(op.stays_in_width, bound.given(op)) for op in bound.arithmetic_of(access)]
    return all(follows(claim, Given(given.exact, ranges)) for claim, given in claims)


def _span(
    bound: BoundCall, access: Access, limits: Interval, symbol: Symbol, factor: int
) -> Interval | None:
    """Return the range of a symbol in which an access is inside for all other symbols."""
    rest = bound.active(access).bounds(access.offset - symbol.term * factor)
    if rest is None:
        return None
    room = limits[0] - rest[0], limits[1] - access.element_bytes - rest[1]
    if factor < 0:
        room = -room[1], -room[0]
    factor = abs(factor)
    first, last = -(-room[0] // factor), room[1] // factor
    return (first, last) if first <= last else None
