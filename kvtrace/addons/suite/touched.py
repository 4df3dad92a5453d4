"""Memory that the device touched before a recorded launch, to make its caches alike again.

A kernel takes less time if its inputs are in the L2 cache, since another has just written them, and
more if the cache is full of others' data that has to be written back first. Which it was follows
from the order of launches and operators with the addresses of their tensors (KVTRACE_MEMORY): from
the launch back, each byte counts where it was touched last, until these are more than a cache
holds.

A tensor counts as touched from its first to its last element. An operator touches what its schema
says; one that has views alone as results touches nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow.compute as pc

from kvtrace.converters.scripts.repro import DescriptorArgument, Literal
from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.types import element_of_short_name
from kvtrace.figures.columns import integers
from kvtrace.ir.memory_sites import memory_sites
from kvtrace.recorded_calls.recorded import UnreadyCall, calls_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from kvtrace.addons.suite.choice import ChosenCalls
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.runs import Run
    from kvtrace.schema.trace import Selection, Trace

#: Bytes that are followed back: more than twice the L2 cache of an H200.
MOST_BYTES: Final = 128 << 20
#: Launches and operators that are followed back from a launch.
_MOST_EVENTS: Final = 4_000
#: Touches of an entry; more are merged.
MOST_TOUCHES: Final = 40
#: Operators that make tensors, and write none of their elements.
_EMPTY: Final = ("aten::empty", "aten::new_empty")


class Touch(NamedTuple):
    """Bytes that the device touched: of a storage of the call, or of other memory (None).

    Both `offset` in the storage and `nbytes` are in bytes; a touch that is not written is read.
    """

    storage: str | None
    offset: int
    nbytes: int
    written: bool

    def __str__(self) -> str:
        """Return the touch as a suite's index has it, and its cache.py reads it."""
        place = "" if self.storage is None else f" of {self.storage} at {self.offset}"
        return f"{'write' if self.written else 'read'} {self.nbytes}{place}"


class _Extent(NamedTuple):
    """The bytes of a tensor from its data pointer on, and whether they are written."""

    nbytes: int
    written: bool


@dataclass(slots=True)
class _Piece:
    """Bytes by address, how many touches ago they were touched last, and if written."""

    begin: int
    end: int
    age: int
    written: bool


def touched_before(
    selection: Selection, chosen: Sequence[ChosenCalls], usual: Mapping[tuple[str, int], int]
) -> list[tuple[str, ...]]:
    """Return what the device touched before the usual launch of each entry, the earliest first.

    Without recorded addresses there are none. Errors as `Trace.table`.
    """
    touched: dict[int, tuple[str, ...]] = {}
    for run in selection.runs:
        numbers = [n for n, one in enumerate(chosen) if one.calls[0].run == run]
        history = _History.of(selection.trace, run) if numbers else None
        if history is None:
            continue
        for number in numbers:
            seq = usual.get((run.run_id, chosen[number].calls[0].call_id))
            if seq is not None:
                touched[number] = tuple(map(str, history.before(seq, chosen[number])))
    return [touched.get(number, ()) for number in range(len(chosen))]


