"""Which lane of a violation goes farthest, where the grid is too large to look at all of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from kvtrace.symbolic.conditions import at_least
from kvtrace.symbolic.prover import Proven, Refuted, prove
from kvtrace.symbolic.terms import as_term
from kvtrace.verdicts.replaying import run
from kvtrace.verdicts.rules.evaluated import EvaluatedBounds

if TYPE_CHECKING:
    from kvtrace.evaluate.observe import OutOfBounds
    from kvtrace.symbolic.prover import Point
    from kvtrace.symbolic.summary import Access
    from kvtrace.verdicts.binding import BoundCall

#: What the search may take, in seconds: it decorates a violation that is found already.
_SECONDS: Final = 0.1
#: An evaluation of one program, which shows a witness, ends after so many lanes.
_MOST_LANES: Final = 1 << 25


def with_farthest(
    bound: BoundCall, access: Access, defect: OutOfBounds, point: Point
) -> OutOfBounds | None:
    """Return a defect that was seen in one program with the lane that goes farthest, too.

    Args:
        bound: the call.
        access: the access that leaves its tensor.
        defect: what was seen of it.
        point: one where it does.

    Returns:
        None where the farthest is not known, or did not show when it was run.

    """
    farthest = _farthest_point(bound, access, point, past=defect.past_end_bytes > 0)
    if farthest is None:
        return None
    seen = EvaluatedBounds(bound.call, (access.op.index,))
    run(bound.call, (seen,), (bound.program_of(farthest),), lanes=_MOST_LANES)
    other = seen.defects(access.op.index).get(defect.rule)
    if other is None or access.offset.value(farthest) not in (other.lowest, other.highest):
        return None
    return defect.followed_by(other)


def _farthest_point(bound: BoundCall, access: Access, point: Point, *, past: bool) -> Point | None:
    """Return a point where an active lane of an access has its highest or lowest offset.

    Decided by formulas alone, so that no other rule's time for the solver is spent. None where that
    takes too long, or depends on contents that are not known.
    """
    offset = access.offset if past else as_term(0) - access.offset
    given, end = bound.active(access), time.perf_counter() + _SECONDS
    low, high = offset.value(point), bound.ranges.interval(offset)[1]
    while low < high and time.perf_counter() < end:
        middle = (low + high) // 2
        decision = prove(at_least(middle - offset), given, seconds=0, order=bound.order)
        if isinstance(decision, Proven):
            high = middle
        elif isinstance(decision, Refuted) and not bound.doubts(decision.model):
            point, low = decision.model, offset.value(decision.model)
        else:
            return None
    return point if low >= high else None
