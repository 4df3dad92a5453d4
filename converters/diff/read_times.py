"""Rows of steady launches, or of executions, in order: all of them, or a sample of very many.

Of more than `_MOST_READ` rows of a side, stretches of consecutive rows are read, evenly spread over
the runs: the same stretches of every run, and of both sides if their runs are equally long. DuckDB
skips the row groups between them. Of a kernel with many rows in these stretches, some are chosen;
rows of one with few are chosen from the whole runs.

Example: of 50 million launches in 32 runs of 1.6 million, 8 stretches of 16,000 launches are read
in each run. A kernel launched in every hundredth of them has 42,000 launches there, of which every
sixth is chosen. One that was launched 100 times has eight there, so all of its 100 are read.
"""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import split_by_run
from kvtrace.figures.scans import row_count
from kvtrace.figures.tables import add_rows, open_times
from kvtrace.schema.window import TraceWindow

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Most times of a kernel on one side that are compared.
MOST_TIMES: Final = 1 << 13
#: Stretches of a run that are read if not all rows are.
STRETCHES: Final = 8
#: Most rows of a side that are all read, and about how many are read of more.
_MOST_READ: Final = 1 << 20
_SAMPLE_ROWS: Final = 1 << 22
#: Rows of a kernel that a sample should have: of host times, which differ by a quarter, medians of
#: so many are within 5 % of each other for 99.9 % of the kernels without a change.
_LEAST_TIMES: Final = 1 << 10
#: Numbers of rows times the golden ratio, modulo 1, are spread evenly: of 2**20, this one is
#: nearest to the ratio. A row is chosen by this, as every n-th could be the same one of each step.
_STEPS: Final = 1 << 20
_GOLDEN: Final = 648_055


class TimesKind(NamedTuple):
    """A view of `figures/views.py`, its table and key, and a call's number of steady rows."""

    view: str
    table: str
    key: str
    rows: str


HOST: Final = TimesKind("launch_times", "launches", "seq", "timed_launches")
DEVICE: Final = TimesKind("execution_times", "gpu_kernels", "record", "device_executions")


class TimeRows(NamedTuple):
    """Columns `call_id` and `ns` of a run's steady rows in order; `run` is the run's number."""

    run: int
    rows: pa.Table


def is_sampled(trace: "Trace", runs: Sequence["Run"], kind: TimesKind, figures: pa.Table) -> bool:
    """Return whether the steady rows of runs are too many to be all read.

    Args:
        trace: The opened trace.
        runs: The runs of a side.
        kind: Launches or executions.
        figures: The figures of the runs' calls, as in `Times.calls` of `figures/times.py`.

    """
    return _most_rows(trace, runs, kind, figures) > _MOST_READ


def _most_rows(trace: "Trace", runs: Sequence["Run"], kind: TimesKind, figures: pa.Table) -> int:
    """Return a number of rows that the steady rows do not exceed; a row may stand for many."""
    weights = int(pc.sum(figures[kind.rows]).as_py() or 0)
    if weights <= _MOST_READ:
        return weights
    return min(weights, sum(row_count(trace, run, kind.table) for run in runs))


def read_times(
    trace: "Trace", runs: Sequence["Run"], kind: TimesKind, figures: pa.Table
) -> Iterator[TimeRows]:
    """Yield the steady rows of runs, or a sample of them, in pieces; rows without a call are not.

    Arguments as of `is_sampled`; errors as `Trace.table`.
    """
    numbers = {run.run_id: number for number, run in enumerate(runs)}
    with open_times(trace, runs, kind.view) as database:
        query = (
            f"SELECT run, call_id, ns FROM {kind.view} "  # noqa: S608
            f"WHERE steady AND call_id IS NOT NULL ORDER BY run, {kind.key}"
        )
        rows = _most_rows(trace, runs, kind, figures)
        if rows > _MOST_READ:
            of_window = isinstance(trace, TraceWindow)
            query = _sample_query(database, kind, figures, rows, of_window=of_window)
        for batch in database.sql(query).to_arrow_reader(1 << 17):
            for run_id, of_run in split_by_run(pa.Table.from_batches([batch])):
                yield TimeRows(numbers[run_id], of_run)