class _History:
    """Launches and operators of a run with the addresses of their tensors, in order of time."""

    def __init__(self, trace: Trace, run: Run, tables: Sequence[tuple[pa.Table, str, str]]) -> None:
        times = [integers(table[time]) for table, _, time in tables]
        order = np.argsort(np.concatenate(times), kind="stable")
        first = len(times[0])
        self._kinds = (order >= first).tolist()
        self._rows = np.where(order >= first, order - first, order).tolist()
        self._ids = [table[name].to_pylist() for table, name, _ in tables]
        self._addresses = [table["addresses"].combine_chunks() for table, _, _ in tables]
        places = np.empty(first, np.int64)
        places[order[order < first]] = np.flatnonzero(order < first)
        self._places = dict(zip(tables[0][0]["seq"].to_pylist(), places.tolist(), strict=True))
        self._extents = _Extents(trace, run)

    @classmethod
    def of(cls, trace: Trace, run: Run) -> _History | None:
        """Return a run's history, or None if it has no addresses."""
        launches = trace.table("launches", (run,), ["seq", "call_id", "enter", "addresses"])
        launches = launches.filter(pc.is_valid(launches["addresses"]))
        if not launches.num_rows:
            return None
        operations = trace.table("operations", (run,), ["operator_id", "end", "addresses"])
        operations = operations.filter(pc.is_valid(operations["addresses"]))
        return cls(trace, run, ((launches, "call_id", "enter"), (operations, "operator_id", "end")))

    def before(self, seq: int, chosen: ChosenCalls) -> tuple[Touch, ...]:
        """Return what was touched before a launch of a chosen call."""
        place = self._places.get(seq)
        if place is None:
            return ()
        own = _own_memory(chosen, self._addresses[0][self._rows[place]].as_py())
        if own is None:
            return ()
        pieces: list[_Piece] = []
        age = total = 0
        for at in range(place - 1, max(-1, place - 1 - _MOST_EVENTS), -1):
            for begin, extent in reversed([*self._touched(at)]):
                total += _add(pieces, begin, begin + extent.nbytes, age, extent.written)
                age += 1
            if total >= MOST_BYTES:
                break
        return _touches(pieces, own)

    def _touched(self, at: int) -> Iterator[tuple[int, _Extent]]:
        is_operator, row = self._kinds[at], self._rows[at]
        number = self._ids[is_operator][row]
        extents = (
            self._extents.of_operator(number) if is_operator else self._extents.of_call(number)
        )
        addresses = self._addresses[is_operator][row].as_py()
        for address, extent in zip(addresses, extents, strict=False):
            if extent is not None and address:
                yield address, extent


class _Extents:
    """The bytes that calls and operators of a run touch of each of their tensors; None: none."""

    def __init__(self, trace: Trace, run: Run) -> None:
        rows = trace.table("calls", (run,), ["call_id", "kernel_id", "args"]).to_pylist()
        self._calls = {row["call_id"]: row for row in rows}
        # What a kernel stores is the same for all of its calls: one of each is parsed.
        first = {row["kernel_id"]: row["call_id"] for row in reversed(rows)}
        self._ready: dict[int, Call] = {
            self._calls[call.call_id]["kernel_id"]: call
            for call in calls_of(trace, run, first.values())
            if not isinstance(call, UnreadyCall)
        }
        self._operators = {
            row["operator_id"]: row
            for row in trace.table(
                "operators", (run,), ["operator_id", "name", "tensors"]
            ).to_pylist()
        }
        self._known: dict[tuple[str, int], list[_Extent | None]] = {}

    def of_call(self, call_id: int) -> list[_Extent | None]:
        key = ("call", call_id)
        if key not in self._known:
            call = self._calls[call_id]
            rows = [row for row in call["args"] or () if row["kind"] in ("tensor", "descriptor")]
            written = self._written(call["kernel_id"], len(rows))
            self._known[key] = [
                _extent(row, position in written) for position, row in enumerate(rows)
            ]
        return self._known[key]

    def _written(self, kernel_id: int, count: int) -> set[int]:
        """Return which of its tensors a kernel may write; none if it cannot be read."""
        call = self._ready.get(kernel_id)
        if call is None:
            return set()
        tensors = [n for n, a in enumerate(call.arguments) if isinstance(a, TensorArgument)]
        if len(tensors) != count:
            return set()
        stores = [site for site in memory_sites(call.module) if site.kind != "load"]
        return {
            place
            for place, position in enumerate(tensors)
            if any(site.reaches(position) for site in stores)
        }

    def of_operator(self, operator_id: int) -> list[_Extent | None]:
        key = ("operator", operator_id)
        if key not in self._known:
            row = self._operators.get(operator_id)
            self._known[key] = [] if row is None else _operator_extents(row)
        return self._known[key]


def _operator_extents(row: Mapping[str, object]) -> list[_Extent | None]:
    tensors = row["tensors"]
    assert isinstance(tensors, list)
    roles = {tensor["role"] for tensor in tensors}
    if str(row["name"]).startswith(_EMPTY) or (roles <= {"read", "viewed"} and "viewed" in roles):
        return []
    return [
        None
        if tensor["device"] is None or tensor["role"] == "viewed"
        else _extent(tensor, tensor["role"] != "read")
        for tensor in tensors
    ]


def _extent(row: Mapping[str, object], written: bool) -> _Extent | None:
    shape, strides, size = row["shape"], row["strides"], row["storage_bytes"]
    if not isinstance(shape, list) or not isinstance(strides, list):
        return None
    if not prod(shape):
        return None
    try:
        element = element_of_short_name(str(row["dtype"])).bytes
    except UnsupportedOp:  # a type of torch that Triton has not: at least its storage is known
        return None if size is None else _Extent(int(str(size)), written)
    steps = sum((length - 1) * abs(stride) for length, stride in zip(shape, strides, strict=True))
    nbytes = (steps + 1) * element
    if size is not None:
        nbytes = min(nbytes, int(str(size)))
    return _Extent(nbytes, written)


