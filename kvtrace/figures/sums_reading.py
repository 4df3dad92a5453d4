"""Stored sums of launches and executions, of whole runs or of the stretches that a window has.

`sums_building.py` has stored them. A run whose window is not made of whole stretches is read from
its launches and executions instead.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.sums_stored import stored_settings
from kvtrace.schema.window import TraceWindow, whole_trace

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

Sums = Literal["launch_sums", "execution_sums"]

#: Index of a window's begin on the host, and on devices.
_BEGIN: Final[dict[Sums, int]] = {"launch_sums": 0, "execution_sums": 2}


def at_rest(trace: "Trace", runs: Sequence["Run"], table: Sums) -> tuple[list["Run"], list["Run"]]:
    """Return the runs whose sums of the trace, or of the window, are stored, and the other runs.

    Errors as `stored_settings`.
    """
    stored: list[Run] = []
    others: list[Run] = []
    for run in runs:
        (stored if _has_sums(trace, run, table) else others).append(run)
    return stored, others


def _has_sums(trace: "Trace", run: "Run", table: Sums) -> bool:
    settings = stored_settings(trace, run)
    if settings is None:
        return False
    if not isinstance(trace, TraceWindow):
        return True
    bounds = trace.window_of(run.run_id)[_BEGIN[table] : _BEGIN[table] + 2]
    return set(settings["cuts"][table]).issuperset(bounds)


def stored_sums(
    trace: "Trace", runs: Sequence["Run"], table: Sums, columns: Sequence[str]
) -> pa.Table:
    """Return columns, and `run`, of stored sums of the trace, or of the window's stretches.

    `runs` are those that `at_rest` returns. Errors as `Trace.table`.
    """
    whole = whole_trace(trace)
    if not isinstance(trace, TraceWindow):
        return whole.table(table, runs, columns)
    pieces = [whole.table(table, (), columns)]
    for run in runs:
        low, high = trace.window_of(run.run_id)[_BEGIN[table] : _BEGIN[table] + 2]
        rows = whole.table(table, [run], [*columns, "begin", "end"])
        begin, end = rows["begin"].cast(pa.int64()), rows["end"].cast(pa.int64())
        inside = pc.and_(pc.greater_equal(begin, low), pc.less_equal(end, high))
        pieces.append(rows.filter(pc.fill_null(inside, False)).drop_columns(["begin", "end"]))
    return pa.concat_tables(pieces).unify_dictionaries()
