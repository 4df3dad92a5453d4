"""Time of each rank and step of a job, split into what its devices did and what they waited for.

Each nanosecond of a step counts once, in this order: `compute`, while any kernel that is no
collective, copy or fill ran; `transfer`, while a collective moved data; `waiting`, while a
collective waited for a later rank; `unmatched`, while one ran of which that is not known; and idle
time by its cause. So the parts of a step add up to the step. Idle time counts in this order:
`recording`, Python collected garbage in a thread of kvtrace's; `collect`, it did so in one of the
program's, also inside a launch; `wait`, the host waited for the device;
`unknown`, it is not recorded when the host requested the execution that ended the gap; `pause`, at
least a millisecond in which the host neither requested an execution nor waited; and `launch`, the
rest, in which the host launched too slowly. Of a rank whose collectives alone are recorded (setting
`ranks`) all but these is `unknown`.

Steps begin on a rank as on the devices of any run (`steps.StepsOnDevice`).

Example: a step from 0 to 40 ms has kernels from 2 to 20 ms and an AllReduce from 15 to 38 ms which
the last rank began at 30 ms: 18 ms compute, 8 ms transfer, 10 ms waiting, and 4 ms idle.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from kvtrace.figures.collective_kernels import RankExecutions
from kvtrace.figures.collectives import Collectives, RankCollectives
from kvtrace.figures.columns import Coverage, Integers, summed_by, union_of
from kvtrace.figures.gap_causes import PAUSE
from kvtrace.figures.host_events import HostEvents
from kvtrace.figures.parallelism import between_exchanges, sends
from kvtrace.figures.steps import StepsOnDevice, program_steps
from kvtrace.schema.collective_names import operation_of_kernel
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.window import TraceWindow, whole_trace

Part = Literal[
    "compute", "transfer", "waiting", "unmatched", "recording", "collect", "wait", "unknown",
    "pause", "launch",
]  # fmt: skip
#: The parts of a step, which add up to it, and those of its idle time.
PARTS: Final[tuple[Part, ...]] = get_args(Part)
IDLE: Final = PARTS[4:]
_WAITING: Final = PARTS.index("waiting")
_IS_UNKNOWN: Final = np.array([[name == "unknown"] for name in IDLE])
#: In place of the time of a request: it is not recorded, or no execution follows.
_UNKNOWN: Final = -1
_NO_EXECUTION: Final = -2


class RankSteps(Struct, frozen=True):
    """The steps of a rank; times in ns.

    Attributes:
        run: The rank's run.
        first: Number of the first step in the run.
        bounds: Begin of each step on the rank, and the end of the last one, in ns since 1970.
        parts: Time of each step by part (rows as `PARTS`).
        waited_for: Exposed waiting in all steps, by the index of the run that came last.
        launching: Time from each step's first request to its last, without waits of the host.
        requests: Number of executions that the host requested in each step.
        transfers: Number, bytes and time of transfers whose bytes are known, by operation.
        sends: How often it sends to each rank that it sends to or receives from, in a step.
        between: Compute between each exchange among all ranks and the next one.
        waited: What ranks are compared by: exposed waiting; all of it if a rank has no more.

    """

    run: Run
    first: int
    bounds: Integers
    parts: Integers
    waited_for: Integers
    launching: Integers
    requests: Integers
    transfers: dict[str, tuple[int, int, int]]
    sends: dict[int, int]
    between: Integers
    waited: Integers

    def part(self, *names: Part) -> Integers:
        """Return the time of each step in some parts, in ns."""
        rows: Integers = self.parts[[PARTS.index(name) for name in names]].sum(axis=0)
        return rows

    @property
    def duration(self) -> Integers:
        """Duration of each step of the rank, in ns."""
        return np.diff(self.bounds)


def read_rank_steps(trace: Trace, collectives: Collectives) -> Iterator[RankSteps]:
    """Yield the steps of each rank that are common to all; one step where none are known.

    Ranks are read one after another. Errors as `Trace.table`.
    """
    whole = whole_trace(trace)
    host_steps = _common_steps(trace, whole, collectives.runs)
    has_collectives_alone = any(run.has_collectives_alone for run in collectives.runs)
    for run in collectives.runs:
        executions = collectives.executions(run)
        if not executions.start.size:
            continue
        first, host = host_steps[run.run_id]
        if host.size:
            steps = StepsOnDevice(host)
            steps.add(executions.asked, executions.start, executions.end)
            bounds = steps.begins()
        else:
            host = bounds = np.array([executions.start[0], executions.end.max()])
        ran = collectives.of_rank(run)
        events = HostEvents.read(whole, run)
        waits = _coverage(events, "collect", "synchronize")
        launching, requests = _launching(executions.asked, host, waits)
        is_work = executions.name < 0
        work = union_of(executions.start[is_work], executions.end[is_work])
        busy, exposed = _busy_parts(work, ran, bounds)
        # Work hides waiting, which of ranks with collectives alone is not known.
        waited = _all_waiting(ran, bounds) if has_collectives_alone else busy[_WAITING]
        if run.has_collectives_alone:
            idle = np.where(_IS_UNKNOWN, np.diff(bounds) - busy.sum(axis=0), 0)
        else:
            idle = _idle_parts(executions, bounds, events, waits)
        step = np.searchsorted(bounds, ran.start, "right") - 1
        counts = (step >= 0) & (step < bounds.size - 1) & (ran.last >= 0)
        waited_for = np.zeros(len(collectives.runs), np.int64)
        np.add.at(waited_for, ran.last[counts], exposed[counts])
        parts = np.concatenate([busy, idle])
        transfers = _transfers(ran, counts & (ran.moved >= 0))
        yield RankSteps(
            run, first, bounds, parts, waited_for, launching, requests, transfers,
            sends(whole, run, ran, host), between_exchanges(Coverage(*work), ran), waited,
        )  # fmt: skip


def _transfers(
    ran: RankCollectives, is_counted: npt.NDArray[np.bool_]
) -> dict[str, tuple[int, int, int]]:
    """Return number, bytes (of the bus) and time of some collectives' transfers, by operation."""
    sums: dict[str, tuple[int, int, int]] = {}
    for code, name in enumerate(ran.names):
        here = is_counted & (ran.name == code)
        if here.any():
            operation = operation_of_kernel(name)
            number, moved, ns = sums.get(operation, (0, 0, 0))
            ns += int((ran.end - ran.transfer)[here].sum())
            sums[operation] = number + int(here.sum()), moved + int(ran.moved[here].sum()), ns
    return sums


