"""Idle time of a part by cause, summed over gaps (`gap_parts.py`), and the gaps in groups.

Each device of a run has gaps of its own, which are added up. Executions are read twice, in
blocks, so that only sums of gaps grow with a run: a gap's cause depends on how long all requests
took, and on when later executions were requested.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct

from kvtrace.figures.columns import Integers, summed_by
from kvtrace.figures.executions import (
    Busy,
    ExecutionBlock,
    ExecutionBlocks,
    Timeline,
    summed_busy,
)
from kvtrace.figures.gap_groups import Groups
from kvtrace.figures.gap_parts import INDEX, NEVER, SMALL, GapCauses, is_one_of
from kvtrace.figures.host_events import (
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
#: Bounds, in ns, of the time from a launch to its execution on an idle device.
_LATENCY: Final = (5_000, 50_000)
#: Runs with more steps have no times by step.
_MOST_STEPS: Final = 10_000
#: Nanoseconds of the part `host` from which a gap has a pause of the program.
PAUSE: Final = 1_000_000


class PartGaps(Struct):
    """The idle time of a run in a part, in ns.

    Attributes:
        idle_ns: Idle time by cause; causes without any are missing.
        small_ns: The part of it between two kernels shorter than `SMALL`, in which the host mostly
            launched and ran Python.
        paused_ns: Time of the cause `host` in gaps with at least `PAUSE` of it, without those that
            a wait of the host caused.
        pauses: Number of these gaps.
        paused_between_steps_ns: Time of those in which a step begins.
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
        self._earliest[number] = int(asked.min(initial=NEVER))

    @property
    def latency(self) -> int:
        """An estimate of the time from a request to its execution on an idle device, in ns.

        Most executions wait for earlier work, so the estimate is twice the first percentile of the
        delays, within `_LATENCY`.
        """
        percentile = self._delays.percentile(1)
        return _LATENCY[0] if percentile is None else int(np.clip(2 * percentile, *_LATENCY))

    def after(self, number: int) -> int:
        """Return the earliest request of the blocks after one, in ns since 1970, or `NEVER`."""
        return min((ns for n, ns in self._earliest.items() if n > number), default=NEVER)


