"""Times that autotuners' trials took on devices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import integers
from kvtrace.figures.kept import keep_rows, kept_rows
from kvtrace.figures.sums_reading import has_executions, stored_sums
from kvtrace.figures.sums_stored import sums_stored
from kvtrace.figures.tables import open_times
from kvtrace.figures.times_at_rest import file_of_times
from kvtrace.schema.kept import number_of
from kvtrace.schema.repair import LATEST
from kvtrace.schema.table_types import I64, NAME, Column, Table
from kvtrace.schema.window import pieces_near, whole_trace

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_PHASE: Final = "autotune"
_TRIALS: Final = f"""
    SELECT t.run::VARCHAR AS run, t.call_id, greatest(p.device_ns, 0) AS ns
    FROM placed p JOIN tuning t ON t.run = p.run AND t.seq = p.launch_seq
    WHERE t.phase = '{_PHASE}' AND p.device_ns IS NOT NULL ORDER BY t.run, t.seq, p.record
"""  # noqa: S608
_SCHEMA: Final = pa.schema([("run", pa.string()), ("call_id", pa.int64()), ("ns", pa.int64())])
_ROWS: Final = Table(
    "kept_trials",
    "an execution of an autotuner's trial",
    "derived",
    (Column("run", NAME, "run"), Column("call_id", I64, "call"), Column("ns", I64, "time", "ns")),
)


def trial_times(trace: "Trace", runs: Sequence["Run"]) -> pa.Table:
    """Return run, call_id and duration `ns` of executions of autotuners' trials, as launched.

    Stored sums say until when a run has trials, so that of a long run only rows up to these are
    read. Trials of many runs are kept (`kept.py`). Errors as `Trace.table`.
    """
    whole = whole_trace(trace)
    file = file_of_times(whole, runs, "launch_sums", "trials")
    rows = None if file is None else kept_rows(whole, file, _ROWS, _SCHEMA.names)
    if rows is None:
        rows = _trials(whole, runs)
        if file is not None:
            keep_rows(whole, file, _ROWS, rows)
    return rows


def _trials(whole: "Trace", runs: Sequence["Run"]) -> pa.Table:
    """Return the rows of `trial_times` of the whole trace."""
    stored = [run for run in runs if sums_stored(whole, run)]
    sums = stored_sums(whole, stored, "launch_sums")
    sums = sums.filter(pc.equal(sums["phase"].cast(pa.string()), _PHASE))
    sums = sums.set_column(
        sums.schema.get_field_index("last_end"), "last_end", sums["last_end"].cast(pa.int64())
    )
    totals = sums.group_by("run").aggregate([("weight", "sum"), ("last_end", "max")]).to_pylist()
    trials_of = {row["run"]: row for row in totals}
    early = {
        run.run_id: _early_trials(whole, run, trials_of[run.run_id])
        if run.run_id in trials_of
        else _SCHEMA.empty_table()
        for run in stored
    }
    others = [r for r in runs if early.get(r.run_id) is None and has_executions(whole, r)]
    pieces = [_SCHEMA.empty_table(), *(rows for rows in early.values() if rows is not None)]
    if others:
        with open_times(whole, others, "execution_times") as database:
            pieces.append(database.sql(_TRIALS).to_arrow_table().cast(_SCHEMA))
    return pa.concat_tables(pieces)


def _early_trials(trace: "Trace", run: "Run", total: dict[str, Any]) -> pa.Table | None:
    """Return a run's rows of `trial_times`; None if not all of its trials have times."""
    if total["last_end_max"] is None:
        return None
    columns = ("seq", "call_id", "phase", "weight")
    ranges = [(-LATEST, total["last_end_max"])]
    pieces = [
        piece.filter(pc.equal(piece["phase"].cast(pa.string()), _PHASE))
        for piece in pieces_near(trace, "launches", run, columns, ("enter", "exit"), ranges)
    ]
    if number_of(pieces) != total["weight_sum"]:
        return None
    launches = pa.concat_tables(pieces).sort_by("seq")
    seq = integers(launches["seq"])
    columns = ("record", "launch_seq", "start", "end")
    ranges = [(int(seq[0]), int(seq[-1]))]
    span = ("launch_seq", "launch_seq")
    pieces = []
    for piece in pieces_near(trace, "gpu_kernels", run, columns, span, ranges):
        is_timed = pc.and_(pc.is_valid(piece["start"]), pc.is_valid(piece["end"]))
        is_trial = pc.is_in(piece["launch_seq"], launches["seq"].combine_chunks())
        pieces.append(piece.filter(pc.and_(is_timed, is_trial)))
    if not pieces:
        return _SCHEMA.empty_table()
    rows = pa.concat_tables(pieces).sort_by([("launch_seq", "ascending"), ("record", "ascending")])
    index = np.searchsorted(seq, integers(rows["launch_seq"]))
    ns = np.maximum(integers(rows["end"]) - integers(rows["start"]), 0)
    of_run = pa.repeat(pa.scalar(run.run_id, pa.string()), ns.size)
    call_ids = launches["call_id"].take(pa.array(index))
    return pa.table([of_run, call_ids, pa.array(ns)], schema=_SCHEMA)
