"""Collector of the events of a tool's file that are not executions, kept as they are.

Events of one name on one thread differ in few integers. What they have in common is kept once, as a
shape: the texts, and the JSON members as a format with a `%d` for each integer, as in
`{"args":{"Ev Idx":%d}}`. So millions of events take little more memory than their integers.
"""

import json
from array import array
from typing import Any, Final

import numpy as np

from kvtrace.converters.importers.rows import NONE, IntegerRows, Names, RunRows

_TIMES: Final = ("begin", "end")
_LARGEST: Final = 2**63 - 1
_BATCH_ROWS: Final = 1 << 17
#: Phase, category, name, process, thread, and the format of the members.
_Shape = tuple[str | None, str | None, str | None, int, int, str | None]


class EventRows:
    """Rows of `tool_events`, in the order of the file; times in ns on the tool's clock."""

    def __init__(self) -> None:
        self._rows = IntegerRows(
            "record", *_TIMES, "correlation_id", "external_id", "shape", "first"
        )
        self._shapes: dict[_Shape, int] = {}
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
        first = len(self._integers)
        form = None if members is None else _format_of(members, self._integers)
        shape = (phase, category, name, process, thread, form)
        number = self._shapes.setdefault(shape, len(self._shapes))
        if record == NONE:
            record = len(self._rows)
        self._rows.add(record, begin, end, correlation, external, number, first)

    def write(self, rows: RunRows, shift: int) -> None:
        """Write the rows, with `shift` added to the times."""
        columns = dict(self._rows.arrays())
        for name in _TIMES:
            columns[name] = np.where(columns[name] == NONE, NONE, columns[name] + shift)
        shapes, firsts = columns.pop("shape"), columns.pop("first")
        texts = (Names(), Names(), Names())
        table = np.array(
            [
                [
                    *(NONE if text is None else names.number(text)
                      for text, names in zip(shape[:3], texts, strict=True)),
                    *shape[3:5],
                ]
                for shape in self._shapes
            ],
            np.int64,
        ).reshape(-1, 5)  # fmt: skip
        for index, name in enumerate(("phase", "category", "name", "process", "thread")):
            columns[name] = table[shapes, index]
        forms = [shape[5] for shape in self._shapes]
        ends = np.append(firsts[1:], len(self._integers))
        for first in range(0, shapes.size, _BATCH_ROWS):
            batch = slice(first, first + _BATCH_ROWS)
            members = Names()
            places = zip(shapes[batch].tolist(), firsts[batch].tolist(), ends[batch].tolist(),
                         strict=True)  # fmt: skip
            codes = [
                NONE
                if (form := forms[shape]) is None
                else members.number(form % tuple(self._integers[begin:end]))
                for shape, begin, end in places
            ]
            rows.columns(
                "tool_events",
                {
                    **{name: values[batch] for name, values in columns.items()},
                    "members": np.array(codes, np.int64),
                },
                {
                    "phase": texts[0].texts,
                    "category": texts[1].texts,
                    "name": texts[2].texts,
                    "members": members.texts,
                },
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
