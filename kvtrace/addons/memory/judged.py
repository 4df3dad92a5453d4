"""Findings of the rules of this add-on, from a run's tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kvtrace.addons.memory.declared_writes import Declarations, declared_verdicts
from kvtrace.addons.memory.events import events_of
from kvtrace.addons.memory.following import Follower
from kvtrace.addons.memory.rows import Rows
from kvtrace.addons.memory.run_memory import RunMemory
from kvtrace.metrics.stacks import StackRows
from kvtrace.schema.tables import TABLES
from kvtrace.verdicts.verdict import row_of

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


def findings_of(trace: Trace, run: Run, *, named: bool) -> Mapping[str, pa.Table] | None:
    """Return the findings of a run whose memory was recorded, or of any run if `named`.

    Each tensor that a call reads has a row: proven, a violation with an unwritten element, or
    unknown with the reason; each that a kernel with a declaration writes has another. Without
    recorded memory there are only the latter. None if nothing is judged.
    """
    recorded = bool(trace.table("operations", (run,), ["record"]).num_rows)
    if not recorded and not named:
        return None
    memory = RunMemory(trace, run)
    stacks = StackRows()
    rows = list(_declared_rows(memory, Declarations(trace, run), stacks))
    if recorded:
        follower = Follower(
            {call_id: call.storages for call_id, call in memory.calls.items()},
            memory.operators,
            {
                seq: (judged.call.call_id, judged.storages)
                for seq, judged in memory.launches.items()
                if judged.call
            },
            {
                judged.call.call_id
                for judged in (*memory.calls.values(), *memory.launches.values())
                if judged.call and judged.elsewhere
            },
        )
        follower.follow(events_of(trace, run))
        rows += Rows(memory, follower, stacks).rows()
    by_table = {"findings": rows, "stacks": stacks.rows()}
    return {
        name: pa.Table.from_pylist(listed, TABLES[name].schema) for name, listed in by_table.items()
    }


def _declared_rows(
    memory: RunMemory, declarations: Declarations, stacks: StackRows
) -> Iterator[dict[str, Any]]:
    """Yield rows of the rule `undeclared-write`, for one call of each kernel variant."""
    judged: set[int] = set()
    for call_id, judged_call in memory.calls.items():
        kernel_id = declarations.kernel_id(call_id)
        declared = None if kernel_id in judged else declarations.of(call_id)
        if declared is None or judged_call.call is None:
            continue
        judged.add(kernel_id)
        for verdict in declared_verdicts(judged_call.call, judged_call.effects, declared):
            yield row_of(verdict, judged_call.call, stacks, "warning")
