"""Proton's profiles: its tree of contexts (.hatchet) and its Chrome trace (.chrome_trace).

The tree is hatchet's literal form, as third_party/proton/csrc/lib/Data/TreeData.cpp of
https://github.com/triton-lang/triton writes it, and TraceData.cpp the other, one JSON object a line
for each stream. Neither has a time of day, a grid, or what a launch was given.
"""

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
    "Proton has no arguments of launches, no grids and no IR: what needs them is left out",
    "Proton has no time of day; its times count from an unknown moment",
)
_SUMS: Final = (
    "the tree has sums: each kernel of a context is one row for all its executions, as long as "
    "their mean, and where they lie in time is not known"
)
#: A deeper context is not believed.
_DEEPEST: Final = 10_000


class Proton:
    """Reads Proton's tree and its Chrome trace."""

    summary = "Proton: .hatchet trees and .chrome_trace files"

    def recognizes(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 - others need it
        """Whether it begins as one of the two does."""
        start = head.lstrip()[: 1 << 14]
        if start.startswith(b"["):
            return b'"frame"' in start and b'"children"' in start
        return start.startswith(b"{") and b'"call_stack"' in start and b'"traceEvents"' in start

    def read(self, path: Path, rows: RunRows) -> Iterator[ImportedRun]:
        """Add the rows of the one process. Errors as `Importer.read`."""
        with unpacked(path) as file:
            source = JsonFile(path, file)
            if source.peek() == "[":
                yield _tree(path, source.value(), rows)
                return
            device, stacks = Executions(), _Stacks(rows)
            while source.peek():
                for key in source.members():
                    if key != "traceEvents":
                        source.value()
                        continue
                    for event in source.entries():
                        _add(device, stacks, event)
        if not len(device):
            raise BadSource(f"{path} has no kernel; was anything launched while Proton ran?")
        yield _finished(device, rows, _LACKS, {})


class _Stacks:
    """Contexts as stacks, the innermost first, without the root and the kernel itself."""

    def __init__(self, rows: RunRows) -> None:
        self._rows = rows
        self._known: dict[tuple[str, ...], int] = {}

    def of(self, names: tuple[str, ...]) -> int:
        """Return the id of a context's stack; NONE where there is none."""
        own = names[1:] if names[:1] == (_ROOT,) else names
        if not own:
            return NONE
        if own not in self._known:
            frames: list[Frame] = [(None, None, None, name) for name in reversed(own)]
            self._known[own] = self._rows.stack(frames)
        return self._known[own]


def _add(device: Executions, stacks: _Stacks, event: Mapping[str, Any]) -> None:
    """Add an event of a Chrome trace."""
    if event.get("ph") != "X" or event.get("cat") != "kernel":
        return
    start = nanoseconds(event.get("ts"))
    context = tuple(text(name) or "?" for name in entries(mapping(event["args"])["call_stack"]))
    device.add(
        text(event.get("name")) or "?",
        start,
        start + nanoseconds(event.get("dur")),
        stream=integer(event.get("tid")),
        stack=stacks.of(context[:-1]),
    )


def _tree(path: Path, found: Any, rows: RunRows) -> ImportedRun:
    """Add the executions of a tree; each kernel's run one after the other, from time 0."""
    trees = [each for each in entries(found) if "frame" in mapping(each)]
    others = [mapping(each) for each in entries(found) if "frame" not in mapping(each)]
    device, stacks, clock = Executions(), _Stacks(rows), 0
    waiting: list[tuple[tuple[str, ...], Any]] = [((), node) for node in reversed(trees)]
    while waiting:
        context, node = waiting.pop()
        name = text(mapping(node.get("frame")).get("name")) or "?"
        below = (*context, name)
        if len(below) > _DEEPEST:
            raise BadSource(f"{path} has contexts {_DEEPEST:,} deep; is it Proton's tree?")
        metrics = mapping(node.get("metrics"))
        count, time = integer(metrics.get("count")), integer(metrics.get("time (ns)"))
        if count > 0 and time >= 0 and "device_id" in metrics:
            mean = round(time / count)
            device.add(
                name,
                clock,
                clock + mean,
                device=integer(metrics.get("device_id")),
                stack=stacks.of(context),
                weight=count,
            )
            clock += mean
        waiting += [(below, each) for each in reversed(entries(node.get("children")))]
    if not len(device):
        raise BadSource(f"{path} has no kernel; was anything launched while Proton ran?")
    run = _finished(device, rows, (*_LACKS, _SUMS), others[0] if others else {})
    # When the device was busy is not known.
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
