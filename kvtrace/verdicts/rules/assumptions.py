"""Conditions on loaded integers that are proven to make an access safe, as `0 <= index < 1000`."""

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
    """Return a condition on loaded integers that keeps an access within byte limits, else None.

    The condition is proven to suffice, and to exclude overflow of the address. None if there is no
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
    index_range = _safe_range(bound, access, limits, symbol, form.coefficients[symbol])
    if index_range is None or not _is_sufficient(bound, access, limits, symbol, index_range):
        return None
    return f"{index_range[0]} <= {names.pop()} < {index_range[1] + 1}"


def _is_sufficient(
    bound: BoundCall, access: Access, limits: Interval, symbol: Symbol, index_range: Interval
) -> bool:
    """Return whether an access is proven safe if every loaded value lies in a range."""
    ranges = bound.supposing({(symbol.kind, symbol.key): index_range})
    claims = [(access.lies_within(*limits), bound.active(access))]
    claims += [(op.stays_in_width, bound.given(op)) for op in bound.arithmetic_of(access)]
    return all(follows(claim, Given(given.exact, ranges)) for claim, given in claims)


def _safe_range(
    bound: BoundCall, access: Access, limits: Interval, symbol: Symbol, factor: int
) -> Interval | None:
    """Return the range of a symbol for which an access is inside for all others, else None."""
    other_bytes = bound.active(access).bounds(access.offset - symbol.term * factor)
    if other_bytes is None:
        return None
    limits_of_factor = limits[0] - other_bytes[0], limits[1] - access.element_bytes - other_bytes[1]
    if factor < 0:
        limits_of_factor = -limits_of_factor[1], -limits_of_factor[0]
    factor = abs(factor)
    low, high = -(-limits_of_factor[0] // factor), limits_of_factor[1] // factor
    return (low, high) if low <= high else None
