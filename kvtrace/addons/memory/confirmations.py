"""Findings of `kvtrace confirm --trace`, kept with the trace: the table `client_confirmations`.

A run's pass `confirm` has a row for each line whose memory was filled. The evidence is text that
the program printed; redacted copies leave it out, as all that passes derive.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from kvtrace.addons.memory.confirming import Confirmation
from kvtrace.figures.scans import row_count
from kvtrace.schema.client_tables import client_table
from kvtrace.schema.table_types import TEXT, Column
from kvtrace.schema.trace import Run, Trace


def is_recorded(trace: Trace, run: Run) -> bool:
    """Return whether what happened to memory was recorded; no rows are read of a sealed run.

    Errors as `Trace.table`.
    """
    return bool(row_count(trace, run, "operations"))


_WRITER: Final = "confirm"
_TABLE: Final = client_table(
    "confirmations",
    "a line whose fresh memory was filled while the program ran again",
    (
        Column("line", TEXT, "file name and line number, as model.py:12", key=True),
        Column("answer", TEXT, "changes, same, varies, unfilled or failed"),
        Column("evidence", TEXT, "the first printed line that differs, with both fillings"),
    ),
    sort=("line",),
)


def keep_confirmations(trace: Trace, run: Run, confirmed: Mapping[str, Confirmation]) -> None:
    """Write a run's confirmations, by line, to the trace; earlier ones of other lines stay.

    Raises:
        TraceWriteError: the trace cannot be written.
        DamagedFile, NewerFormat: as the reader of the trace.
    """
    rows = {row["line"]: row for row in _rows(trace, run)} | {
        line: {"line": line, "answer": each.answer, "evidence": each.evidence}
        for line, each in confirmed.items()
    }
    table = pa.Table.from_pylist(list(rows.values()), _TABLE.schema)
    trace.add_derived(run.run_id, _WRITER, {_TABLE.name: table}, definitions=(_TABLE,))


def evidence_by_line(trace: Trace, run: Run) -> dict[str, str]:
    """Return the lines on whose memory the program's output depends, each with what differs.

    Errors as `Trace.table`.
    """
    return {r["line"]: r["evidence"] or "" for r in _rows(trace, run) if r["answer"] == "changes"}


def _rows(trace: Trace, run: Run) -> list[dict[str, Any]]:
    if _TABLE.name not in trace.client_tables:
        return []
    rows: list[dict[str, Any]] = trace.table(
        _TABLE.name, (run,), ["line", "answer", "evidence"]
    ).to_pylist()
    return rows
