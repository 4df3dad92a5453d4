"""Which lane of a violation goes farthest, where the grid is too large to look at all of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from kvtrace.symbolic.conditions import at_least
from kvtrace.symbolic.decide import Proven, Refuted, decide_given
from kvtrace.symbolic.terms import as_term

if TYPE_CHECKING:
    from kvtrace.symbolic.decide import Point
    from kvtrace.symbolic.summary import Access
    from kvtrace.verdicts.binding import BoundCall

#: What the search may take, in seconds: it decorates a violation that is found already.
_SECONDS: Final = 0.1


def farthest_point(bound: BoundCall, access: Access, point: Point, *, past: bool) -> Point | None:
    """Return a point where an active lane of an access has the most extreme offset.

    Decided by formulas alone, so that no other rule's time for the solver is spent.

    Args:
        bound: the call.
        access: the access.
        point: one where the access is active.
        past: whether the highest offset is looked for, and not the lowest.

    Returns:
        None where it was not decided in time, or depends on contents that are not known.

    """
    offset = access.offset if past else as_term(0) - access.offset
    given, end = bound.active(access), time.perf_counter() + _SECONDS
    low, high = offset.value(point), bound.ranges.interval(offset)[1]
    while low < high and time.perf_counter() < end:
        middle = (low + high) // 2
        decision = decide_given(at_least(middle - offset), given, budget=0, order=bound.order)
        if isinstance(decision, Proven):
            high = middle
        elif isinstance(decision, Refuted) and not bound.doubts(decision.model):
            point, low = decision.model, offset.value(decision.model)
        else:
            return None
    return point if low >= high else None
