"""Parts and steps of sealed runs as they are stored, in the tables of `schema/idle_tables.py`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import Integers, integers
from kvtrace.figures.kept import once_per_trace, rows_of_runs
from kvtrace.figures.sums_stored import sums_stored
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.tables import TABLES
from kvtrace.schema.window import RunWindow, TraceWindow, split_by_run, whole_trace

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

PartName = Literal["whole", "steady"]
#: Tables whose times bound a run.
Timed = Literal["launches", "gpu_kernels"]


@dataclass(frozen=True, slots=True)
class RunAtRest:
    """Stored steps and parts of a run.

    Attributes:
        parts: The row of `run_parts` of each part, times in ns since 1970.
        steps: The rows of `run_steps`.
        steady: The window of the steady part; None without one.

    """

    parts: Mapping[str, Mapping[str, Any]]
    steps: pa.Table
    steady: RunWindow | None

    @property
    def bounds(self) -> Integers:
        """The begin of each step on the host and the end of the last one; empty without steps."""
        return _bounds(self.steps, "begin", "end")

    @property
    def device_bounds(self) -> Integers:
        """The begin of each step on devices and the end of the last one; empty without steps."""
        return _bounds(self.steps, "device_begin", "device_end")

    @property
    def are_known(self) -> bool:
        """It is known which executions steps asked for; see `device_begins`."""
        return bool(self.steps["known"][0].as_py())

    def time_bounds(self, name: Timed) -> tuple[int, int] | None:
        """Return the first begin and last end of launches or executions; None without any."""
        prefix = "device_" if name == "gpu_kernels" else ""
        begin, end = (self.parts["whole"][f"{prefix}{edge}"] for edge in ("begin", "end"))
        return None if begin is None else (begin, end)


#: Rows of tables, by name and run id, that were read of many runs at once.
_ROWS: Final[WeakKeyDictionary["Trace", dict[str, dict[str, pa.Table]]]] = WeakKeyDictionary()


def read_ahead(trace: "Trace", runs: Sequence["Run"], names: Sequence[str]) -> None:
    """Read what tables of the pass store of runs at once, which is faster than run by run.

    Errors as `Trace.table`.
    """
    whole = whole_trace(trace)
    stored = [run for run in runs if sums_stored(whole, run)]
    for name in names:
        by_run = _ROWS.setdefault(whole, {}).setdefault(name, {})
        if any(run.run_id not in by_run for run in stored):
            rows = rows_of_runs(whole, stored, name, TABLES[name].names)
            by_run |= dict.fromkeys((run.run_id for run in stored), rows.slice(0, 0))
            by_run |= dict(split_by_run(rows))


def _rows(trace: "Trace", run: "Run", name: str) -> pa.Table:
    """Return the rows of a table of a run, which may have been read ahead."""
    whole = whole_trace(trace)
    rows = _ROWS.get(whole, {}).get(name, {}).get(run.run_id)
    return whole.table(name, [run]) if rows is None else rows


def run_at_rest(trace: "Trace", run: "Run") -> RunAtRest | None:
    """Return the stored steps and parts of a run, or None; also None for a window of a trace.

    Errors as `Trace.table`.
    """
    if isinstance(trace, TraceWindow) or not sums_stored(trace, run):
        return None
    stored = _read(trace, [run])
    return stored if "whole" in stored.parts else None


@once_per_trace
def _read(trace: "Trace", runs: Sequence["Run"]) -> RunAtRest:
    """Return what is stored of one run."""
    parts = {row["part"]: row for row in plain_rows(_rows(trace, runs[0], "run_parts"))}
    steps = _rows(trace, runs[0], "run_steps")
    steady = _steady_window(parts["steady"], steps) if "steady" in parts else None
    return RunAtRest(parts, steps, steady)


def part_at_rest(trace: "Trace", run: "Run") -> tuple[RunAtRest, PartName] | None:
    """Return what is stored of a run, and the part that a trace or window has of it.

    A run without timed executions has the part `whole` in each window. None if nothing is stored,
    or the window is no part that is stored. Errors as `Trace.table`.
    """
    stored = run_at_rest(whole_trace(trace), run)
    if stored is None:
        return None
    if not isinstance(trace, TraceWindow) or stored.time_bounds("gpu_kernels") is None:
        return stored, "whole"
    return (stored, "steady") if trace.window_of(run.run_id) == stored.steady else None


def rows_of_part(trace: "Trace", run: "Run", name: str, part: PartName) -> pa.Table:
    """Return the stored rows of a part in the table `name`; errors as `Trace.table`."""
    rows = _rows(trace, run, name)
    return rows.filter(pc.equal(rows["part"].cast(pa.string()), part))


def _steady_window(part: Mapping[str, Any], steps: pa.Table) -> RunWindow:
    steady = steps.filter(steps["steady"])
    devices = _bounds(steady, "device_begin", "device_end") if steady["known"][0].as_py() else ()
    return RunWindow(
        part["begin"],
        part["end"],
        part["device_begin"],
        part["device_end"],
        tuple(np.asarray(devices).tolist()),
        steady["step"][0].as_py(),
    )


def _bounds(steps: pa.Table, begin: str, end: str) -> Integers:
    return np.append(integers(steps[begin]), integers(steps[end].slice(max(len(steps) - 1, 0))))
