"""Steps of a program, found by repeated marks or by the period of launches, on host and devices."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import Integers, integers
from kvtrace.figures.trials import TUNING
from kvtrace.schema.repair import LATEST

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Fewest repetitions of a mark, and of a period of launches, that count as steps.
_REPEATS: Final = 3
_PERIODS: Final = 4
_LEAST_LAUNCHES: Final = 50
#: Least share of their thread's launches that periodic steps must have.
_PART: Final = 0.5
#: Number of launches, the last ones, in which a period is searched.
_MOST: Final = 1 << 18
_CANDIDATES: Final = 64
#: Nanoseconds between executions that separate two pieces of work.
_PAUSE: Final = 200_000
#: Names of marks from which on a program is steady.
_STEADY: Final = frozenset({"steady", "steady state", "steady_state"})


@dataclass(frozen=True, slots=True)
class Steps:
    """Consecutive steps: `bounds` has the begin of each and the end of the last, in ns since 1970.

    `name` is the mark's name, None for a period. `ranged`: a single step's duration counts, too.
    """

    name: str | None
    bounds: Integers
    ranged: bool = True

    @property
    def number(self) -> int:
        """Number of steps."""
        return len(self.bounds) - 1


def repeated_mark(trace: "Trace", run: "Run") -> tuple[str, list[tuple[int, int]]] | None:
    """Return name and ranges of the repeated mark that covers most time, or None.

    Errors as `Trace.table`.
    """
    ranges = {name: spans for name, spans in _ranges(trace, run).items() if len(spans) >= _REPEATS}
    if not ranges:
        return None
    name = max(ranges, key=lambda name: sum(end - begin for begin, end in ranges[name]))
    return name, ranges[name]


def _ranges(trace: "Trace", run: "Run") -> dict[str, list[tuple[int, int]]]:
    """Return the (begin, end) of a run's marks with an end, by name."""
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
    return ranges


def _instants(trace: "Trace", run: "Run") -> dict[str, list[int]]:
    """Return the times of a run's marks without an end, by name, in order."""
    marks = trace.table("marks", [run], ["name", "begin", "end"])
    marks = marks.filter(pc.and_(pc.is_null(marks["end"]), pc.is_valid(marks["begin"])))
    instants: dict[str, list[int]] = {}
    names = marks["name"].cast(pa.string()).to_pylist()
    for name, moment in sorted(
        zip(names, integers(marks["begin"]).tolist(), strict=True), key=lambda pair: pair[1]
    ):
        instants.setdefault(name, []).append(moment)
    return instants


def marked_steps(trace: "Trace", run: "Run", name: str | None = None) -> Steps | None:
    """Return the steps of a mark; without a name, of the repeated mark that covers most time.

    At repeated instants steps begin. A single instant of the given name begins one step, up to the
    run's last launch. Errors as `Trace.table`.
    """
    if name is None:
        repeated = repeated_mark(trace, run)
        if repeated is not None:
            return _of_ranges(*repeated)
        moments = {n: m for n, m in _instants(trace, run).items() if len(m) > _REPEATS}
        if not moments:
            return None
        most = max(moments, key=lambda n: moments[n][-1] - moments[n][0])
        return Steps(most, np.array(moments[most], np.int64))
    ranges = _ranges(trace, run).get(name)
    if ranges:
        return _of_ranges(name, ranges)
    moments_of = _instants(trace, run).get(name)
    if not moments_of:
        return None
    if len(moments_of) == 1:
        last = _last_launch(trace, run)
        moments_of = [*moments_of, last]
    bounds = np.array(moments_of, np.int64)
    return Steps(name, bounds) if bounds[-1] > bounds[0] else None


def _of_ranges(name: str, ranges: list[tuple[int, int]]) -> Steps:
    begins = sorted(begin for begin, _ in ranges)
    return Steps(name, np.array([*begins, max(end for _, end in ranges)], np.int64))


def _last_launch(trace: "Trace", run: "Run") -> int:
    ends = [integers(p["exit"]).max() for p in trace.pieces("launches", [run], ["exit"])]
    return int(max(ends, default=0))


def periodic_steps(trace: "Trace", run: "Run") -> Steps | None:
    """Return the steps by the period of calls on the thread with most launches, or None.

    If a mark is named "steady", only launches after that instant, or in that range, count. Errors
    as `Trace.table`.
    """
    columns = ["seq", "enter", "exit", "call_id", "thread", "phase"]
    launches = trace.table("launches", [run], columns)
    trial = pc.is_in(launches["phase"].cast(pa.string()), pa.array([*TUNING, "graph_capture"]))
    launches = launches.filter(pc.invert(pc.fill_null(trial, False)))
    launches = launches.filter(pc.is_valid(launches["enter"]))
    if launches.num_rows < _PERIODS:
        return None
    thread = integers(launches["thread"], -1)
    threads, counts = np.unique(thread, return_counts=True)
    launches = launches.filter(pa.array(thread == threads[np.argmax(counts)]))
    enter = integers(launches["enter"])
    order = np.argsort(enter, kind="stable")[-_MOST:]
    enter, call = enter[order], integers(launches["call_id"], -1)[order]
    moments = [m for n, ms in _instants(trace, run).items() if n in _STEADY for m in ms]
    ranges = [r for n, rs in _ranges(trace, run).items() if n in _STEADY for r in rs]
    for low, high in ranges or [(m, LATEST) for m in moments[:1]]:
        marked = (enter >= low) & (enter < high)
        enter, call = enter[marked], call[marked]
    repetition = period_of(call)
    if repetition is None:
        return None
    begin, end, period = repetition
    starts = enter[begin : end + 1 : period]
    if begin + (len(starts) - 1) * period > end:
        starts = starts[:-1]
    return Steps(None, starts)  # the last start is the end of the step before


