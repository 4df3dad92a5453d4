"""Adding up the launches and executions of sealed runs, once, into tables of the pass "sums".

What a launch adds up to does not change after its run has ended. So the first command that asks for
figures of a long run writes what they add up to into the trace, and later ones read that
(`sums_reading.py`). The definitions are the views `launch_times` and `execution_times`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kvtrace.figures.columns import Integers
from kvtrace.figures.executions import ExecutionBlocks
from kvtrace.figures.gap_causes import GapSums, PartGaps, Requests
from kvtrace.figures.host_events import AROUND_SHORT, CAUSES, HostEvents
from kvtrace.figures.kernels import LAUNCH_COLUMNS
from kvtrace.figures.lines import places_by_stack
from kvtrace.figures.scans import row_count
from kvtrace.figures.steps import DeviceSteps, PartName, Steps, program_steps, time_bounds
from kvtrace.figures.stored import PASS, forget, settings_of, sums_stored
from kvtrace.figures.sums_reading import Sums, summed_rows
from kvtrace.figures.tables import close_times
from kvtrace.figures.tiles import LEAVES, tiles_of
from kvtrace.figures.window import steady_steps
from kvtrace.progress import progress
from kvtrace.schema.columns import conformed
from kvtrace.schema.committed import refuse_committed
from kvtrace.schema.errors import TraceWriteError
from kvtrace.schema.layout import EXCERPT
from kvtrace.schema.remote import remote_folder
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.window import RunWindow, whole_trace

#: Runs with fewer launches and executions are added up each time, which takes milliseconds.
LEAST_ROWS: Final = 1 << 17
#: So many take about two seconds, before which the caller is told.
_MANY_ROWS: Final = 1_500_000
#: Share of the time that the sums of a run take, without its tiles.
_SHARE_OF_SUMS: Final = 0.8


def add_up(trace: Trace, runs: Sequence[Run], *, least_rows: int = LEAST_ROWS) -> None:
    """Write the sums of those runs that are sealed, long, and without sums, into the trace.

    `least_rows` is the number of launches and executions from which on a run is long. A trace that
    cannot be written to, or that git tracks, stays as it is, and figures are added up each time; a
    note says so. So does one in an object store, without a note. `Trace.tell` receives a sentence
    if it takes long.

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
                refuse_committed(whole.path)
                whole.add_derived(run.run_id, PASS, tables, settings)
            except TraceWriteError as error:
                whole.note(f"{error}, so its launches are added up each time")
                return
            forget(whole, run.run_id)


def sums_of_run(trace: Trace, run: Run) -> tuple[dict[str, pa.Table], dict[Sums, list[int]]]:
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
    """Return sums as rows of the table, with begin and end of their stretches.

    The first stretch has no begin, the last one no end, and that without a time (-1) neither.
    """
    numbers = rows["stretch"].to_numpy()
    begins = pa.array([None, None, *cuts], pa.int64()).take(pa.array(numbers + 1))
    ends = pa.array([None, *cuts, None], pa.int64()).take(pa.array(numbers + 1))
    rows = rows.append_column("begin", begins).append_column("end", ends)
    return conformed(TABLES[table], rows.select(TABLES[table].names))


# -- steps, parts and idle times -------------------------------------------------------------------


_PARTS: Final = TABLES["run_parts"].schema
_STEPS: Final = TABLES["run_steps"]


def tables_at_rest(trace: Trace, run: Run) -> dict[str, pa.Table]:
    """Return the tables of a sealed run's parts, steps and idle times, by name.

    `trace` is the whole trace, and nothing is stored of the run yet. Errors as `Trace.table`.
    """
    blocks, steps = ExecutionBlocks(trace, run), program_steps(trace, run)
    devices = None if steps is None else DeviceSteps(steps.bounds)
    requests: dict[PartName, Requests] = {"whole": Requests()}
    for number, block in blocks.read(named=False):
        requests["whole"].add(number, block)
        if devices is not None:
            devices.add(number, block)
    windows: dict[PartName, RunWindow | None] = {"whole": None}
    step_columns: dict[str, Any] = {}
    if steps is not None and devices is not None:
        begins, are_known = devices.begins(blocks)
        steady = steady_steps(trace, run, steps, begins, are_known)
        if steady is not None:
            windows["steady"] = steady
        step_columns = _step_columns(steps, begins, are_known, steady)
    rows = {part: _part_row(trace, run, part, window) for part, window in windows.items()}
    gaps: dict[PartName, PartGaps] = {}
    if run.has_all_times:
        for part, sums in _sums_of_gaps(trace, run, blocks, windows, requests).items():
            of_part = sums.taken()
            if of_part is not None and sums.busy is not None:
                gaps[part] = of_part
                rows[part] |= asdict(sums.busy) | _idle_columns(of_part)
    if "steady" in gaps:
        step_columns |= _idle_of_steps(gaps["steady"], len(step_columns["step"]))
    return {
        "run_parts": pa.Table.from_pylist(list(rows.values()), schema=_PARTS),
        "run_steps": conformed(_STEPS, pa.table(step_columns or {"step": []})),
        "idle_gaps": _of_parts("idle_gaps", {part: of.groups for part, of in gaps.items()}),
        "short_executions": _of_parts(
            "short_executions", {part: of.names for part, of in gaps.items()}
        ),
    }


