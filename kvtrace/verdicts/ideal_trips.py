"""Values and trips of loops that are as in ideal integers: nothing in them wraps around."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kvtrace.ir import Op, Value
from kvtrace.ir.flow import deciding
from kvtrace.verdicts.feeding import feeding_values_and_trips

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall


def are_ideal(bound: BoundCall, values: Iterable[Value]) -> bool:
    """Tell whether no integer that values are made of wraps around, loop counters included."""
    fed = feeding_values_and_trips(values, bound.call.module)
    arithmetic = bound.summary.arithmetic
    return not any(each.op.index in fed and bound.wraps(each) for each in arithmetic)


def has_ideal_trips(bound: BoundCall, loop: Op) -> bool:
    """Tell whether a loop surely takes the trips of its formula: nothing in its bounds wraps."""
    ideal: dict[int, bool] = bound.memo.setdefault(has_ideal_trips, {})
    if loop.index not in ideal:
        counters = [each for each in bound.summary.arithmetic if each.op is loop]
        wraps = any(map(bound.wraps, counters))
        ideal[loop.index] = not wraps and are_ideal(bound, deciding(loop))
    return ideal[loop.index]