def period_of(sequence: Integers) -> tuple[int, int, int] | None:
    """Return begin, end and period of the longest periodic part of a sequence, or None.

    The part repeats its first `period` items at least four times, and has at least half of the
    sequence, and 50 items. Of several periods the smallest counts. Example: 7 8 (1 2 3) × 20 gives
    begin 2, end 62 and period 3. A period p is tested by comparing the sequence with itself shifted
    by p; candidates for p are distances between equal neighbors.
    """
    best: tuple[int, int, int] | None = None
    for period in _candidates(sequence):
        same = sequence[period:] == sequence[:-period]
        begin, length = _longest_run(same)
        length += period
        if length < max(_PERIODS * period, _LEAST_LAUNCHES, _PART * sequence.size):
            continue
        if best is None or length > 1.1 * (best[1] - best[0]):
            best = begin, begin + length, period
    return best


def _candidates(sequence: Integers) -> list[int]:
    """Return the most promising distances between consecutive equal items, in order."""
    order = np.argsort(sequence, kind="stable")
    same = sequence[order][1:] == sequence[order][:-1]
    distances, counts = np.unique(np.diff(order)[same], return_counts=True)
    most = np.argsort(-counts * distances, kind="stable")[:_CANDIDATES]
    return sorted(int(distance) for distance in distances[most] if distance > 0)


def _longest_run(same: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Return begin and length of the longest run of true values."""
    padded = np.concatenate([[False], same, [False]]).astype(np.int8)
    edges = np.diff(padded)
    begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    if not begins.size:
        return 0, 0
    longest = int(np.argmax(ends - begins))
    return int(begins[longest]), int(ends[longest] - begins[longest])


def device_begins(trace: "Trace", run: "Run", steps: Steps) -> Integers:
    """Return when devices began each step, and ended the last step.

    On devices a step begins with the first execution that the host requested in the step; without
    one, with the first execution after the host's step began, or with that begin itself. The last
    step ends where the next would begin, or where the devices become idle. Errors as `Trace.table`.
    """
    asked, start, end = requests(trace, run)
    has_request = asked >= 0
    order = np.argsort(asked[has_request], kind="stable")
    when, begun = asked[has_request][order], start[has_request][order]
    # The first begin of all later requests: streams may execute in another order.
    soonest = np.minimum.accumulate(begun[::-1])[::-1]
    bounds = steps.bounds
    at = np.searchsorted(when, bounds)
    begins = np.where(
        at < when.size, np.append(soonest, 0)[np.minimum(at, when.size)], np.int64(-1)
    )
    # A step without a request begins with the first execution from the step's time on.
    upper = np.append(bounds[1:], np.iinfo(np.int64).max)
    empty = (begins < 0) | (np.append(when, np.iinfo(np.int64).max)[at] >= upper)
    empty[-1] = begins[-1] < 0
    ordered = np.sort(start)
    behind = np.searchsorted(ordered, bounds)
    begun_then = np.append(ordered, 0)[np.minimum(behind, ordered.size)]
    begins = np.where(empty, np.where(behind < ordered.size, begun_then, bounds), begins)
    if at[-1] >= when.size:
        begins[-1] = _last_end(start, end, int(bounds[-1]), int(begins[-2]))
    return np.maximum.accumulate(begins)


def _last_end(start: Integers, end: Integers, bound: int, begin: int) -> int:
    """Return when the devices become idle after the host's end (`bound`) of the last step."""
    order = np.argsort(start, kind="stable")
    start, until = start[order], np.maximum.accumulate(end[order])
    behind = np.flatnonzero(start >= begin)
    if not behind.size:
        return max(bound, begin)
    last = int(behind[0])
    pauses = np.flatnonzero(
        (start[last + 1 :] - until[last:-1] > _PAUSE) & (start[last + 1 :] > bound)
    )
    return int(until[last + pauses[0]] if pauses.size else until[-1])


def requests(
    trace: "Trace", run: "Run", whole: "Trace | None" = None
) -> tuple[Integers, Integers, Integers]:
    """Return the request time (-1: not known), start and end of each timed execution.

    The request time of a launch is `enter`; `whole` is the trace with the launches, if `trace` is a
    window. Errors as `Trace.table`.
    """
    columns = ["launch_seq", "graph_id", "start", "end", "requested"]
    rows = trace.table("gpu_kernels", [run], columns)
    rows = rows.filter(pc.and_(pc.is_valid(rows["start"]), pc.is_valid(rows["end"])))
    asked = integers(rows["requested"], -1)
    launches = (whole or trace).table("launches", [run], ["seq", "enter"])
    launches = launches.filter(pc.is_valid(launches["enter"]))
    seq, enter = integers(launches["seq"]), integers(launches["enter"])
    order = np.argsort(seq, kind="stable")
    seq, enter = seq[order], enter[order]
    launch = integers(rows["launch_seq"], -1)
    if seq.size:
        at = np.minimum(np.searchsorted(seq, launch), seq.size - 1)
        launched = (seq[at] == launch) & (asked < 0) & rows["graph_id"].is_null().to_numpy()
        asked = np.where(launched, enter[at], asked)
    return asked, integers(rows["start"]), integers(rows["end"])
