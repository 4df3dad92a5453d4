"""Checks that values and loop trip counts are free of integer wrap-around."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kvtrace.ir import Op, Value
from kvtrace.ir.flow import deciding
from kvtrace.verdicts.feeding import feeding_values_and_trips

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall


def are_ideal(bound: BoundCall, values: Iterable[Value]) -> bool:
    """Return whether no integer op or loop counter that feeds the values may wrap around."""
    feeders = feeding_values_and_trips(values, bound.call.module)
    arithmetic = bound.summary.arithmetic
    return not any(
        arithmetic_.op.index in feeders and bound.wraps(arithmetic_) for arithmetic_ in arithmetic
    )


def has_ideal_trips(bound: BoundCall, loop: Op) -> bool:
    """Return whether a loop takes the trips of its formula: nothing wraps around.

    Cached by loop.
    """
    results: dict[int, bool] = bound.memo.setdefault(has_ideal_trips, {})
    if loop.index not in results:
        counters = [arithmetic for arithmetic in bound.summary.arithmetic if arithmetic.op is loop]
        wraps = any(map(bound.wraps, counters))
        results[loop.index] = not wraps and are_ideal(bound, deciding(loop))
    return results[loop.index]
