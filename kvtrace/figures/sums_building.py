"""Adding up the launches and executions of sealed runs, once, into tables of the pass "sums".

What a launch adds up to does not change after its run has ended. So the first command that asks for
figures of a long run writes what they add up to into the trace, and later ones read that
(`sums_reading.py`). The definitions are the views `launch_times` and `execution_times`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kvtrace.figures.idle_at_rest import tables_at_rest
from kvtrace.figures.kernels import LAUNCH_COLUMNS
from kvtrace.figures.scans import row_count
from kvtrace.figures.sums_reading import Sums, summed_rows
from kvtrace.figures.sums_stored import PASS, forget, settings_of, sums_stored
from kvtrace.figures.tables import close_times
from kvtrace.figures.tiles import LEAVES, tiles_of
from kvtrace.progress import progress
from kvtrace.schema.columns import conformed
from kvtrace.schema.errors import TraceWriteError
from kvtrace.schema.layout import EXCERPT
from kvtrace.schema.remote import remote_folder
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.tables import TABLES
from kvtrace.schema.window import whole_trace

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Runs with fewer launches and executions are added up each time, which takes milliseconds.
LEAST_ROWS: Final = 1 << 17
#: So many take about two seconds, before which the caller is told.
_MANY_ROWS: Final = 1_500_000
#: Share of the time that the sums of a run take, without its tiles.
_SHARE_OF_SUMS: Final = 0.8


def add_up(trace: "Trace", runs: Sequence["Run"], *, least_rows: int = LEAST_ROWS) -> None:
    """Write the sums of those runs that are sealed, long, and without sums, into the trace.

    `least_rows` is the number of launches and executions from which on a run is long. A trace that
    cannot be written to stays as it is, and figures are added up each time; a note says so. So does
    one in an object store, without a note. `Trace.tell` receives a sentence if it takes long.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    whole = whole_trace(trace)
    if remote_folder(whole.path) is not None or LAUNCH_COLUMNS:
        return  # reading writes neither to an object store nor sums that lack columns of figures
    missing = []
    for run in runs:
        if not run.sealed or EXCERPT in run.settings or sums_stored(whole, run):
            continue
        launches, executions = (row_count(whole, run, n) for n in ("launches", "gpu_kernels"))
        if launches + executions >= least_rows:
            missing.append((run, launches, executions))
    rows = sum(launches + executions for _, launches, executions in missing)
    if rows >= _MANY_ROWS:
        whole.tell(
            f"adding up {rows:,} launches and executions of {whole.path}, once; later commands "
            "read the sums"
        )
    with progress("adding up launches") as report:
        done = 0.0
        for run, launches, executions in missing:
            tables, cuts = sums_of_run(whole, run)
            done += _SHARE_OF_SUMS * (launches + executions)
            report(done, rows)
            for tiles in LEAVES:
                tables[tiles] = tiles_of(whole, [run], tiles).drop_columns(["run"])
                done += (1 - _SHARE_OF_SUMS) / len(LEAVES) * (launches + executions)
                report(done, rows)
            close_times(whole, [run])
            settings = settings_of(whole, run) | {"cuts": cuts}
            try:
                whole.add_derived(run.run_id, PASS, tables, settings)
            except TraceWriteError as error:
                whole.note(f"{error}, so its launches are added up each time")
                return
            forget(whole, run.run_id)


def sums_of_run(trace: "Trace", run: "Run") -> tuple[dict[str, pa.Table], dict[Sums, list[int]]]:
    """Return a run's tables of sums, and the settings that name the bounds of their stretches.

    Errors as `Trace.table`.
    """
    tables = tables_at_rest(trace, run)
    cuts = {table: _cuts(tables["run_parts"], edges) for table, edges in _EDGES.items()}
    for table, bounds in cuts.items():
        rows = summed_rows(trace, [run], table, _stretch(_BEGINS[table], bounds))
        tables[table] = _with_bounds(rows, table, bounds)
    return tables, cuts


#: Columns of `run_parts` that bound a part for launches, and for executions.
_EDGES: Final[dict[Sums, tuple[str, str]]] = {
    "launch_sums": ("begin", "end"),
    "execution_sums": ("device_begin", "device_end"),
}
_BEGINS: Final[dict[Sums, str]] = {
    "launch_sums": 'epoch_ns("enter")',
    "execution_sums": 'epoch_ns("start")',
}


def _cuts(parts: pa.Table, edges: Sequence[str]) -> list[int]:
    """Return the times between stretches, which are the bounds of the steady part, if any."""
    steady = (row for row in plain_rows(parts) if row["part"] == "steady")
    return sorted({row[edge] for row in steady for edge in edges})


def _stretch(time: str, cuts: Sequence[int]) -> str:
    """Return SQL of the number of the stretch that has `time`, SQL of ns since 1970."""
    passed = " + ".join(f"({time} >= {cut})::INTEGER" for cut in cuts) or "0"
    return f"CASE WHEN {time} IS NULL THEN -1 ELSE {passed} END"


def _with_bounds(rows: pa.Table, table: str, cuts: Sequence[int]) -> pa.Table:
    """Return sums as rows of the table, with begin and end of their stretches."""
    numbers = rows["stretch"].to_numpy()
    begins = pa.array([None, None, *cuts], pa.int64()).take(pa.array(numbers + 1))
    ends = pa.array([None, *cuts, None], pa.int64()).take(pa.array(numbers + 1))
    rows = rows.append_column("begin", begins).append_column("end", ends)
    return conformed(TABLES[table], rows.select(TABLES[table].names))
