"""Events of memory in a run, from the trace's tables, in the order of time on the host.

A long run does the same again and again, so events are arrays: each has the number of a unique
event, which has all but the times. Tables are read piece by piece. Rows of a table are nearly in
the order of time; an event is passed on when no later piece can have an earlier one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.figures.columns import Integers, integers

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Least events of a part, except for the last one.
_AT_ONCE: Final = 1 << 20
#: Most unique events that are known at a time; some 0.5 kB each.
_MOST_UNIQUE: Final = 1 << 19
_NEVER: Final = int(np.iinfo(np.int64).max)


class Launched(NamedTuple):
    """A launch, at its time in ns; `addresses` are the data pointers of its tensors."""

    time: int
    seq: int
    call_id: int
    addresses: Sequence[int]


class Operated(NamedTuple):
    """A call of an operator, at the time when it returned; it began at `begin` (both ns)."""

    time: int
    begin: int
    operator_id: int
    addresses: Sequence[int]


class Allocated(NamedTuple):
    """Memory that was allocated; `rounded` by an allocator that makes blocks larger than asked.

    `is_of_host`: it is memory of the host.
    """

    time: int
    row: int
    address: int
    size: int
    rounded: bool
    is_of_host: bool = False


class Freed(NamedTuple):
    """Memory that was freed."""

    time: int
    address: int


Event = Launched | Operated | Allocated | Freed


class Events(Struct, frozen=True, eq=False):
    """Events in the order of time, as arrays with an entry for each.

    Attributes:
        numbers: the unique event: an index of `unique`.
        times: when it happened, ns.
        begins: when it began, ns: earlier than its time for operators alone.
        seqs: the launch, -1 for others.
        unique: events by their numbers; times and launches of those are not set.
    """

    numbers: Integers
    times: Integers
    begins: Integers
    seqs: Integers
    unique: Mapping[int, Event]

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, chosen: slice | NDArray[Any]) -> Events:
        """Return some of the events."""
        numbers, times, begins, seqs = (column[chosen] for column in self.columns)
        return Events(numbers, times, begins, seqs, self.unique)

    def __iter__(self) -> Iterator[Event]:
        """Yield the events as objects."""
        unique = self.unique
        for number, time, begin, seq in zip(
            *(column.tolist() for column in self.columns), strict=True
        ):
            event = unique[number]
            if type(event) is Operated:
                yield Operated(time, begin, event.operator_id, event.addresses)
            elif type(event) is Launched:
                yield Launched(time, seq, event.call_id, event.addresses)
            else:
                yield event._replace(time=time)

    @property
    def columns(self) -> tuple[Integers, ...]:
        """All arrays."""
        return self.numbers, self.times, self.begins, self.seqs

    def joined(self, *others: Events) -> Events:
        """Return these events and then others."""
        parts = [self.columns, *(other.columns for other in others)]
        numbers, times, begins, seqs = map(np.concatenate, zip(*parts, strict=True))
        return Events(numbers, times, begins, seqs, self.unique)


def event_parts(trace: Trace, run: Run) -> Iterator[Events]:
    """Yield launches with addresses, calls of operators, allocations and frees, by their times.

    They come as arrays, in parts, each to be used before the next one; an operator comes at the
    time when it returned. Errors as `Trace.table`.
    """
    unique = _Unique()
    sources = [
        _Source(trace, run, unique, "launches", "enter", "addresses", _launches),
        _Source(trace, run, unique, "operations", "end", "operator_id", _operations),
        _Source(trace, run, unique, "allocations", "begin", "record", _Allocations().events),
        _Source(trace, run, unique, "allocations", "end", "end", _frees),
    ]
    while any(source.has_more for source in sources):
        loaded = 0
        while loaded < _AT_ONCE and any(source.has_more for source in sources):
            min((source for source in sources if source.has_more), key=_earliest).load()
            loaded = sum(source.loaded for source in sources)
        until = min(map(_earliest, sources))
        first, *others = (source.taken(until) for source in sources)
        events = first.joined(*others)
        yield events[np.argsort(events.times, kind="stable")]
        unique.forget([source.waiting.numbers for source in sources])


class _Unique:
    """The unique events of a run, numbered as they come.

    Events of a kind are the same if their rows, and the bytes of their lists of integers, are.
    """

    def __init__(self) -> None:
        self.events: dict[int, Event] = {}
        self._numbers: dict[tuple[type[Event], int, bytes], int] = {}
        self._next = 0

    def numbers(
        self, kind: type[Event], rows: Integers, lists: pa.Array, make: Callable[..., Event]
    ) -> Integers:
        """Return the numbers of events, one for each of `rows` and of `lists` of integers.

        `make` returns the event of a row and a list.
        """
        encoded = _as_bytes(lists).dictionary_encode()
        lists_as_bytes = encoded.dictionary.to_pylist()
        width = max(len(lists_as_bytes), 1)
        pairs = pa.array(rows * width + encoded.indices.to_numpy()).dictionary_encode()
        numbers = []
        for pair in pairs.dictionary.to_pylist():
            row, place = divmod(pair, width)
            key = kind, row, lists_as_bytes[place]
            number = self._numbers.get(key)
            if number is None:
                number = self._numbers[key] = self._next
                self.events[number] = make(row, memoryview(key[2]).cast("q").tolist())
                self._next += 1
            numbers.append(number)
        result: Integers = np.array(numbers, np.int64)[pairs.indices.to_numpy()]
        return result

    def forget(self, loaded: Sequence[Integers]) -> None:
        """Forget all events but those that are loaded, if there are too many."""
        if len(self.events) < _MOST_UNIQUE:
            return
        kept = {n: self.events[n] for n in np.unique(np.concatenate(loaded)).tolist()}
        self.events.clear()
        self.events.update(kept)
        self._numbers.clear()


def _as_bytes(lists: pa.Array) -> pa.Array:
    """Return lists of integers as their bytes; those of null are none."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)]) * 8
    values = np.ascontiguousarray(pc.fill_null(lists.flatten(), 0).to_numpy())
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(values)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(lists), buffers)


