"""Collector of an importer's device executions, which are joined to the host calls behind them."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from kvtrace.converters.importers.event_rows import EventRows
from kvtrace.converters.importers.host_stacks import HostRanges
from kvtrace.converters.importers.impossible_times import (
    REASONS,
    impossible_note,
    impossible_times,
)
from kvtrace.converters.importers.requests import REQUESTS, joined_requests
from kvtrace.converters.importers.rows import NONE, IntegerRows, Integers, Names, RunRows
from kvtrace.converters.importers.unexecuted import (
    CAPTURE_BEGIN,
    CAPTURE_END,
    LAUNCHING,
    Calls,
    unexecuted,
    unexecuted_note,
)
from kvtrace.figures.causes import share_request
from kvtrace.figures.host_events import UNEXECUTED
from kvtrace.figures.identity import kind_of
from kvtrace.figures.names import shown_names
from kvtrace.schema.layout import IMPORTED
from kvtrace.schema.repair import LATEST
from kvtrace.text import plural

_COLUMNS: Final = (
    "start", "end", "device", "stream", "correlation_id", "graph_id", "graph_node_id", "name",
    "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers", "shared_bytes",
    "kind", "bytes", "weight", "stack_id", "record", "external_id", "members",
)  # fmt: skip
#: Values of the column `kind`: indexes into `_KINDS`, NONE for kernels.
KERNEL, COPY, FILL = NONE, 0, 1
_KINDS: Final = ("copy", "fill")
_UNKNOWN_SIZE: Final = (NONE, NONE, NONE)
_NARROW: Final = frozenset({"device", "block_x", "block_y", "block_z", "registers", "weight"})
#: Kinds of host events during which the device may wait, and the functions (without API) of each.
_EVENTS: Final = ("synchronize", "allocate", "free", "allocate_host", UNEXECUTED)
#: A launch becomes an event only if it has no execution, the begin and end of a capture never.
_LAUNCH: Final = _EVENTS.index(UNEXECUTED)
_CAPTURE_BEGIN, _CAPTURE_END = len(_EVENTS), len(_EVENTS) + 1
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
#: A function of CUDA's driver; Kineto counts all of HIP's to the runtime.
_DRIVER: Final = re.compile("cu[A-Z]")
_FREEING: Final = frozenset({"Free", "FreeAsync", "MemFree", "MemFreeAsync", "MemRelease"})


class Executions:
    """Executions, calls of the device's API, and ranges of host threads (`host`) of one process.

    `events` has the file's other events, as they are. Times are ns, on one clock; `finish` writes
    all rows, with a shift added to the times.
    """

    def __init__(self, *, serial: bool = True) -> None:
        """Start empty; `serial`: a stream runs one execution at a time."""
        self._serial = serial
        self._without_begin = 0
        self.host = HostRanges()
        self.events = EventRows()
        self.kernels = 0
        self._names = Names()
        self._members = Names()
        self._rows = IntegerRows(*_COLUMNS)
        self._requests = IntegerRows(*REQUESTS)
        self._events = IntegerRows("kind", "begin", "end", "thread", "correlation")

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
        grid: tuple[int, int, int] = _UNKNOWN_SIZE,
        block: tuple[int, int, int] = _UNKNOWN_SIZE,
        registers: int = NONE,
        shared: int = NONE,
        kind: int = KERNEL,
        size: int = NONE,
        weight: int = NONE,
        stack: int = NONE,
        record: int = NONE,
        external: int = NONE,
        members: str | None = None,
    ) -> None:
        """Add an execution; one without a begin is only counted.

        `end` is NONE where the file has none, and may be impossible. `correlation` is the id by
        which `call` is joined; `stack` is the id of the requesting stack if the tool records it.
        `record` is its place in the file, `external` the tool's id of the operator, `members` a
        JSON object with what else the file says.
        """
        if not -LATEST <= start <= LATEST:
            self._without_begin += 1
            return
        if not -LATEST <= end <= LATEST:
            end = NONE
        self.kernels += kind == KERNEL
        self._rows.add(
            start, end, device, stream, correlation, graph, node, self._names.number(name),
            *grid, *block, registers, shared, kind, size, weight, stack,
            len(self._rows) if record == NONE else record, external,
            NONE if members is None else self._members.number(members),
        )  # fmt: skip

    def call(
        self,
        name: str,
        begin: int,
        end: int,
        thread: int,
        correlation: int,
        *,
        process: int = NONE,
        as_event: bool = True,
    ) -> None:
        """Add a call of the device's API, such as cudaLaunchKernel; times in ns.

        `process` is the thread's, if the file may be of several. `as_event`: also to `events`;
        importers that add all events there themselves say no.
        """
        if not -LATEST <= begin <= LATEST:
            self._without_begin += 1
            return
        if not -LATEST <= end <= LATEST:
            end = NONE
        if as_event:
            category = "cuda_driver" if _DRIVER.match(name) else "cuda_runtime"
            self.events.add("X", category, name, begin, end, thread=thread, correlation=correlation)
        _, number, kind = self.call_facts(name, thread, process)
        if correlation != NONE:
            self._requests.add(correlation, process, begin, max(begin, end), number)
        if kind != NONE and end >= begin:
            self._events.add(kind, begin, end, number, correlation)

    def call_facts(self, name: str, thread: int, process: int) -> tuple[int, int, int]:
        """Return the process, number of the thread, and kind of event of calls of one name."""
        kind = _event_kind(name)
        return process, self.host.thread(thread, process), NONE if kind is None else kind

    def calls(self, facts: Integers, begins: Integers, ends: Integers, ids: Integers) -> None:
        """Add calls at possible times as `call` does; `facts` has their rows of `call_facts`."""
        process, thread, kind = facts.T
        known = ids != NONE
        columns = (ids, process, begins, np.maximum(begins, ends), thread)
        self._requests.add_arrays(*(column[known] for column in columns))
        waits = (kind != NONE) & (ends >= begins)
        self._events.add_arrays(*(column[waits] for column in (kind, begins, ends, thread, ids)))

    def __len__(self) -> int:
        return len(self._rows)

    def finish(self, rows: RunRows, shift: int = 0, *, exact: bool = True) -> dict[str, int]:
        """Write all rows, with `shift` added to the times; return when the run started and ended.

        These are columns of `runs`; {} if there are no rows. `exact`: times are of nanoseconds.
        """
        self.events.add_host_ranges(self.host)
        columns, events = dict(self._rows.arrays()), self._events.arrays()
        requests = self._requests.arrays()
        joined = joined_requests(requests, columns)
        rows.note(joined.note())
        request_begins, request_ends, thread = (
            _chosen(requests[name], joined.rows) for name in ("begin", "end", "thread")
        )
        host = self.host.ranges.arrays()
        is_possible = self._mark_impossible(rows, columns, (requests, events, host), exact=exact)
        if self._without_begin:
            rows.note(f"{plural(self._without_begin, 'event')} without a begin, left out")
        events = _without_executed(rows, events, columns["correlation_id"][is_possible])
        _clear_overflows(columns)
        moments = np.concatenate([request_begins, events["begin"]])
        stacks = self._stacks(rows, np.concatenate([thread, events["thread"]]), moments)
        count = is_possible.size
        columns |= {
            "requested": request_begins,
            "request_thread": self.host.native(thread),
            "stack_id": np.where(columns["stack_id"] == NONE, stacks[:count], columns["stack_id"]),
        }
        self.events.write(rows, shift)
        self._write_executions(rows, columns, request_ends, joined.rows, shift)
        self._write_host_events(rows, events, stacks[count:], shift)
        begins = np.concatenate([columns["start"][is_possible], events["begin"], host["begin"]])
        ends = np.concatenate([columns["end"][is_possible], events["end"], host["end"]])
        if not begins.size:
            return {}
        return {"started": int(begins.min()) + shift, "ended": int(ends.max()) + shift}

    def _mark_impossible(
        self, rows: RunRows, columns: dict[str, Integers],
        others: tuple[Mapping[str, Integers], ...], *, exact: bool,
    ) -> npt.NDArray[np.bool_]:  # fmt: skip
        """Mark executions at impossible times with the reason; return a mask of the others.

        `others` have begins and ends of all that the file has of the host.
        """
        begins, ends = (np.concatenate([o[name] for o in others]) for name in ("begin", "end"))
        extent = (int(begins.min()), int(ends.max())) if begins.size else None
        reason = impossible_times(columns, extent, serial=self._serial, exact=exact)
        rows.note(impossible_note(reason, columns["name"], self._names.texts))
        is_possible = np.asarray(reason == NONE)
        columns["impossible"] = reason
        columns["stated_end"] = np.where(is_possible, NONE, columns["end"])
        columns["end"] = np.where(is_possible, columns["end"], NONE)
        return is_possible

    def _write_executions(
        self, rows: RunRows, columns: Mapping[str, Integers], request_ends: Integers,
        requests: Integers, shift: int,
    ) -> None:  # fmt: skip
        """Write executions in the order of their starts, with kernels, calls and launches."""
        order = np.argsort(columns["start"], kind="stable")
        written = {name: _shifted(name, values[order], shift) for name, values in columns.items()}
        spans = _shifted("end", request_ends[order], shift)
        add_calls(rows, written, self._names.texts, spans, requests[order])
        if order.size:
            texts = {"name": self._names.texts, "members": self._members.texts}
            choices = {"kind": _KINDS, "impossible": tuple(REASONS)}
            rows.columns("gpu_kernels", written, {**texts, **choices})

    def _write_host_events(
        self, rows: RunRows, events: Mapping[str, Integers], stacks: Integers, shift: int
    ) -> None:
        if stacks.size:
            written = {name: _shifted(name, values, shift) for name, values in events.items()}
            written |= {"thread": self.host.native(events["thread"]), "stack_id": stacks}
            written["record"] = np.arange(stacks.size)
            rows.columns("host_events", written, {"kind": _EVENTS})

    def _stacks(self, rows: RunRows, threads: Integers, moments: Integers) -> Integers:
        """Return the id of the host stack of each thread and moment; NONE if no range was open.

        New stacks are written.
        """
        stack_ids = np.full(moments.size, NONE)
        if not len(self.host.ranges):
            return stack_ids
        id_by_stack: dict[tuple[int, ...], int] = {}
        known_rows = np.flatnonzero(moments != NONE)
        for row, stack in zip(
            known_rows.tolist(), self.host.at(threads[known_rows], moments[known_rows]), strict=True
        ):
            if not stack:
                continue
            if stack not in id_by_stack:
                id_by_stack[stack] = rows.stack(self.host.frames(stack))
            stack_ids[row] = id_by_stack[stack]
        return stack_ids


def _without_executed(
    rows: RunRows, events: Mapping[str, Integers], executed: Integers
) -> dict[str, Integers]:
    """Return the columns of `host_events`, of launches only those without an execution.

    `executed` has the ids of executions with possible times.
    """
    table = Calls(events["begin"], events["end"], events["thread"], events["correlation"])
    kind = events["kind"]
    launches = np.flatnonzero(kind == _LAUNCH)
    captures = (table.rows(kind == _CAPTURE_BEGIN), table.rows(kind == _CAPTURE_END))
    lost, total = unexecuted(table.rows(launches), captures, executed)
    note = unexecuted_note(lost.size, total)
    if note is not None:
        rows.warn(note)
    kept = kind < _LAUNCH
    kept[launches[lost]] = True
    return {name: events[name][kept] for name in ("kind", "begin", "end", "thread")}


def _chosen(values: Integers, rows: Integers) -> Integers:
    """Return the values at rows; NONE at -1."""
    chosen = np.full(rows.size, NONE)
    chosen[rows >= 0] = values[rows[rows >= 0]]
    return chosen


@lru_cache(1 << 12)
def _event_kind(name: str) -> int | None:
    """Return the index of the kind of an API function, as in `_EVENTS` and after it, or None."""
    function = name
    for api in ("cuda", "hip", "cu"):
        if name.startswith(api):
            function = name[len(api) :]
            break
    function = function.split("_v", 1)[0].removesuffix("_ptsz").removesuffix("_spt")
    kinds = (
        _SYNCHRONIZING, _MEMORY, _FREEING, _HOST_MEMORY, LAUNCHING, CAPTURE_BEGIN, CAPTURE_END
    )  # fmt: skip
    return next((kind for kind, functions in enumerate(kinds) if function in functions), None)


def _clear_overflows(columns: dict[str, Integers]) -> None:
    """Replace numbers that exceed the 32 bits of their column by NONE, in `columns`."""
    for name in _NARROW:
        values = columns[name]
        columns[name] = np.where(np.abs(values) < 2**31, values, np.int64(NONE))


def _shifted(name: str, values: Integers, shift: int) -> Integers:
    if name not in ("start", "end", "requested", "begin", "stated_end"):
        return values
    return np.where(values == NONE, values, values + shift)


def marks(
    rows: RunRows, ranges: list[tuple[str, int, int, int]], shift: int, /, **facts: str
) -> None:
    """Write a user's ranges to `marks`: (name, begin, end, thread), with `facts` as attributes.

    Those without a begin are only counted.
    """
    begun = [row for row in ranges if -LATEST <= row[1] <= LATEST]
    if len(begun) < len(ranges):
        rows.note(f"{plural(len(ranges) - len(begun), 'range')} without a begin, left out")
    mark_rows: list[Mapping[str, object]] = [
        {
            "mark_id": rows.next_id("marks"),
            "name": name,
            "begin": begin + shift,
            "end": end + shift if -LATEST <= end <= LATEST else None,
            "thread": None if thread == NONE else thread,
            "attributes": facts,
        }
        for name, begin, end, thread in begun
    ]
    rows.rows("marks", mark_rows)


# -- rows of kernels, calls and launches for imported executions of the user's kernels -------------


#: Columns whose values distinguish variants of kernels.
_VARIANT_COLUMNS: Final = ("name", "block_x", "block_y", "block_z", "registers", "shared_bytes")
_GRID: Final = ("grid_x", "grid_y", "grid_z")


def add_calls(
    rows: RunRows,
    columns: dict[str, Integers],
    names: list[str],
    spans: Integers,
    requests: Integers,
) -> None:
    """Write kernels, calls and launches, and add `call_id` and `launch_seq` to the columns.

    Args:
        rows: The run that rows are added to.
        columns: Columns of `gpu_kernels`, in the order of `start`; they are extended.
        names: Texts that the numbers in the column `name` refer to.
        spans: End of each execution's request, or NONE.
        requests: The number of each execution's request, or -1.

    """
    count = columns["name"].size
    columns |= {"call_id": np.full(count, NONE), "launch_seq": np.full(count, NONE)}
    is_user_kernel = np.array([kind_of(name) == "other" for name in names], bool)
    has_call = (
        is_user_kernel[columns["name"]] & (columns["kind"] == NONE) if count else np.zeros(0, bool)
    )
    call_rows = np.flatnonzero(has_call)
    if not call_rows.size:
        return
    variants, kernel = _distinct([columns[name][call_rows] for name in _VARIANT_COLUMNS])
    grids, call = _distinct([kernel, *(columns[name][call_rows] for name in _GRID)])
    columns["call_id"][call_rows] = call
    shown = shown_names(names)
    rows.rows(
        "kernels",
        [
            {
                "kernel_id": index,
                "name": shown[names[name]],
                "function": names[name],
                "registers": None if registers == NONE else registers,
                "shared_bytes": None if shared == NONE else shared,
                "origin": IMPORTED,
            }
            for index, (name, _, _, _, registers, shared) in enumerate(variants.tolist())
        ],
    )
    first_rows = np.unique(call, return_index=True)[1]
    stacks = columns["stack_id"][call_rows][first_rows].tolist()
    rows.rows(
        "calls",
        [
            {
                "call_id": index,
                "kernel_id": row[0],
                **{axis: None if row[n] == NONE else row[n] for n, axis in enumerate(_GRID, 1)},
                "stack_id": None if stack == NONE else stack,
            }
            for index, (row, stack) in enumerate(zip(grids.tolist(), stacks, strict=True))
        ],
    )
    _add_launches(rows, columns, call_rows, spans, requests)


def _add_launches(
    rows: RunRows,
    columns: dict[str, Integers],
    call_rows: Integers,
    spans: Integers,
    requests: Integers,
) -> None:
    """Write a launch for each request that started exactly one execution; graphs start several.

    `columns["launch_seq"]` is set.
    """
    is_single = ~share_request(requests) & (columns["requested"] != NONE)
    is_single &= (columns["graph_id"] == NONE) & (columns["graph_node_id"] == NONE)
    launched = call_rows[is_single[call_rows]]
    launched = launched[np.argsort(columns["requested"][launched], kind="stable")]
    if not launched.size:
        return
    numbers = np.arange(launched.size)
    columns["launch_seq"][launched] = numbers
    rows.columns(
        "launches",
        {
            "seq": numbers,
            "call_id": columns["call_id"][launched],
            "enter": columns["requested"][launched],
            "exit": spans[launched],
            "thread": columns["request_thread"][launched],
            "device": columns["device"][launched],
            "stream": columns["stream"][launched],
            "phase": np.zeros(launched.size, np.int64),
        },
        {"phase": ("run",)},
    )


def _distinct(columns: list[Integers]) -> tuple[Integers, Integers]:
    """Return the distinct rows of columns, by first occurrence, and the index of each row's."""
    table = np.stack(columns, 1)
    rows, first_rows, row_index = np.unique(table, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first_rows, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return rows[order], rank[row_index.reshape(-1)]
