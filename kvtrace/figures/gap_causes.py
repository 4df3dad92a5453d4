"""Causes of device idle time: the gaps between executions, attributed to host activity.

A gap ends with an execution. If the host had requested this execution before the gap began, and
earlier than a launch takes to begin, the host was ahead, and the cause is `device`: devices waited
for each other, or for a graph to begin. Else the devices waited for the host's request. The time
until the request is attributed to host activities in this order, so that each moment counts once:
compiling or loading kernels, collecting garbage, allocating device memory, waiting for the device,
launching; the rest is Python and other host code. The cause is the activity that covers most, with
two exceptions. If the host was waiting for the device when the gap began, the cause is
`synchronize`, unless the activities before it in the order cover half of the gap. And if generated
code was first loaded in a gap, its generation is not recorded, and the cause is `compile`. Gaps
below `SHORT` that the host did not cause are `short`: the time between two executions in a row.

Example: an execution ends at 100 µs, the host collects garbage from 90 to 160 µs and requests the
next execution at 200 µs, which begins at 210 µs. The gap of 110 µs has 60 µs collect, 10 µs launch
(from request to begin) and 40 µs host; the cause is `collect`.

Gaps are looked at in blocks, so that only their sums grow with a run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kvtrace.figures.columns import Integers, summed_by
from kvtrace.figures.gap_groups import Groups
from kvtrace.figures.host_events import KINDS, HostEvents
from kvtrace.figures.lines import Place
from kvtrace.figures.part_executions import PartExecutions
from kvtrace.schema.idle_tables import ACTIVITIES, AROUND_SHORT, CAUSES, EVENTS, Cause
from kvtrace.schema.window import RunWindow

_INDEX: Final = {cause: index for index, cause in enumerate(CAUSES)}
#: Nanoseconds below which gaps that the host did not cause are only summed: the time between two
#: executions in a row.
SHORT: Final = 20_000
#: Bounds, in ns, of the time from a launch to its execution on an idle device.
_LATENCY: Final = (5_000, 50_000)
#: Runs with more steps have no times by step.
_MOST_STEPS: Final = 10_000
#: Nanoseconds from which a gap with the cause `host` is a pause of the program.
PAUSE: Final = 1_000_000
#: Nanoseconds below which kernels cost more to launch than to run.
SMALL: Final = 5_000
#: Nanoseconds above which a gap between such kernels has another cause.
_AROUND_SMALL: Final = 100_000
#: Executions between which gaps are looked at together.
_BLOCK: Final = 1 << 19
_NEVER: Final = np.iinfo(np.int64).max


@dataclass(slots=True)
class PartGaps:
    """The idle time of a run in a part, in ns.

    Attributes:
        idle_ns: Idle time by cause; causes without any are missing.
        small_ns: The part of it between two kernels shorter than `SMALL`, in which the host only
            launched and ran Python.
        paused_ns: Time of the cause `host` in gaps of at least `PAUSE`.
        pauses: Number of these gaps.
        paused_between_steps_ns: Time of those that last until the first execution of a step.
        groups: Rows of `idle_gaps` without `part` and `group`.
        names: Rows of `short_executions` without `part`.
        idle_of_steps: Idle time of each step by cause; empty without steps, or with many.

    """

    idle_ns: dict[Cause, int]
    small_ns: dict[Cause, int]
    paused_ns: int
    pauses: int
    paused_between_steps_ns: int
    groups: pa.Table
    names: pa.Table
    idle_of_steps: dict[Cause, Integers]


def gaps_of_executions(
    executions: PartExecutions,
    events: HostEvents,
    places: Mapping[int, Place | None],
    window: RunWindow | None,
) -> PartGaps | None:
    """Return the idle time between executions; None without executions.

    Args:
        executions: The executions in the part.
        events: The host's activities in the whole run.
        places: The program's line of each stack id.
        window: The part's bounds, which gaps may begin and end with; None: the whole run.

    """
    if not executions.start.size:
        return None
    causes = _Causes(executions, events)
    groups = Groups(executions, places)
    steps = np.array(() if window is None else window.device_steps, np.int64)
    has_steps = has_step_times(window)
    idle, small = np.zeros(len(CAUSES), np.int64), np.zeros(len(CAUSES), np.int64)
    by_step = np.zeros((len(CAUSES), len(steps) - 1 if has_steps else 0), np.int64)
    paused, pauses, between_steps = 0, 0, 0
    for begin, end, before, after in _blocks(executions, window):
        cause, activities, around_small = causes.of(begin, end, before, after)
        duration = end - begin
        is_pause = (cause == _INDEX["host"]) & (duration >= PAUSE)
        paused += int(duration[is_pause].sum())
        pauses += int(is_pause.sum())
        between_steps += int(duration[is_pause & np.isin(end, steps)].sum())
        for index in np.unique(cause).tolist():
            of_cause = cause == index
            idle[index] += duration[of_cause].sum()
            small[index] += duration[of_cause & around_small].sum()
            if has_steps:
                step = np.searchsorted(steps, begin[of_cause], "right") - 1
                sums = summed_by(np.clip(step, 0, len(steps) - 2), duration[of_cause])
                by_step[index, : sums.size] += sums
        listed = np.flatnonzero(cause != _INDEX["short"])
        if listed.size:
            begin, end, cause = begin[listed], end[listed], cause[listed]
            stacks = _stacks_of_causes(cause, begin, end, events)
            held = {name: ns[listed] for name, ns in activities.items()}
            counts = {name: events.begun_in(name, begin, end) for name in EVENTS}
            kernels = events.compiled_in(begin, end)
            ends = before[listed], after[listed]
            groups.add(cause, end - begin, ends, stacks, held, counts, kernels)
    occurring = [cause for cause in sorted(CAUSES) if idle[_INDEX[cause]]]
    return PartGaps(
        {cause: int(idle[_INDEX[cause]]) for cause in occurring},
        {cause: int(small[_INDEX[cause]]) for cause in occurring},
        paused,
        pauses,
        between_steps,
        groups.table(),
        executions.short(SMALL),
        {cause: by_step[_INDEX[cause]] for cause in occurring} if has_steps else {},
    )


def has_step_times(window: RunWindow | None) -> bool:
    """Return whether idle time is found of each step of a window: it has some, and not too many."""
    return window is not None and 2 <= len(window.device_steps) <= _MOST_STEPS + 1


_Block = tuple[Integers, Integers, Integers, Integers]


def _blocks(executions: PartExecutions, window: RunWindow | None) -> Iterator[_Block]:
    """Yield begin and end of gaps in order, and the indices of the executions before and after.

    An index is -1 at an edge of the window.
    """
    start, end = executions.start, executions.end
    until = int(start[0]) if window is None else window.device_begin
    last = -1
    for first in range(0, start.size, _BLOCK):
        starts, ends = start[first : first + _BLOCK], end[first : first + _BLOCK]
        rows = np.arange(first, first + starts.size)
        reached = np.maximum.accumulate(np.append(until, ends))
        # For each row, the row that ends last among all rows before it.
        is_latest = ends >= reached[1:]
        latest = np.maximum.accumulate(np.append(last, np.where(is_latest, rows, last)))
        idle = np.flatnonzero(starts > reached[:-1])
        until, last = int(reached[-1]), int(latest[-1])
        yield reached[idle], starts[idle], latest[idle], rows[idle]
    if window is not None and until < window.device_end:
        edge = np.array([until, window.device_end, last, -1])
        yield edge[:1], edge[1:2], edge[2:3], edge[3:]


class _Causes:
    """The causes of gaps between some executions."""

    def __init__(self, executions: PartExecutions, events: HostEvents) -> None:
        self._executions, self._events = executions, events
        asked = executions.asked
        # An execution was requested no later than the next executions with a known request.
        bound = np.where(asked >= 0, asked, _NEVER)
        self._latest = np.minimum.accumulate(bound[::-1])[::-1]
        self._latency = _latency(asked, executions.start)

    def of(
        self, begin: Integers, end: Integers, before: Integers, after: Integers
    ) -> tuple[npt.NDArray[np.int8], dict[Cause, Integers], npt.NDArray[np.bool_]]:
        """Return the index of each gap's cause in `CAUSES`, and its ns by host activity.

        The last mask is of gaps between short executions. The arguments are as in a block.
        """
        executions, events = self._executions, self._events
        asked = np.where(after >= 0, executions.asked[after], np.int64(-1))
        latest = np.where(after >= 0, self._latest[after], _NEVER)
        activities = _activities(begin, end, asked, events)
        cause = self._host_causes(begin, end, asked, latest, activities)
        if not events.recorded:
            read_back = (before >= 0) & executions.is_read_back(before)
            cause[read_back & _is_one_of(cause, "host", "launch")] = _INDEX["synchronize"]
        short = (end - begin < SHORT) & _is_one_of(cause, "device", "unknown")
        around = (before >= 0) & (after >= 0)
        around &= executions.is_short(before, SMALL) & executions.is_short(after, SMALL)
        around &= (end - begin < _AROUND_SMALL) & _is_one_of(cause, *AROUND_SHORT)
        cause[short] = _INDEX["short"]
        return cause, activities, around

    def _host_causes(
        self,
        begin: Integers,
        end: Integers,
        asked: Integers,
        latest: Integers,
        activities: Mapping[Cause, Integers],
    ) -> npt.NDArray[np.int8]:
        """Return the index of each gap's cause in `CAUSES`, by what the host did.

        `asked` is when the host requested the execution that ends the gap, or -1, and `latest` an
        upper bound of that time. The cause is `device` if the request came before the gap and at
        least `_latency` ns before the gap's end.
        """
        longest = np.argmax(np.stack([activities[name] for name in ACTIVITIES]), axis=0)
        cause: npt.NDArray[np.int8] = longest.astype(np.int8)
        waited = self._events.waiting_at(begin)
        earlier = activities["compile"] + activities["collect"] + activities["allocate"]
        cause[waited & (2 * earlier < end - begin)] = _INDEX["synchronize"]
        cause[self._events.generated_in(begin, end)] = _INDEX["compile"]
        cause[(asked < 0) & (cause == _INDEX["host"])] = _INDEX["unknown"]
        requested = np.where(asked >= 0, asked, latest)
        ahead = (requested <= begin) & (requested < end - self._latency)
        cause[ahead] = _INDEX["device"]
        return cause


def _latency(asked: Integers, start: Integers) -> int:
    """Return an estimate, in ns, of the time from a request to its execution on an idle device.

    `asked` and `start` have the request and begin of each execution. Most executions wait for
    earlier work, so the estimate is twice the first percentile of the delays, within `_LATENCY`.
    """
    delays = (start - asked)[asked >= 0]
    estimate = 2 * float(np.percentile(delays, 1)) if delays.size else 0.0
    return int(np.clip(estimate, *_LATENCY))


def _activities(
    begin: Integers, end: Integers, asked: Integers, events: HostEvents
) -> dict[Cause, Integers]:
    """Return the nanoseconds of gaps by host activity; `asked` as in `_Causes._host_causes`."""
    host_end = np.where(asked >= 0, np.clip(asked, begin, end), end)
    covered = np.zeros_like(begin)
    activities: dict[Cause, Integers] = {}
    for name, coverage in events.coverage.items():
        covered_so_far = coverage.of(begin, host_end)
        activities[name] = covered_so_far - covered
        covered = covered_so_far
    # From the request on, the rest is launching.
    activities["launch"] = activities["launch"] + np.where(asked >= 0, end - host_end, 0)
    activities["host"] = end - begin - sum(activities.values())
    return activities


def _stacks_of_causes(
    cause: npt.NDArray[np.int8], begin: Integers, end: Integers, events: HostEvents
) -> Integers:
    """Return the stack id of the event that caused each gap, or -1."""
    stacks = np.full(cause.size, -1)
    for index in np.flatnonzero(_is_one_of(cause, *KINDS)).tolist():
        name = CAUSES[cause[index]]
        stack = events.stack_at(name, int(begin[index]), int(end[index]))
        stacks[index] = -1 if stack is None else stack
    return stacks


def _is_one_of(cause: npt.NDArray[np.int8], *causes: Cause) -> npt.NDArray[np.bool_]:
    """Return a mask of the indices in `CAUSES` that are of one of the causes."""
    return np.isin(cause, [_INDEX[name] for name in causes])