#: Numbers, times, begins and seqs, as in `Events`.
_Columns = tuple[Integers, Integers, Integers, Integers]
#: Returns the events of rows of a table.
_Loader = Callable[[_Unique, pa.Table], _Columns]


class _Source:
    """Events of one table, loaded piece by piece.

    Attributes:
        waiting: events that were loaded, and not taken at the last time, in the table's order.
        loaded: how many events were loaded and not taken.
    """

    def __init__(
        self, trace: Trace, run: Run, unique: _Unique, table: str, time: str, needed: str,
        load: _Loader,
    ) -> None:  # fmt: skip
        """Each row of `table` that has a value in the column `needed` is an event at its `time`."""
        self._unique, self._needed, self._load = unique, needed, load
        none = np.zeros(0, np.int64)
        self.waiting = Events(none, none, none, none, unique.events)
        self.loaded = 0
        self._new: list[Events] = []
        self._pieces = trace.pieces(table, (run,), _COLUMNS[table])
        self._row = 0
        times = [integers(piece[time]) for piece in trace.pieces(table, (run,), [time])]
        self._ends = np.cumsum([len(piece) for piece in times], dtype=np.int64)
        least = np.array([piece.min(initial=_NEVER) for piece in times], np.int64)
        #: The least time from a piece of times on, and none at the end.
        self._least: list[int] = [*np.minimum.accumulate(least[::-1])[::-1].tolist(), _NEVER]

    @property
    def has_more(self) -> bool:
        """There are events that are not loaded."""
        return bool(self._row < self._ends.max(initial=0))

    @property
    def earliest(self) -> int:
        """The least time of an event that is not loaded, ns."""
        return self._least[int(np.searchsorted(self._ends, self._row, "right"))]

    def load(self) -> None:
        """Load a piece. Rows that were added after the times were read are left out."""
        piece = next(self._pieces).slice(0, int(self._ends[-1]) - self._row)
        self._row += piece.num_rows
        rows = piece.filter(pc.is_valid(piece[self._needed])).combine_chunks()
        events = Events(*self._load(self._unique, rows), self._unique.events)
        self._new.append(events)
        self.loaded += len(events)

    def taken(self, until: int) -> Events:
        """Return the loaded events before a time (ns), which count as loaded no longer."""
        events = self.waiting.joined(*self._new)
        self._new.clear()
        is_taken = events.times < until
        if is_taken.all():
            taken, self.waiting = events, events[:0]
        else:
            taken, self.waiting = events[is_taken], events[~is_taken]
        self.loaded = len(self.waiting)
        return taken


