"""Busy and idle time of devices; `kvtrace/figures/gaps.py` has the causes of idle time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import Integers, integers
from kvtrace.schema.repair import LATEST
from kvtrace.schema.window import TraceWindow

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: More spans than this are made fewer by taking the shortest gaps between them for busy time.
_MOST_SPANS: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class Busy:
    """Time of a window of a run, or a sum over runs; of a whole run from the first execution on.

    Of a run with several devices, one is busy while any is. `overlapped_ns` is time in which more
    than one execution ran, counted as often as there were others. `idle_ns` is the rest of
    `span_ns`.
    """

    span_ns: int = 0
    busy_ns: int = 0
    overlapped_ns: int = 0
    idle_ns: int = 0

    def __add__(self, other: "Busy") -> "Busy":
        """Return the sum, figure by figure."""
        return Busy(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps of a window, of all runs: by the mark `name`, or None by the period of launches.

    `number` counts the steps of each of the `runs` that have steps. `span_ns` is how long the
    devices took for all of them, idle time included.
    """

    name: str | None
    number: int
    span_ns: int
    runs: int = 1


def busy_of(trace: "Trace", runs: Sequence["Run"]) -> list[Busy]:
    """Return the busy and idle time of each run whose executions were all timed, without others.

    Errors as `Trace.table`.
    """
    of_runs = []
    for run in runs:
        if not run.has_gaps:
            continue
        spans, total = _Spans(), 0
        low, high = device_limits(trace, run)
        for timed in _executions(trace, run):
            start, end = integers(timed["start"]), integers(timed["end"])
            inside = (low <= start) & (start < high)  # as figures of executions have it
            start, end = start[inside], end[inside]
            spans.add(start, end)
            total += int((end - start).sum())
        if not spans.any:
            continue
        if isinstance(trace, TraceWindow):  # which may begin and end with idle time
            ends = np.array([low, high], np.int64)
            spans.add(ends, ends)
        first, last = spans.merged()
        span = int(last[-1] - first[0])
        busy = int((last - first).sum()) - spans.filled_ns
        of_runs.append(Busy(span, busy, overlapped_ns=total - busy, idle_ns=span - busy))
    return of_runs


def device_limits(trace: "Trace", run: "Run") -> tuple[int, int]:
    """Return the first and last device time, in ns, that a window includes; without one, any."""
    if not isinstance(trace, TraceWindow):
        return -LATEST, LATEST
    window = trace.window_of(run.run_id)
    return window.device_begin, window.device_end


def _executions(trace: "Trace", run: "Run", *columns: str) -> Iterator[pa.Table]:
    """Yield tables of the executions whose start and end are known, with additional columns."""
    for piece in trace.pieces("gpu_kernels", [run], ["start", "end", *columns]):
        yield piece.filter(pc.and_(pc.is_valid(piece["start"]), pc.is_valid(piece["end"])))


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
        """Some intervals were added."""
        return self._stored > 0

    def add(self, start: Integers, end: Integers) -> None:
        """Add intervals, in any order."""
        part = _union(start, end)
        self._parts.append(part)
        self._stored += len(part[0])
        if self._stored > self._limit:
            self.merged()

    def merged(self) -> tuple[Integers, Integers]:
        """Merge the intervals, and return their sorted starts and ends, in ns.

        If more than half of the limit remain, gaps up to the median gap are filled and added to
        `filled_ns`.
        """
        if not self._parts:
            nothing = np.zeros(0, np.int64)
            return nothing, nothing
        start, end = (np.concatenate(list(parts)) for parts in zip(*self._parts, strict=True))
        first, last = _union(start, end)
        if len(first) > _MOST_SPANS // 2:
            gaps = first[1:] - last[:-1]
            short = gaps <= np.partition(gaps, len(gaps) // 2)[len(gaps) // 2]
            self.filled_ns += int(gaps[short].sum())
            first, last = first[np.append(True, ~short)], last[np.append(~short, True)]
        self._parts, self._stored = [(first, last)], len(first)
        return first, last


def _union(start: Integers, end: Integers) -> tuple[Integers, Integers]:
    if not start.size:
        return start, end
    if not (start[1:] >= start[:-1]).all():
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    until = np.maximum.accumulate(end)
    fresh = np.append(True, start[1:] > until[:-1])
    return start[fresh], until[np.append(np.flatnonzero(fresh)[1:] - 1, len(start) - 1)]
