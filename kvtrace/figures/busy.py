"""Busy and idle time of devices; `gaps.py` has the causes of idle time."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow.compute as pc

from kvtrace.figures.columns import Integers, integers
from kvtrace.figures.intervals import union_of
from kvtrace.figures.parts_at_rest import part_at_rest
from kvtrace.schema.repair import LATEST
from kvtrace.schema.window import RunWindow, TraceWindow

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Most busy spans to store; beyond that, the shortest gaps between them count as busy time.
_MOST_SPANS: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class Busy:
    """Busy and idle device time of a run's window, or a sum over runs.

    `span_ns` is the length of the window; without one, the time from the first to the last
    execution. It is the sum of `busy_ns`, when at least one device ran something, and `idle_ns`.
    `overlapped_ns` is time with several executions, counted once per additional execution.
    """

    span_ns: int = 0
    busy_ns: int = 0
    overlapped_ns: int = 0
    idle_ns: int = 0

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
    return busy_time(_executions(trace, run), window)


def busy_time(
    executions: Iterable[tuple[Integers, Integers]], window: RunWindow | None
) -> Busy | None:
    """Return the busy and idle time of executions in a window; None: of all. None without any.

    `executions` has start and end of executions, in ns since 1970, in pieces.
    """
    spans, executions_ns = _Spans(), 0
    low, high = (-LATEST, LATEST) if window is None else (window.device_begin, window.device_end)
    for start, end in executions:
        inside = (low <= start) & (start < high)  # as figures of executions have it
        spans.add(start[inside], end[inside])
        executions_ns += int((end - start)[inside].sum())
    if not spans.any:
        return None
    if window is not None:  # it may begin and end with idle time
        limits = np.array([low, high], np.int64)
        spans.add(limits, limits)
    starts, ends = spans.merged()
    span_ns = int(ends[-1] - starts[0])
    busy_ns = int((ends - starts).sum()) - spans.filled_ns
    return Busy(span_ns, busy_ns, executions_ns - busy_ns, idle_ns=span_ns - busy_ns)


def _executions(trace: "Trace", run: "Run") -> Iterator[tuple[Integers, Integers]]:
    """Yield known starts and ends of executions, in ns since 1970."""
    for piece in trace.pieces("gpu_kernels", [run], ["start", "end"]):
        rows = piece.filter(pc.and_(pc.is_valid(piece["start"]), pc.is_valid(piece["end"])))
        yield integers(rows["start"]), integers(rows["end"])


class _Spans:
    """The union of many intervals, which are added in batches."""

    def __init__(self) -> None:
        self._parts: list[tuple[Integers, Integers]] = []
        self._stored = 0
        self._limit = _MOST_SPANS
        #: Gaps that were treated as busy time, in ns.
        self.filled_ns = 0

    @property
    def any(self) -> bool:
        """Whether intervals were added."""
        return self._stored > 0

    def add(self, start: Integers, end: Integers) -> None:
        """Add intervals, in any order; merges all intervals if more than the limit are stored."""
        merged_part = union_of(start, end)
        self._parts.append(merged_part)
        self._stored += len(merged_part[0])
        if self._stored > self._limit:
            self.merged()

    def merged(self) -> tuple[Integers, Integers]:
        """Merge the stored intervals, and return the sorted starts and ends of their union, in ns.

        If more than half of `_MOST_SPANS` remain, gaps up to the median gap are filled, and their
        length is added to `filled_ns`.
        """
        if not self._parts:
            nothing = np.zeros(0, np.int64)
            return nothing, nothing
        start, end = (np.concatenate(list(parts)) for parts in zip(*self._parts, strict=True))
        starts, ends = union_of(start, end)
        if len(starts) > _MOST_SPANS // 2:
            gaps = starts[1:] - ends[:-1]
            short = gaps <= np.partition(gaps, len(gaps) // 2)[len(gaps) // 2]
            self.filled_ns += int(gaps[short].sum())
            starts, ends = starts[np.append(True, ~short)], ends[np.append(~short, True)]
        self._parts, self._stored = [(starts, ends)], len(starts)
        return starts, ends
