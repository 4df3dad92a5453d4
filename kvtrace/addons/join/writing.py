"""Tables of the pass `join`, in which joined executions have the form of kvtrace's own timeline."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.addons.join.join_text import sentence
from kvtrace.addons.join.joining import JoinedExecutions
from kvtrace.addons.join.matches import REASONS, Grade, Reason
from kvtrace.figures.causes import NONE, Integers
from kvtrace.figures.columns import integers
from kvtrace.schema.reading import captured_rows, quietly
from kvtrace.schema.runs import Run
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Trace

_TIMES = ("start", "end", "requested", "stated_end")


def tables(
    trace: Trace, run: Run, times: Trace, joined: JoinedExecutions, source: str
) -> dict[str, pa.Table]:
    """Return the tables of the pass: executions, host events, stacks, and a message.

    `trace` is the recording, `run` the run whose launches were matched, `times` the trace with the
    executions, and `source` the names of the files with the times, for the message.

    Raises:
        DamagedFile, NewerFormat: a file cannot be read.
    """
    time_run_ids = pc.unique(joined.rows["run"].cast(pa.string())).to_pylist()
    executions = _execution_rows(joined, _next_record(trace, run, "gpu_kernels"))
    events = times.table("host_events", time_run_ids).drop_columns(["run"])
    first_record = _next_record(trace, run, "host_events")
    events = _with_column(
        events, "record", pa.array(np.arange(first_record, first_record + events.num_rows))
    )
    for name in ("begin", "end"):
        events = _with_column(events, name, _shifted(events[name], joined.shift_ns))
    stack_columns = (executions["stack_id"], executions["forward_stack_id"], events["stack_id"])
    used_stack_ids = pa.chunked_array(
        [chunk for column in stack_columns for chunk in column.chunks]
    )
    stacks = times.table("stacks", time_run_ids).drop_columns(["run"])
    stacks = stacks.filter(pc.is_in(stacks["stack_id"], pc.unique(used_stack_ids)))
    new_tables = {"gpu_kernels": executions, "host_events": events, "stacks": stacks}
    messages = pa.Table.from_pylist([_message_row(run, joined, source)], TABLES["messages"].schema)
    return {**new_tables, "messages": messages}


def counts(joined: JoinedExecutions) -> dict[str, int]:
    """Return the counts of executions: in all, by grade of their match, and by reason for none.

    Kernels that look like no launch are counted as `foreign`.
    """
    matches, looks = joined.matches, joined.launched
    kernels = np.asarray(joined.rows["kind"].is_null())
    grades = Counter(matches.grade[looks].tolist())
    reasons = Counter(matches.reason[looks].tolist())
    return {
        "launched": int(looks.sum()),
        "with_launch": int((matches.seq[looks] != NONE).sum()),
        "with_call": int((matches.call[looks] != NONE).sum()),
        **{grade.name.lower(): grades[grade] for grade in Grade},
        **{REASONS[reason]: reasons[reason] for reason in Reason if reasons[reason]},
        "foreign": int((kernels & ~looks).sum()),
    }


def _execution_rows(joined: JoinedExecutions, first: int) -> pa.Table:
    rows, matches = joined.rows.drop_columns(["run"]), joined.matches
    for name in _TIMES:
        rows = _with_column(rows, name, _shifted(rows[name], joined.shift_ns))
    direct = (matches.seq != NONE) & (matches.graph == NONE)
    graph = np.where(matches.graph == NONE, integers(rows["graph_id"], NONE), matches.graph)
    grade_names = pa.array([grade.name.lower() for grade in Grade])
    indices = pa.array(matches.grade.astype(np.int32), mask=matches.grade == NONE)
    columns: dict[str, pa.Array] = {
        "record": pa.array(np.arange(first, first + rows.num_rows)),
        "launch_seq": _null_if_none(matches.seq),
        "call_id": _null_if_none(matches.call),
        "graph_id": _null_if_none(graph),
        "grade": pa.DictionaryArray.from_arrays(indices, grade_names),
    }
    # As in kvtrace's own timeline: a direct launch itself has the time and line of the request.
    for name in ("requested", "stack_id"):
        columns[name] = pc.if_else(pa.array(direct), pa.scalar(None, rows[name].type), rows[name])
    for name, values in columns.items():
        rows = _with_column(rows, name, values)
    return rows


def _with_column(rows: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    return rows.set_column(rows.column_names.index(name), name, values)


def _shifted(column: pa.ChunkedArray, shift_ns: int) -> pa.ChunkedArray:
    return pc.add(column.cast(pa.int64()), shift_ns).cast(column.type)


def _null_if_none(values: Integers) -> pa.Array:
    return pa.array(values, mask=values == NONE)


def _next_record(trace: Trace, run: Run, table: str) -> int:
    """Return the first unused number for the column `record` of a table of the run."""
    rows = captured_rows(trace.path, TABLES[table], run.run_id, ["record"], quietly)
    highest = pc.max(rows["record"]).as_py()
    return 0 if highest is None else highest + 1


def _message_row(run: Run, joined: JoinedExecutions, source: str) -> dict[str, Any]:
    return {
        "time": run.ended or run.started or 0,
        "level": "info",
        "code": "device-times-joined",
        "text": f"device times are from {source}: {sentence(counts(joined))}",
        "count": joined.rows.num_rows,
    }
