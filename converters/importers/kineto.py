"""Importer of torch.profiler's traces: Kineto's JSON, one file for each rank, plain or gzip.

Categories, arguments and units as Kineto writes them: libkineto/src/output_json.cpp,
CuptiActivity.cpp and include/ActivityType.h of https://github.com/pytorch/kineto. PyTorch 1.8 to
1.10 name the categories otherwise, and the first of them write a list of events without an object
around it: see the samples of that repository's former tb_plugin.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from msgspec import UNSET

from kvtrace.converters.importers.collective_rows import KINETO_EVENT, CollectiveRows
from kvtrace.converters.importers.event_rows import json_text
from kvtrace.converters.importers.executions import COPY, FILL, KERNEL, Executions, marks
from kvtrace.converters.importers.importing import EPOCH_NS, unpacked
from kvtrace.converters.importers.json_stream import JsonFile
from kvtrace.converters.importers.json_values import (
    device_facts,
    entries,
    int32_or_none,
    integer,
    mapping,
    nanoseconds,
    text,
    three,
)
from kvtrace.converters.importers.kineto_members import (
    CALL_STACK,
    Event,
    EventBatch,
    EventKey,
    add_event,
    decode_events,
    event_of,
    execution_members,
    ids_of,
)
from kvtrace.converters.importers.registry import BadSource, ImportedRun
from kvtrace.converters.importers.rows import NONE, Integers, RunRows

_KINDS: Final = {"kernel": KERNEL, "gpu_memcpy": COPY, "gpu_memset": FILL}
#: Categories of PyTorch 1.8 to 1.10, and those that took their place.
_OLD_CATEGORIES: Final = {
    "Kernel": "kernel",
    "Memcpy": "gpu_memcpy",
    "Memset": "gpu_memset",
    "Runtime": "cuda_runtime",
    "Operator": "cpu_op",
    "Python": "python_function",
}
#: Events of MTIA's devices: kernels by name, copies, and waits for other streams.
_MTIA: Final = "mtia_ccp_events"
_EXECUTED: Final = frozenset({*_KINDS, _MTIA})
_MTIA_COPY: Final = "dma_request"
_MTIA_WAITS: Final = frozenset({"event_wait", "event_record"})
_CALL_CATEGORIES: Final = frozenset(
    f"{device}_{kind}"
    for device in ("cuda", "hip", "xpu", "mtia", "privateuse1")
    for kind in ("runtime", "driver")
)
_HOST_CATEGORIES: Final = frozenset({"cpu_op", "user_annotation"})
_RANGES: Final = _HOST_CATEGORIES | _CALL_CATEGORIES | {"python_function"}
_OWN_CATEGORIES: Final = (*_OLD_CATEGORIES, *_OLD_CATEGORIES.values(), *_CALL_CATEGORIES)
_OWN_EVENT: Final = re.compile(rf'"cat"\s*:\s*"({"|".join(_OWN_CATEGORIES)})"'.encode())
#: Categories and names of what repeats correlation ids and the extent of the recording.
_REPEATED: Final = frozenset({"ac2g", "async", "async_gpu", "async_cpu_to_gpu", "Trace"})
#: Phases of asynchronous ranges, which repeat nothing.
_ASYNCHRONOUS: Final = frozenset({"b", "n", "e"})
_REPEATED_NAMES: Final = ("Iteration Start: ", "Record Window End")
#: Start of torch.profiler's name of a step of its schedule, before the step's number.
_STEP: Final = "ProfilerStep#"
_VERSION_KEYS: Final = (
    "cuda_driver_version",
    "cuda_runtime_version",
    "cupti_version",
    "hip_driver_version",
    "hip_runtime_version",
    "roctracer_version",
)


class Kineto:
    """Importer of torch.profiler's JSON."""

    summary = "torch.profiler: .pt.trace.json, also .gz; one file per rank"

    def recognizes(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 - others need it
        """Return whether the file begins with keys or categories of Kineto."""
        if b'"call_stack"' in head or b'"cat" : "Session"' in head:  # of Proton, of ONNX Runtime
            return False
        if _OWN_EVENT.search(head) and head.lstrip().startswith(b"["):
            return True
        return b'"traceEvents"' in head and (
            b'"deviceProperties"' in head
            or b'"baseTimeNanoseconds"' in head
            or _OWN_EVENT.search(head) is not None
        )

    def read(self, path: Path, rows: RunRows) -> Iterator[ImportedRun]:
        """Add the rows of one rank, and yield its facts. Errors as `Importer.read`."""
        reading = _KinetoEvents(path)
        with unpacked(path) as file:
            source = JsonFile(path, file)
            if source.peek() == "[":
                source.exact = True
                reading.add_events(source)
                yield reading.finished(rows)
                return
            for key in source.members():
                # Since 2024 times count from a base; older times have more digits than a float.
                source.exact = "baseTimeNanoseconds" not in reading.facts
                if key == "traceEvents":
                    reading.add_events(source)
                else:
                    reading.facts[key] = source.value()
        yield reading.finished(rows)


def _executed(kind: Any, name: Any) -> int | None:
    """Return what a range of a category is on the device: a kernel, copy or fill; None: nothing."""
    if kind != _MTIA:
        return _KINDS.get(kind)
    if name in _MTIA_WAITS:
        return None
    return COPY if name == _MTIA_COPY else KERNEL


def _is_host_range(category: str, name: str) -> bool:
    """Return whether ranges of a category and name are Python functions or operators."""
    kind = _OLD_CATEGORIES.get(category, category)
    is_operator = kind == "cpu_op" and name != KINETO_EVENT and not name.startswith(_STEP)
    return kind == "python_function" or is_operator


def _range(begin: int, end: int) -> tuple[int, int]:
    """Return the times of a range, which are equal if it has no duration."""
    if begin == NONE:
        raise ValueError("None is not a time in µs")
    return begin, begin if end == NONE else end


def _left_out(phase: Any, category: str | None, name: str) -> str | None:
    """Return the name under which an event that no figure reads is counted; None: it is not."""
    if phase == "M" or (category in _REPEATED and phase not in _ASYNCHRONOUS):
        return None
    if category is None and name.startswith(_REPEATED_NAMES):
        return None
    return f"{category} {name}" if category == _MTIA else category or name


class _Shape(NamedTuple):
    """Rows and counts that each event of one key adds.

    Attributes:
        number: Number of their shape in `EventRows`; NONE for executions.
        is_range: They have a duration.
        prefix: As `EventKey.prefix`.
        executed: What they are on the device, for `Executions.add`; None: no executions.
        call: Their `Executions.call_facts`; NONE: no calls of the device's API.
        left_out: The name under which they are counted as left out; None: they are not.
        is_function: They are Python functions, in stacks.
        is_of_process: They are of the process that the file is of.

    """

    number: int
    is_range: bool
    prefix: str | None
    executed: int | None
    call: tuple[int, int, int]
    left_out: str | None
    is_function: bool
    is_of_process: bool


class _Shapes(dict[tuple[Any, ...], int]):
    """Index in `listed` of the shape of each key; -1 for a key whose events are added singly."""

    def __init__(self, shape_of: Callable[[EventKey], _Shape | None]) -> None:
        super().__init__()
        self._shape_of = shape_of
        self.listed: list[_Shape] = []

    def __missing__(self, key: tuple[Any, ...]) -> int:
        shape = self._shape_of(EventKey(*key))
        self[key] = -1 if shape is None else len(self.listed)
        if shape is not None:
            self.listed.append(shape)
        return self[key]


class _KinetoEvents:
    """Events and facts of one file, as they are collected."""

    def __init__(self, path: Path) -> None:
        self.facts: dict[str, Any] = {}
        self._path = path
        self._device = Executions()
        self._shapes = _Shapes(self._shape)
        self._collectives = CollectiveRows()
        self._marks: list[tuple[str, int, int, int]] = []
        self._steps: list[tuple[str, int, int, int]] = []
        self._process = NONE
        self._devices: dict[tuple[int, int], int] = {}
        self._functions = 0
        self._calls = 0
        self._events = 0
        self._left_out: Counter[str] = Counter()

    def add_events(self, source: JsonFile) -> None:
        """Add all events of the array that comes next in the file; BadSource for malformed ones."""
        for batch in source.batches(partial(decode_events, exact=source.exact)):
            if isinstance(batch, list):
                self._add_batch(batch)
            else:
                for event in batch:
                    self._add_single(event)

    def _add_single(self, event: Any) -> None:
        """Add an event, or count and keep a malformed one."""
        try:
            self._add(event if isinstance(event, Event) else event_of(event))
        except (ValueError, TypeError, AttributeError, OverflowError):
            self._left_out["events that Kineto does not write"] += 1
            self._keep_whole(event)
        self._events += 1

    def _add_batch(self, events: list[Event]) -> None:
        """Add events at once; where one cannot be, those of each half, down to a single one."""
        if len(events) == 1:
            self._add_single(events[0])
            return
        try:
            batch = EventBatch(events)
            codes = np.fromiter(map(self._shapes.__getitem__, batch.keys), np.int64, len(events))
            rows = np.flatnonzero((codes >= 0) & batch.has_usual_ids())
            begins, ends = batch.times(rows.tolist())
            ids = batch.ids(rows.tolist())
            distinct, places = np.unique(codes[rows], return_inverse=True)
            shapes = [self._shapes.listed[code] for code in distinct.tolist()]
            is_executed = np.array([shape.executed is not None for shape in shapes], bool)[places]
            arguments = batch.arguments(rows[is_executed].tolist())
        except (ValueError, TypeError, OverflowError):  # of a time, an id or a text
            half = len(events) // 2
            self._add_batch(events[:half])
            self._add_batch(events[half:])
            return
        ends[~np.array([shape.is_range for shape in shapes], bool)[places]] = NONE
        for index, args in zip(np.flatnonzero(is_executed).tolist(), arguments, strict=True):
            row, kind = int(rows[index]), shapes[places[index]].executed
            span, record = (int(begins[index]), int(ends[index])), self._events + row
            self._add_execution(kind or 0, events[row], args, span, record)
        of_process = np.array([shape.is_of_process for shape in shapes], bool)[places]
        if of_process.any():
            self._set_process(events[rows[of_process.argmax()]])
        calls = np.array([shape.call for shape in shapes], np.int64).reshape(-1, 3)[places]
        is_call = calls[:, 1] != NONE
        self._calls += int(is_call.sum())
        self._device.calls(*(values[is_call] for values in (calls, begins, ends, ids[0])))
        is_kept = ~is_executed
        kept, places = rows[is_kept], places[is_kept]
        for shape, count in zip(shapes, np.bincount(places, minlength=len(shapes)), strict=True):
            self._functions += shape.is_function
            if shape.left_out is not None:
                self._left_out[shape.left_out] += int(count)
        numbers = np.array([shape.number for shape in shapes], np.int64)[places]
        columns = (values[is_kept] for values in (self._events + rows, begins, ends, *ids))
        prefixes = [shapes[place].prefix for place in places.tolist()]
        members = batch.members(kept.tolist(), prefixes)
        self._add_in_order(events, rows, np.column_stack([*columns, numbers]), members)

    def _add_in_order(
        self, events: list[Event], rows: Integers, table: Integers, members: list[str | None]
    ) -> None:
        """Add rows of `tool_events` with their members; between them, events not in `rows`."""
        first, done = self._events, 0
        is_single = np.ones(len(events), bool)
        is_single[rows] = False
        for row in np.flatnonzero(is_single).tolist():
            stop = int(np.searchsorted(table[:, 0], first + row))
            self._device.events.add_batch(table[done:stop], members[done:stop])
            self._events, done = first + row, stop
            self._add_single(events[row])
        self._device.events.add_batch(table[done:], members[done:])
        self._events = first + len(events)

    def _shape(self, key: EventKey) -> _Shape | None:
        """Return the shape of events of a key; None: each is looked at alone."""
        if not key.is_common:
            return None
        ph, category, name, process, thread = key[:5]
        kind = _OLD_CATEGORIES.get(category, category)
        call, executed, left_out = (NONE, NONE, NONE), None, None
        is_host = is_call = False
        if ph == "X":
            executed = _executed(kind, name) if kind in _EXECUTED else None
            is_host = key.is_range and _is_host_range(category, name)
            is_call = key.is_range and kind in _CALL_CATEGORIES
            if is_call:
                call = self._device.call_facts(name, thread, process)
            elif kind in _RANGES and not is_host:
                return None
        if executed is None and not is_host and not is_call:
            left_out = _left_out(ph, category, name)
        number = NONE
        if executed is None:
            number = self._device.events.shape(ph, category, name, process, thread, is_host=is_host)
        return _Shape(
            number, key.is_range, key.prefix, executed, call, left_out,
            is_function=is_host and kind == "python_function",
            is_of_process=is_call or (is_host and kind == "cpu_op"),
        )  # fmt: skip

    def _keep_whole(self, event: Any) -> None:
        """Keep a malformed event as it is, if it is an object."""
        if isinstance(event, Event):
            event = event.members() | ({"args": event.arguments()} if bytes(event.args) else {})
        if isinstance(event, dict):
            whole = json_text(event)
            self._device.events.add("", None, None, record=self._events, members=whole)

    def _add(self, event: Event) -> None:
        kind = _OLD_CATEGORIES.get(event.cat, event.cat)
        is_range = event.ph == "X"
        executed = _executed(kind, event.name) if is_range and kind in _EXECUTED else None
        if executed is not None:
            begin = nanoseconds(event.ts)
            end = NONE if event.dur is UNSET else begin + nanoseconds(event.dur)
            args = mapping(event.arguments())
            self._add_execution(executed, event, args, (begin, end), self._events)
            return
        begin, end = add_event(self._device.events, event, self._events)
        if not is_range:
            self._leave_out(event)
        elif kind == "python_function":
            begin, end = _range(begin, end)
            self._functions += 1
            name = text(event.name) or "?"
            thread, process = integer(event.tid), integer(event.pid)
            self._device.host.add(thread, begin, end, name, process)
        elif kind in _HOST_CATEGORIES:
            self._add_host(kind, event, *_range(begin, end))
        elif kind in _CALL_CATEGORIES:
            begin, end = _range(begin, end)
            self._calls += 1
            correlation = integer(ids_of(event).correlation)
            name = text(event.name) or "?"
            thread, process = integer(event.tid), integer(event.pid)
            self._device.call(
                name, begin, end, thread, correlation, process=process, as_event=False
            )
            self._set_process(event)
        else:
            self._leave_out(event)

    def _leave_out(self, event: Event) -> None:
        kind = _left_out(event.ph, text(event.cat), text(event.name) or "?")
        if kind is not None:
            self._left_out[kind] += 1

    def _add_host(self, kind: str, event: Event, begin: int, end: int) -> None:
        thread, name = integer(event.tid), text(event.name) or "?"
        if name.startswith(_STEP):  # an operator in PyTorch 1.8 to 1.10
            self._steps.append((name, begin, end, thread))
        elif kind != "user_annotation":
            self._device.host.add(thread, begin, end, name, integer(event.pid))
            self._set_process(event)
            self._left_out[CALL_STACK] += bool(ids_of(event).stack)
            if name == KINETO_EVENT:
                self._collectives.add_of_kineto(begin, end, event.arguments())
        else:
            self._marks.append((name, begin, end, thread))

    def _set_process(self, event: Event) -> None:
        if self._process == NONE:
            self._process = integer(event.pid)

    def _add_execution(
        self, kind: int, event: Event, args: dict[str, Any], span: tuple[int, int], record: int
    ) -> None:
        process = integer(event.pid)
        device = self._device_of(process, integer(args.get("device", process)))
        stream = integer(args.get("stream", event.tid))
        self._device.add(
            text(event.name) or "?",
            *span,
            device=device,
            stream=stream,
            correlation=integer(args.get("correlation")),
            graph=integer(args.get("graph id")) or NONE,  # 0: not part of a graph
            node=integer(args.get("graph node id")) or NONE,
            grid=three(args.get("grid")),
            block=three(args.get("block")),
            registers=integer(args.get("registers per thread")),
            shared=integer(args.get("shared memory")),
            kind=kind,
            size=integer(args.get("bytes", args.get("size"))),
            record=record,
            external=integer(args.get("External id")),
            members=execution_members(event, args, device, stream),
        )

    def _device_of(self, process: int, device: int) -> int:
        """Return the device of executions of a process of the file and a device.

        The process of an execution is its device; a file of several ranks has other processes for
        the devices of the second, and those are devices of their own.
        """
        key = process, device
        if key not in self._devices:
            used = set(self._devices.values())
            free = next(n for n in (device, process, *range(len(used) + 1)) if n not in used)
            self._devices[key] = free if device != NONE else device
        return self._devices[key]

    def finished(self, rows: RunRows) -> ImportedRun:
        """Write the collected rows, and return the facts of the process."""
        if "traceEvents" not in self.facts and not self._events:
            raise BadSource(
                f"{self._path} has no events of torch.profiler: import a file that "
                "export_chrome_trace or tensorboard_trace_handler wrote"
            )
        base = integer(self.facts.get("baseTimeNanoseconds"))
        shift = 0 if base == NONE else base
        for key, value in self.facts.items():
            members = None if value is None else json_text(value)
            self._device.events.add(None, None, key, record=self._events, members=members)
            self._events += 1
        marks(rows, self._marks, shift)
        for name, begin, end, thread in self._steps:  # with one name, to be recognized as steps
            marks(rows, [(_STEP[:-1], begin, end, thread)], shift, step=name[len(_STEP) :])
        self._collectives.write(rows, shift)
        times = self._device.finish(rows, shift, exact=base != NONE)
        job = mapping(self.facts.get("distributedInfo"))
        devices = self.facts.get("deviceProperties", self.facts.get("computeProperties"))
        return ImportedRun(
            {
                **times,
                "host": text(self.facts.get("host_name")),
                "pid": int32_or_none(self._process),
                "rank": int32_or_none(job.get("rank")),
                "world_size": int32_or_none(job.get("world_size")),
                "devices": [_device(properties) for properties in entries(devices)],
                "versions": {
                    name: str(self.facts[name]) for name in _VERSION_KEYS if name in self.facts
                },
            },
            tuple(self._lacks(times)),
            self._left_out,
            has_all_events=True,
        )

    def _lacks(self, times: dict[str, int]) -> Iterator[str]:
        yield (
            "torch.profiler records neither arguments of Triton's launches nor IR, so figures that "
            "need them are missing; kvtrace import --into adds these times to a recording that has "
            "both"
        )
        if not self._calls:
            yield (
                "the trace has no calls of the driver, so the times of kernel launches are unknown"
            )
        if self._left_out[CALL_STACK]:
            yield "Python stacks in arguments of operators are not imported; stacks have operators"
        elif not self._functions:
            yield (
                "the trace has no Python stacks (with_stack=True records them); stacks have only "
                "operators"
            )
        if times and times["started"] < EPOCH_NS:
            yield "the trace has no time of day; its times count from an unknown moment"


def _device(properties: Any) -> dict[str, Any]:
    """Return the entry of `runs.devices` for a device of `deviceProperties`."""
    device = mapping(properties)
    return device_facts(
        device.get("id"),
        device.get("name"),
        device.get("computeMajor", device.get("major")),
        device.get("computeMinor", device.get("minor")),
        device.get("totalGlobalMem"),
    )


IMPORTER = Kineto()
