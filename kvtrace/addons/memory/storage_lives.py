"""Lives of a run's storages on devices: when each was allocated, last used, and freed.

A storage is *in use* from its allocation to its recorded end. Where no end was recorded, it is in
use until its last recorded use: the last launch or operator that was given it. So bytes in use are
at least what is said here, for a program may hold memory that it no longer uses. Memory that an
allocator whose frees are recorded did not free is in use to the end. A storage that nothing
recorded had made (as weights from before recording began, or memory of another library) counts
from its first use. Memory of the host is left out.

Example: `empty` makes 4 KB at 10 ns, a launch is given them at 20 ns, and at 30 ns `empty` makes
1 KB in the same place. The first storage is in use from 10 to 20 ns, and is replaced at 30 ns.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.memory.events import Allocated, Freed, Launched, Operated, events_of
from kvtrace.addons.memory.lives import Birth, Lives, Origin
from kvtrace.addons.memory.operator_effects import SHARING
from kvtrace.figures.columns import integers
from kvtrace.schema.window import whole_trace

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_Integers = NDArray[np.int64]
#: Kinds of arguments that have an entry in `launches.addresses`.
_ADDRESSED: Final = ("tensor", "descriptor")
#: No storage is so large; damaged rows may say so.
_MOST_BYTES: Final = 1 << 48
_ORIGINS: Final[tuple[Origin, ...]] = ("operator", "allocation", "unseen")
_OPERATOR, _ALLOCATION, _UNSEEN = range(3)


@dataclass(frozen=True, slots=True)
class StorageLives:
    """Lives of storages, sorted by `begin`: arrays with one entry per storage.

    Attributes:
        begin: when the storage was allocated, ns since 1970; of an `unseen` one, its first use.
        until: when it is in use no more, ns: `end`, or else just after `last_use`.
        end: when it was freed, ns; -1: not recorded.
        last_use: when the last launch or operator that was given it began or returned, ns; `begin`
            if there was none.
        replaced: whether its memory was given to another storage later.
        address: its first byte.
        bytes: its size; of memory of torch's allocator, that of the allocator's block.
        device: index of its device.
        origin: index into the names of origins; see `birth`.
        row: `operators.operator_id` of what made it, or the first `allocations.record` of its
            stack; -1: unseen.
    """

    begin: _Integers
    until: _Integers
    end: _Integers
    last_use: _Integers
    replaced: NDArray[np.bool_]
    address: _Integers
    bytes: _Integers
    device: _Integers
    origin: NDArray[np.int8]
    row: _Integers

    def __len__(self) -> int:
        return len(self.begin)

    def birth(self, index: int) -> Birth:
        """Return where a storage came from."""
        return Birth(_ORIGINS[self.origin[index]], int(self.row[index]))

    @property
    def devices(self) -> list[int]:
        """The devices that have storages, in order."""
        return [int(device) for device in np.unique(self.device)]

    @property
    def frees_are_recorded(self) -> bool:
        """Whether any end was recorded; if not, all are in use until their last use."""
        return bool((self.end >= 0).any())

    def in_use(self, device: int) -> tuple[_Integers, _Integers]:
        """Return times at which the bytes in use on a device change, and the bytes from then on."""
        chosen = self.device == device
        times = np.concatenate([self.begin[chosen], self.until[chosen]])
        changes = np.concatenate([self.bytes[chosen], -self.bytes[chosen]])
        order = np.argsort(times, kind="stable")
        times, amounts = times[order], np.cumsum(changes[order])
        is_last = np.append(times[1:] != times[:-1], np.ones(len(times[:1]), np.bool_))
        return times[is_last], amounts[is_last]

    def held_at(self, device: int, time: int) -> _Integers:
        """Return the indexes of the storages of a device that are in use at a time, ns."""
        held = (self.begin <= time) & (time < self.until) & (self.device == device)
        return np.flatnonzero(held)


class _Tensor(NamedTuple):
    """A tensor of a call or an operator: which of the addresses it has, and its storage.

    `use`: `made` is the storage's allocation, and `found` is so if the storage is not known.
    """

    position: int
    offset: int
    size: int
    device: int
    use: Literal["given", "made", "found"] = "given"


@dataclass(slots=True, eq=False)
class _Storage:
    """A storage that may still be in use; `is_named`: not only its allocator's block is known."""

    begin: int
    size: int
    rounded: bool
    allocated: int
    last_use: int
    device: int
    origin: int
    row: int
    is_named: bool = True


_NAMES: Final = ("begin", "until", "end", "last_use", "replaced", "address", "bytes", "device",
                 "origin", "row")  # fmt: skip


