"""Timed executions of a run: in blocks by begin, with their calls and phases; busy and idle time.

A block has the executions that begin in a stretch of time, and fits in memory. The stretches of a
sealed run follow from the statistics of its row groups, so that each has about `_ROWS` rows and
overlaps few row groups, however long the run is. All other runs are one block.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct, structs

from kvtrace.figures.columns import Integers, Positions, integers
from kvtrace.figures.scans import groups_of_executions
from kvtrace.schema.cached_property import cached_property
from kvtrace.schema.repair import LATEST
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.window import RunWindow, pieces_near, whole_trace

#: Rows of a block, about.
_ROWS: Final = 1 << 17
#: Most rows of a run whose blocks are kept, as they are read several times.
_MOST_KEPT: Final = 1 << 21
#: How often a row group is read, on average, at most: one that overlaps several stretches is read
#: for each of them.
_MOST_READS: Final = 4
#: Launches between two that are looked up, from which on those between are not read.
_LEAST_SKIPPED: Final = 1 << 17
#: What is shown of an execution without a name.
_NAMELESS: Final = "?"
_TIMES: Final = ("launch_seq", "graph_id", "start", "end", "device", "requested")
_NAMES: Final = ("name", "kind", "call_id", "stack_id")
_FROM_DEVICE: Final = "memcpy device to host"
_COLUMNS: Final = ("start", "end", "device", "asked", "is_replay", "name", "stack", "is_kernel")


class ExecutionBlock(Struct, frozen=True):
    """Timed executions of a run, sorted by begin.

    Attributes:
        start: Begin of each execution, in ns since 1970.
        end: Its end.
        device: Index of its device, or -1.
        asked: When the host requested it, or -1.
        is_replay: Whether a replay of a graph ran it.
        name: Its name, as an index in `names`.
        stack: The stack that asked for it, as an index in `stacks`.
        is_kernel: Whether it is neither a copy nor a fill.
        names: Distinct names of this block and those read before it.
        stacks: Distinct stack ids of these blocks; -1: none is known.

    """

    start: Integers
    end: Integers
    device: Integers
    asked: Integers
    is_replay: npt.NDArray[np.bool_]
    name: npt.NDArray[np.int32]
    stack: npt.NDArray[np.int32]
    is_kernel: npt.NDArray[np.bool_]
    names: tuple[str, ...]
    stacks: Integers

    def between(self, low: int, high: int) -> "ExecutionBlock":
        """Return the executions whose `start` is in [`low`, `high`), in ns since 1970."""
        bounds = np.array([low, high], np.int64)
        return self.rows(slice(*np.searchsorted(self.start, bounds).tolist()))

    def rows(self, rows: Integers | slice) -> "ExecutionBlock":
        """Return some of the executions."""
        return structs.replace(self, **{name: getattr(self, name)[rows] for name in _COLUMNS})

    def by_device(self) -> "Iterator[tuple[int, ExecutionBlock]]":
        """Yield the index of each device, ascending, and its executions."""
        if not self.device.size or (self.device == self.device[0]).all():
            yield from ((index, self) for index in self.device[:1].tolist())
            return
        for index in np.unique(self.device).tolist():
            yield index, self.rows(np.flatnonzero(self.device == index))

    def after(self, earlier: "ExecutionBlock | None") -> "ExecutionBlock":
        """Return those of an earlier block of the run, if any, and then these."""
        if earlier is None:
            return self
        columns: dict[str, Any] = {
            n: np.append(getattr(earlier, n), getattr(self, n)) for n in _COLUMNS
        }
        return structs.replace(self, **columns)

    def is_short(self, rows: Integers, limit: int) -> npt.NDArray[np.bool_]:
        """Return a mask of the given rows that are kernels which took less than `limit` ns."""
        return np.asarray((self.end[rows] - self.start[rows] < limit) & self.is_kernel[rows])

    def is_read_back(self, rows: Integers) -> npt.NDArray[np.bool_]:
        """Return a mask of the given rows that are copies from a device to the host."""
        if _FROM_DEVICE not in self.names:
            return np.zeros(rows.size, bool)
        return np.asarray(self.name[rows] == self.names.index(_FROM_DEVICE))


class ExecutionBlocks:
    """Blocks of a run's executions that have a begin and an end, sorted by begin."""

    def __init__(self, trace: Trace, run: Run, *, named: bool = True) -> None:
        """Choose the blocks; `trace` may be a window, of which the whole trace is read.

        Unless `named`, blocks are never read with their names.
        """
        self._trace, self._run, self._named = whole_trace(trace), run, named
        #: Whether blocks are kept, and those that were read, by number.
        self._keeps = False
        self._kept: dict[int, ExecutionBlock] = {}
        self._names: dict[str, int] = {}
        self._stacks = {-1: 0}
        self._stack_of_call: tuple[Positions, npt.NDArray[np.int32]] | None = None

    @cached_property
    def _stretches(self) -> list[tuple[int, int]]:
        groups = groups_of_executions(self._trace, self._run)
        cuts = _cuts(groups, _ROWS)
        self._keeps = not cuts or sum(rows for *_, rows in groups or ()) <= _MOST_KEPT
        return list(zip((-LATEST, *cuts), (*cuts, LATEST + 1), strict=True))

    def read(
        self, window: RunWindow | None = None, *, named: bool = True
    ) -> Iterator[tuple[int, ExecutionBlock]]:
        """Yield the executions that begin in a window of the run (None: all), with block numbers.

        Blocks without any are left out. Unless `named`, names, stacks and kinds may be missing.
        Errors as `Trace.table`.
        """
        low, high = (
            (-LATEST, LATEST + 1) if window is None else (window.device_begin, window.device_end)
        )
        for number, (begin, end) in enumerate(self._stretches):
            if begin < high and low < end:
                block = self._block(number, max(begin, low), min(end, high), named=named)
                if block.start.size:
                    yield number, block

    def since(self, time: int) -> Iterator[tuple[int, ExecutionBlock]]:
        """Yield the blocks from that on in which `time` lies, without names; as `read`."""
        for number, (begin, end) in enumerate(self._stretches):
            if time < end:
                block = self._block(number, begin, end, named=False)
                if block.start.size:
                    yield number, block

    def _block(self, number: int, low: int, high: int, *, named: bool) -> ExecutionBlock:
        if not self._keeps:
            return self._read(low, high, named=named)
        if number not in self._kept:
            self._kept[number] = self._read(*self._stretches[number], named=self._named)
        return self._kept[number].between(low, high)

    def _read(self, low: int, high: int, *, named: bool) -> ExecutionBlock:
        """Read the executions whose `start` is in [`low`, `high`), in ns since 1970."""
        names = (*_TIMES, *_NAMES) if named else _TIMES
        span, ranges = ("start", "start"), [(low, high - 1)]
        pieces = pieces_near(self._trace, "gpu_kernels", self._run, names, span, ranges)
        columns = [self._columns(_beginning(piece, low, high), named=named) for piece in pieces]
        nothing = (*(np.zeros(0, np.int64),) * 5, np.zeros(0, bool), *_unnamed(0))
        start, end, device, asked, launch, is_replay, *others = map(
            np.concatenate, zip(nothing, *columns, strict=True)
        )
        launched = np.flatnonzero(launch >= 0)
        if launched.size:
            asked[launched] = launch_begins(self._trace, self._run, launch[launched])
        name, stack, is_kernel = others
        names_so_far, stacks = tuple(self._names), np.array(list(self._stacks), np.int64)
        # Of recorded requests only that of a replay runs several executions.
        request = np.where(launch < 0, asked, -1)
        order = np.argsort(request, kind="stable")
        again = (np.diff(request[order]) == 0) & (request[order][1:] >= 0)
        is_replay[order[1:][again]] = is_replay[order[:-1][again]] = True
        block = ExecutionBlock(
            start, end, device, asked, is_replay, name, stack, is_kernel, names_so_far, stacks
        )
        if (start[1:] >= start[:-1]).all():
            return block
        return block.rows(np.argsort(start, kind="stable"))

    def _columns(self, rows: pa.Table, *, named: bool) -> tuple[npt.NDArray[np.generic], ...]:
        """Return rows of `gpu_kernels` as columns of a block.

        After `asked` comes the sequence number of the launch whose `enter` it will be; -1: `asked`
        is recorded, or stays unknown.
        """
        asked, launch = requests_of(rows)
        others = self._names_of(rows) if named else _unnamed(len(rows))
        placed = integers(rows["start"]), integers(rows["end"]), integers(rows["device"], -1)
        return *placed, asked, launch, rows["graph_id"].is_valid().to_numpy(), *others

    def _names_of(self, rows: pa.Table) -> tuple[npt.NDArray[np.generic], ...]:
        """Return codes of names and stacks, and whether rows are of kernels."""
        positions, stack_of_call = self._stacks_of_calls()
        stack = stack_of_call[positions.of(integers(rows["call_id"], -1))]
        has_stack = rows["stack_id"].is_valid().to_numpy()
        if has_stack.any():
            stack[has_stack] = _stack_codes(integers(rows["stack_id"], -1)[has_stack], self._stacks)
        return _name_codes(rows["name"], self._names), stack, rows["kind"].is_null().to_numpy()

    def _stacks_of_calls(self) -> tuple[Positions, npt.NDArray[np.int32]]:
        if self._stack_of_call is None:
            calls = self._trace.table("calls", [self._run], ["call_id", "stack_id"])
            calls = calls.sort_by("call_id")
            codes = _stack_codes(integers(calls["stack_id"], -1), self._stacks)
            stacks = np.append(codes, np.int32(0))
            self._stack_of_call = Positions(integers(calls["call_id"])), stacks
        return self._stack_of_call


