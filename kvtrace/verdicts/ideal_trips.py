"""Values and loop trips without wrap-around: equal to those of ideal integers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kvtrace.ir import Op, Value
from kvtrace.ir.flow import deciding
from kvtrace.verdicts.feeding import feeding_values_and_trips

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall


def are_ideal(bound: BoundCall, values: Iterable[Value]) -> bool:
    """Return whether no integer that determines the values wraps around, loop counters included."""
    fed = feeding_values_and_trips(values, bound.call.module)
    arithmetic = bound.summary.arithmetic
    return not any(made_by.op.index in fed and bound.wraps(made_by) for made_by in arithmetic)


def has_ideal_trips(bound: BoundCall, loop: Op) -> bool:
    """Return whether a loop surely takes the trips of its formula: its bounds do not wrap."""
    ideal: dict[int, bool] = bound.memo.setdefault(has_ideal_trips, {})
    if loop.index not in ideal:
        counters = [made_by for made_by in bound.summary.arithmetic if made_by.op is loop]
        wraps = any(map(bound.wraps, counters))
        ideal[loop.index] = not wraps and are_ideal(bound, deciding(loop))
    return ideal[loop.index]
