"""Stored sums of launches and executions: of whole runs, or of the stretches that a window has.

`sums_building.py` has stored them. Launches and executions themselves are read at the edges of a
window, where it does not begin or end with a stretch, and of runs without sums. Sums of rows that a
run has dropped (`older_sums.py`) are read with the stored ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.kept import rows_of_runs
from kvtrace.figures.older_sums import Sums as Sums
from kvtrace.figures.older_sums import has_older_sums, older_sums
from kvtrace.figures.scans import row_count
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
            low, high = span_of(trace, run.run_id, table)
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


def span_of(window: TraceWindow, run_id: str, table: Sums) -> Span:
    """Return begin and end of a run's window for launches, or for executions, in ns since 1970."""
    own = window.window_of(run_id)
    if table == "launch_sums":
        return own.begin, own.end
    return own.device_begin, own.device_end


#: Columns of stored sums that figures need, besides times in bins; all are read at once.
_COLUMNS: Final[dict[Sums, tuple[str, ...]]] = {
    "launch_sums": (
        "begin", "end", "call_id", "phase", "compiling", "steady", "weight", "taken_ns",
        "last_end",
    ),
    "execution_sums": (
        "begin", "end", "call_id", "name", "kind", "stack_id", "forward_stack_id", "asked",
        "tuning", "replayed", "timed", "weight", "taken_ns", "bytes",
    ),
}  # fmt: skip
_READ: Final[WeakKeyDictionary["Trace", dict[tuple[str, ...], pa.Table]]] = WeakKeyDictionary()


def stored_sums(trace: "Trace", runs: Sequence["Run"], table: Sums) -> pa.Table:
    """Return stored sums of the trace, or of the window's whole stretches, without bins.

    `runs` have stored sums, whose rows are cached for an opened trace, or older sums, which are
    added. Errors as `Trace.table`.
    """
    whole = whole_trace(trace)
    read = _READ.setdefault(whole, {})
    stored = [run for run in runs if sums_stored(trace, run)]
    key = (table, *(run.run_id for run in stored))
    if key not in read:
        read[key] = rows_of_runs(whole, stored, table, _COLUMNS[table])
    return _with_older(trace, runs, table, _inside(trace, read[key], table))


def _with_older(trace: "Trace", runs: Sequence["Run"], table: Sums, rows: pa.Table) -> pa.Table:
    """Return rows of sums, and older sums of those runs that have some, with the same columns."""
    older = [run for run in runs if has_older_sums(trace, run)]
    if not older:
        return rows
    names = [name for name in rows.column_names if name != "run"]
    more = older_sums(trace, older, table, names).select(rows.column_names)
    return pa.concat_tables([rows, more.cast(rows.schema)]).unify_dictionaries()


def has_executions(trace: "Trace", run: "Run") -> bool:
    """Return whether a run has rows or sums of executions; errors as `Trace.table`."""
    if has_older_sums(trace, run) and older_sums(trace, [run], "execution_sums", ()).num_rows:
        return True
    table = "gpu_kernels" if stored_settings(trace, run) is None else "execution_sums"
    return row_count(whole_trace(trace), run, table) > 0


#: Columns that identify the times of stored sums, besides the run.
_KEYS_OF_TIMES: Final[dict[Sums, tuple[str, ...]]] = {
    "launch_sums": ("call_id",),
    "execution_sums": ("call_id", "name", "kind"),
}


def stored_bins(trace: "Trace", run: "Run", table: Sums) -> pa.Table:
    """Return times in bins of a run's stored and older sums: `bins`, `counts` and what of.

    Errors as `Trace.table`.
    """
    columns = ("begin", "end", "bins", "counts", *_KEYS_OF_TIMES[table])
    stored = [run] if sums_stored(trace, run) else []
    rows = _inside(trace, whole_trace(trace).table(table, stored, columns), table)
    rows = _with_older(trace, [run], table, rows)
    return rows.filter(pc.is_valid(rows["bins"]))


def _inside(trace: "Trace", rows: pa.Table, table: Sums) -> pa.Table:
    """Return the rows of whole stretches of a window; all rows if the trace is not a window."""
    if not isinstance(trace, TraceWindow) or not rows.num_rows:
        return rows
    runs = rows["run"].unify_dictionaries().combine_chunks()
    spans = [span_of(trace, run_id, table) for run_id in runs.dictionary.to_pylist()]
    edges = zip(*spans, strict=True)
    low, high = (pa.array(edge, pa.int64()).take(runs.indices) for edge in edges)
    begin, end = rows["begin"].cast(pa.int64()), rows["end"].cast(pa.int64())
    inside = pc.and_(pc.greater_equal(begin, low), pc.less_equal(end, high))
    return rows.filter(pc.fill_null(inside, False))
