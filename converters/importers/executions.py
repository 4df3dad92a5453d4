"""Executions on devices, as importers collect them: by column, joined to what asked for them."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from kvtrace.converters.importers.host_stacks import HostRanges
from kvtrace.converters.importers.kernel_rows import add_calls
from kvtrace.converters.importers.rows import NONE, Integers, Names, Packed, RunRows
from kvtrace.figures.causes import RequestRows

_COLUMNS: Final = (
    "start", "end", "device", "stream", "correlation_id", "graph_id", "graph_node_id", "name",
    "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers", "shared_bytes",
    "kind", "bytes", "weight", "stack_id",
)  # fmt: skip
#: Values of the column `kind`, as `kind=` of `add` counts them.
KERNEL, COPY, FILL = NONE, 0, 1
_KINDS: Final = ("copy", "fill")
_UNKNOWN: Final = (NONE, NONE, NONE)
_NARROW: Final = frozenset({"device", "block_x", "block_y", "block_z", "registers", "weight"})
#: What the host did while the device may have waited, by the function's name without its API's.
_EVENTS: Final = ("synchronize", "allocate", "free", "allocate_host")
_SYNCHRONIZING: Final = frozenset(
    {"DeviceSynchronize", "StreamSynchronize", "EventSynchronize", "CtxSynchronize"}
)
_HOST_MEMORY: Final = frozenset(
    {"HostAlloc", "MallocHost", "HostMalloc", "MemAllocHost", "MemHostAlloc"}
)
_MEMORY: Final = frozenset(
    {"Malloc", "MallocAsync", "MallocManaged", "MallocPitch", "MemAlloc", "MemAllocAsync"}
    | {"MallocFromPoolAsync", "MemCreate"}
)
_FREEING: Final = frozenset({"Free", "FreeAsync", "MemFree", "MemFreeAsync", "MemRelease"})


class Executions:
    """Executions, calls of the device's API, and what its host threads did, of one process.

    Times are ns, on one clock; `finish` moves all of them.
    """

    def __init__(self) -> None:
        self.host = HostRanges()
        self.kernels = 0
        self._names = Names()
        self._rows = Packed(*_COLUMNS)
        self._requests = Packed("correlation", "begin", "end", "thread")
        self._events = Packed("kind", "begin", "end", "thread")

    def add(
        self,
        name: str,
        start: int,
        end: int,
        *,
        device: int = NONE,
        stream: int = NONE,
        correlation: int = NONE,
        graph: int = NONE,
        node: int = NONE,
        grid: tuple[int, int, int] = _UNKNOWN,
        block: tuple[int, int, int] = _UNKNOWN,
        registers: int = NONE,
        shared: int = NONE,
        kind: int = KERNEL,
        size: int = NONE,
        weight: int = NONE,
        stack: int = NONE,
    ) -> None:
        """Add an execution; ValueError if it ends before it starts.

        `stack` is the stack that asked for it, where the tool names it.
        """
        if end < start:
            raise ValueError(f"{name[:40]} ends {start - end:,} ns before it starts")
        self.kernels += kind == KERNEL
        self._rows.add(
            start, end, device, stream, correlation, graph, node, self._names.number(name),
            *grid, *block, registers, shared, kind, size, weight, stack,
        )  # fmt: skip

    def call(self, name: str, begin: int, end: int, thread: int, correlation: int) -> None:
        """Add a call of the device's API, such as cudaLaunchKernel."""
        if correlation != NONE:
            self._requests.add(correlation, begin, max(begin, end), thread)
        kind = _event(name)
        if kind is not None and end >= begin:
            self._events.add(kind, begin, end, thread)

    def __len__(self) -> int:
        return len(self._rows)

    def finish(self, rows: RunRows, shift: int = 0) -> tuple[int, int] | None:
        """Write all rows, with `shift` added to the times; return the first and last of them.

        None where there are no rows.
        """
        columns = dict(self._rows.arrays())
        events = dict(self._events.arrays())
        asked, returned, thread = self._asked(columns["correlation_id"])
        _narrow(columns)
        moments = np.concatenate([asked, events["begin"]])
        stacks = self._stacks(rows, np.concatenate([thread, events["thread"]]), moments)
        order = np.argsort(columns["start"], kind="stable")
        count = order.size
        columns |= {
            "requested": asked,
            "request_thread": thread,
            "stack_id": np.where(columns["stack_id"] == NONE, stacks[:count], columns["stack_id"]),
        }
        moved = {name: _moved(name, values[order], shift) for name, values in columns.items()}
        add_calls(rows, moved, self._names.texts, _moved("end", returned[order], shift))
        if count:
            rows.columns(
                "gpu_kernels",
                {"record": np.arange(count), **moved},
                {"name": self._names.texts, "kind": _KINDS},
            )
        if len(self._events):
            numbers = np.arange(len(self._events))
            own = {name: _moved(name, values, shift) for name, values in events.items()}
            rows.columns(
                "host_events",
                {"record": numbers, **own, "stack_id": stacks[count:]},
                {"kind": _EVENTS},
            )
        host = self.host.ranges.arrays()
        begins = np.concatenate([columns["start"], events["begin"], host["begin"]])
        ends = np.concatenate([columns["end"], events["end"], host["end"]])
        return (int(begins.min()) + shift, int(ends.max()) + shift) if begins.size else None

    def _asked(self, correlation: Integers) -> tuple[Integers, Integers, Integers]:
        """Return for each execution when its request began and ended, and the thread."""
        requests = self._requests.arrays()
        order = np.argsort(requests["begin"], kind="stable")
        row = RequestRows(requests["correlation"][order]).of(correlation)
        known = row >= 0
        begin, end, thread = (np.full(correlation.size, NONE) for _ in range(3))
        for name, column in (("begin", begin), ("end", end), ("thread", thread)):
            column[known] = requests[name][order[row[known]]]
        return begin, end, thread

    def _stacks(self, rows: RunRows, threads: Integers, moments: Integers) -> Integers:
        """Return the ids of the stacks at moments; NONE where nothing was open."""
        found = np.full(moments.size, NONE)
        if not len(self.host.ranges):
            return found
        known: dict[tuple[int, ...], int] = {}
        wanted = np.flatnonzero(moments != NONE)
        for row, stack in zip(
            wanted.tolist(), self.host.at(threads[wanted], moments[wanted]), strict=True
        ):
            if not stack:
                continue
            if stack not in known:
                known[stack] = rows.stack(self.host.frames(stack))
            found[row] = known[stack]
        return found