class _Delays:
    """A percentile of many times, in ns, exact within half of `_LATENCY`."""

    def __init__(self) -> None:
        self._low, self._high = (limit // 2 for limit in _LATENCY)
        #: Numbers of times: below the limits, of each ns between them, and above.
        self._counts = np.zeros(self._high - self._low + 3, np.int64)
        self._longest_below, self._shortest_above = -NEVER, NEVER

    def add(self, ns: Integers) -> None:
        """Count more delays, in ns."""
        place = np.clip(ns, self._low - 1, self._high + 1) - (self._low - 1)
        self._counts += np.bincount(place, minlength=self._counts.size)
        self._longest_below = max(self._longest_below, int(ns[place == 0].max(initial=-NEVER)))
        above = ns[place == self._counts.size - 1]
        self._shortest_above = min(self._shortest_above, int(above.min(initial=NEVER)))

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
            bound = np.where(executions.asked >= 0, executions.asked, NEVER)
            bound = np.minimum.accumulate(np.append(bound, device.requests.after(number))[::-1])
            ends = gaps.before + shift, gaps.after + shift
            causes = GapCauses(executions, self._events, bound[::-1], device.latency)
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
                never = np.array([NEVER])
                # Until the end of its last step the host requested nothing of the next one.
                asked = last_gap[1] if self._steps.size else -1
                causes = GapCauses(device.latest, self._events, never, device.latency, asked)
                self._add_gaps(causes, begin, end, ends)
        occurring = [cause for cause in sorted(CAUSES) if self._idle[INDEX[cause]]]
        has_steps = self._by_step.size > 0
        return PartGaps(
            {cause: int(self._idle[INDEX[cause]]) for cause in occurring},
            {cause: int(self._small[INDEX[cause]]) for cause in occurring},
            self._paused,
            self._pauses,
            self._between_steps,
            self._groups.table(),
            self._short_executions(self._names),
            {cause: self._by_step[INDEX[cause]] for cause in occurring} if has_steps else {},
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
        causes: GapCauses,
        begin: Integers,
        end: Integers,
        ends: tuple[Integers, Integers],
    ) -> None:
        """Add gaps of a device; `ends` are indices in the executions of `causes`."""
        self._events.move_to(int(begin[0]), int(end[-1]))
        found = causes.of(begin, end, ends[1])
        cut_begin, cut_end, gap = _cut(begin, end, self._steps)
        pieces = causes.parts(found, cut_begin, cut_end, gap)
        parts = np.add.reduceat(pieces, np.searchsorted(gap, np.arange(begin.size)), axis=1)
        cause = causes.listed_as(found, begin, end, ends[0], parts)
        paused = _paused(cause, parts)
        self._paused += int(paused.sum())
        self._pauses += int((paused > 0).sum())
        first_step, later_step = (
            np.searchsorted(self._steps, *edge) for edge in ((begin, "left"), (end, "right"))
        )
        self._between_steps += int(paused[first_step < later_step].sum())
        around = causes.are_small(begin, end, *ends) & is_one_of(cause, *AROUND_SHORT)
        self._idle += parts.sum(axis=1)
        rows = is_one_of(np.arange(len(CAUSES)), *AROUND_SHORT)
        self._small[rows] += parts[np.ix_(rows, around)].sum(axis=1)
        if self._by_step.size:
            step = np.searchsorted(self._steps, cut_begin, "right") - 1
            step = np.clip(step, 0, len(self._steps) - 2)
            for index, ns in enumerate(pieces):
                sums = summed_by(step, ns)
                self._by_step[index, : sums.size] += sums
        listed = np.flatnonzero(cause != INDEX["short"])
        if listed.size:
            begin, end, cause, parts = begin[listed], end[listed], cause[listed], parts[:, listed]
            stacks = _stacks_of_causes(cause, begin, end, self._events)
            columns = {f"{name}_ns": parts[INDEX[name]] for name in CAUSES if name != "short"}
            columns |= {f"{n}_events": self._events.begun_in(n, begin, end) for n in EVENTS}
            columns["paused_ns"] = paused[listed]
            launching = parts[INDEX["launch"]] + parts[INDEX["host"]] - paused[listed]
            around_listed = ends[0][listed], ends[1][listed]
            is_replay = causes.executions.is_replay[around_listed[1]] & (around_listed[1] >= 0)
            columns["replay_ns"] = np.where(is_replay, launching, 0)
            kernels = self._events.compiled_in(begin, end)
            self._groups.add(
                causes.executions, cause, end - begin, around_listed, stacks, columns, kernels
            )


def _cut(begin: Integers, end: Integers, steps: Integers) -> tuple[Integers, Integers, Integers]:
    """Return begin and end of the gaps' pieces, which steps cut, and the gap of each piece."""
    place = np.searchsorted(begin, steps, "left") - 1
    cuts = steps[(place >= 0) & (steps < end[place])]
    begins, ends = (np.sort(np.append(edge, cuts)) for edge in (begin, end))
    return begins, ends, np.searchsorted(begin, begins, "right") - 1


def _paused(cause: npt.NDArray[np.int8], parts: Integers) -> Integers:
    """Return the time of each gap that is a pause of the program."""
    host = parts[INDEX["host"]]
    return np.where((host >= PAUSE) & (cause != INDEX["synchronize"]), host, 0)


def has_step_times(window: RunWindow | None) -> bool:
    """Return whether idle time is found of each step of a window: it has some, and not too many."""
    return window is not None and 2 <= len(window.device_steps) <= _MOST_STEPS + 1


def _stacks_of_causes(
    cause: npt.NDArray[np.int8], begin: Integers, end: Integers, events: HostEvents
) -> Integers:
    """Return the stack id of the event that caused each gap, or -1."""
    stacks = np.full(cause.size, -1)
    for index in np.flatnonzero(is_one_of(cause, *KINDS)).tolist():
        name = CAUSES[cause[index]]
        stacks[index] = events.stack_at(name, int(begin[index]), int(end[index]))
    return stacks
