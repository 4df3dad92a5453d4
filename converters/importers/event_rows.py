"""Collector of the events of a tool's file that are not executions, kept as they are.

Of JSON objects with the same keys and texts, which nearly all events of a file have, the text is
kept once, as a format with a `%d` for each integer: `{"args":{"Ev Idx":%d}}`. So millions of events
take little more memory than their integers.
"""

import json
from array import array
from typing import Any, Final

import numpy as np

from kvtrace.converters.importers.rows import NONE, IntegerRows, Names, RunRows

_TIMES: Final = ("begin", "end")
_LARGEST: Final = 2**63 - 1
_BATCH_ROWS: Final = 1 << 17


class EventRows:
    """Rows of `tool_events`, in the order of the file; times in ns on the tool's clock."""

    def __init__(self) -> None:
        self._rows = IntegerRows(
            "record", "phase", "category", "name", *_TIMES, "process", "thread",
            "correlation_id", "external_id", "format", "first",
        )  # fmt: skip
        self._phases, self._categories, self._names = Names(), Names(), Names()
        self._formats = Names()
        self._integers = array("q")

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
        members: Any = None,
    ) -> None:
        """Add an event; columns as in `tool_events`, `members` a JSON value, None for no members.

        `record` is its place in the file; NONE: the number of events before it.
        """
        first, number = len(self._integers), NONE
        if members is not None:
            number = self._formats.number(_format_of(members, self._integers))
        self._rows.add(
            len(self._rows) if record == NONE else record,
            NONE if phase is None else self._phases.number(phase),
            NONE if category is None else self._categories.number(category),
            NONE if name is None else self._names.number(name),
            begin, end, process, thread, correlation, external, number, first,
        )  # fmt: skip

    def write(self, rows: RunRows, shift: int) -> None:
        """Write the rows, with `shift` added to the times."""
        columns = dict(self._rows.arrays())
        formats, firsts = columns.pop("format"), columns.pop("first")
        count = formats.size
        for name in _TIMES:
            columns[name] = np.where(columns[name] == NONE, NONE, columns[name] + shift)
        texts = {
            "phase": self._phases.texts,
            "category": self._categories.texts,
            "name": self._names.texts,
        }
        ends = np.append(firsts[1:], len(self._integers))
        for first in range(0, count, _BATCH_ROWS):
            batch = slice(first, first + _BATCH_ROWS)
            members = Names()
            codes = [
                NONE
                if number == NONE
                else members.number(
                    self._formats.texts[number] % tuple(self._integers[begin:end])
                )
                for number, begin, end in zip(
                    formats[batch].tolist(), firsts[batch].tolist(), ends[batch].tolist(),
                    strict=True,
                )
            ]  # fmt: skip
            rows.columns(
                "tool_events",
                {
                    **{name: values[batch] for name, values in columns.items()},
                    "members": np.array(codes, np.int64),
                },
                {**texts, "members": members.texts},
            )


class _Keys(dict[str, str]):
    """Formats of members' keys, with the colon; a file has few."""

    def __missing__(self, key: str) -> str:
        text = self[key] = json_text(key).replace("%", "%%") + ":"
        return text


_KEYS: Final = _Keys()
#: Returns a JSON value as compact text; decimal numbers become floats.
json_text: Final = json.JSONEncoder(separators=(",", ":"), default=float).encode


def _format_of(value: Any, integers: "array[int]") -> str:
    """Return the format of a JSON value's text, and add its integers to `integers`."""
    kind = type(value)
    if kind is int and -_LARGEST <= value <= _LARGEST:
        integers.append(value)
        return "%d"
    if kind is dict:
        parts = [_KEYS[key] + _format_of(entry, integers) for key, entry in value.items()]
        return "{" + ",".join(parts) + "}"
    text: str = json_text(value)
    return text.replace("%", "%%")
