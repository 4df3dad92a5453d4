"""Storages that kernels reach through tables of addresses, from the addresses that a run recorded.

A run with KVTRACE_MEMORY has the address of each tensor that an operator or a launch was given or
made. An integer in a table's recorded contents is a pointer into the storage that was last seen
there before the launch, as long as no memory that was seen since overlaps it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate.arguments import Argument, Storage, TensorArgument, with_storages
from kvtrace.evaluate.reach import LiveStorage, follows_addresses, reached
from kvtrace.schema.cached_property import cached_property

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.trace import Run, Trace

#: Earlier than all times, which are nanoseconds.
_NEVER: Final = -(1 << 63)


class _Place(Struct, frozen=True):
    """The bytes of a storage, the dtype of its first tensor, and when operators had it, in order.

    `freed` are the times at which memory in it was freed.
    """

    begin: int
    end: int
    dtype: str
    seen: list[int] = []
    freed: list[int] = []

    def last_seen(self, time: int) -> int:
        """Return when an operator last had the storage before a time."""
        return _last(self.seen, time)

    def is_alive(self, time: int) -> bool:
        """Return whether the storage was seen before a time, and not freed since."""
        last = self.last_seen(time)
        return last > _NEVER and last > _last(self.freed, time)


class PlacedStorages:
    """The storages of one run by address and time; tables are read when a kernel first asks."""

    def __init__(self, trace: Trace, run: Run) -> None:
        self._trace, self._run = trace, run

    @cached_property
    def are_known(self) -> bool:
        """The run recorded addresses of launches' arguments."""
        return any(addresses is not None for _, addresses in self._launches.values())

    def reached_by(self, call: Call, seqs: Sequence[int] = ()) -> Call:
        """Return a call with the storages that its kernel reaches through recorded addresses.

        Its own tensors get their addresses, too. The call is returned as it is if its kernel
        follows no addresses, or unless its launches `seqs` (all if empty) have the same addresses.
        """
        if not follows_addresses(call.module):
            return call
        seqs = seqs or self._launches_of_calls.get(call.call_id, ())
        launches = [self._launches[seq] for seq in seqs if seq in self._launches]
        addresses = launches[0][1] if launches else None
        arguments = None if addresses is None else _at_addresses(call.arguments, addresses)
        if arguments is None or any(others != addresses for _, others in launches):
            return call
        times = [time for time, _ in launches]
        more = reached(arguments, lambda numbers: list(self._at(numbers, times)))
        return replace(call, arguments=(*arguments, *more))

    def _rows(self, table: str, columns: list[str]) -> list[dict[str, Any]]:
        from kvtrace.schema.runs import plain_rows  # Arrow, which a first launch does not need

        return plain_rows(self._trace.table(table, (self._run,), columns))

    def _at(self, addresses: NDArray[np.int64], times: Sequence[int]) -> Iterator[LiveStorage]:
        """Yield the storages at addresses that are the same at all times."""
        yielded: set[int] = set()
        begins, ends = self._extents
        for address in addresses.tolist():
            here = np.flatnonzero((begins <= address) & (address < ends)).tolist()
            places = {self._place_of(here, time) for time in times} if here else {None}
            index = places.pop() if len(places) == 1 else None
            if index is None or index in yielded:
                continue
            yielded.add(index)
            place = self._places[index]
            yield LiveStorage(Storage(place.end - place.begin, address=place.begin), place.dtype)

    def _place_of(self, places: Sequence[int], time: int) -> int | None:
        """Return the place last seen; None if it was freed, or other memory seen there since."""
        last = max(places, key=lambda index: self._places[index].last_seen(time))
        place, (begins, ends) = self._places[last], self._extents
        if not place.is_alive(time):
            return None
        others = np.flatnonzero((begins < place.end) & (place.begin < ends)).tolist()
        when = place.last_seen(time)
        is_cut = any(self._places[i].last_seen(time) >= when for i in others if i != last)
        return None if is_cut else last

    @cached_property
    def _launches(self) -> dict[int, tuple[int, list[int | None] | None]]:
        columns = ["seq", "call_id", "enter", "addresses"]
        rows = self._rows("launches", columns)
        return {row["seq"]: (row["enter"], row["addresses"]) for row in rows if row["enter"]}

    @cached_property
    def _launches_of_calls(self) -> dict[int, list[int]]:
        rows = self._rows("launches", ["seq", "call_id"])
        launches: dict[int, list[int]] = {}
        for row in rows:
            launches.setdefault(row["call_id"], []).append(row["seq"])
        return launches

    @cached_property
    def _places(self) -> list[_Place]:
        """The storages that operators had."""
        operators = self._rows("operators", ["operator_id", "tensors"])
        tensors = {row["operator_id"]: row["tensors"] or () for row in operators}
        columns = ["operator_id", "begin", "addresses"]
        rows = self._rows("operations", columns)
        places: dict[tuple[int, int], _Place] = {}
        for row in sorted(rows, key=lambda row: row["begin"]):
            operands = tensors.get(row["operator_id"], ())
            for tensor, address in zip(operands, row["addresses"] or (), strict=False):
                if address and tensor["storage_bytes"] and tensor["offset_bytes"] is not None:
                    extent = _extent(tensor, address)
                    place = places.setdefault(extent, _Place(*extent, tensor["dtype"] or "u8"))
                    place.seen.append(row["begin"])
        self._add_frees(list(places.values()))
        return list(places.values())

    def _add_frees(self, places: list[_Place]) -> None:
        begins = {place.begin: place for place in places}
        columns = ["address", "end"]
        rows = self._rows("allocations", columns)
        ended = [row for row in rows if row["end"] is not None and row["address"] in begins]
        for row in sorted(ended, key=lambda row: row["end"]):
            begins[row["address"]].freed.append(row["end"])

    @cached_property
    def _extents(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        begins = [place.begin for place in self._places]
        ends = [place.end for place in self._places]
        return np.array(begins, np.int64), np.array(ends, np.int64)


def _last(times: Sequence[int], limit: int) -> int:
    """Return the last of ordered times up to a limit."""
    index = bisect_right(times, limit)
    return times[index - 1] if index else _NEVER


def _extent(tensor: Mapping[str, Any], address: int) -> tuple[int, int]:
    begin = address - int(tensor["offset_bytes"])
    return begin, begin + int(tensor["storage_bytes"])


def _at_addresses(
    arguments: Sequence[Argument], addresses: Sequence[int | None]
) -> list[Argument] | None:
    """Return arguments whose storages are at a launch's addresses; None if one is not known."""
    tensors = [argument for argument in arguments if isinstance(argument, TensorArgument)]
    if len(tensors) != len(addresses) or None in addresses:
        return None
    storages: dict[Storage, Storage] = {}
    for tensor, address in zip(tensors, addresses, strict=True):
        data = None if tensor.storage.data is None else tensor.storage.data.view()
        if data is not None:
            data.flags.writeable = False  # a record, not the program's memory
        begin = (address or 0) - tensor.offset_bytes
        storages.setdefault(tensor.storage, Storage(tensor.storage.nbytes, data, begin))
    return list(with_storages(arguments, storages.__getitem__))