# ---- Pieces of memory ----


def _own_memory(chosen: ChosenCalls, addresses: Sequence[int]) -> list[tuple[int, int, str]] | None:
    """Return begin, end and name of a call's storages at a launch, ordered; None: not known."""
    arguments = [a for a in chosen.repro.arguments.values() if not isinstance(a, Literal)]
    if len(arguments) != len(addresses):
        return None
    own: dict[str, tuple[int, int, str]] = {}
    for argument, address in zip(arguments, addresses, strict=True):
        tensor = argument.base if isinstance(argument, DescriptorArgument) else argument
        begin = address - tensor.offset
        size = chosen.repro.storages[tensor.storage].nbytes
        own.setdefault(tensor.storage, (begin, begin + size, tensor.storage))
    return sorted(own.values())


def _add(pieces: list[_Piece], begin: int, end: int, age: int, written: bool) -> int:
    """Add the bytes that no piece has yet; return how many.

    A piece that was read last, and is mostly written here, is in the cache as written data, too.
    """
    first = bisect_right(pieces, begin, key=lambda piece: piece.end)
    last, cursor, new = first, begin, []
    while last < len(pieces) and pieces[last].begin < end:
        piece = pieces[last]
        if cursor < piece.begin:
            new.append(_Piece(cursor, piece.begin, age, written))
        shared = min(end, piece.end) - max(begin, piece.begin)
        piece.written |= written and 2 * shared >= piece.end - piece.begin
        cursor = max(cursor, piece.end)
        last += 1
    if cursor < end:
        new.append(_Piece(cursor, end, age, written))
    pieces[first:last] = sorted((*pieces[first:last], *new), key=lambda piece: piece.begin)
    return sum(piece.end - piece.begin for piece in new)


def _touches(pieces: Sequence[_Piece], own: Sequence[tuple[int, int, str]]) -> tuple[Touch, ...]:
    """Return the pieces as touches of a call's storages and of other memory, earliest first."""
    touches: list[Touch] = []
    for piece in sorted(pieces, key=lambda piece: (-piece.age, piece.begin)):
        for touch in _parted(piece, own):
            last = touches[-1] if touches else None
            if last is not None and _adjoin(last, touch):
                touches[-1] = last._replace(nbytes=last.nbytes + touch.nbytes)
            else:
                touches.append(touch)
    while len(touches) > MOST_TOUCHES:
        touches = _fewer(touches)
    return tuple(touches)


def _parted(piece: _Piece, own: Sequence[tuple[int, int, str]]) -> Iterator[Touch]:
    """Yield the parts of a piece, each in a storage of the call or in none."""
    bounds = sorted({piece.begin, piece.end, *(bound for one in own for bound in one[:2])})
    for begin, end in pairwise(bound for bound in bounds if piece.begin <= bound <= piece.end):
        inside = next((one for one in own if one[0] <= begin < one[1]), None)
        if inside is None:
            yield Touch(None, 0, end - begin, piece.written)
        else:
            yield Touch(inside[2], begin - inside[0], end - begin, piece.written)


def _adjoin(one: Touch, other: Touch) -> bool:
    if one.storage != other.storage or one.written != other.written:
        return False
    return one.storage is None or one.offset + one.nbytes == other.offset


def _fewer(touches: list[Touch]) -> list[Touch]:
    """Return one touch less: two of other memory that follow each other are one, or one is left.

    Of two that are joined, the larger says whether they are written.
    """
    pairs = [
        (one.nbytes + other.nbytes, at)
        for at, (one, other) in enumerate(pairwise(touches))
        if one.storage is None and other.storage is None
    ]
    if not pairs:
        smallest = min(range(len(touches)), key=lambda at: touches[at].nbytes)
        return touches[:smallest] + touches[smallest + 1 :]
    _, at = min(pairs)
    one, other = touches[at : at + 2]
    larger = max(one, other, key=lambda touch: touch.nbytes)
    joined = Touch(None, 0, one.nbytes + other.nbytes, larger.written)
    return [*touches[:at], joined, *touches[at + 2 :]]
