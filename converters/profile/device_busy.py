"""When devices were busy, when they were idle, and what the host did meanwhile."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import Integers, integers

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: More spans than this are made fewer by taking the shortest gaps between them for busy time.
_MOST_SPANS: Final = 1 << 22
#: A mark that repeats so often is a step of the program.
_REPEATS: Final = 3
#: A launch that takes longer, in ns, is the first on its thread or so, which sets up the device.
_LONGEST_LAUNCH: Final = 1_000_000
#: A device that does nothing for so long, in ns, has nothing to do.
_PAUSE: Final = 200_000


@dataclass(frozen=True, slots=True)
class Busy:
    """Time of a run, or a sum over runs, from the first execution on the device to the last.

    Of a run with several devices, one is busy while any is. `overlapped_ns` is time in which more
    than one execution ran, counted as often as there were others. `idle_ns` is the rest of
    `span_ns`: the host was compiling or loading kernels then, was inside a launch, or neither
    (Python, other libraries, waiting).
    """

    span_ns: int = 0
    busy_ns: int = 0
    overlapped_ns: int = 0
    idle_ns: int = 0
    idle_compiling_ns: int = 0
    idle_launching_ns: int = 0
    idle_elsewhere_ns: int = 0

    def __add__(self, other: "Busy") -> "Busy":
        """Sum each figure."""
        return Busy(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True, slots=True)
class Steps:
    """Ranges of one name that a program marked again and again: `number` of each of `runs` runs.

    `span_ns` is how long the devices took for all of them, idle time among it.
    """

    name: str
    number: int
    runs: int = 1
    span_ns: int = 0

    @property
    def total(self) -> int:
        """How many there are of all runs."""
        return self.number * self.runs


def busy_of(trace: "Trace", runs: Sequence["Run"]) -> list[Busy]:
    """Return how busy the devices of each run were of which every execution was timed, if one was.

    Errors as `Trace.table`.
    """
    from kvtrace.figures.times import unsteady_launches  # with DuckDB, which takes a while

    unsteady: dict[str, Integers] | None = None
    found = []
    for run in runs:
        if run.settings.get("sample"):
            continue  # between two executions that are recorded of a sample others ran
        spans, total = _Spans(), 0
        for timed in _executions(trace, run):
            start, end = integers(timed["start"]), integers(timed["end"])
            spans.add(start, end)
            total += int((end - start).sum())
        first, last = spans.merged()
        if not first.size:
            continue
        unsteady = unsteady_launches(trace, runs) if unsteady is None else unsteady
        own = unsteady.get(run.run_id, np.zeros(0, np.int64))
        busy = int((last - first).sum()) - spans.filled_ns
        found.append(_busy_of(trace, run, (first, last), busy, total, own))
    return found


def _busy_of(
    trace: "Trace",
    run: "Run",
    spans: tuple[Integers, Integers],
    busy: int,
    total: int,
    unsteady: Integers,
) -> Busy:
    """Return how busy devices were: for `busy` ns, with executions of `total` ns."""
    first, last = spans
    span = int(last[-1] - first[0])
    idle = _Idle(first, last)
    compiling = min(idle.while_compiling(trace, run), span - busy)
    launching = min(idle.while_launching(trace, run, unsteady), span - busy - compiling)
    return Busy(
        span_ns=span,
        busy_ns=busy,
        overlapped_ns=total - busy,
        idle_ns=span - busy,
        idle_compiling_ns=compiling,
        idle_launching_ns=launching,
        idle_elsewhere_ns=span - busy - compiling - launching,
    )


def stepping(
    trace: "Trace", runs: Sequence["Run"]
) -> tuple[Steps | None, dict[str, tuple[int, int]]]:
    """Return the steps that runs marked, and when the devices worked on them, by run.

    Steps are the mark that covers most time of those that repeat. Devices work on them from the
    first execution that was launched within one to the last; where graphs were replayed, or no
    execution is known to have been launched there, from the beginning of the first mark until the
    devices have nothing to do after the last. Errors as `Trace.table`.
    """
    told: tuple[str, int] | None = None
    found: dict[str, tuple[int, int]] = {}
    for run in runs:
        marked = repeated_mark(trace, run)
        if marked is None or (told is not None and told != (marked[0], len(marked[1]))):
            continue
        name, ranges = marked
        begin, end = min(b for b, _ in ranges), max(e for _, e in ranges)
        window = _launched_between(trace, run, begin, end)
        if window is not None:
            told = name, len(ranges)
            found[run.run_id] = window
    if told is None:
        return None, found
    return Steps(*told, len(found), sum(last - first for first, last in found.values())), found


def repeated_mark(trace: "Trace", run: "Run") -> tuple[str, list[tuple[int, int]]] | None:
    """Return the mark that covers most time of those that repeat, and its ranges; else None.

    Errors as `Trace.table`.
    """
    marks = trace.table("marks", [run], ["name", "begin", "end"])
    marks = marks.filter(pc.is_valid(marks["end"]))
    ranges: dict[str, list[tuple[int, int]]] = {}
    for name, begin, end in zip(
        marks["name"].cast(pa.string()).to_pylist(),
        integers(marks["begin"]).tolist(),
        integers(marks["end"]).tolist(),
        strict=True,
    ):
        ranges.setdefault(name, []).append((begin, end))
    repeated = {name: found for name, found in ranges.items() if len(found) >= _REPEATS}
    if not repeated:
        return None
    name = max(repeated, key=lambda name: sum(end - begin for begin, end in repeated[name]))
    return name, repeated[name]


def _launched_between(trace: "Trace", run: "Run", begin: int, end: int) -> tuple[int, int] | None:
    low = high = None
    for piece in trace.pieces("launches", [run], ["seq", "enter", "phase"]):
        enter, seq = integers(piece["enter"]), integers(piece["seq"])
        captured = pc.equal(piece["phase"].cast(pa.string()), "graph_capture")
        inside = seq[(begin <= enter) & (enter <= end) & ~pc.fill_null(captured, False).to_numpy()]
        if inside.size:
            low = int(inside.min()) if low is None else min(low, int(inside.min()))
            high = int(inside.max()) if high is None else max(high, int(inside.max()))
    first = last = None
    spans, replayed = _Spans(), False
    for timed in _executions(trace, run, "launch_seq", "graph_id"):
        start = integers(timed["start"])
        spans.add(start, integers(timed["end"]))
        of_graph = pc.is_valid(timed["graph_id"]).to_numpy()
        replayed = replayed or bool((of_graph & (begin <= start) & (start <= end)).any())
        if low is None or high is None:
            continue
        seq = integers(timed["launch_seq"], -1)
        ours = start[(low <= seq) & (seq <= high) & ~of_graph]
        if ours.size:
            first = int(ours.min()) if first is None else min(first, int(ours.min()))
            last = int(ours.max()) if last is None else max(last, int(ours.max()))
    if first is not None and last is not None and not replayed:
        return first, last
    starts, ends = spans.merged()
    at = np.flatnonzero(starts <= end)
    if not at.size or ends[at[-1]] < begin:
        return None
    pauses = np.flatnonzero(starts[at[-1] + 1 :] - ends[at[-1] : -1] > _PAUSE)
    return begin, max(end, int(ends[at[-1] + pauses[0]] if pauses.size else ends[-1]))


def _executions(trace: "Trace", run: "Run", *columns: str) -> Iterator[pa.Table]:
    """Return the executions whose begin and end are known, with these columns too, in pieces."""
    for piece in trace.pieces("gpu_kernels", [run], ["start", "end", *columns]):
        yield piece.filter(pc.and_(pc.is_valid(piece["start"]), pc.is_valid(piece["end"])))


class _Spans:
    """The union of many intervals, which are given in pieces."""

    def __init__(self) -> None:
        self._parts: list[tuple[Integers, Integers]] = []
        self._held = 0
        self._limit = _MOST_SPANS
        #: Gaps that were taken for busy time, in ns.
        self.filled_ns = 0

    def add(self, start: Integers, end: Integers) -> None:
        """Add intervals, in any order."""
        part = _union(start, end)
        self._parts.append(part)
        self._held += len(part[0])
        if self._held > self._limit:
            self.merged()

    def merged(self) -> tuple[Integers, Integers]:
        """Return where the union begins and ends, in order."""
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
        self._parts, self._held = [(first, last)], len(first)
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


class _Idle:
    """How much of a time the devices were idle in: `first` and `last` are the busy spans."""

    def __init__(self, first: Integers, last: Integers) -> None:
        self._origin = first[0]
        # Idle time grows from where a span ends to where the next begins, and rests in between.
        times = np.column_stack([first, last]).reshape(-1) - self._origin
        idle = np.append(0, np.cumsum(first[1:] - last[:-1]))
        self._times, self._before = times.astype(np.float64), np.repeat(idle, 2).astype(np.float64)

    def within(self, begin: Integers, end: Integers) -> int:
        """Return the idle time in some ranges that do not overlap."""
        if not begin.size:
            return 0
        begin, end = begin - self._origin, end - self._origin
        # NumPy looks at all moments that it is given, and these are ranges of a short time.
        first = max(int(np.searchsorted(self._times, begin.min())) - 1, 0)
        near = slice(first, int(np.searchsorted(self._times, end.max(), side="right")) + 1)
        times, before = self._times[near], self._before[near]
        low, high = (np.interp(moment, times, before) for moment in (begin, end))
        return round(float((high - low).sum()))

    def while_compiling(self, trace: "Trace", run: "Run") -> int:
        """Return the idle time in which kernels were compiled or loaded."""
        names = ["compile_begin", "compile_ns", "load_begin", "load_ns"]
        kernels = trace.table("kernels", [run], names)
        begins, ends = [], []
        for begin, taken in (("compile_begin", "compile_ns"), ("load_begin", "load_ns")):
            known = pc.and_(pc.is_valid(kernels[begin]), pc.is_valid(kernels[taken]))
            rows = kernels.filter(known)
            begins.append(integers(rows[begin]))
            ends.append(begins[-1] + integers(rows[taken]))
        return self.within(*_union(np.concatenate(begins), np.concatenate(ends)))

    def while_launching(self, trace: "Trace", run: "Run", unsteady: Integers) -> int:
        """Return the idle time within launches that neither compiled nor tuned anything."""
        from kvtrace.figures.times import steady_spans  # with DuckDB, which takes a while

        total = 0
        for enter, leave in steady_spans(trace, run, unsteady, _LONGEST_LAUNCH):
            total += self.within(*_union(enter, leave))
        return total
