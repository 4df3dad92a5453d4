"""The part of a run that figures are of: the requested part, else the steady part, else the whole.

The steady part consists of repeated steps: ranges of a repeated mark, else what repeats in the
requests of the host. The first steps are start-up if kernels were compiled, loaded, tuned or
captured in them, or if they took much longer than others. Devices may be behind the host, so on
devices a step begins later (`steps.StepsOnDevice`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from kvtrace.figures.columns import Integers, integers, union_of
from kvtrace.figures.executions import ExecutionBlocks
from kvtrace.figures.host_events import NO_IMPORTED_KERNELS
from kvtrace.figures.requested_part import STEADY, WHOLE, RequestedPart
from kvtrace.figures.requests import SETUP
from kvtrace.figures.scans import row_count
from kvtrace.figures.step_marks import ProgramMarks
from kvtrace.figures.steps import (
    Steps,
    device_begins,
    named_steps,
    program_steps,
    read_ahead,
    run_at_rest,
    time_bounds,
)
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.window import RunWindow, TraceWindow, pieces_near
from kvtrace.text import duration, plural, printable

How = Literal["mark", "period", "asked", "whole", "stepless"]
_OF_WHOLE_RUNS: Final = frozenset({"whole", "stepless"})

#: Runs with more rows, whose steps are not stored, are shown whole by default: start-up is a small
#: part of them.
_MOST_ROWS: Final = 1 << 22
#: A first step that takes more than so many times the median is start-up.
_STARTUP_RATIO: Final = 2.0
#: Runs with fewer executions need no steps.
_LEAST_EXECUTIONS: Final = 50
#: Fewest steps of a steady part.
_LEAST_STEPS: Final = 2
_UNITS: Final = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000,
                 "min": 60_000_000_000}  # fmt: skip
_OFFSET: Final = re.compile(r"(-?\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s|min|%)?")


@dataclass(frozen=True, slots=True)
class Window:
    """The part of the runs that figures cover.

    Attributes:
        begin: Earliest begin of the part on a run's devices, in ns since 1970.
        end: Latest end of the part on a run's devices.
        how: `mark` or `period`: repeated steps; `asked`: a requested part; `whole`: all runs;
            `stepless`: all runs, in which no steps are found.
        name: Name of the mark, if steps were found by a mark, or are too few of it.
        steps: Number of steps, summed over runs; None if the part does not consist of steps.
        runs: Number of runs that have steps, for example the ranks of a job.
        step_ns: Median duration of a step on the devices; None if no step has one.
        before_ns: Device time from the first execution to the part, in the run with the longest.
        before_compiling_ns: Time before the part in which that run compiled or loaded kernels.
        after_ns: Device time from the part to the last execution, in the run with the longest.

    """

    begin: int
    end: int
    how: How
    name: str | None = None
    steps: int | None = None
    step_ns: float | None = None
    before_ns: int = 0
    before_compiling_ns: int = 0
    after_ns: int = 0
    runs: int = 1

    @property
    def sentence(self) -> str:
        """The part, the start-up or time before it, and the time after it, in one line."""
        phrases = [self._part()]
        if self.before_ns and self.before_compiling_ns:
            compiling = f"{duration(self.before_compiling_ns)} of it compiling or loading kernels"
            phrases.append(f"start-up: {duration(self.before_ns)}, {compiling}")
        elif self.before_ns:  # start-up, or work that a profile of some steps has of earlier ones
            phrases.append(f"before it: {duration(self.before_ns)}")
        if self.after_ns:
            phrases.append(f"after it: {duration(self.after_ns)}")
        return "; ".join(phrases)

    @property
    def within(self) -> str:
        """The part as "in 10 steps" or "in the chosen part"; "" for whole runs."""
        if self.how in _OF_WHOLE_RUNS:
            return ""
        return "in the chosen part" if not self.steps else f"in {steps_text(self.steps, self.runs)}"

    def _part(self) -> str:
        length = duration(self.end - self.begin)
        if self.how in _OF_WHOLE_RUNS:
            hint = f"; {_no_steps(self.name)}" if self.how == "stepless" else ""
            return f"the whole run, {length}{hint}"
        if self.steps is None:
            part = f"the mark {printable(self.name)}" if self.name else "the part asked for"
            return f"{part}, {length}"
        found_by = f"marked {printable(self.name)}" if self.name else "found by what repeats"
        median = "" if self.step_ns is None else f", {duration(self.step_ns)} each (median)"
        kind = "" if self.how == "asked" else "steady state: "
        return f"{kind}{steps_text(self.steps, self.runs)} {found_by}{median}"


def nothing_sentence(window: Window | None, *, imported: bool) -> str:
    """Return the reason for an empty profile of a part of the runs; `imported`: all are."""
    if window is None or window.how in _OF_WHOLE_RUNS:
        if imported:
            return NO_IMPORTED_KERNELS
        return (
            "nothing to profile: no kernel was launched, or the process was killed before its "
            "launches were written; kvtrace trace recover then brings them"
        )
    return "nothing to profile: no launch of this part is recorded"


def _no_steps(mark: str | None) -> str:
    """Return what to do about runs without steps, in which a mark may name fewer than two."""
    if mark is not None:
        return f"fewer than two steps are marked {printable(mark)}: mark where each begins"
    return 'no steps found: mark them by kvtrace.mark("step") where each begins'


def steps_text(number: int, runs: int) -> str:
    """Return a number of steps, summed over runs, as text: of each run if all have as many."""
    if runs > 1 and number % runs == 0:
        return f"{plural(number // runs, 'step')} of each of {plural(runs, 'run')}"
    return plural(number, "step") + (f" of {plural(runs, 'run')}" if runs > 1 else "")


def windowed(
    trace: Trace, runs: Sequence[Run], asked: RequestedPart = STEADY
) -> tuple[Trace, Window | None]:
    """Return the trace narrowed to the requested part, and the part's description.

    A trace that is a window already is returned unchanged. If no row has a time, the description is
    None. Without a request, the part is the whole of runs that have no device timeline.

    Raises:
        BadSetting: the requested part does not exist, or cannot be parsed.
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    if isinstance(trace, TraceWindow):
        return trace, Window(trace.begin, trace.end, "asked")
    read_ahead(trace, runs, ("run_parts", "run_steps"))
    extents: dict[str, RunWindow] = {}
    by_steps = asked == STEADY or asked.steps is not None or asked.mark is not None
    part = _PartBySteps() if by_steps else None
    for run in runs:
        if asked == STEADY and run_at_rest(trace, run) is None:
            rows = row_count(trace, run, "gpu_kernels")
            if not rows:
                continue
            if rows + row_count(trace, run, "launches") > _MOST_ROWS:
                part = None
        steps = blocks = None
        if part is not None:
            mark = asked.mark
            steps = program_steps(trace, run) if mark is None else named_steps(trace, run, mark)
        if steps is not None:
            blocks = ExecutionBlocks(trace, run, named=False)
        extent = _extent(trace, run, asked, blocks)
        if extent is None:
            continue
        extents[run.run_id] = extent
        if part is not None and steps is not None and blocks is not None:
            part.add(trace, run, asked, steps, blocks)
    timed = [run for run in runs if run.run_id in extents]
    if not timed:
        return trace, None
    if part is not None and part.windows:
        return _narrowed(trace, timed, extents, part)
    if asked.mark is not None:
        raise BadSetting(f"no run has a mark that is called {asked.mark!r} and took any time.")
    if asked.steps is not None:
        raise BadSetting(f"{_no_steps(_named_step(trace, timed))}.")
    if asked.since is None and asked.until is None:
        executions = sum(row_count(trace, run, "gpu_kernels") for run in timed)
        if part is not None and part.how is None and executions >= _LEAST_EXECUTIONS:
            return trace, _whole(extents, "stepless", _named_step(trace, timed))
        return trace, _whole(extents, "whole")
    first = min(run.started or extents[run.run_id].begin for run in timed)
    last = max(max(e.end, e.device_end) for e in extents.values())
    begin = first if asked.since is None else _moment(asked.since, first, last)
    end = last + 1 if asked.until is None else _moment(asked.until, first, last)
    if begin >= end:
        raise BadSetting(
            f"the part from {asked.since or 'the begin'} to {asked.until or 'the end'} ends before "
            "it begins; swap --since and --until."
        )
    windows = {run.run_id: RunWindow(begin, end, begin, end) for run in timed}
    return _narrowed(trace, timed, extents, _PartBySteps(windows, [], "asked"))