class _Recorder:
    """Follows events in the order of their times, and keeps the lives of storages as columns."""

    def __init__(
        self,
        calls: dict[int, list[_Tensor]],
        operators: dict[int, list[_Tensor]],
        devices: dict[int, int],
    ) -> None:
        self._calls, self._operators, self._devices = calls, operators, devices
        self._alive: Lives[_Storage] = Lives()
        self._has_frees = False
        self._rows = array("q")  # of closed storages: the values of _NAMES, one after another

    def follow(self, trace: Trace, run: Run) -> StorageLives:
        nothing: list[_Tensor] = []
        for event in events_of(trace, run):
            if type(event) is Launched:
                self._touch(event.time, event.addresses, self._calls.get(event.call_id, nothing))
            elif type(event) is Operated:
                row = event.operator_id
                self._touch(event.time, event.addresses, self._operators.get(row, nothing), row)
            elif type(event) is Allocated:
                self._allocate(event)
            elif type(event) is Freed:
                self._has_frees = True
                storage = self._alive.end(event.address)
                if storage is not None:
                    self._close(storage, end=event.time)
        end = max((storage.last_use for storage in self._alive), default=0) + 1
        for storage in self._alive:  # an allocator whose frees are recorded did not free it
            self._close(storage, until=end if storage.rounded and self._has_frees else None)
        return self._lives()

    def _touch(
        self, time: int, addresses: Sequence[int], tensors: list[_Tensor], operator: int = -1
    ) -> None:
        """Note a launch or an operator that was given, or made, the storages of tensors."""
        by_begin = self._alive.by_begin
        for tensor in tensors:
            position, offset, size, _, use = tensor
            try:
                begin = addresses[position] - offset
            except IndexError:
                continue  # a damaged row
            storage = by_begin.get(begin)
            if use == "given" and storage is not None and storage.size == size:
                storage.last_use = time
            elif begin > 0:
                self._other_storage(tensor, begin, time, operator).last_use = time

    def _other_storage(self, tensor: _Tensor, begin: int, time: int, operator: int) -> _Storage:
        """Return the storage of a tensor, where its begin and size do not say so."""
        storage = self._alive.at(begin, tensor.size)
        is_made = tensor.use != "given"
        if tensor.use == "made" and storage is not None and _is_past(storage, time):
            storage = None
        elif storage is None and operator < 0:
            # It may lie elsewhere in its storage than at the call's first launch.
            storage = self._alive.around(begin + tensor.offset)
        if storage is None:
            storage = _Storage(
                begin, tensor.size, False, time, time, tensor.device,
                _OPERATOR if is_made else _UNSEEN, operator if is_made else -1,
            )  # fmt: skip
            self._add(storage, time)
        elif is_made and not storage.is_named:
            storage.origin, storage.row, storage.is_named = _OPERATOR, operator, True
        return storage

    def _allocate(self, event: Allocated) -> None:
        if event.is_of_host or event.address <= 0 or not 0 < event.size < _MOST_BYTES:
            return
        known = self._alive.at(event.address, event.size)
        if known is not None and not known.is_named and not event.rounded:
            known.origin, known.row, known.is_named = _ALLOCATION, event.row, True
            return
        storage = _Storage(
            event.address, event.size, event.rounded, event.time, event.time,
            self._devices.get(event.row, 0), _ALLOCATION, event.row, not event.rounded,
        )  # fmt: skip
        self._add(storage, event.time)

    def _add(self, storage: _Storage, time: int) -> None:
        for old in self._alive.add(storage):
            self._close(old, replaced=time)

    def _close(
        self, storage: _Storage, *, end: int = -1, replaced: int = -1, until: int | None = None
    ) -> None:
        if until is None:
            until = storage.last_use + 1 if end < 0 else end
        if replaced >= 0:
            until = min(until, replaced)  # what one operator is given and makes is not held twice
        self._rows.extend((
            storage.allocated, until, end, storage.last_use, replaced >= 0, storage.begin,
            storage.size, storage.device, storage.origin, storage.row,
        ))  # fmt: skip

    def _lives(self) -> StorageLives:
        rows = np.array(self._rows, np.int64).reshape(-1, len(_NAMES))
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        columns: dict[str, Any] = {
            name: np.ascontiguousarray(rows[:, index]) for index, name in enumerate(_NAMES)
        }
        columns["replaced"] = columns["replaced"].astype(np.bool_)
        columns["origin"] = columns["origin"].astype(np.int8)
        return StorageLives(**columns)


def _is_past(storage: _Storage, time: int) -> bool:
    """Return whether a storage is not what an operator made at a time, but was there before.

    An operator's result may lie in a block that its allocator has just given, or beside another
    result in one storage.
    """
    return storage.is_named and storage.last_use != time


def storage_lives(trace: Trace, run: Run) -> StorageLives:
    """Return the lives of a run's storages on devices, by one pass over its events in time.

    Of a window of a trace, events outside of the window count, too. Errors as `Trace.table`.
    """
    trace = whole_trace(trace)
    calls = {
        row["call_id"]: list(_call_tensors(row["args"] or ()))
        for row in trace.table("calls", (run,), ["call_id", "args"]).to_pylist()
    }
    operators = {
        row["operator_id"]: list(_operator_tensors(row["name"] or "", row["tensors"] or ()))
        for row in trace.table("operators", (run,), ["operator_id", "name", "tensors"]).to_pylist()
    }
    table = trace.table("allocations", (run,), ["record", "device"])
    devices = dict(
        zip(integers(table["record"]).tolist(), table["device"].to_pylist(), strict=True)
    )
    return _Recorder(calls, operators, devices).follow(trace, run)


def _call_tensors(arguments: Sequence[dict[str, Any]]) -> Iterator[_Tensor]:
    addressed = (argument for argument in arguments if argument["kind"] in _ADDRESSED)
    for position, argument in enumerate(addressed):
        device, size = argument["device"] or "", argument["storage_bytes"]
        index = device.rpartition(":")[2]
        if size and 0 < size < _MOST_BYTES and not device.startswith("cpu"):
            number = int(index) if index.isdecimal() else 0
            yield _Tensor(position, argument["offset_bytes"] or 0, size, number)


def _operator_tensors(name: str, tensors: Sequence[dict[str, Any]]) -> Iterator[_Tensor]:
    made: Literal["made", "found"] = "made" if name.startswith("aten::") else "found"
    is_sharing = name.partition(".")[0] in SHARING
    for position, tensor in enumerate(tensors):
        size = tensor["storage_bytes"]
        if size and 0 < size < _MOST_BYTES and tensor["device"] is not None:
            is_made = tensor["role"] == "created" and not is_sharing
            yield _Tensor(
                position, tensor["offset_bytes"] or 0, size, tensor["device"],
                made if is_made else "given",
            )  # fmt: skip
