"""Pipelined loops: loads that may start before the store of an earlier trip.

In

    for k in tl.range(0, n, num_stages=3):
        tl.store(x + k + 1, tl.load(x + k) + 1)

the load of trip 1 starts before the loop, and reads the value that `x[1]` had before trip 0 stored
to it. Triton pipelines innermost loops with requested stages, and in other loops the loads that
lead to a matrix product. It does not look for stores to the same tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtrace.evaluate.compiler import attribute
from kvtrace.ir.flow import counter_of
from kvtrace.ir.ops import KINDS, LOOP_STAGES, LOOP_UNROLLING, Kind

if TYPE_CHECKING:
    from kvtrace.ir import Op
    from kvtrace.recorded_calls.recorded import Call


def may_be_pipelined(call: Call, loop: Op) -> bool:
    """Return whether loads of a loop may start in earlier trips, by its TTIR and options."""
    if counter_of(loop) is None:
        return False
    stages = attribute(loop, LOOP_STAGES, None)
    if stages is not None:
        return int(stages) > 1
    return call.stages != 1 and any(_is_product(op) for op in loop.walk())


def trips_started_early(call: Call, load: Op, loop: Op) -> int:
    """Return how many trips before its own trip a load surely starts, according to the TTGIR.

    One trip less is counted, since a trip's last copy may come after the trip's stores.
    """
    if call.compiled is None or int(attribute(loop, LOOP_UNROLLING, 1)) > 1:
        return 0
    return max(call.compiled.ahead.get(load.index, 0) - 1, 0)


def _is_product(op: Op) -> bool:
    row = KINDS.get(op.name)
    return row is not None and row.kind is Kind.PRODUCT