def _whole(extents: dict[str, RunWindow], how: How, name: str | None = None) -> Window:
    begin = min(min(e.begin, e.device_begin) for e in extents.values())
    end = max(max(e.end, e.device_end) for e in extents.values())
    return Window(begin, end, how, name)


def _named_step(trace: Trace, runs: Sequence[Run]) -> str | None:
    """Return the first name of a mark that names steps, of which there are too few."""
    marks = (ProgramMarks(trace, run).steps() for run in runs)
    return next((mark.name for mark in marks if mark), None)


def _extent(
    trace: Trace, run: Run, asked: RequestedPart, blocks: ExecutionBlocks | None
) -> RunWindow | None:
    """Return the times of a run's first and last launch, and first and last execution.

    If only launches, or only executions, have times, these are returned for both. None if
    neither has times, or if there are no executions and no part was requested.
    """
    launched = time_bounds(trace, run, "launches")
    executed = time_bounds(trace, run, "gpu_kernels", blocks)
    if executed is None and asked in (STEADY, WHOLE):
        return None
    either = launched or executed
    return None if either is None else RunWindow(*either, *(executed or either))


def _moment(text: str, first: int, last: int) -> int:
    """Return the time, in ns since 1970, that an option's text means, in a run from first to last.

    The text is an offset from `first` (`2s`), a share of the run (`50%`) or an ISO 8601 time.
    """
    offset = _OFFSET.fullmatch(text.strip())
    if offset is not None:
        number, unit = float(offset[1]), offset[2] or "s"
        if unit == "%":
            return first + round((last - first) * number / 100)
        return first + round(number * _UNITS[unit])
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1e9)
    except ValueError:
        raise BadSetting(
            f"{text!r} is not a point in time: give an offset (2s, 300ms), a share of the run "
            "(50%), or a time (2026-01-02T03:04:05)."
        ) from None