def _earliest(source: _Source) -> int:
    return source.earliest


_COLUMNS: Final = {
    "launches": ("seq", "call_id", "enter", "addresses"),
    "operations": ("operator_id", "begin", "end", "addresses"),
    "allocations": ("record", "address", "bytes", "begin", "end", "device", "stack_id"),
}


def _launches(unique: _Unique, rows: pa.Table) -> _Columns:
    enter = integers(rows["enter"])
    numbers = unique.numbers(
        Launched, integers(rows["call_id"]), _chunk(rows["addresses"]), partial(Launched, 0, -1)
    )
    return numbers, enter, enter, integers(rows["seq"])


def _operations(unique: _Unique, rows: pa.Table) -> _Columns:
    end = integers(rows["end"])
    numbers = unique.numbers(
        Operated, integers(rows["operator_id"]), _chunk(rows["addresses"]), partial(Operated, 0, 0)
    )
    return numbers, end, integers(rows["begin"]), np.full(len(end), -1)


class _Allocations:
    """Allocations: those of generated code have a stack, and their exact size.

    Those of one stack and device are the same event, with the first one's row, at one address.
    """

    def __init__(self) -> None:
        self._first: dict[tuple[int | None, int | None], int] = {}

    def events(self, unique: _Unique, rows: pa.Table) -> _Columns:
        begin = integers(rows["begin"])
        places = zip(rows["stack_id"].to_pylist(), rows["device"].to_pylist(), strict=True)
        firsts = [
            self._first.setdefault(place, record)
            for place, record in zip(places, integers(rows["record"]).tolist(), strict=True)
        ]
        values = np.stack(
            [
                integers(rows["address"]),
                integers(rows["bytes"]),
                rows["stack_id"].is_null().to_numpy().astype(np.int64),
                rows["device"].is_null().to_numpy().astype(np.int64),
            ],
            axis=1,
        )
        numbers = unique.numbers(Allocated, np.array(firsts, np.int64), _lists(values), _allocated)
        return numbers, begin, begin, np.full(len(begin), -1)


def _allocated(row: int, values: Sequence[int]) -> Allocated:
    address, size, is_rounded, is_of_host = values
    return Allocated(0, row, address, size, bool(is_rounded), bool(is_of_host))


def _frees(unique: _Unique, rows: pa.Table) -> _Columns:
    end = integers(rows["end"])
    numbers = unique.numbers(
        Freed, np.zeros_like(end), _lists(integers(rows["address"])[:, None]), _freed
    )
    return numbers, end, end, np.full(len(end), -1)


def _freed(_: int, values: Sequence[int]) -> Freed:
    return Freed(0, values[0])


def _chunk(column: pa.ChunkedArray) -> pa.Array:
    chunk = column.combine_chunks()
    return chunk if isinstance(chunk, pa.Array) else pa.concat_arrays(chunk.chunks)


def _lists(values: Integers) -> pa.Array:
    """Return the rows of an array, shape (n, k), as lists."""
    ends = np.arange(len(values) + 1, dtype=np.int64) * values.shape[1]
    return pa.LargeListArray.from_arrays(pa.array(ends), pa.array(values.reshape(-1)))
