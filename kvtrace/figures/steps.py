"""Steps of a program, by marks that repeat or by the period of its launches, and on devices."""

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

#: A mark that repeats so often is a step of the program, and so are launches in a period.
_REPEATS: Final = 3
_PERIODS: Final = 4
_LEAST_LAUNCHES: Final = 50
#: Of all launches on their thread so many are in the steps.
_PART: Final = 0.5
#: Launches, or executions, that a period is looked for in: the last ones.
_MOST: Final = 1 << 18
_CANDIDATES: Final = 64
#: Executions in order that take so long between them, in ns, are of two pieces of work.
_PAUSE: Final = 200_000
#: What a mark is called from which on a program says to be steady.
_STEADY: Final = frozenset({"steady", "steady state", "steady_state"})


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps that follow each other: `bounds` has where each begins, and where the last one ends.

    They are ns since 1970. `name` is the mark's, None of a period; a single mark is `ranged`, too.
    """

    name: str | None
    bounds: Integers
    ranged: bool = True

    @property
    def number(self) -> int:
        """How many steps there are."""
        return len(self.bounds) - 1


def repeated_mark(trace: "Trace", run: "Run") -> tuple[str, list[tuple[int, int]]] | None:
    """Return the mark that covers most time of those that repeat, and its ranges; else None.

    Errors as `Trace.table`.
    """
    ranges = {name: found for name, found in _ranges(trace, run).items() if len(found) >= _REPEATS}
    if not ranges:
        return None
    name = max(ranges, key=lambda name: sum(end - begin for begin, end in ranges[name]))
    return name, ranges[name]


def _ranges(trace: "Trace", run: "Run") -> dict[str, list[tuple[int, int]]]:
    """Return the marks of a run that are ranges, by name."""
    marks = trace.table("marks", [run], ["name", "begin", "end"])
    marks = marks.filter(pc.is_valid(marks["end"]))
    found: dict[str, list[tuple[int, int]]] = {}
    for name, begin, end in zip(
        marks["name"].cast(pa.string()).to_pylist(),
        integers(marks["begin"]).tolist(),
        integers(marks["end"]).tolist(),
        strict=True,
    ):
        found.setdefault(name, []).append((begin, end))
    return found


def _instants(trace: "Trace", run: "Run") -> dict[str, list[int]]:
    """Return the marks of a run that are moments, by name, in order."""
    marks = trace.table("marks", [run], ["name", "begin", "end"])
    marks = marks.filter(pc.and_(pc.is_null(marks["end"]), pc.is_valid(marks["begin"])))
    found: dict[str, list[int]] = {}
    names = marks["name"].cast(pa.string()).to_pylist()
    for name, moment in sorted(
        zip(names, integers(marks["begin"]).tolist(), strict=True), key=lambda pair: pair[1]
    ):
        found.setdefault(name, []).append(moment)
    return found


def marked_steps(trace: "Trace", run: "Run", name: str | None = None) -> Steps | None:
    """Return the steps of a mark; without a name, of the one that repeats and covers most time.

    Moments that repeat are where steps begin. A single moment of the name that is asked for begins
    what is up to the run's last launch. Errors as `Trace.table`.
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
    """Return the steps that calls are launched in on the thread that launches most.

    They lie behind a moment, or in a range, that is marked "steady", if there is one. Errors as
    `Trace.table`.
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
    found = period_of(call)
    if found is None:
        return None
    begin, end, period = found
    starts = enter[begin : end + 1 : period]
    if begin + (len(starts) - 1) * period > end:
        starts = starts[:-1]
    return Steps(None, starts)  # the last one says where the one before ends


def period_of(sequence: Integers) -> tuple[int, int, int] | None:
    """Return where a sequence repeats, its begin and end, and the period; None where it does not.

    That is the longest part that repeats itself at least four times, and of what makes it the
    smallest period. It has at least half of the sequence, and 50 launches.
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
    """Return distances of equal neighbors in the sequence, those of rare values first kept."""
    order = np.argsort(sequence, kind="stable")
    same = sequence[order][1:] == sequence[order][:-1]
    distances, counts = np.unique(np.diff(order)[same], return_counts=True)
    most = np.argsort(-counts * distances, kind="stable")[:_CANDIDATES]
    return sorted(int(each) for each in distances[most] if each > 0)


def _longest_run(same: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Return where the longest run of true values begins, and its length."""
    padded = np.concatenate([[False], same, [False]]).astype(np.int8)
    edges = np.diff(padded)
    begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    if not begins.size:
        return 0, 0
    longest = int(np.argmax(ends - begins))
    return int(begins[longest]), int(ends[longest] - begins[longest])


def device_begins(trace: "Trace", run: "Run", steps: Steps) -> Integers:
    """Return when devices began each step, and ended the last one.

    A step begins with the first execution that the host asked for in it, where that is known; else
    with the step of the host. The last ends where the one behind it begins, or where the devices
    have nothing to do any more. Errors as `Trace.table`.
    """
    asked, start, end = requests(trace, run)
    known = asked >= 0
    order = np.argsort(asked[known], kind="stable")
    when, begun = asked[known][order], start[known][order]
    # The first of all that were asked for from then on: streams may turn their order around.
    soonest = np.minimum.accumulate(begun[::-1])[::-1]
    bounds = steps.bounds
    at = np.searchsorted(when, bounds)
    found = np.where(at < when.size, np.append(soonest, 0)[np.minimum(at, when.size)], np.int64(-1))
    # Where nothing was asked for in a step, what begins from its own time on has to do.
    upper = np.append(bounds[1:], np.iinfo(np.int64).max)
    empty = (found < 0) | (np.append(when, np.iinfo(np.int64).max)[at] >= upper)
    empty[-1] = found[-1] < 0
    ordered = np.sort(start)
    behind = np.searchsorted(ordered, bounds)
    begun_then = np.append(ordered, 0)[np.minimum(behind, ordered.size)]
    found = np.where(empty, np.where(behind < ordered.size, begun_then, bounds), found)
    if at[-1] >= when.size:
        found[-1] = _last_end(start, end, int(bounds[-1]), int(found[-2]))
    return np.maximum.accumulate(found)


def _last_end(start: Integers, end: Integers, bound: int, begin: int) -> int:
    """Return when the devices have nothing to do any more, behind the host's end of a step."""
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
    """Return when the host asked for each timed execution (-1: not known), its start and its end.

    Of a launch that is when it was entered; `whole` has the launches of executions in a window.
    Errors as `Trace.table`.
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
    wanted = integers(rows["launch_seq"], -1)
    if seq.size:
        at = np.minimum(np.searchsorted(seq, wanted), seq.size - 1)
        known = (seq[at] == wanted) & (asked < 0) & rows["graph_id"].is_null().to_numpy()
        asked = np.where(known, enter[at], asked)
    return asked, integers(rows["start"]), integers(rows["end"])