class _PartBySteps(Struct):
    """The part of runs that consists of steps, all found by one mark or by periods.

    Attributes:
        windows: By run id.
        numbers: The numbers of steps of these runs.
        how: As `Window.how`.
        name: The name of the mark; None for steps found by periods.

    """

    windows: dict[str, RunWindow] = {}
    numbers: list[int] = []
    how: How | None = None
    name: str | None = None

    def add(
        self,
        trace: Trace,
        run: Run,
        asked: RequestedPart,
        steps: Steps,
        blocks: ExecutionBlocks,
    ) -> None:
        """Add the requested or steady part of a run's steps, if they are found as those before."""
        if self.how is None:
            self.how = "asked" if asked != STEADY else "mark" if steps.name else "period"
            self.name = steps.name
        if steps.name != self.name:
            return
        if asked == STEADY:
            window = steady_window(trace, run, steps, blocks)
            number = 0 if window is None else steps.number - window.first_step
        else:
            part = _step_slice(asked.steps or ":", steps.number)
            window = _window_of_steps(steps, *device_begins(trace, run, steps, blocks), part)
            number = part.stop - part.start
        if window is not None:
            self.windows[run.run_id] = window
            self.numbers.append(number)


def _step_slice(text: str, number: int) -> slice:
    """Return the slice of `number` steps that a text such as `10:20`, `10:`, `:20` or `7` means.

    Raises:
        BadSetting: the text cannot be parsed, or selects no step.

    """
    match = re.fullmatch(r"(\d*):(\d*)|(\d+)", text.strip())
    if match is None:
        raise BadSetting(f"{text!r} is not a range of steps: give 10:20, 10:, :20, or 7.")
    if match[3]:
        begin, end = int(match[3]), int(match[3]) + 1
    else:
        begin, end = int(match[1] or 0), min(int(match[2] or number), number)
    if begin >= min(end, number):
        raise BadSetting(
            f"the range {text} selects no step: there are {plural(number, 'step')}, counted from 0."
        )
    return slice(begin, end)


def steady_window(
    trace: Trace, run: Run, steps: Steps, blocks: ExecutionBlocks
) -> RunWindow | None:
    """Return the window of a run's steady steps, of those that the program has; None without any.

    `blocks` has the run's executions. Errors as `Trace.table`.
    """
    stored = run_at_rest(trace, run)
    if stored is not None:
        return stored.steady
    return steady_steps(trace, run, steps, *device_begins(trace, run, steps, blocks))


def steady_steps(
    trace: Trace, run: Run, steps: Steps, devices: Integers, are_known: bool
) -> RunWindow | None:
    """Return what `steady_window` does, of steps whose `device_begins` are known already."""
    duration = np.diff(devices if are_known else steps.bounds)
    if steps.name is None and not np.median(duration):
        return None  # steps that the devices did not follow
    part = slice(_first_steady(trace, run, steps, duration), steps.number)
    if part.stop - part.start < _LEAST_STEPS:
        return None
    return _window_of_steps(steps, devices, are_known, part)


def _window_of_steps(
    steps: Steps, device_bounds: Integers, are_known: bool, part: slice
) -> RunWindow:
    """Return the window of a part of the steps, which begin at `device_bounds` on devices."""
    bounds = slice(part.start, part.stop + 1)
    host, devices = steps.bounds[bounds].tolist(), device_bounds[bounds].tolist()
    device_steps = tuple(devices) if are_known else ()
    return RunWindow(host[0], host[-1], devices[0], devices[-1], device_steps, part.start)