def _sums_of_gaps(
    trace: Trace,
    run: Run,
    blocks: ExecutionBlocks,
    windows: Mapping[PartName, RunWindow | None],
    requests: dict[PartName, Requests],
) -> dict[PartName, GapSums]:
    """Return the gaps of each part; add the requests of the steady part to `requests`."""
    steady = windows.get("steady")
    if steady is not None:
        requests["steady"] = Requests()
        for number, block in blocks.read(steady, named=False):
            requests["steady"].add(number, block)
    events, places = HostEvents.read(trace, run), places_by_stack(trace, [run])
    sums = {
        part: GapSums(requests[part], events, places, window) for part, window in windows.items()
    }
    for number, block in blocks.read():
        sums["whole"].add(number, block)
        if steady is not None:
            inside = block.between(steady.device_begin, steady.device_end)
            if inside.start.size:
                sums["steady"].add(number, inside)
    return sums


def _part_row(trace: Trace, run: Run, part: PartName, window: RunWindow | None) -> dict[str, Any]:
    """Return the columns of `run_parts` that bound a part."""
    if window is not None:
        bounds = window[:4]
    else:
        launched = time_bounds(trace, run, "launches") or (None, None)
        bounds = *launched, *(time_bounds(trace, run, "gpu_kernels") or (None, None))
    names = ("begin", "end", "device_begin", "device_end")
    return {"part": part, **dict(zip(names, bounds, strict=True))}


def _idle_columns(gaps: PartGaps) -> dict[str, int]:
    """Return the columns of `run_parts` with idle time by cause."""
    return {
        **{f"{cause}_ns": gaps.idle_ns.get(cause, 0) for cause in CAUSES},
        **{f"small_{cause}_ns": gaps.small_ns.get(cause, 0) for cause in AROUND_SHORT},
        "paused_ns": gaps.paused_ns,
        "pauses": gaps.pauses,
        "paused_between_steps_ns": gaps.paused_between_steps_ns,
    }


def _step_columns(
    steps: Steps, devices: Integers, are_known: bool, steady: RunWindow | None
) -> dict[str, Any]:
    """Return the columns of `run_steps` without idle time."""
    number = np.arange(steps.number)
    return {
        "step": number,
        "name": pa.repeat(pa.scalar(steps.name, pa.string()), steps.number),
        "begin": steps.bounds[:-1],
        "end": steps.bounds[1:],
        "device_begin": devices[:-1],
        "device_end": devices[1:],
        "known": np.full(steps.number, are_known),
        "steady": number >= (steps.number if steady is None else steady.first_step),
    }


def _idle_of_steps(gaps: PartGaps, steps: int) -> dict[str, pa.Array]:
    """Return the idle time of a run's steps by cause; null in start-up."""
    return {
        f"{cause}_ns": pa.concat_arrays([pa.nulls(steps - ns.size, pa.int64()), pa.array(ns)])
        for cause, ns in gaps.idle_of_steps.items()
    }


def _of_parts(name: str, tables: Mapping[PartName, pa.Table]) -> pa.Table:
    """Return the rows of the parts as the table `name`, numbered if they are groups."""
    schema = TABLES[name].schema
    pieces, rows = [schema.empty_table()], 0
    for part, table in tables.items():
        number = len(table)
        columns = dict(zip(table.column_names, table.columns, strict=True))
        columns["part"] = pa.repeat(part, number).dictionary_encode()
        columns["group"] = pa.array(np.arange(rows, rows + number), pa.int32())
        pieces.append(pa.table([columns[n] for n in schema.names], schema=schema))
        rows += number
    return pa.concat_tables(pieces).unify_dictionaries()