#: Rows of each kernel, and of how many in the stretches one is chosen.
_KERNELS: Final = f"""
    CREATE TEMP TABLE sampled_kernels AS
    SELECT kernel, rows, ceil(rows * $share / {MOST_TIMES})::BIGINT AS every FROM (
        SELECT p.kernel, ceil(sum(f.weight) * $rows_per_weight)::BIGINT AS rows
        FROM sampled_calls f JOIN place p ON p.run = f.run AND p.call_id = f.call_id
        GROUP BY p.kernel
    )
"""  # noqa: S608
_CHOSEN: Final = f"""
    SELECT t.run, t.call_id, p.kernel, t.{{key}}, t.ns
    FROM ({{rows}}) t JOIN place p ON p.run = t.run AND p.call_id = t.call_id
    JOIN {{kernels}} k ON k.kernel = p.kernel
    WHERE t.{{key}} % {_STEPS} * {_GOLDEN} % {_STEPS} * k.every < {_STEPS}
"""  # noqa: S608
_RARE: Final = f"""
    CREATE TEMP TABLE rare_kernels AS
    SELECT k.kernel, k.rows, ceil(k.rows / {2 * _LEAST_TIMES})::BIGINT AS every
    FROM sampled_kernels k LEFT JOIN (
        SELECT kernel, count(*) AS chosen FROM sampled GROUP BY kernel
    ) s ON s.kernel = k.kernel
    WHERE coalesce(s.chosen, 0) < least({_LEAST_TIMES}, k.rows)
"""  # noqa: S608


def _sample_query(
    database: duckdb.DuckDBPyConnection,
    kind: TimesKind,
    figures: pa.Table,
    rows: int,
    *,
    of_window: bool,
) -> str:
    """Return the query of a sample of `rows`, for which temporary tables are made."""
    calls = figures.select(["run", "call_id", kind.rows])
    calls = calls.rename_columns(["run", "call_id", "weight"])
    add_rows(database, "sampled_calls", calls.filter(pc.is_valid(calls["call_id"])), "TEMP TABLE")
    share = min(1.0, _SAMPLE_ROWS / rows)
    rows_per_weight = rows / pc.sum(calls["weight"]).as_py()
    database.execute(_KERNELS, {"share": share, "rows_per_weight": rows_per_weight})
    steady = f"SELECT run, call_id, {kind.key}, ns FROM {kind.view} WHERE steady"  # noqa: S608
    # The footers of parts have the first and the last key of a table, but not those of a window.
    source = kind.view if of_window else kind.table
    bounds = f"SELECT min({kind.key}), max({kind.key}) FROM {source}"  # noqa: S608
    ((first, last),) = database.execute(bounds).fetchall()
    in_stretches = " OR ".join(
        f"{kind.key} BETWEEN {low} AND {high}" for low, high in _stretches(first, last, share)
    )
    chosen = _CHOSEN.format(
        key=kind.key, rows=f"{steady} AND ({in_stretches})", kernels="sampled_kernels"
    )
    database.execute(f"CREATE TEMP TABLE sampled AS {chosen}")
    database.execute(_RARE)
    query = "SELECT * FROM sampled WHERE kernel NOT IN (SELECT kernel FROM rare_kernels)"
    if database.execute("SELECT 1 FROM rare_kernels LIMIT 1").fetchall():
        rare = _CHOSEN.format(key=kind.key, rows=steady, kernels="rare_kernels")
        query += f" UNION ALL {rare}"
    return f"SELECT run, call_id, ns FROM ({query}) ORDER BY run, {kind.key}"  # noqa: S608


def _stretches(first: int, last: int, share: float) -> list[tuple[int, int]]:
    """Return the first and last key of each stretch, which have a `share` of all keys.

    There is a stretch in each eighth of the keys, in another place of each, as programs repeat.
    """
    if share == 1:
        return [(first, last)]
    eighth = (last - first + 1) / STRETCHES
    length = ceil(share * eighth)
    places = (number * _GOLDEN / _STEPS % 1 for number in range(1, STRETCHES + 1))
    begins = (
        first + int(number * eighth + place * (eighth - length))
        for number, place in enumerate(places)
    )
    return [(begin, begin + length - 1) for begin in begins]