def _first_steady(trace: Trace, run: Run, steps: Steps, duration: Integers) -> int:
    """Return how many of the first steps are start-up; 0 if fewer than 2 steps would remain.

    A step is start-up if a kernel was compiled, loaded, tuned or captured in it, or if its duration
    (`duration`: of each step, in ns) is more than twice the median.
    """
    setting_up = np.zeros(steps.number, bool)
    kernels = trace.table("kernels", [run], ["compile_begin", "load_begin"])
    begun = [integers(kernels[name].drop_null()) for name in ("compile_begin", "load_begin")]
    for launches in trace.pieces("launches", [run], ["enter", "phase"]):
        is_setup = pc.is_in(launches["phase"].cast(pa.string()), pa.array(SETUP))
        begun.append(integers(launches.filter(pc.fill_null(is_setup, False))["enter"].drop_null()))
    step = np.searchsorted(steps.bounds, np.concatenate(begun), side="right") - 1
    setting_up[step[(step >= 0) & (step < steps.number)]] = True
    setting_up |= duration > _STARTUP_RATIO * np.median(duration)
    first = int(np.argmin(setting_up))
    return 0 if setting_up.all() or steps.number - first < _LEAST_STEPS else first


def _narrowed(
    trace: Trace,
    runs: Sequence[Run],
    extents: dict[str, RunWindow],
    part: _PartBySteps,
) -> tuple[Trace, Window]:
    """Return the trace narrowed to a part, and the description of the part.

    Runs without a window are narrowed to the time from the first begin to the last end of the
    windows of other runs. `extents` has the whole time of each run.
    """
    windows, numbers = part.windows, part.numbers
    begin = min(w.device_begin for w in windows.values())
    end = max(w.device_end for w in windows.values())
    host = min(e.begin for e in windows.values()), max(e.end for e in windows.values())
    others = RunWindow(*host, begin, end)
    all_windows = {run.run_id: windows.get(run.run_id, others) for run in runs}
    durations = [np.diff(w.device_steps) for w in windows.values() if w.device_steps]
    before = {run: w.device_begin - extents[run].device_begin for run, w in windows.items()}
    after = [extents[run].device_end - w.device_end for run, w in windows.items()]
    slowest = max(runs, key=lambda run: before.get(run.run_id, -1))
    description = Window(
        begin=begin,
        end=end,
        how=part.how or "asked",
        name=part.name,
        steps=sum(numbers) or None,
        step_ns=float(np.median(np.concatenate(durations))) if durations else None,
        before_ns=max(0, *before.values()),
        before_compiling_ns=_compiled_before(
            trace,
            slowest,
            extents[slowest.run_id].device_begin,
            all_windows[slowest.run_id].device_begin,
        ),
        after_ns=max(0, *after),
        runs=len(numbers) or 1,
    )
    return TraceWindow(trace, *host, all_windows), description


def _compiled_before(trace: Trace, run: Run, first: int, moment: int) -> int:
    """Return for how many ns from its first execution to a part a run compiled or loaded kernels.

    Overlapping times of several threads count once. A gap in which generated code was loaded counts
    as a whole, since its generation is not recorded.
    """
    names = ["compile_begin", "compile_ns", "load_begin", "load_ns"]
    kernels = trace.table("kernels", [run], [*names, "origin"])
    is_generated = pc.fill_null(pc.equal(kernels["origin"].cast(pa.string()), "inductor"), False)
    begins, ends, generated = [], [], []
    for begin, length in (names[:2], names[2:]):
        is_timed = pc.and_(pc.is_valid(kernels[begin]), pc.is_valid(kernels[length]))
        rows = kernels.filter(is_timed)
        begins.append(integers(rows[begin]))
        ends.append(begins[-1] + integers(rows[length]))
        generated.append(integers(kernels.filter(pc.and_(is_timed, is_generated))[begin]))
    moments = np.concatenate(generated)
    moments = moments[(moments > first) & (moments < moment)]
    if moments.size:
        gaps = _gaps_around(trace, run, first, moment, moments)
        begins, ends = [*begins, gaps[0]], [*ends, gaps[1]]
    low, high = (np.clip(np.concatenate(edges), first, moment) for edges in (begins, ends))
    low, high = union_of(low, high)
    return int((high - low).sum())


def _gaps_around(
    trace: Trace, run: Run, first: int, last: int, moments: Integers
) -> tuple[Integers, Integers]:
    """Return begin and end of the time without an execution around moments from `first` to `last`.

    A moment in an execution has none.
    """
    starts, ends = [moments[:0]], [moments[:0]]
    for piece in pieces_near(
        trace, "gpu_kernels", run, ("start", "end"), ("start", "end"), [(first, last)]
    ):
        rows = piece.filter(pc.and_(pc.is_valid(piece["start"]), pc.is_valid(piece["end"])))
        starts.append(integers(rows["start"]))
        ends.append(integers(rows["end"]))
    order = np.argsort(start := np.append(np.concatenate(starts), last), kind="stable")
    reached = np.maximum.accumulate(np.append(np.concatenate(ends), last)[order])
    place = np.clip(np.searchsorted(start[order], moments, "right"), 1, order.size - 1)
    begin = reached[place - 1]
    return begin, np.maximum(begin, start[order][place])
