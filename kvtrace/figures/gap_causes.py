"""Causes of device idle time: the gaps between executions of a device, by host activity.

A gap ends with an execution. If the host had requested this execution before the gap began, and
earlier than a launch takes to begin, the host was ahead, and the cause is `device`: devices waited
for each other, or for a graph to begin. Else the devices waited for the host's request. The time
until the request is attributed to host activities in this order, so that each moment counts once:
compiling or loading kernels, collecting garbage, allocating device memory, waiting for the device,
launching; the rest is Python and other host code. The cause is the activity that covers most, with
two exceptions. If the host was waiting for the device when the gap began, and this wait took half
as long as the gap, the cause is `synchronize`, unless the activities before it in the order cover
half of the gap: without the wait, the host would have been earlier by as much. And if generated
code was first loaded in a gap, its generation is not recorded, and the cause is `compile`. Gaps
below `SHORT` that the host did not cause are `short`: the time between two executions in a row.
Gaps in which an execution with an impossible end began are `unknown`.

Example: an execution ends at 100 µs, the host collects garbage from 90 to 160 µs and requests the
next execution at 200 µs, which begins at 210 µs. The gap of 110 µs has 60 µs collect, 10 µs launch
(from request to begin) and 40 µs host; the cause is `collect`.

Each device of a run has gaps of its own, which are added up. Executions are read twice, in
blocks, so that only sums of gaps grow with a run: a gap's cause depends on how long all requests
took, and on when later executions were requested.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kvtrace.figures.columns import Integers, summed_by
from kvtrace.figures.executions import (
    Busy,
    ExecutionBlock,
    ExecutionBlocks,
    Timeline,
    summed_busy,
)
from kvtrace.figures.gap_groups import Groups
from kvtrace.figures.host_events import (
    ACTIVITIES,
    AROUND_SHORT,
    CAUSES,
    EVENTS,
    KINDS,
    Cause,
    HostEvents,
)
from kvtrace.figures.lines import Place
from kvtrace.schema.table_types import NAME
from kvtrace.schema.tables import TABLES
from kvtrace.schema.window import RunWindow

#: The schema of the rows by name: `short_executions` without the part.
SHORT_EXECUTIONS: Final = pa.schema(list(TABLES["short_executions"].schema)[1:])
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
        devices: Number of devices that it is the sum of.

    """

    idle_ns: dict[Cause, int]
    small_ns: dict[Cause, int]
    paused_ns: int
    pauses: int
    paused_between_steps_ns: int
    groups: pa.Table
    names: pa.Table
    idle_of_steps: dict[Cause, Integers]
    devices: int


class Requests:
    """All requests of a part's executions, by device, on which the causes of gaps depend."""

    def __init__(self) -> None:
        self._of_device: dict[int, _DeviceRequests] = {}

    def add(self, number: int, block: ExecutionBlock) -> None:
        """Add a block; the numbers of blocks ascend."""
        for device, executions in block.by_device():
            self.of(device).add(number, executions)

    def of(self, device: int) -> "_DeviceRequests":
        """Return the requests of a device's executions."""
        return self._of_device.setdefault(device, _DeviceRequests())


class _DeviceRequests:
    """The requests of a device's executions, in blocks."""

    def __init__(self) -> None:
        self._delays = _Delays()
        #: The earliest request of each block, by its number.
        self._earliest: dict[int, int] = {}

    def add(self, number: int, block: ExecutionBlock) -> None:
        """Add a block; the numbers of blocks ascend."""
        is_known = block.asked >= 0
        asked = block.asked[is_known]
        self._delays.add(block.start[is_known] - asked)
        self._earliest[number] = int(asked.min(initial=_NEVER))

    @property
    def latency(self) -> int:
        """An estimate of the time from a request to its execution on an idle device, in ns.

        Most executions wait for earlier work, so the estimate is twice the first percentile of the
        delays, within `_LATENCY`.
        """
        percentile = self._delays.percentile(1)
        return _LATENCY[0] if percentile is None else int(np.clip(2 * percentile, *_LATENCY))

    def after(self, number: int) -> int:
        """Return the earliest request of the blocks after one, in ns since 1970, or `_NEVER`."""
        return min((ns for n, ns in self._earliest.items() if n > number), default=_NEVER)


