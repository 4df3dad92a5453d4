"""Findings of the rules of this add-on, from a run's tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kvtrace.addons.memory.confirmations import evidence_by_line, is_recorded
from kvtrace.addons.memory.declared_writes import Declarations, declared_verdicts
from kvtrace.addons.memory.events import event_parts
from kvtrace.addons.memory.following import Follower
from kvtrace.addons.memory.repeats import follow_repeating
from kvtrace.addons.memory.rows import JudgedRow, Rows
from kvtrace.addons.memory.rules import DECLARED
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
    recorded memory there are only the latter. A violation on which the program's output depends
    (`confirmations.py`) is an error. None if nothing is judged.
    """
    recorded = is_recorded(trace, run)
    if not recorded and not named:
        return None
    memory = RunMemory(trace, run)
    stacks = StackRows()
    rows = list(_declared_rows(memory, Declarations(trace, run), stacks))
    if not recorded and not rows:
        return None
    if recorded:
        evidence = evidence_by_line(trace, run)
        rows += (
            _confirmed(judged.row, evidence[judged.line]) if judged.line in evidence else judged.row
            for judged in _followed_rows(trace, run, memory, stacks)
        )
    by_table = {"findings": rows, "stacks": stacks.rows()}
    return {
        name: pa.Table.from_pylist(listed, TABLES[name].schema) for name, listed in by_table.items()
    }


def unwritten_memory(trace: Trace, run: Run) -> Iterator[JudgedRow]:
    """Yield the violations of a run whose memory was recorded. Errors as `Trace.table`."""
    for judged in _followed_rows(trace, run, RunMemory(trace, run), StackRows()):
        if judged.row["verdict"] == "violation" and judged.row["rule"] != DECLARED:
            yield judged


def _followed_rows(
    trace: Trace, run: Run, memory: RunMemory, stacks: StackRows
) -> Iterator[JudgedRow]:
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
    follow_repeating(follower, event_parts(trace, run))
    return Rows(memory, follower, stacks).rows()


def _confirmed(row: Mapping[str, Any], evidence: str) -> dict[str, Any]:
    message = f"{row['message']}; confirmed: what the program prints depends on it, {evidence}"
    return {**row, "severity": "error", "message": message}


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
