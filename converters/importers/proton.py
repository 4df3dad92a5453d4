"""Importer of Proton's profiles: trees of contexts (.hatchet) and Chrome traces (.chrome_trace).

TreeData.cpp in third_party/proton/csrc/lib/Data of https://github.com/triton-lang/triton writes the
trees in hatchet's literal form, and TraceData.cpp the traces, one JSON object per line and stream.
Neither has a time of day, grids, or arguments of launches.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from kvtrace.converters.importers.executions import Executions
from kvtrace.converters.importers.host_stacks import Frame
from kvtrace.converters.importers.importing import unpacked
from kvtrace.converters.importers.json_stream import JsonFile
from kvtrace.converters.importers.json_values import entries, integer, mapping, nanoseconds, text
from kvtrace.converters.importers.registry import BadSource, ImportedRun
from kvtrace.converters.importers.rows import NONE, RunRows
from kvtrace.schema.layout import SUMS, TIMES

_ROOT: Final = "ROOT"
_LACKS: Final = (
    "Proton records neither arguments of launches nor grids nor IR, so figures that need them are "
    "missing",
    "Proton has no time of day; its times count from an unknown moment",
)
_SUMS: Final = (
    "the tree has only sums: each kernel of a context is one row for all its executions, with "
    "their mean duration, and the times of executions are unknown"
)
#: Most levels of nested contexts; a deeper file is rejected.
_DEEPEST: Final = 10_000


class Proton:
    """Importer of Proton's trees and Chrome traces."""

    summary = "Proton: .hatchet trees and .chrome_trace files"

    def recognizes(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 - others need it
        """Return whether the file begins as a tree or a Chrome trace of Proton."""
        start = head.lstrip()[: 1 << 14]
        if start.startswith(b"["):
            return b'"frame"' in start and b'"children"' in start
        return start.startswith(b"{") and b'"call_stack"' in start and b'"traceEvents"' in start

    def read(self, path: Path, rows: RunRows) -> Iterator[ImportedRun]:
        """Add the rows of the only process, and yield its facts. Errors as `Importer.read`."""
        with unpacked(path) as file:
            source = JsonFile(path, file)
            if source.peek() == "[":
                yield _import_tree(path, source.value(), rows)
                return
            device, stacks = Executions(), _ContextStacks(rows)
            left_out: Counter[str] = Counter()
            while source.peek():
                for key in source.members():
                    if key != "traceEvents":
                        source.value()
                        continue
                    for event in source.entries():
                        if not _add_event(device, stacks, event) and event.get("ph") != "M":
                            left_out[text(event.get("cat")) or "?"] += 1
        if not len(device):
            raise BadSource(f"{path} has no kernel; was anything launched while Proton ran?")
        yield replace(_finished(device, rows, _LACKS, {}), left_out=left_out)


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


def _add_event(device: Executions, stacks: _ContextStacks, event: Mapping[str, Any]) -> bool:
    """Add an event of a Chrome trace if it is a kernel, and return whether it is."""
    if event.get("ph") != "X" or event.get("cat") != "kernel":
        return False
    start = nanoseconds(event.get("ts"))
    context = tuple(text(name) or "?" for name in entries(mapping(event["args"])["call_stack"]))
    device.add(
        text(event.get("name")) or "?",
        start,
        start + nanoseconds(event.get("dur")),
        stream=integer(event.get("tid")),
        stack=stacks.of(context[:-1]),
    )
    return True


def _import_tree(path: Path, content: Any, rows: RunRows) -> ImportedRun:
    """Add the kernels of a tree as executions one after the other from time 0; return the facts."""
    trees = [entry for entry in entries(content) if "frame" in mapping(entry)]
    device_entries = [mapping(entry) for entry in entries(content) if "frame" not in mapping(entry)]
    device, stacks, next_start = Executions(), _ContextStacks(rows), 0
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
        count, time = integer(metrics.get("count")), integer(metrics.get("time (ns)"))
        if count > 0 and time >= 0 and "device_id" in metrics:
            mean = round(time / count)
            device.add(
                name,
                next_start,
                next_start + mean,
                device=integer(metrics.get("device_id")),
                stack=stacks.of(context),
                weight=count,
            )
            next_start += mean
        children = reversed(entries(node.get("children")))
        pending += [(path_of_node, child) for child in children]
    if not len(device):
        raise BadSource(f"{path} has no kernel; was anything launched while Proton ran?")
    run = _finished(device, rows, (*_LACKS, _SUMS), device_entries[0] if device_entries else {})
    # A tree does not record when the device was busy.
    return replace(run, row={**run.row, "settings": {TIMES: SUMS}})


def _finished(
    device: Executions, rows: RunRows, lacks: tuple[str, ...], devices: Mapping[str, Any]
) -> ImportedRun:
    times = device.finish(rows)
    listed = [
        {"index": int(index), "name": f"{kind} {mapping(facts).get('arch', '')}".strip()}
        for kind, numbered in devices.items()
        for index, facts in mapping(numbered).items()
        if index.isdecimal() and len(index) < 6
    ]
    return ImportedRun(
        {"started": times and times[0], "ended": times and times[1], "devices": listed}, lacks
    )


IMPORTER = Proton()
