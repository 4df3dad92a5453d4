"""Steps, parts and idle times of a sealed run, as the tables of `schema/idle_tables.py`."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kvtrace.figures.busy import busy_time
from kvtrace.figures.columns import Integers
from kvtrace.figures.gap_causes import PartGaps, gaps_of_executions
from kvtrace.figures.host_events import HostEvents
from kvtrace.figures.lines import places_by_stack
from kvtrace.figures.part_executions import PartExecutions
from kvtrace.figures.parts_at_rest import PartName
from kvtrace.figures.steps import Steps, device_begins, program_steps, time_bounds
from kvtrace.figures.window import steady_window
from kvtrace.schema.idle_tables import AROUND_SHORT, CAUSES
from kvtrace.schema.tables import TABLES
from kvtrace.schema.window import RunWindow, TraceWindow

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_PARTS: Final = TABLES["run_parts"].schema
_STEPS: Final = TABLES["run_steps"].schema


def tables_at_rest(trace: "Trace", run: "Run") -> dict[str, pa.Table]:
    """Return the tables of a sealed run's parts, steps and idle times, by name.

    `trace` is the whole trace, and nothing is stored of the run yet. Errors as `Trace.table`.
    """
    steps = program_steps(trace, run)
    steady = None if steps is None else steady_window(trace, run, steps)
    gaps = _gaps_of_parts(trace, run, steady) if run.has_gaps else {}
    parts = [_part_row("whole", _whole_bounds(trace, run), gaps.get("whole"))]
    parts[0] |= _busy_columns(trace, run)
    if steady is not None:
        bounds = steady._asdict()
        parts.append(_part_row("steady", bounds, gaps.get("steady")))
        window = TraceWindow(trace, steady.begin, steady.end, {run.run_id: steady})
        parts[1] |= _busy_columns(window, run)
    return {
        "run_parts": pa.Table.from_pylist(parts, schema=_PARTS),
        "run_steps": _steps_table(trace, run, steps, steady, gaps.get("steady")),
        "idle_gaps": _of_parts("idle_gaps", {part: of.groups for part, of in gaps.items()}),
        "short_executions": _of_parts(
            "short_executions", {part: of.names for part, of in gaps.items()}
        ),
    }


def _gaps_of_parts(
    trace: "Trace", run: "Run", steady: RunWindow | None
) -> dict[PartName, PartGaps]:
    """Return the gaps of the parts that have executions."""
    executions = PartExecutions.read(trace, run)
    events, places = HostEvents.read(trace, run), places_by_stack(trace, [run])
    gaps: dict[PartName, PartGaps | None] = {}
    gaps["whole"] = gaps_of_executions(executions, events, places, None)
    if steady is not None:
        inside = executions.inside(steady)
        gaps["steady"] = gaps_of_executions(inside, events, places, steady)
    return {part: of_part for part, of_part in gaps.items() if of_part is not None}


def _whole_bounds(trace: "Trace", run: "Run") -> dict[str, int | None]:
    launched, executed = (time_bounds(trace, run, name) for name in ("launches", "gpu_kernels"))
    begin, end = launched or (None, None)
    device_begin, device_end = executed or (None, None)
    return {"begin": begin, "end": end, "device_begin": device_begin, "device_end": device_end}


def _busy_columns(trace: "Trace", run: "Run") -> dict[str, int]:
    busy = busy_time(trace, run)
    return {} if busy is None else asdict(busy)


def _part_row(part: PartName, bounds: Mapping[str, Any], gaps: PartGaps | None) -> dict[str, Any]:
    row: dict[str, Any] = {"part": part}
    row |= {name: bounds[name] for name in _PARTS.names if name in bounds}
    if gaps is None:
        return row
    return row | {
        **{f"{cause}_ns": gaps.idle_ns.get(cause, 0) for cause in CAUSES},
        **{f"small_{cause}_ns": gaps.small_ns.get(cause, 0) for cause in AROUND_SHORT},
        "paused_ns": gaps.paused_ns,
        "pauses": gaps.pauses,
        "paused_between_steps_ns": gaps.paused_between_steps_ns,
    }


def _steps_table(
    trace: "Trace",
    run: "Run",
    steps: Steps | None,
    steady: RunWindow | None,
    gaps: PartGaps | None,
) -> pa.Table:
    if steps is None:
        return _STEPS.empty_table()
    devices, are_known = device_begins(trace, run, steps)
    number = np.arange(steps.number)
    first = steps.number if steady is None else steady.first_step
    idle = {} if gaps is None else gaps.idle_of_steps
    columns = {
        "step": number,
        "name": pa.repeat(pa.scalar(steps.name, pa.string()), steps.number),
        "begin": steps.bounds[:-1],
        "end": steps.bounds[1:],
        "device_begin": devices[:-1],
        "device_end": devices[1:],
        "known": np.full(steps.number, are_known),
        "steady": number >= first,
        **{f"{cause}_ns": pa.nulls(steps.number, pa.int64()) for cause in CAUSES},
        **{f"{cause}_ns": _after_start_up(ns, first) for cause, ns in idle.items()},
    }
    arrays = [pa.array(columns[field.name]).cast(field.type) for field in _STEPS]
    return pa.Table.from_arrays(arrays, schema=_STEPS)


def _after_start_up(ns: Integers, first: int) -> pa.Array:
    """Return the times of steady steps behind nulls for the steps of start-up."""
    return pa.concat_arrays([pa.nulls(first, pa.int64()), pa.array(ns)])


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