def requests_of(rows: pa.Table) -> tuple[Integers, Integers]:
    """Return when the host requested executions, or -1, and the launch that says it, or -1."""
    asked = integers(rows["requested"], -1)
    # One without a recorded request that is not of a graph was requested by its launch.
    of_launch = (asked < 0) & rows["graph_id"].is_null().to_numpy()
    return asked, np.where(of_launch, integers(rows["launch_seq"], -1), -1)


def launch_begins(trace: Trace, run: Run, seq: Integers) -> Integers:
    """Return when launches began, by their numbers; -1 for numbers of no launch.

    `trace` is the whole trace. Errors as `Trace.table`.
    """
    wanted = np.unique(seq)
    begins = np.flatnonzero(
        np.diff(wanted, prepend=wanted[0] - _LEAST_SKIPPED - 1) > _LEAST_SKIPPED
    )
    ends = np.append(begins[1:], wanted.size) - 1
    ranges = list(zip(wanted[begins].tolist(), wanted[ends].tolist(), strict=True))
    enters = np.full(wanted.size, -1)
    for piece in pieces_near(trace, "launches", run, ("seq", "enter"), ("seq", "seq"), ranges):
        rows = piece.filter(pc.is_valid(piece["enter"]))
        numbers = integers(rows["seq"], -1)
        place = np.minimum(np.searchsorted(wanted, numbers), wanted.size - 1)
        is_wanted = wanted[place] == numbers
        enters[place[is_wanted]] = integers(rows["enter"])[is_wanted]
    return enters[np.searchsorted(wanted, seq)]