class _Delays:
    """A percentile of many times, in ns, exact within half of `_LATENCY`."""

    def __init__(self) -> None:
        self._low, self._high = (limit // 2 for limit in _LATENCY)
        #: Numbers of times: below the limits, of each ns between them, and above.
        self._counts = np.zeros(self._high - self._low + 3, np.int64)
        self._longest_below, self._shortest_above = -_NEVER, _NEVER

    def add(self, ns: Integers) -> None:
        """Count more delays, in ns."""
        place = np.clip(ns, self._low - 1, self._high + 1) - (self._low - 1)
        self._counts += np.bincount(place, minlength=self._counts.size)
        self._longest_below = max(self._longest_below, int(ns[place == 0].max(initial=-_NEVER)))
        above = ns[place == self._counts.size - 1]
        self._shortest_above = min(self._shortest_above, int(above.min(initial=_NEVER)))

    def percentile(self, percent: float) -> float | None:
        """Return a percentile, interpolated; None without times.

        One outside of the limits is outside of them here, too, but may be another time.
        """
        until = np.cumsum(self._counts)
        if not until[-1]:
            return None
        rank = (int(until[-1]) - 1) * percent / 100
        below, above = (
            self._time(int(np.searchsorted(until, row, "right")))
            for row in (int(rank), min(int(rank) + 1, int(until[-1]) - 1))
        )
        return below + (above - below) * (rank - int(rank))

    def _time(self, place: int) -> int:
        if place == 0:
            return self._longest_below
        return self._shortest_above if place == self._counts.size - 1 else self._low - 1 + place


def gaps_of_executions(
    blocks: ExecutionBlocks,
    events: HostEvents,
    places: Mapping[int, Place | None],
    window: RunWindow | None,
) -> PartGaps | None:
    """Return the idle time between executions; None without executions.

    Args:
        blocks: The executions of the run.
        events: The host's activities in the run.
        places: The program's line of each stack id.
        window: The part's bounds, which gaps may begin and end with; None: the whole run.

    """
    requests = Requests()
    for number, block in blocks.read(window, named=False):
        requests.add(number, block)
    gaps = GapSums(requests, events, places, window)
    for number, block in blocks.read(window):
        gaps.add(number, block)
    return gaps.taken()


class _DeviceGaps:
    """The times of a device, and its execution that ended last so far."""

    def __init__(self, window: RunWindow | None, requests: _DeviceRequests) -> None:
        self.timeline = Timeline(window)
        self.requests = requests
        self.latency = requests.latency
        self.latest: ExecutionBlock | None = None


class GapSums:
    """Sums of the gaps of a part; the blocks of its executions are added in order."""

    def __init__(
        self,
        requests: Requests,
        events: HostEvents,
        places: Mapping[int, Place | None],
        window: RunWindow | None,
    ) -> None:
        """Start with no gap.

        Args:
            requests: Those of all blocks of the part.
            events: The host's activities in the run.
            places: The program's line of each stack id.
            window: The part's bounds, which gaps may begin and end with; None: the whole run.

        """
        self._requests, self._events = requests, events
        self._window = window
        self._devices: dict[int, _DeviceGaps] = {}
        self._groups = Groups(places)
        steps = () if window is None else window.device_steps
        self._steps = np.array(steps, np.int64)
        number = len(steps) - 1 if has_step_times(window) else 0
        self._idle, self._small = (np.zeros(len(CAUSES), np.int64) for _ in range(2))
        self._by_step = np.zeros((len(CAUSES), number), np.int64)
        self._paused = self._pauses = self._between_steps = 0
        #: Executions, short ones and their ns, by name.
        self._by_name = np.zeros((3, 0), np.int64)
        self._names: tuple[str, ...] = ()

    @property
    def busy(self) -> Busy | None:
        """Busy and idle time of the part so far; None before the first block."""
        return summed_busy(device.timeline for device in self._devices.values())

    def add(self, number: int, block: ExecutionBlock) -> None:
        """Add the next block of the part, with its number."""
        self._count(block)
        for index, executions in block.by_device():
            if index not in self._devices:
                self._devices[index] = _DeviceGaps(self._window, self._requests.of(index))
            self._add_to(self._devices[index], number, executions)

    def _add_to(self, device: _DeviceGaps, number: int, block: ExecutionBlock) -> None:
        """Add the gaps that executions of a device end."""
        gaps = device.timeline.add(block.start, block.end)
        executions = block.after(device.latest)
        shift = 0 if device.latest is None else 1
        if gaps.begin.size:
            # An execution was requested no later than the next executions with a known request.
            bound = np.where(executions.asked >= 0, executions.asked, _NEVER)
            bound = np.minimum.accumulate(np.append(bound, device.requests.after(number))[::-1])
            ends = gaps.before + shift, gaps.after + shift
            causes = _Causes(executions, self._events, bound[::-1], device.latency)
            self._add_gaps(causes, gaps.begin, gaps.end, ends)
        latest = gaps.latest + shift
        device.latest = executions.rows(slice(latest, latest + 1))

    def taken(self) -> PartGaps | None:
        """Return the idle time of the whole part, after its last block; None without executions."""
        if not self._devices:
            return None
        for device in self._devices.values():
            last_gap = device.timeline.last_gap
            if last_gap is not None and device.latest is not None:
                begin, end = (np.array([edge], np.int64) for edge in last_gap)
                ends = np.zeros(1, np.int64), np.full(1, -1)
                never = np.array([_NEVER])
                causes = _Causes(device.latest, self._events, never, device.latency)
                self._add_gaps(causes, begin, end, ends)
        occurring = [cause for cause in sorted(CAUSES) if self._idle[_INDEX[cause]]]
        has_steps = self._by_step.size > 0
        return PartGaps(
            {cause: int(self._idle[_INDEX[cause]]) for cause in occurring},
            {cause: int(self._small[_INDEX[cause]]) for cause in occurring},
            self._paused,
            self._pauses,
            self._between_steps,
            self._groups.table(),
            self._short_executions(self._names),
            {cause: self._by_step[_INDEX[cause]] for cause in occurring} if has_steps else {},
            len(self._devices),
        )

    def _count(self, block: ExecutionBlock) -> None:
        """Count the executions of a block by name, and sum the times of the short ones."""
        self._names = block.names
        size = len(block.names)
        more = size - self._by_name.shape[1]
        self._by_name = np.pad(self._by_name, ((0, 0), (0, more)))
        is_short = block.is_short(np.arange(block.start.size), SMALL)
        name = block.name[is_short].astype(np.int64)
        totals = summed_by(name, (block.end - block.start)[is_short])
        self._by_name[0] += np.bincount(block.name, minlength=size)
        self._by_name[1] += np.bincount(name, minlength=size)
        self._by_name[2, : totals.size] += totals

    def _short_executions(self, names: Sequence[str]) -> pa.Table:
        """Return a row for each name that occurs, as `SHORT_EXECUTIONS`.

        It has the number and total ns of kernels that took less than `SMALL` ns.
        """
        occurring = np.flatnonzero(self._by_name[0])
        texts = pa.array([names[code] for code in occurring.tolist()], NAME.value_type)
        columns = [texts.dictionary_encode(), *map(pa.array, self._by_name[1:, occurring])]
        return pa.Table.from_arrays(columns, schema=SHORT_EXECUTIONS)

    def _add_gaps(
        self,
        causes: "_Causes",
        begin: Integers,
        end: Integers,
        ends: tuple[Integers, Integers],
    ) -> None:
        """Add gaps of a device; `ends` are indices in the executions of `causes`."""
        self._events.move_to(int(begin[0]), int(end[-1]))
        cause, activities, around_small = causes.of(begin, end, *ends)
        duration = end - begin
        is_pause = (cause == _INDEX["host"]) & (duration >= PAUSE)
        self._paused += int(duration[is_pause].sum())
        self._pauses += int(is_pause.sum())
        self._between_steps += int(duration[is_pause & np.isin(end, self._steps)].sum())
        for index in np.unique(cause).tolist():
            of_cause = cause == index
            self._idle[index] += duration[of_cause].sum()
            self._small[index] += duration[of_cause & around_small].sum()
            if self._by_step.size:
                step = np.searchsorted(self._steps, begin[of_cause], "right") - 1
                sums = summed_by(np.clip(step, 0, len(self._steps) - 2), duration[of_cause])
                self._by_step[index, : sums.size] += sums
        listed = np.flatnonzero(cause != _INDEX["short"])
        if listed.size:
            begin, end, cause = begin[listed], end[listed], cause[listed]
            stacks = _stacks_of_causes(cause, begin, end, self._events)
            held = {name: ns[listed] for name, ns in activities.items()}
            counts = {name: self._events.begun_in(name, begin, end) for name in EVENTS}
            kernels = self._events.compiled_in(begin, end)
            around = ends[0][listed], ends[1][listed]
            self._groups.add(
                causes.executions, cause, end - begin, around, stacks, held, counts, kernels
            )


def has_step_times(window: RunWindow | None) -> bool:
    """Return whether idle time is found of each step of a window: it has some, and not too many."""
    return window is not None and 2 <= len(window.device_steps) <= _MOST_STEPS + 1


class _Causes:
    """The causes of gaps between some executions."""

    def __init__(
        self, executions: ExecutionBlock, events: HostEvents, latest: Integers, latency: int
    ) -> None:
        """Take what the causes depend on.

        Args:
            executions: Those between which the gaps are.
            events: The host's activities near the gaps.
            latest: An upper bound of when the host requested each execution.
            latency: The time from a request to its execution on an idle device, in ns.

        """
        self.executions, self._events = executions, events
        self._latest, self._latency = latest, latency

    def of(
        self, begin: Integers, end: Integers, before: Integers, after: Integers
    ) -> tuple[npt.NDArray[np.int8], dict[Cause, Integers], npt.NDArray[np.bool_]]:
        """Return the index of each gap's cause in `CAUSES`, and its ns by host activity.

        The last mask is of gaps between short executions. `before` and `after` are indices of the
        executions around each gap, or -1.
        """
        executions, events = self.executions, self._events
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
        cause[events.undated_in(int(executions.device[0]), begin, end)] = _INDEX["unknown"]
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
        waited = 2 * self._events.waits_at(begin) >= end - begin
        earlier = activities["compile"] + activities["collect"] + activities["allocate"]
        cause[waited & (2 * earlier < end - begin)] = _INDEX["synchronize"]
        cause[self._events.generated_in(begin, end)] = _INDEX["compile"]
        cause[(asked < 0) & (cause == _INDEX["host"])] = _INDEX["unknown"]
        requested = np.where(asked >= 0, asked, latest)
        ahead = (requested <= begin) & (requested < end - self._latency)
        cause[ahead] = _INDEX["device"]
        return cause


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
        stacks[index] = events.stack_at(name, int(begin[index]), int(end[index]))
    return stacks


def _is_one_of(cause: npt.NDArray[np.int8], *causes: Cause) -> npt.NDArray[np.bool_]:
    """Return a mask of the indices in `CAUSES` that are of one of the causes."""
    return np.isin(cause, [_INDEX[name] for name in causes])