def _common_steps(
    trace: Trace, whole: Trace, runs: Sequence[Run]
) -> dict[str, tuple[int, Integers]]:
    """Return the number of the first step, and the hosts' bounds of steps, by run id.

    Only steps in the window of all runs; no bounds if a run has no steps, or those of another mark.
    """
    none = {run.run_id: (0, np.zeros(0, np.int64)) for run in runs}
    steps = [program_steps(whole, run) for run in runs]
    bounds = {
        run.run_id: of_run.bounds
        for run, of_run in zip(runs, steps, strict=True)
        if of_run is not None
    }
    names = {of_run.name for of_run in steps if of_run is not None}
    if len(bounds) < len(runs) or len(names) > 1:
        return none
    if names == {None}:
        return _together(bounds)
    first, last = 0, min(of_run.size for of_run in bounds.values()) - 1
    if isinstance(trace, TraceWindow):
        windows = [trace.window_of(run.run_id) for run in runs]
        stepped = [window for window in windows if window.device_steps]
        if len(stepped) == len(runs):
            first = max(window.first_step for window in stepped)
            last = min(w.first_step + len(w.device_steps) - 1 for w in stepped)
    if first >= last:
        return none
    return {run: (first, of_run[first : last + 1]) for run, of_run in bounds.items()}


def _together(bounds: dict[str, Integers]) -> dict[str, tuple[int, Integers]]:
    """Return the steps that all ranks have, which were found in each rank without a mark.

    Those that began at about the same time are one: the first ones of a rank may be missing.
    """
    since = max(int(of_run[0]) for of_run in bounds.values())
    first = {run: int(np.argmin(np.abs(of_run - since))) for run, of_run in bounds.items()}
    number = min(of_run.size - first[run] for run, of_run in bounds.items())
    return {run: (first[run], of_run[first[run] :][:number]) for run, of_run in bounds.items()}


