"""Steps and parts of a program: those that are stored, else by marks, else what repeats."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from kvtrace.figures.columns import Integers, integers
from kvtrace.figures.executions import ExecutionBlock, ExecutionBlocks
from kvtrace.figures.requests import requests_of_run
from kvtrace.figures.step_marks import ProgramMarks
from kvtrace.figures.step_search import step_bounds
from kvtrace.figures.stored import once_per_trace, rows_of_runs, sums_stored
from kvtrace.schema.repair import LATEST, RANGES
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.weights import keeps_newest
from kvtrace.schema.window import RunWindow, TraceWindow, split_by_run, whole_trace

PartName = Literal["whole", "steady"]
#: Tables whose times bound a run.
Timed = Literal["launches", "gpu_kernels"]


class RunAtRest(Struct, frozen=True):
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
_ROWS: Final[WeakKeyDictionary[Trace, dict[str, dict[str, pa.Table]]]] = WeakKeyDictionary()


def read_ahead(trace: Trace, runs: Sequence[Run], names: Sequence[str]) -> None:
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


def _rows(trace: Trace, run: Run, name: str) -> pa.Table:
    """Return the rows of a table of a run, which may have been read ahead."""
    whole = whole_trace(trace)
    rows = _ROWS.get(whole, {}).get(name, {}).get(run.run_id)
    return whole.table(name, [run]) if rows is None else rows


def run_at_rest(trace: Trace, run: Run) -> RunAtRest | None:
    """Return the stored steps and parts of a run, or None; also None for a window of a trace.

    Errors as `Trace.table`.
    """
    if isinstance(trace, TraceWindow) or not sums_stored(trace, run):
        return None
    stored = _read(trace, [run])
    return stored if "whole" in stored.parts else None


@once_per_trace
def _read(trace: Trace, runs: Sequence[Run]) -> RunAtRest:
    """Return what is stored of one run."""
    parts = {row["part"]: row for row in plain_rows(_rows(trace, runs[0], "run_parts"))}
    steps = _rows(trace, runs[0], "run_steps")
    steady = _steady_window(parts["steady"], steps) if "steady" in parts else None
    return RunAtRest(parts, steps, steady)


def rows_of_part(trace: Trace, run: Run, name: str, part: PartName) -> pa.Table:
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


# -- steps of a program ----------------------------------------------------------------------------


#: Fewest ranges of a mark that count as steps.
_LEAST_MARKED: Final = 2
#: Nanoseconds between executions that separate two pieces of work on devices.
_PAUSE_NS: Final = 200_000
_NEVER: Final = np.iinfo(np.int64).max
#: Names of marks from which on a program is steady.
_STEADY: Final = frozenset({"steady", "steady state", "steady_state"})


class Steps(Struct, frozen=True):
    """Consecutive steps.

    Attributes:
        name: The name of the mark; None for steps that were found by what repeats.
        bounds: The begin of each step and the end of the last one, in ns since 1970.

    """

    name: str | None
    bounds: Integers

    @property
    def number(self) -> int:
        """Number of steps."""
        return len(self.bounds) - 1


def program_steps(trace: Trace, run: Run) -> Steps | None:
    """Return the steps that the program marks, else those that repeat; or None.

    These are searched where no mark names a step: one that does, even once, is the program's
    step, and what repeats inside is its layers. Errors as `Trace.table`.
    """
    return _program_steps(trace, [run])


@once_per_trace
def _program_steps(trace: Trace, runs: Sequence[Run]) -> Steps | None:
    (run,) = runs
    stored = run_at_rest(trace, run)
    if stored is not None:
        rows = stored.steps
        return Steps(rows["name"][0].as_py(), stored.bounds) if rows.num_rows else None
    mark = ProgramMarks(trace, run).steps()
    if mark is None:
        return periodic_steps(trace, run)
    steps = Steps(mark.name, _recorded(trace, run, mark.bounds))
    return steps if steps.number >= _LEAST_MARKED else None


def named_steps(trace: Trace, run: Run, name: str) -> Steps | None:
    """Return the steps of the mark with a name, or None without such a mark.

    A step begins where a range of the mark begins; for a mark without ranges, at each instant. If
    the mark is one instant, the step ends with the run's last launch. Errors as `Trace.table`.
    """
    mark = ProgramMarks(trace, run).called(name)
    if mark is None:
        return None
    bounds = _recorded(trace, run, mark.bounds)
    if bounds.size == 1:
        times = time_bounds(trace, run, "launches")
        bounds = np.append(bounds, 0 if times is None else times[1])
    return Steps(name, bounds) if bounds.size and bounds[-1] > bounds[0] else None


def _recorded(trace: Trace, run: Run, bounds: Integers) -> Integers:
    """Return the bounds of steps whose launches were not dropped."""
    times = time_bounds(trace, run, "launches") if keeps_newest(run) else None
    return bounds if times is None else bounds[np.searchsorted(bounds, times[0]) :]


def time_bounds(
    trace: Trace, run: Run, name: Timed, blocks: ExecutionBlocks | None = None
) -> tuple[int, int] | None:
    """Return the first begin and last end of a run's launches or executions, in ns since 1970.

    None if none has a begin and an end. `blocks` has its executions, if they are read anyway.
    Errors as `Trace.table`.
    """
    stored = run_at_rest(trace, run)
    if stored is not None:
        return stored.time_bounds(name)
    first, last = RANGES[name]
    begins, ends = [], []
    if blocks is not None:
        for _, block in blocks.read(named=False):
            begins.append(int(block.start[0]))
            ends.append(int(block.end.max()))
        return (min(begins), max(ends)) if begins else None
    for piece in trace.pieces(name, [run], [first, last]):
        if piece[last].null_count:
            piece = piece.filter(pc.is_valid(piece[last]))
        low, high = pc.min(piece[first]), pc.max(piece[last])
        if low.is_valid and high.is_valid:
            begins.append(low.cast(pa.int64()).as_py())
            ends.append(high.cast(pa.int64()).as_py())
    return (min(begins), max(ends)) if begins else None


def periodic_steps(trace: Trace, run: Run) -> Steps | None:
    """Return the steps that repeat in all that the host requested, or None without any.

    If a mark is named "steady", only requests after its instant or in its range count. Errors as
    `Trace.table`.
    """
    requests = requests_of_run(trace, run)
    ranges, moments = ProgramMarks(trace, run).times(_STEADY)
    for low, high in ranges or [(m, LATEST) for m in moments[:1]]:
        requests = requests.rows((requests.time >= low) & (requests.time < high))
    bounds = step_bounds(requests)
    return None if bounds is None else Steps(None, bounds)


def device_begins(
    trace: Trace, run: Run, steps: Steps, blocks: ExecutionBlocks
) -> tuple[Integers, bool]:
    """Return when devices began each step and, as last item, ended the last, in ns since 1970.

    The second value says whether an execution is known to be requested in a step. If none is, as in
    replays of graphs before format 1.9, executions cannot be attributed to steps: then only the
    begin of the first step and the end of the last one mean anything.

    Begins are those of `StepsOnDevice`. If no later request is known, the last step does not end
    before the devices become idle. `blocks` has the run's executions. Errors as `Trace.table`.
    """
    stored = run_at_rest(trace, run)
    if stored is not None and np.array_equal(stored.bounds, steps.bounds):
        return stored.device_bounds, stored.are_known
    begins = DeviceSteps(steps.bounds)
    for number, block in blocks.read(named=False):
        begins.add(number, block)
    return begins.begins(blocks)


class StepsOnDevice:
    """The begins of steps on devices, from all executions, which are added in blocks.

    A step begins on devices when the work of earlier steps has ended, but not before the host began
    the step: a pause after a mark belongs to that mark's step. If work of a step begins earlier,
    beside that of earlier steps, so does the step. Work whose request is not known is that of the
    step in which it began, but of none before the first work of the first step, which a profile of
    some steps has of earlier ones.
    """

    def __init__(self, bounds: Integers) -> None:
        """Start with no execution; `bounds`: when steps began on the host, as `Steps.bounds`."""
        self.bounds = bounds
        # Item n is of what was requested from bound n - 1 on, and before bound n.
        self._ended = np.full(bounds.size + 1, bounds[0])
        self._begun = np.full(bounds.size + 1, _NEVER)
        #: When work without a known request ended that began before all other.
        self._lead = -_NEVER
        #: Whether a request is known.
        self.has_request = np.zeros(bounds.size + 1, bool)

    def add(self, asked: Integers, start: Integers, end: Integers) -> None:
        """Add executions; `asked` is when the host requested them, or -1."""
        is_known = asked >= 0
        if not self.has_request.any():
            is_earlier = ~is_known & (start < start[is_known].min(initial=_NEVER))
            self._lead = max(self._lead, int(end[is_earlier].max(initial=-_NEVER)))
        step = np.searchsorted(self.bounds, np.where(is_known, asked, start), "right")
        np.maximum.at(self._ended, step, end)
        np.minimum.at(self._begun, step[is_known], start[is_known])
        self.has_request[step[is_known]] = True

    def begins(self) -> Integers:
        """Return when devices began each step and, as last item, ended the last."""
        ended = self._ended.copy()
        if self._begun[:2].min() == self._begun.min() < _NEVER:
            ended[0] = max(ended[0], self._lead)
        ended_before = np.maximum.accumulate(ended)[:-1]
        begun_from = np.minimum.accumulate(self._begun[:0:-1])[::-1]
        begins = np.minimum(np.maximum(self.bounds, ended_before), begun_from)
        return np.maximum.accumulate(begins)


class DeviceSteps:
    """The begins of a run's steps on devices, from blocks of executions."""

    def __init__(self, bounds: Integers) -> None:
        """Start with no execution; `bounds`: when steps began on the host, as `Steps.bounds`."""
        self._steps = StepsOnDevice(bounds)
        #: By number of a block: the latest end of all executions before it.
        self._ended_before: dict[int, int] = {}
        self._ended = -_NEVER

    def add(self, number: int, block: ExecutionBlock) -> None:
        """Add a block; the numbers of blocks ascend."""
        self._ended_before[number] = self._ended
        self._ended = max(self._ended, int(block.end.max()))
        self._steps.add(block.asked, block.start, block.end)

    def begins(self, blocks: ExecutionBlocks) -> tuple[Integers, bool]:
        """Return when devices began each step, and whether any step's requests are known.

        As `device_begins` does. All `blocks` have been added.
        """
        bounds, has_request = self._steps.bounds, self._steps.has_request
        begins = self._steps.begins()
        if not has_request[-1]:
            last = self._idle_from(blocks, int(bounds[-1]), int(begins[-2]))
            begins[-1] = max(int(begins[-1]), last)
        return begins, bool(has_request[1:-1].any())

    def _idle_from(self, blocks: ExecutionBlocks, bound: int, begin: int) -> int:
        """Return when the last step, which the host ended at `bound`, left the devices idle.

        `begin` is when the devices began the step. The first pause longer than `_PAUSE_NS` counts
        whose end is after `bound`; without one, the end of the last execution.
        """
        has_begun = False
        ended = -_NEVER
        for number, block in blocks.since(begin):
            reached = np.maximum.accumulate(np.append(self._ended_before[number], block.end))
            # The executions after the first of the step, and when those before them had ended.
            first = 0 if has_begun else int(np.searchsorted(block.start, begin)) + 1
            start, before = block.start[first:], reached[:-1][first:]
            pauses = np.flatnonzero((start - before > _PAUSE_NS) & (start > bound))
            if pauses.size:
                return int(before[pauses[0]])
            has_begun = has_begun or first <= block.start.size
            ended = int(reached[-1])
        return ended if has_begun else max(bound, begin)