def _event(name: str) -> int | None:
    """Return which kind of event a call is, as a position of `_EVENTS`."""
    function = name
    for api in ("cuda", "hip", "cu"):
        if name.startswith(api):
            function = name[len(api) :]
            break
    function = function.split("_v", 1)[0].removesuffix("_ptsz").removesuffix("_spt")
    if function in _SYNCHRONIZING:
        return 0
    if function in _MEMORY:
        return 1
    if function in _FREEING:
        return 2
    return 3 if function in _HOST_MEMORY else None


def _narrow(columns: dict[str, Integers]) -> None:
    """Have no number in a column of 32 bits that does not fit: it is not known then."""
    for name in _NARROW:
        values = columns[name]
        columns[name] = np.where(np.abs(values) < 2**31, values, np.int64(NONE))


def _moved(name: str, values: Integers, shift: int) -> Integers:
    if name not in ("start", "end", "requested", "begin"):
        return values
    return np.where(values == NONE, values, values + shift)


def marks(rows: RunRows, found: list[tuple[str, int, int, int]], shift: int, **facts: str) -> None:
    """Write a user's ranges, given as name, begin, end and thread, with facts about each."""
    listed: list[Mapping[str, object]] = [
        {
            "mark_id": rows.following("marks"),
            "name": name,
            "begin": begin + shift,
            "end": None if end == NONE else end + shift,
            "thread": None if thread == NONE else thread,
            "attributes": facts,
        }
        for name, begin, end, thread in found
    ]
    rows.rows("marks", listed)
