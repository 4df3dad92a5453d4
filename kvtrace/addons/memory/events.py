"""What happened to memory in a run, from the trace's tables, in the order of time on the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kvtrace.addons.memory.following import Allocated, Event, Freed, Launched, Operated

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_Integers = NDArray[np.int64]
#: The sorted times of events, and the events in that order.
_Source = tuple[_Integers, Iterator[Event]]
#: Rows that become Python objects at a time.
_AT_ONCE: Final = 1 << 16


def events_of(trace: Trace, run: Run) -> Iterator[Event]:
    """Yield launches with addresses, calls of operators, allocations and frees, by their times.

    An operator comes at the time when it returned. Errors as `Trace.table`.
    """
    sources = [_launches(trace, run), _operations(trace, run), *_allocations(trace, run)]
    times = np.concatenate([times for times, _ in sources])
    numbers = np.repeat(np.arange(len(sources)), [len(times) for times, _ in sources])
    iterators = [events for _, events in sources]
    for number in numbers[np.argsort(times, kind="stable")].tolist():
        yield next(iterators[number])


def _launches(trace: Trace, run: Run) -> _Source:
    table = trace.table("launches", (run,), ["seq", "call_id", "enter", "addresses"])
    table = table.filter(pc.is_valid(table["addresses"]))
    table, enter = _sorted(table, "enter")
    return enter, (
        Launched(time, seq, call_id, addresses)
        for part in _parts(table)
        for time, seq, call_id, addresses in zip(
            *_lists(part, "enter", "seq", "call_id"), _address_lists(part), strict=True
        )
    )


def _operations(trace: Trace, run: Run) -> _Source:
    table = trace.table("operations", (run,), ["operator_id", "begin", "end", "addresses"])
    table, end = _sorted(table, "end")
    return end, (
        Operated(time, begin, operator_id, addresses)
        for part in _parts(table)
        for time, begin, operator_id, addresses in zip(
            *_lists(part, "end", "begin", "operator_id"), _address_lists(part), strict=True
        )
    )


def _allocations(trace: Trace, run: Run) -> tuple[_Source, _Source]:
    """Return allocations and frees; those of generated code have a stack, and their exact size."""
    columns = ["record", "address", "bytes", "begin", "end", "device", "stack_id"]
    table = trace.table("allocations", (run,), columns)
    allocated, begin = _sorted(table, "begin")
    freed, end = _sorted(table.filter(pc.is_valid(table["end"])), "end")
    return (
        (
            begin,
            (
                Allocated(time, row, address, size, stack is None, device is None)
                for part in _parts(allocated)
                for time, row, address, size, stack, device in zip(
                    *_lists(part, "begin", "record", "address", "bytes"),
                    part["stack_id"].to_pylist(),
                    part["device"].to_pylist(),
                    strict=True,
                )
            ),
        ),
        (
            end,
            (
                Freed(time, address)
                for part in _parts(freed)
                for time, address in zip(*_lists(part, "end", "address"), strict=True)
            ),
        ),
    )


def _sorted(table: pa.Table, name: str) -> tuple[pa.Table, _Integers]:
    """Return a table in the order of a column of times, and the times in ns."""
    times = _integers(table[name])
    order = np.argsort(times, kind="stable")
    return table.take(order), times[order]


def _parts(table: pa.Table) -> Iterator[pa.Table]:
    for begin in range(0, table.num_rows, _AT_ONCE):
        yield table.slice(begin, _AT_ONCE)


def _lists(part: pa.Table, *names: str) -> list[list[int]]:
    return [_integers(part[name]).tolist() for name in names]


def _address_lists(part: pa.Table) -> Iterator[list[int]]:
    column = part["addresses"].combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    values = pc.fill_null(column.flatten(), 0).to_numpy().tolist()
    begin = 0
    for end in np.cumsum(lengths).tolist():
        yield values[begin:end]
        begin = end


def _integers(column: pa.ChunkedArray) -> _Integers:
    """Return a column of integers or times (ns) as int64, 0 for null."""
    values: _Integers = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
    return values
