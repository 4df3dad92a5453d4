"""What happened to memory in a run, from the trace's tables, in the order of time on the host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kvtrace.addons.memory.following import Allocated, Event, Freed, Launched, Operated

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtrace.schema.trace import Run, Trace

_Integers = NDArray[np.int64]
#: Events that are made at a time.
_AT_ONCE = 1 << 16


def events_of(trace: Trace, run: Run) -> Iterator[Event]:
    """Yield launches with addresses, calls of operators, allocations and frees, by their times.

    An operator comes at the time when it returned. Errors as `Trace.table`.
    """
    sources = [
        source
        for source in (
            _launches(trace, run), _operations(trace, run), *_allocations(trace, run)
        )
        if len(source[0])
    ]  # fmt: skip
    if not sources:
        return
    times = np.concatenate([times for times, _ in sources])
    numbers = np.repeat(np.arange(len(sources)), [len(times) for times, _ in sources])
    rows = np.concatenate([np.arange(len(times)) for times, _ in sources])
    order = np.argsort(times, kind="stable")
    for begin in range(0, len(order), _AT_ONCE):
        part = order[begin : begin + _AT_ONCE]
        for number, row in zip(numbers[part].tolist(), rows[part].tolist(), strict=True):
            yield sources[number][1](row)


_Source = tuple[_Integers, "Callable[[int], Event]"]


def _launches(trace: Trace, run: Run) -> _Source:
    table = trace.table("launches", (run,), ["seq", "call_id", "enter", "addresses"])
    table = table.filter(pa.compute.is_valid(table["addresses"]))
    enter, seq, call = (_integers(table, name) for name in ("enter", "seq", "call_id"))
    addresses = _Lists(table["addresses"])
    return enter, lambda row: Launched(
        int(enter[row]), int(seq[row]), int(call[row]), addresses[row]
    )


def _operations(trace: Trace, run: Run) -> _Source:
    table = trace.table("operations", (run,), ["operator_id", "begin", "end", "addresses"])
    operator, begin, end = (_integers(table, name) for name in ("operator_id", "begin", "end"))
    end = np.maximum(end, begin)
    addresses = _Lists(table["addresses"])
    return end, lambda row: Operated(
        int(end[row]), int(begin[row]), int(operator[row]), addresses[row]
    )


def _allocations(trace: Trace, run: Run) -> tuple[_Source, _Source]:
    columns = ["record", "address", "bytes", "begin", "end", "stack_id"]
    table = trace.table("allocations", (run,), columns)
    record, address, size, begin, end = (_integers(table, name) for name in columns[:-1])
    within_operator = table["stack_id"].is_null().to_numpy()
    freed = np.flatnonzero(end > 0)
    return (
        (
            begin,
            lambda row: Allocated(
                int(begin[row]), int(record[row]), int(address[row]), int(size[row]),
                bool(within_operator[row]),
            ),
        ),
        (end[freed], lambda row: Freed(int(end[freed[row]]), int(address[freed[row]]))),
    )  # fmt: skip


class _Lists:
    """A column of lists of integers as one array; items are lists of Python integers."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        chunks = [chunk for chunk in column.chunks if len(chunk)]
        lengths = [chunk.value_lengths().fill_null(0).to_numpy() for chunk in chunks]
        self._values = np.concatenate(
            [np.zeros(0, np.int64), *(chunk.flatten().to_numpy() for chunk in chunks)]
        )
        self._ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths]))

    def __getitem__(self, row: int) -> Sequence[int]:
        values: list[int] = self._values[self._ends[row] : self._ends[row + 1]].tolist()
        return values


def _integers(table: pa.Table, name: str) -> _Integers:
    """Return a column of integers or times (ns) as int64, 0 for null."""
    column: Any = table[name]
    values: _Integers = column.cast(pa.int64()).fill_null(0).to_numpy()
    return values
