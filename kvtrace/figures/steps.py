"""Steps of a program, found by repeated marks or by the period of launches, on host and devices."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import Integers, integers
from kvtrace.figures.parts_at_rest import RunAtRest, Timed, run_at_rest
from kvtrace.figures.step_marks import ProgramMarks
from kvtrace.figures.trials import TUNING
from kvtrace.schema.kept import keeps_newest
from kvtrace.schema.repair import LATEST, RANGES

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Phases of launches in start-up.
SETUP: Final = (*TUNING, "graph_capture")
#: Fewest ranges of a mark, and repetitions of a period of launches, that count as steps.
_LEAST_MARKED: Final = 2
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
    """Consecutive steps.

    Attributes:
        name: The name of the mark; None for steps found by the period of launches.
        bounds: The begin of each step and the end of the last one, in ns since 1970.

    """

    name: str | None
    bounds: Integers

    @property
    def number(self) -> int:
        """Number of steps."""
        return len(self.bounds) - 1


def program_steps(trace: "Trace", run: "Run", *, search: bool = True) -> Steps | None:
    """Return the steps that the program marks, else those by the period of launches; or None.

    A period is searched (only if `search` is true) where no mark names a step: one that does, even
    once, is the program's step, and what repeats inside is its layers. Errors as `Trace.table`.
    """
    stored = run_at_rest(trace, run)
    if stored is not None:
        return _stored_steps(stored, search=search)
    mark = ProgramMarks(trace, run).steps()
    if mark is None:
        return periodic_steps(trace, run) if search else None
    steps = Steps(mark.name, _recorded(trace, run, mark.bounds))
    return steps if steps.number >= _LEAST_MARKED else None


def _stored_steps(stored: RunAtRest, *, search: bool) -> Steps | None:
    if not stored.steps.num_rows:
        return None
    name = stored.steps["name"][0].as_py()
    return Steps(name, stored.bounds) if search or name is not None else None


def named_steps(trace: "Trace", run: "Run", name: str) -> Steps | None:
    """Return the steps of the mark with a name, or None without such a mark.

    A step begins where a range of the mark begins; for a mark without ranges, at each instant. If
    the mark is one instant, the step ends with the run's last launch. Errors as `Trace.table`.
    """
    mark = ProgramMarks(trace, run).called(name)
    if mark is None:
        return None
    bounds = _recorded(trace, run, mark.bounds)
    if bounds.size == 1:
        bounds = np.append(bounds, _end_of_last_launch(trace, run))
    return Steps(name, bounds) if bounds.size and bounds[-1] > bounds[0] else None


def _recorded(trace: "Trace", run: "Run", bounds: Integers) -> Integers:
    """Return the bounds of steps whose launches were not dropped."""
    times = time_bounds(trace, run, "launches") if keeps_newest(run) else None
    return bounds if times is None else bounds[np.searchsorted(bounds, times[0]) :]


def _end_of_last_launch(trace: "Trace", run: "Run") -> int:
    times = time_bounds(trace, run, "launches")
    return 0 if times is None else times[1]


def time_bounds(trace: "Trace", run: "Run", name: Timed) -> tuple[int, int] | None:
    """Return the first begin and last end of a run's launches or executions, in ns since 1970.

    None if none has a begin and an end. Errors as `Trace.table`.
    """
    stored = run_at_rest(trace, run)
    if stored is not None:
        return stored.time_bounds(name)
    first, last = RANGES[name]
    begins, ends = [], []
    for piece in trace.pieces(name, [run], [first, last]):
        low, high = pc.min(piece[first]), pc.max(piece[last])
        if low.is_valid and high.is_valid:
            begins.append(low.cast(pa.int64()).as_py())
            ends.append(high.cast(pa.int64()).as_py())
    return (min(begins), max(ends)) if begins else None


def periodic_steps(trace: "Trace", run: "Run") -> Steps | None:
    """Return the steps found by the period of call ids, or None without a period.

    Only the launches of the thread with most launches are searched, without trials and graph
    captures. If a mark is named "steady", only launches after its instant or in its range count.
    Errors as `Trace.table`.
    """
    pieces = []
    for piece in trace.pieces("launches", [run], ["enter", "call_id", "thread", "phase"]):
        ignored = pc.is_in(piece["phase"].cast(pa.string()), pa.array(SETUP))
        kept = pc.and_(pc.invert(pc.fill_null(ignored, False)), pc.is_valid(piece["enter"]))
        rows = piece.filter(kept)
        pieces.append([integers(rows[name], -1) for name in ("enter", "call_id", "thread")])
    if sum(enter.size for enter, _, _ in pieces) < _PERIODS:
        return None
    enter, call, thread = map(np.concatenate, zip(*pieces, strict=True))
    threads, counts = np.unique(thread, return_counts=True)
    if threads.size > 1:
        of_thread = thread == threads[np.argmax(counts)]
        enter, call = enter[of_thread], call[of_thread]
    order = np.argsort(enter, kind="stable")[-_MOST:]
    enter, call = enter[order], call[order]
    ranges, moments = ProgramMarks(trace, run).times(_STEADY)
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
    """Return begin index, end index and period of the longest periodic part, or None.

    The part consists of at least four repetitions of its first `period` items, and has at least 50
    items and half of the sequence. A larger period replaces a smaller one only if its part is more
    than 10 % longer. Example: 7 8 (1 2 3) × 20 gives begin 2, end 62 and period 3. A period p is
    tested by comparing the sequence with itself shifted by p; candidates for p are the distances
    between consecutive occurrences of an item.
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
    """Return distances between consecutive occurrences of an item, ascending.

    At most 64 are returned: those with the largest product of distance and frequency.
    """
    order = np.argsort(sequence, kind="stable")
    same = sequence[order][1:] == sequence[order][:-1]
    distances, counts = np.unique(np.diff(order)[same], return_counts=True)
    best = np.argsort(-counts * distances, kind="stable")[:_CANDIDATES]
    return sorted(int(distance) for distance in distances[best] if distance > 0)