def _beginning(rows: pa.Table, low: int, high: int) -> pa.Table:
    """Return the executions whose `start` is in [`low`, `high`) and whose `end` is known."""
    rows = rows.filter(pc.and_(pc.is_valid(rows["start"]), pc.is_valid(rows["end"])))
    start = integers(rows["start"])
    inside = (low <= start) & (start < high)
    return rows if inside.all() else rows.filter(pa.array(inside))


def _unnamed(rows: int) -> tuple[npt.NDArray[np.generic], ...]:
    return np.zeros(rows, np.int32), np.zeros(rows, np.int32), np.zeros(rows, np.bool_)


def _cuts(groups: list[tuple[int, int, int]] | None, rows_of_stretch: int) -> list[int]:
    """Return the times between stretches with about `rows_of_stretch` rows each.

    `groups` has the first time, last time and number of rows of each row group, whose rows are
    taken to be evenly spread over that time; None: not known, which gives one stretch.
    """
    if not groups:
        return []
    first, last, rows = (np.array(column, np.int64) for column in zip(*groups, strict=True))
    begin = int(first.min())
    density = rows / (last + 1 - first)
    edges = np.concatenate([first, last + 1]) - begin
    order = np.argsort(edges, kind="stable")
    densities = np.cumsum(np.concatenate([density, -density])[order])
    rows_until = np.append(0.0, np.cumsum(densities[:-1] * np.diff(edges[order])))
    rows_until = np.maximum.accumulate(rows_until)
    number = -(-int(rows.sum()) // rows_of_stretch)
    while number > 1:
        until = rows_until[-1] * np.arange(1, number) / number
        cuts = np.unique(np.interp(until, rows_until, edges[order]).astype(np.int64)) + begin
        stretches = np.searchsorted(cuts, last, "right") - np.searchsorted(cuts, first, "right") + 1
        if stretches.sum() <= _MOST_READS * len(groups):
            return [int(cut) for cut in cuts]
        number //= 2
    return []


def _stack_codes(ids: Integers, stacks: dict[int, int]) -> npt.NDArray[np.int32]:
    """Return the code of each stack id, and add new ids to `stacks`."""
    distinct, inverse = np.unique(ids, return_inverse=True)
    codes = [stacks.setdefault(stack, len(stacks)) for stack in distinct.tolist()]
    return np.array(codes, np.int32)[inverse]


def _name_codes(column: pa.ChunkedArray, names: dict[str, int]) -> npt.NDArray[np.int32]:
    """Return the code of each name, and add new names to `names`."""
    codes = [np.zeros(0, np.int32)]
    for chunk in column.chunks:
        texts = [*chunk.dictionary.to_pylist(), None]
        indices = pc.fill_null(chunk.indices, len(texts) - 1).to_numpy()
        occurring = np.unique(indices)
        code_of = np.zeros(len(texts), np.int32)
        for index in occurring.tolist():
            code_of[index] = names.setdefault(texts[index] or _NAMELESS, len(names))
        codes.append(code_of[indices])
    return np.concatenate(codes)


# -- busy and idle time of devices -----------------------------------------------------------------
# Each device has its own: what is said of a run with several, or of several runs, is their sum.


@dataclass(frozen=True, slots=True)
class Busy:
    """Busy and idle time of a device in a run's window, or a sum over `devices`.

    `span_ns` is the length of the window; without one, the time from the device's first execution
    to its last. It is the sum of `busy_ns`, when the device ran something, and `idle_ns`.
    `overlapped_ns` is time with several executions on the device, counted once per additional
    execution. `spare_ns` is the time that a run could take less, on each of its devices: until it
    takes as long as the busiest of them works.
    """

    span_ns: int = 0
    busy_ns: int = 0
    overlapped_ns: int = 0
    idle_ns: int = 0
    devices: int = 0
    spare_ns: int = 0

    @property
    def length_ns(self) -> int:
        """The mean of the devices' spans, in ns."""
        return self.span_ns // max(self.devices, 1)

    def __add__(self, other: "Busy") -> "Busy":
        """Return the sum, figure by figure."""
        return Busy(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def summed_busy(timelines: "Iterable[Timeline]") -> Busy | None:
    """Return the busy and idle time of several devices, added up; None without an execution."""
    times = [busy for timeline in timelines if (busy := timeline.busy) is not None]
    if not times:
        return None
    busy = sum(times, Busy())
    at_best = len(times) * max(of_device.busy_ns for of_device in times)
    return replace(busy, spare_ns=max(busy.span_ns - at_best, 0))


class IdleTimes(NamedTuple):
    """When a device was idle, between executions of which one block is given.

    Attributes:
        begin: Begin of each gap, in ns since 1970.
        end: Its end.
        before: Index of the execution that ended last before it; -1: none of the block.
        after: Index of the execution that ends it.
        latest: Index of the execution that ends last of all so far; -1: none of the block.

    """

    begin: Integers
    end: Integers
    before: Integers
    after: Integers
    latest: int


class Timeline:
    """The busy and idle time of a device's executions, which are added sorted by begin, in blocks.

    With a window, idle time begins and ends with the window.
    """

    def __init__(self, window: RunWindow | None) -> None:
        self._begin = None if window is None else window.device_begin
        self._end = None if window is None else window.device_end
        #: Until when the device was busy so far.
        self._until: int | None = None
        self._idle_ns = self._executions_ns = 0

    def add(self, start: Integers, end: Integers) -> IdleTimes:
        """Add a block of executions, at least one, and return the gaps that they end."""
        if self._begin is None:
            self._begin = int(start[0])
        until = self._begin if self._until is None else self._until
        reached = np.maximum.accumulate(np.append(until, end))
        rows = np.arange(start.size)
        is_latest = end >= reached[1:]
        latest = np.maximum.accumulate(np.append(-1, np.where(is_latest, rows, -1)))
        idle = np.flatnonzero(start > reached[:-1])
        gaps = IdleTimes(reached[idle], start[idle], latest[idle], rows[idle], int(latest[-1]))
        self._until = int(reached[-1])
        self._idle_ns += int((gaps.end - gaps.begin).sum())
        self._executions_ns += int((end - start).sum())
        return gaps

    @property
    def last_gap(self) -> tuple[int, int] | None:
        """Begin and end of the idle time after the last execution, to the end of the window."""
        if self._until is None or self._end is None or self._until >= self._end:
            return None
        return self._until, self._end

    @property
    def busy(self) -> Busy | None:
        """The busy and idle time; None without an execution."""
        if self._until is None or self._begin is None:
            return None
        begin, end = self.last_gap or (self._until, self._until)
        span_ns, idle_ns = end - self._begin, self._idle_ns + end - begin
        busy_ns = span_ns - idle_ns
        return Busy(span_ns, busy_ns, self._executions_ns - busy_ns, idle_ns, 1)


# -- call and phase of each execution: the recorded call, else its launch's, as in the view `placed`


#: Stands for an unknown call, phase or launch.
UNKNOWN: Final = -1


class PlacedLaunches(Struct, frozen=True):
    """The launches of a run as columns sorted by `seq`: `seq`, call id and phase code."""

    seq: Integers
    call: Integers
    phase: Integers
    _positions: Positions

    @classmethod
    def of(cls, seq: Integers, call: Integers, phase: Integers) -> Self:
        """Return the launches, sorted by `seq`; the columns may be in any order."""
        if not np.all(seq[1:] >= seq[:-1]):
            order = np.argsort(seq, kind="stable")
            seq, call, phase = seq[order], call[order], phase[order]
        return cls(seq, call, phase, Positions(seq))

    def placed(self, launch: Integers, call: Integers) -> tuple[Integers, Integers]:
        """Return the call id and phase code of each execution; UNKNOWN without a call.

        `launch` and `call` have each execution's recorded launch and call id, or UNKNOWN.
        """
        if not self.seq.size:
            return call, np.full(launch.size, UNKNOWN)
        rows = self._positions.of(launch)
        has_launch = rows >= 0
        phase = np.where(has_launch, self.phase[rows], np.int64(UNKNOWN))
        return np.where(has_launch & (call == UNKNOWN), self.call[rows], call), phase
