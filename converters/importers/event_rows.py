"""Collector of the events of a tool's file that are not executions, kept as they are.

What events have in common, such as their name and thread, is kept once, as a shape. Their other
members stay JSON texts, which are compressed in batches: those of one file resemble each other, so
that millions of them take a few dozen MB.
"""

import json
from decimal import Decimal
from math import isfinite
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kvtrace.converters.importers.host_stacks import HostRanges
from kvtrace.converters.importers.rows import NONE, IntegerRows, Integers, Names, RunRows

_TIMES: Final = ("begin", "end")
#: Rows and characters of members at which a batch is full.
_BATCH_ROWS: Final = 1 << 15
_BATCH_CHARACTERS: Final = 1 << 23
_PACKED: Final = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=1))
_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), default=float, allow_nan=False)
#: Phase, category, name, process, thread, and whether it is also a range of a host thread's stacks.
_Shape = tuple[str | None, str | None, str | None, int, int, bool]


def json_text(value: Any) -> str:
    """Return a JSON value as compact text; decimal numbers become floats.

    Infinity and NaN, which JSON does not have, become texts.
    """
    try:
        return _ENCODER.encode(value)
    except ValueError:
        return _ENCODER.encode(_finite(value))


def _finite(value: Any) -> Any:
    """Return a value with texts instead of numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    if isinstance(value, float | Decimal) and not isfinite(number := float(value)):
        return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"
    return value


class EventRows:
    """Rows of `tool_events`, in the order of the file; times in ns on the tool's clock."""

    def __init__(self) -> None:
        self._rows = IntegerRows("record", *_TIMES, "correlation_id", "external_id", "shape")
        self._shapes: dict[_Shape, int] = {}
        self._members: list[str | None] = []
        self._characters = 0
        self._packed: list[pa.Buffer] = []

    def add(
        self,
        phase: str | None,
        category: str | None,
        name: str | None,
        begin: int = NONE,
        end: int = NONE,
        *,
        record: int = NONE,
        process: int = NONE,
        thread: int = NONE,
        correlation: int = NONE,
        external: int = NONE,
        members: str | None = None,
    ) -> None:
        """Add an event; columns as in `tool_events`, `members` a JSON text, None for no members.

        `record` is its place in the file; NONE: the number of events before it.
        """
        if record == NONE:
            record = len(self._rows)
        number = self.shape(phase, category, name, process, thread)
        self._rows.add(record, begin, end, correlation, external, number)
        self._keep([members])

    def shape(
        self,
        phase: str | None,
        category: str | None,
        name: str | None,
        process: int,
        thread: int,
        *,
        is_host: bool = False,
    ) -> int:
        """Return the number of a shape, for `add_batch`.

        `is_host`: its events are also ranges of their thread's stacks, for `add_host_ranges`.
        """
        shape = (phase, category, name, process, thread, is_host)
        return self._shapes.setdefault(shape, len(self._shapes))

    def add_batch(self, rows: Integers, members: list[str | None]) -> None:
        """Add events as `add` does; a row has the six columns of `_rows`, its last a `shape`."""
        self._rows.add_arrays(rows)
        self._keep(members)

    def _keep(self, members: list[str | None]) -> None:
        self._members += members
        self._characters += sum(map(len, filter(None, members)))
        if len(self._members) >= _BATCH_ROWS or self._characters > _BATCH_CHARACTERS:
            self._pack()

    def _pack(self) -> None:
        """Move the members since the last batch to `_packed`."""
        batch = pa.record_batch({"members": pa.array(self._members, pa.string())})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema, options=_PACKED) as stream:
            stream.write_batch(batch)
        self._packed.append(sink.getvalue())
        self._members, self._characters = [], 0

    def add_host_ranges(self, host: HostRanges) -> None:
        """Add the ranges of shapes with `is_host` to `host`; no event can be added afterwards."""
        self._pack()
        columns = self._rows.arrays()
        threads, names = np.array(
            [
                (host.thread(shape[4], shape[3]), host.names.number(shape[2] or "?"))
                if shape[5]
                else (NONE, NONE)
                for shape in self._shapes
            ],
            np.int64,
        ).reshape(-1, 2).T  # fmt: skip
        for first in range(0, len(self._rows), _BATCH_ROWS):
            batch = {name: values[first : first + _BATCH_ROWS] for name, values in columns.items()}
            is_host = names[batch["shape"]] != NONE
            shape = batch["shape"][is_host]
            host.ranges.add_arrays(
                threads[shape], batch["begin"][is_host], batch["end"][is_host], names[shape]
            )

    def write(self, rows: RunRows, shift: int) -> None:
        """Write the rows, with `shift` added to the times, after `add_host_ranges`."""
        columns = dict(self._rows.arrays())
        for name in _TIMES:
            columns[name] = np.where(columns[name] == NONE, NONE, columns[name] + shift)
        shapes = columns.pop("shape")
        names = (Names(), Names(), Names())
        table = np.array(
            [
                [
                    *(NONE if text is None else numbered.number(text)
                      for text, numbered in zip(shape[:3], names, strict=True)),
                    *shape[3:5],
                ]
                for shape in self._shapes
            ],
            np.int64,
        ).reshape(-1, 5)  # fmt: skip
        for index, name in enumerate(("phase", "category", "name", "process", "thread")):
            columns[name] = table[shapes, index]
        texts = dict(
            zip(("phase", "category", "name"), (each.texts for each in names), strict=True)
        )
        first = 0
        for packed in self._packed:
            members = pa.ipc.open_stream(packed).read_all()["members"].combine_chunks()
            batch = slice(first, first + len(members))
            first += len(members)
            rows.columns(
                "tool_events",
                {**{name: values[batch] for name, values in columns.items()}, "members": members},
                texts,
            )
