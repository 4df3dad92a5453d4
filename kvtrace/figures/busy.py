"""Busy and idle time of devices; `gaps.py` has the causes of idle time.

Each device has its own: what is said of a run with several, or of several runs, is their sum.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kvtrace.figures.columns import Integers
from kvtrace.figures.execution_blocks import ExecutionBlocks
from kvtrace.figures.parts_at_rest import part_at_rest
from kvtrace.schema.window import RunWindow, TraceWindow

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


@dataclass(frozen=True, slots=True)
class Busy:
    """Busy and idle time of a device in a run's window, or a sum over `devices`.

    `span_ns` is the length of the window; without one, the time from the device's first execution
    to its last. It is the sum of `busy_ns`, when the device ran something, and `idle_ns`.
    `overlapped_ns` is time with several executions on the device, counted once per additional
    execution.
    """

    span_ns: int = 0
    busy_ns: int = 0
    overlapped_ns: int = 0
    idle_ns: int = 0
    devices: int = 0

    @property
    def length_ns(self) -> int:
        """The mean of the devices' spans, in ns."""
        return self.span_ns // max(self.devices, 1)

    def __add__(self, other: "Busy") -> "Busy":
        """Return the sum, figure by figure."""
        return Busy(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def busy_times_of_runs(trace: "Trace", runs: Sequence["Run"]) -> list[Busy]:
    """Return the busy and idle time of each run with recorded gaps (`Run.has_gaps`).

    Runs without gaps or without a timed execution are left out. Errors as `Trace.table`.
    """
    times = (_busy_time_of_run(trace, run) for run in runs if run.has_gaps)
    return [busy for busy in times if busy is not None]


def _busy_time_of_run(trace: "Trace", run: "Run") -> Busy | None:
    stored = part_at_rest(trace, run)
    if stored is not None:
        at_rest, part = stored
        row = at_rest.parts[part]
        return None if row["span_ns"] is None else Busy(*(row[f.name] for f in fields(Busy)))
    window = trace.window_of(run.run_id) if isinstance(trace, TraceWindow) else None
    timelines: dict[int, Timeline] = {}
    for _, block in ExecutionBlocks(trace, run).read(window, named=False):
        for device, executions in block.by_device():
            timeline = timelines.setdefault(device, Timeline(window))
            timeline.add(executions.start, executions.end)
    return summed_busy(timelines.values())


def summed_busy(timelines: "Iterable[Timeline]") -> Busy | None:
    """Return the busy and idle time of several devices, added up; None without an execution."""
    times = [busy for timeline in timelines if (busy := timeline.busy) is not None]
    return sum(times, Busy()) if times else None


class Gaps(NamedTuple):
    """When a device was idle, between executions of which one block is given.

    Attributes:
        begin: Begin of each gap, in ns since 1970.
        end: Its end.
        before: Index of the execution that ended last before it; -1: none of the block.
        after: Index of the execution that ends it.
        latest: Index of the execution that ends last of all so far; -1: none of the block.

    """

    begin: Integers
    end: Integers
    before: Integers
    after: Integers
    latest: int


class Timeline:
    """The busy and idle time of a device's executions, which are added sorted by begin, in blocks.

    With a window, idle time begins and ends with the window.
    """

    def __init__(self, window: RunWindow | None) -> None:
        self._begin = None if window is None else window.device_begin
        self._end = None if window is None else window.device_end
        #: Until when the device was busy so far.
        self._until: int | None = None
        self._idle_ns = self._executions_ns = 0

    def add(self, start: Integers, end: Integers) -> Gaps:
        """Add a block of executions, at least one, and return the gaps that they end."""
        if self._begin is None:
            self._begin = int(start[0])
        until = self._begin if self._until is None else self._until
        reached = np.maximum.accumulate(np.append(until, end))
        rows = np.arange(start.size)
        is_latest = end >= reached[1:]
        latest = np.maximum.accumulate(np.append(-1, np.where(is_latest, rows, -1)))
        idle = np.flatnonzero(start > reached[:-1])
        gaps = Gaps(reached[idle], start[idle], latest[idle], rows[idle], int(latest[-1]))
        self._until = int(reached[-1])
        self._idle_ns += int((gaps.end - gaps.begin).sum())
        self._executions_ns += int((end - start).sum())
        return gaps

    @property
    def last_gap(self) -> tuple[int, int] | None:
        """Begin and end of the idle time after the last execution, to the end of the window."""
        if self._until is None or self._end is None or self._until >= self._end:
            return None
        return self._until, self._end

    @property
    def busy(self) -> Busy | None:
        """The busy and idle time; None without an execution."""
        if self._until is None or self._begin is None:
            return None
        begin, end = self.last_gap or (self._until, self._until)
        span_ns, idle_ns = end - self._begin, self._idle_ns + end - begin
        busy_ns = span_ns - idle_ns
        return Busy(span_ns, busy_ns, self._executions_ns - busy_ns, idle_ns, 1)