def _longest_run(same: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Return the begin index and length of the longest run of true values; (0, 0) without one."""
    padded = np.concatenate([[False], same, [False]]).astype(np.int8)
    edges = np.diff(padded)
    begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    if not begins.size:
        return 0, 0
    longest = int(np.argmax(ends - begins))
    return int(begins[longest]), int(ends[longest] - begins[longest])


def device_begins(trace: "Trace", run: "Run", steps: Steps) -> tuple[Integers, bool]:
    """Return when devices began each step and, as last item, ended the last, in ns since 1970.

    The second value says whether an execution is known to be requested in a step. If none is, as in
    replays of graphs before format 1.9, executions cannot be attributed to steps: then only the
    begin of the first step and the end of the last one mean anything.

    On devices a step begins with the first execution that the host requested in the step. If the
    host requested none, it begins with the first execution after the host's step began, or with the
    host's step itself. The last step ends where the next one would begin, or where the devices
    become idle. Errors as `Trace.table`.
    """
    stored = run_at_rest(trace, run)
    if stored is not None and np.array_equal(stored.bounds, steps.bounds):
        return stored.device_bounds, stored.are_known
    return begins_on_devices(steps, *requests(trace, run))


def begins_on_devices(
    steps: Steps, asked: Integers, start: Integers, end: Integers
) -> tuple[Integers, bool]:
    """Return what `device_begins` does, of executions as `requests` returns them."""
    has_request = asked >= 0
    order = np.argsort(asked[has_request], kind="stable")
    request_times, request_starts = asked[has_request][order], start[has_request][order]
    # The earliest start of a request and all later ones: streams may execute in another order.
    earliest_start = np.minimum.accumulate(request_starts[::-1])[::-1]
    bounds = steps.bounds
    first_request = np.searchsorted(request_times, bounds)
    begins = np.where(
        first_request < request_times.size,
        np.append(earliest_start, 0)[np.minimum(first_request, request_times.size)],
        np.int64(-1),
    )
    # A step without a request begins with the first execution from the step's time on.
    next_bound = np.append(bounds[1:], np.iinfo(np.int64).max)
    has_none = np.append(request_times, np.iinfo(np.int64).max)[first_request] >= next_bound
    has_none |= begins < 0
    are_known = not has_none[:-1].all()
    has_none[-1] = begins[-1] < 0
    starts = np.sort(start)
    first_start = np.searchsorted(starts, bounds)
    next_start = np.append(starts, 0)[np.minimum(first_start, starts.size)]
    begins = np.where(has_none, np.where(first_start < starts.size, next_start, bounds), begins)
    if first_request[-1] >= request_times.size:
        begins[-1] = _idle_from(start, end, int(bounds[-1]), int(begins[-2]))
    return np.maximum.accumulate(begins), are_known


def _idle_from(start: Integers, end: Integers, bound: int, begin: int) -> int:
    """Return when the devices become idle after the host ended the last step at `bound`.

    `begin` is when the devices began the step. The first pause longer than `_PAUSE` counts whose
    end is after `bound`; without one, the end of the last execution.
    """
    order = np.argsort(start, kind="stable")
    start, latest_end = start[order], np.maximum.accumulate(end[order])
    executions = np.flatnonzero(start >= begin)
    if not executions.size:
        return max(bound, begin)
    first = int(executions[0])
    pauses = np.flatnonzero(
        (start[first + 1 :] - latest_end[first:-1] > _PAUSE) & (start[first + 1 :] > bound)
    )
    return int(latest_end[first + pauses[0]] if pauses.size else latest_end[-1])


def requests(
    trace: "Trace", run: "Run", whole: "Trace | None" = None
) -> tuple[Integers, Integers, Integers]:
    """Return the request time (-1: not known), start and end of each timed execution, in ns.

    An execution without a recorded request time that is not of a graph has its launch's `enter`.
    If `trace` is a window, `whole` is the whole trace, from which launches are read. Errors as
    `Trace.table`.
    """
    columns = ["launch_seq", "graph_id", "start", "end", "requested"]
    pieces: list[tuple[Integers, Integers, Integers]] = []
    enters: _Enters | None = None
    for piece in trace.pieces("gpu_kernels", [run], columns):
        rows = piece.filter(pc.and_(pc.is_valid(piece["start"]), pc.is_valid(piece["end"])))
        asked, launch = integers(rows["requested"], -1), integers(rows["launch_seq"], -1)
        launched = np.flatnonzero((asked < 0) & rows["graph_id"].is_null().to_numpy())
        if launched.size:
            enters = enters or _Enters(whole or trace, run)
            asked = asked.copy()
            asked[launched] = enters.of(launch[launched])
        pieces.append((asked, integers(rows["start"]), integers(rows["end"])))
    if not pieces:
        return (nothing := np.zeros(0, np.int64)), nothing, nothing
    asked, start, end = map(np.concatenate, zip(*pieces, strict=True))
    return asked, start, end


class _Enters:
    """When the launches of a run began, by their sequence number."""

    def __init__(self, trace: "Trace", run: "Run") -> None:
        pieces = []
        for piece in trace.pieces("launches", [run], ["seq", "enter"]):
            rows = piece.filter(pc.is_valid(piece["enter"]))
            pieces.append((integers(rows["seq"]), integers(rows["enter"])))
        if not pieces:
            pieces = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        seq, self._enter = map(np.concatenate, zip(*pieces, strict=True))
        self._seq: Integers | None = None
        self._first = int(seq[0]) if seq.size else 0
        if (np.diff(seq) != 1).any():  # not in order, or with gaps
            order = np.argsort(seq, kind="stable")
            self._seq, self._enter = seq[order], self._enter[order]

    def of(self, seq: Integers) -> Integers:
        """Return the times for sequence numbers, in ns; -1 where no launch has the number."""
        if not self._enter.size:
            return np.full(seq.size, -1)
        place = seq - self._first if self._seq is None else np.searchsorted(self._seq, seq)
        nearest = np.clip(place, 0, self._enter.size - 1)
        number = nearest + self._first if self._seq is None else self._seq[nearest]
        return np.where(number == seq, self._enter[nearest], -1)