def _busy_parts(
    work: tuple[Integers, Integers], ran: RankCollectives, bounds: Integers
) -> tuple[Integers, Integers]:
    """Return the busy time of each step, by part, and each collective's exposed waiting."""
    is_known = ran.last >= 0
    further = (
        (ran.transfer[is_known], ran.end[is_known]),
        (ran.start[is_known], ran.transfer[is_known]),
        (ran.start[~is_known], ran.end[~is_known]),
    )
    union = work
    totals = [Coverage(*union).of(bounds[:-1], bounds[1:])]
    exposed = np.zeros_like(ran.start)
    for number, (begin, end) in enumerate(further):
        union = union_of(np.append(union[0], begin), np.append(union[1], end))
        coverage = Coverage(*union)
        totals.append(coverage.of(bounds[:-1], bounds[1:]))
        if not number:
            exposed = ran.transfer - ran.start - coverage.of(ran.start, ran.transfer)
    return np.diff(np.stack(totals), axis=0, prepend=0), exposed


def _all_waiting(ran: RankCollectives, bounds: Integers) -> Integers:
    """Return the time of each step in which collectives waited and none transferred."""
    is_known = ran.last >= 0
    of_all, of_transfers = (
        Coverage(*union_of(begin[is_known], ran.end[is_known])).of(bounds[:-1], bounds[1:])
        for begin in (ran.start, ran.transfer)
    )
    return of_all - of_transfers


def _idle_parts(
    executions: RankExecutions, bounds: Integers, events: HostEvents, waits: Coverage
) -> Integers:
    """Return idle time of each step by part; `waits`: collections of garbage, waits of the host."""
    begins, ends, asked = _idle_pieces(executions, bounds)
    request = np.where(asked >= 0, np.clip(asked, begins, ends), ends)
    is_unknown = asked == _UNKNOWN
    collect = _coverage(events, "collect")
    recorded = Coverage(*union_of(*events.recording)).of(begins, ends)
    collected = collect.of(begins, ends) - recorded
    waited = waits.of(begins, request) - collect.of(begins, request)
    rest = request - begins - waits.of(begins, request)
    unknown = np.where(is_unknown, rest, 0)
    paused = np.where(~is_unknown & (rest >= PAUSE), rest, 0)
    launch = ends - begins - recorded - collected - waited - unknown - paused
    step = np.searchsorted(bounds, begins, "right") - 1
    number = bounds.size - 1
    parts = np.zeros((len(IDLE), number), np.int64)
    for row, amount in enumerate((recorded, collected, waited, unknown, paused, launch)):
        sums = summed_by(step, amount)
        parts[row, : sums.size] = sums
    return parts


def _idle_pieces(
    executions: RankExecutions, bounds: Integers
) -> tuple[Integers, Integers, Integers]:
    """Return begin and end of each gap between executions, and the request that ended the gap.

    A gap in which a step begins is cut there; both pieces have the gap's request.
    """
    busy_begin, busy_end = union_of(executions.start, executions.end)
    begin = np.clip(np.append(bounds[0], busy_end), bounds[0], bounds[-1])
    end = np.clip(np.append(busy_begin, bounds[-1]), bounds[0], bounds[-1])
    begin, end = begin[begin < end], end[begin < end]
    next_execution = np.searchsorted(executions.start, end)
    asked = np.append(executions.asked, _NO_EXECUTION)[next_execution]
    cut_gap = np.searchsorted(begin, bounds[1:-1], "left") - 1
    is_cut = (cut_gap >= 0) & (bounds[1:-1] < np.append(end, 0)[cut_gap])
    cuts = bounds[1:-1][is_cut]
    ends, asked = np.append(end, cuts), np.append(asked, asked[cut_gap[is_cut]])
    order = np.argsort(ends, kind="stable")
    return np.sort(np.append(begin, cuts)), ends[order], asked[order]


def _coverage(events: HostEvents, *causes: Literal["collect", "synchronize"]) -> Coverage:
    begins = np.concatenate([events.rows[cause].begins for cause in causes])
    ends = np.concatenate([events.rows[cause].ends for cause in causes])
    return Coverage(*union_of(begins, ends))


def _launching(asked: Integers, host: Integers, waits: Coverage) -> tuple[Integers, Integers]:
    """Return the time from the first to the last request of each step, and their number."""
    asked = np.sort(asked[asked >= 0])
    place = np.searchsorted(asked, host)
    requests = np.diff(place)
    if not asked.size:
        return np.zeros_like(requests), requests
    last = asked[np.maximum(place[1:] - 1, 0)]
    first = np.minimum(asked[np.minimum(place[:-1], asked.size - 1)], last)
    return np.where(requests > 0, last - first - waits.of(first, last), 0), requests
