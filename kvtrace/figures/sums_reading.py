"""Stored sums of launches and executions: of whole runs, or of the stretches that a window has.

`sums_building.py` has stored them. Launches and executions themselves are read at the edges of a
window, where it does not begin or end with a stretch, and of runs without sums. Sums of rows that a
run has dropped (`older_sums.py`) are read with the stored ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.older_sums import Sums, has_older_sums, older_sums
from kvtrace.figures.sums_stored import stored_settings, sums_stored
from kvtrace.schema.window import RunWindow, TraceWindow, whole_trace

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class AtRest:
    """What of a trace, or of a window, is read from stored sums, and what from their rows.

    `stored` has the runs with stored or older sums. `leaves` has traces, and runs of each, whose
    rows are to be added: runs without stored sums, and edges of windows.
    """

    stored: "tuple[Run, ...]"
    leaves: "tuple[tuple[Trace, tuple[Run, ...]], ...]"


def at_rest(trace: "Trace", runs: Sequence["Run"], table: Sums) -> AtRest:
    """Return which runs' sums are stored, and which rows are to be added to them.

    Errors as `stored_settings`.
    """
    stored: list[Run] = []
    others: list[Run] = []
    edges: tuple[dict[str, Span], dict[str, Span]] = ({}, {})
    for run in runs:
        settings = stored_settings(trace, run)
        if settings is None:
            others.append(run)
            if has_older_sums(trace, run):
                stored.append(run)
            continue
        if isinstance(trace, TraceWindow):
            low, high = span_of(trace, run, table)
            cuts = [cut for cut in settings["cuts"][table] if low <= cut <= high]
            if not cuts or cuts[0] == cuts[-1]:
                others.append(run)
                continue
            for edge, span in zip(edges, ((low, cuts[0]), (cuts[-1], high)), strict=True):
                if span[0] < span[1]:
                    edge[run.run_id] = span
        stored.append(run)
    leaves = [(trace, tuple(others))] if others else []
    for spans in edges:
        if spans:
            windows = {run_id: RunWindow(*span, *span) for run_id, span in spans.items()}
            window = TraceWindow(whole_trace(trace), 0, 0, windows)
            leaves.append((window, tuple(run for run in stored if run.run_id in spans)))
    return AtRest(tuple(stored), tuple(leaves))


def span_of(window: TraceWindow, run: "Run", table: Sums) -> Span:
    """Return begin and end of a run's window for launches, or for executions, in ns since 1970."""
    own = window.window_of(run.run_id)
    if table == "launch_sums":
        return own.begin, own.end
    return own.device_begin, own.device_end


def stored_sums(
    trace: "Trace", runs: Sequence["Run"], table: Sums, columns: Sequence[str]
) -> pa.Table:
    """Return columns, and `run`, of stored sums of the trace, or of the window's whole stretches.

    `runs` have stored or older sums. Errors as `Trace.table`.
    """
    whole = whole_trace(trace)
    if not isinstance(trace, TraceWindow):
        rows = whole.table(table, [run for run in runs if sums_stored(whole, run)], columns)
        if not any(has_older_sums(trace, run) for run in runs):
            return rows
        return pa.concat_tables(
            [rows, older_sums(whole, runs, table, columns)]
        ).unify_dictionaries()
    pieces = [whole.table(table, (), columns)]
    for run in runs:
        low, high = span_of(trace, run, table)
        rows = whole.table(table, [run], [*columns, "begin", "end"])
        begin, end = rows["begin"].cast(pa.int64()), rows["end"].cast(pa.int64())
        inside = pc.and_(pc.greater_equal(begin, low), pc.less_equal(end, high))
        pieces.append(rows.filter(pc.fill_null(inside, False)).drop_columns(["begin", "end"]))
    return pa.concat_tables(pieces).unify_dictionaries()
