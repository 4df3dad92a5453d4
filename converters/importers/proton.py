"""Importer of Proton's profiles: trees of contexts (.hatchet, .hatchet_msgpack) and Chrome traces.

TreeData.cpp in third_party/proton/csrc/lib/Data of https://github.com/triton-lang/triton writes the
trees in hatchet's literal form, as JSON or MessagePack. TraceData.cpp wrote the traces until
Triton 3.7, one JSON object per line and stream; later they are one object with lanes for threads
of the host, streams, and scopes in graphs (csrc/lib/Data/Dump), and since 3.9 a time of day.
Neither has grids or arguments of launches.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kvtrace.converters.importers.event_rows import json_text
from kvtrace.converters.importers.executions import Executions, marks
from kvtrace.converters.importers.host_stacks import Frame
from kvtrace.converters.importers.importing import unpacked
from kvtrace.converters.importers.json_stream import JsonFile
from kvtrace.converters.importers.json_values import entries, integer, mapping, nanoseconds, text
from kvtrace.converters.importers.msgpack_values import value_of
from kvtrace.converters.importers.registry import BadSource, ImportedRun
from kvtrace.converters.importers.rows import NONE, RunRows
from kvtrace.schema.layout import SUMS, TIMES

_ROOT: Final = "ROOT"
#: The beginning of a tree in MessagePack: an array with a map of a context's frame.
_MSGPACK: Final = re.compile(rb"[\x91\x92]\x83\xa5frame")
#: Names of lanes in Chrome traces since Triton 3.8.
_STREAM: Final = re.compile(r"GPU Stream (\d{1,18})")
_LACKS: Final = (
    "Proton records neither arguments of launches nor grids nor IR, so figures that need them are "
    "missing"
)
_NO_DATE: Final = "Proton has no time of day; its times count from an unknown moment"
#: Phases of arrows between other events.
_FLOWS: Final = ("s", "t", "f")
#: Metrics of kernels that columns have.
_COUNTED: Final = frozenset({"count", "time (ns)", "device_id", "device_type"})
#: Metrics of the instrumentation backend, in trees and in traces.
_CYCLES: Final = ("cycles", "Frequency (MHz)")
_SUMS: Final = (
    "the tree has only sums: each kernel of a context is one row for all its executions, with "
    "their mean duration, and the times of executions are unknown"
)
#: Most levels of nested contexts; a deeper file is rejected.
_DEEPEST: Final = 10_000


class Proton:
    """Importer of Proton's trees and Chrome traces."""

    summary = "Proton: .hatchet and .hatchet_msgpack trees, .chrome_trace files"

    def recognizes(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 - others need it
        """Return whether the file begins as a tree or a Chrome trace of Proton."""
        start = head.lstrip()
        if start.startswith(b"["):
            return b'"frame"' in start and b'"children"' in start
        if _MSGPACK.match(head):
            return True
        return start.startswith(b"{") and b'"call_stack"' in start and b'"traceEvents"' in start

    def read(self, path: Path, rows: RunRows) -> Iterator[ImportedRun]:
        """Add the rows of the only process, and yield its facts. Errors as `Importer.read`."""
        with unpacked(path) as file:
            if _MSGPACK.match(file.peek(16)):  # type: ignore[attr-defined] # a BufferedReader
                yield _import_tree(path, value_of(file.read()), rows)
                return
            source = JsonFile(path, file)
            if source.peek() == "[":
                yield _import_tree(path, source.value(), rows)
                return
            trace = _ChromeTrace(path, rows)
            while source.peek():
                for key in source.members():
                    if key == "traceEvents":
                        for event in source.entries():
                            trace.add(event)
                    else:
                        trace.facts[key] = source.value()
        yield trace.finished()


class _ContextStacks:
    """Ids of the stacks of contexts, which are written on first use; without root and kernel."""

    def __init__(self, rows: RunRows) -> None:
        self._rows = rows
        self._ids: dict[tuple[str, ...], int] = {}

    def of(self, names: tuple[str, ...]) -> int:
        """Return the stack id of a context (names from the root inwards); NONE for the root."""
        context = names[1:] if names[:1] == (_ROOT,) else names
        if not context:
            return NONE
        if context not in self._ids:
            frames: list[Frame] = [(None, None, None, name) for name in reversed(context)]
            self._ids[context] = self._rows.stack(frames)
        return self._ids[context]


class _ChromeTrace:
    """Executions, scopes and facts of a Chrome trace, as they are collected."""

    def __init__(self, path: Path, rows: RunRows) -> None:
        self.facts: dict[str, Any] = {}
        self._path, self._rows = path, rows
        self._device, self._stacks = Executions(serial=False), _ContextStacks(rows)
        self._streams: dict[int, int] = {}
        self._scopes: list[tuple[str, int, int, int, dict[str, str]]] = []
        self._skipped: Counter[str] = Counter()

    def add(self, event: Any) -> None:
        """Add an event: a lane's name, a kernel, or a scope; flows between them are ignored."""
        try:
            self._add(event)
        except (ValueError, TypeError, AttributeError, KeyError):
            self._skipped["events that Proton does not write"] += 1

    def _add(self, event: Mapping[str, Any]) -> None:
        lane, args = integer(event.get("tid")), mapping(event.get("args"))
        if event.get("ph") == "M":
            stream = _STREAM.fullmatch(text(args.get("name")) or "")
            if stream is not None:
                self._streams[lane] = int(stream[1])
            return
        if event.get("ph") != "X":
            if event.get("ph") not in _FLOWS:
                self._skipped[text(event.get("cat")) or "?"] += 1
            return
        start = nanoseconds(event.get("ts"))
        end = start + nanoseconds(event.get("dur"))
        category = event.get("cat")
        if any(name in args for name in _CYCLES):
            self._skipped["ranges inside kernels"] += 1
        elif category == "kernel":
            context = tuple(text(name) or "?" for name in entries(args["call_stack"]))
            self._device.add(
                text(event.get("name")) or "?",
                start,
                end,
                stream=self._streams.get(lane, lane),
                stack=self._stacks.of(context[:-1]),
            )
        elif category in ("scope", "metric"):
            context = tuple(text(name) or "?" for name in entries(args.get("call_stack")))
            if not context:
                self._skipped["scopes of graphs, which are contexts of kernels"] += 1
                return
            metrics = {name: str(value) for name, value in mapping(args.get("metrics")).items()}
            self._scopes.append((context[-1], start, end, lane, metrics))

    def finished(self) -> ImportedRun:
        """Write the collected rows, and return the facts; BadSource without a kernel."""
        if not len(self._device):
            raise _without_kernels(self._path, bool(self._skipped["ranges inside kernels"]))
        base = integer(self.facts.get("baseTimeNanoseconds"))
        shift = 0 if base == NONE else base
        for name, begin, end, thread, metrics in self._scopes:
            marks(self._rows, [(name, begin, end, thread)], shift, **metrics)
        lacks = [_LACKS, *(() if shift else (_NO_DATE,))]
        row = {**self._device.finish(self._rows, shift), "devices": []}
        return ImportedRun(row, tuple(lacks), self._skipped)


def _without_kernels(path: Path, has_cycles: bool) -> BadSource:
    if has_cycles:
        return BadSource(
            f"{path} has times inside kernels (Proton's instrumentation backend), which are not "
            "imported: profile with the backend cupti or rocprofiler"
        )
    return BadSource(f"{path} has no kernel; was anything launched while Proton ran?")


def _import_tree(path: Path, content: Any, rows: RunRows) -> ImportedRun:
    """Add the kernels of a tree as executions one after the other from time 0; return the facts."""
    trees = [entry for entry in entries(content) if "frame" in mapping(entry)]
    device_entries = [mapping(entry) for entry in entries(content) if "frame" not in mapping(entry)]
    device, stacks, next_start = Executions(serial=False), _ContextStacks(rows), 0
    has_cycles, left_out = False, Counter[str]()
    pending: list[tuple[tuple[str, ...], Any]] = [((), node) for node in reversed(trees)]
    while pending:
        context, node = pending.pop()
        name = text(mapping(node.get("frame")).get("name")) or "?"
        path_of_node = (*context, name)
        if len(path_of_node) > _DEEPEST:
            raise BadSource(
                f"{path} has more than {_DEEPEST:,} nested contexts, so Proton did not write it"
            )
        metrics = mapping(node.get("metrics"))
        has_cycles |= any(name in metrics for name in _CYCLES)
        count, time = integer(metrics.get("count")), integer(metrics.get("time (ns)"))
        others = {key: value for key, value in metrics.items() if key not in _COUNTED}
        if "device_id" in metrics and ("count" in metrics or "time (ns)" in metrics):
            is_known = 0 < count < 2**31 and 0 <= time < 2**62
            mean = round(time / count) if is_known else 0
            others |= {} if is_known else metrics
            device.add(
                name,
                next_start,
                next_start + mean if is_known else NONE,
                device=integer(metrics.get("device_id")),
                stack=stacks.of(context),
                weight=count if is_known else NONE,
                members=json_text({"metrics": others}) if others else None,
            )
            next_start += mean
        else:
            left_out.update(f"metric {key} of contexts" for key in others)
        children = reversed(entries(node.get("children")))
        pending += [(path_of_node, child) for child in children]
    if not len(device):
        raise _without_kernels(path, has_cycles)
    times = device.finish(rows)
    devices = [
        {"index": int(index), "name": f"{kind} {mapping(facts).get('arch', '')}".strip()}
        for kind, numbered in (device_entries[0] if device_entries else {}).items()
        for index, facts in mapping(numbered).items()
        if index.isdecimal() and len(index) < 6
    ]
    row = {
        **times,
        "devices": devices,
        "settings": {TIMES: SUMS},  # a tree does not record when the device was busy
    }
    return ImportedRun(row, (_LACKS, _NO_DATE, _SUMS), left_out)


IMPORTER = Proton()
