"""Replay of one store in two orders of its lanes; different results show that lanes conflict.

The lanes store one after the other, twice from the same memory, with two lanes that meet at the
end: in one order and in the other. A byte that differs afterwards is in conflict. If lanes update
values that they load, one lane's update is put into memory before the other lane's load: if that
lane then stores another value, one of the updates is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.memory import Memory
from kvtrace.evaluate.rounding import to_memory
from kvtrace.ir import Op
from kvtrace.ir.ops import MEMORY, READING
from kvtrace.verdicts.conflicts.outcomes import Touch, Witness
from kvtrace.verdicts.feeding import feeding
from kvtrace.verdicts.rules.fills import Numbers, evaluated, with_contents

if TYPE_CHECKING:
    from kvtrace.evaluate.requests import Request
    from kvtrace.evaluate.scope import Launch, Scope
    from kvtrace.evaluate.types import ValueType
    from kvtrace.verdicts.binding import BoundCall

_DISTINCT: Final = range(1, 128)
"""Made-up numbers: their count is a prime, so numbers at strides of powers of two differ."""
_SAME: Final = "lanes that store to the same byte store the same value in the replay"


@dataclass(frozen=True)
class Conflict:
    """Two lanes of a program that store different `values` to one byte, the first they share.

    `is_update`: the second lane would store another value if it loaded the first lane's.
    """

    witness: Witness
    values: tuple[Any, Any]
    is_update: bool = False


@dataclass(frozen=True)
class _Stored:
    """The active lanes of one execution of a store, flat and in order, with bytes and values."""

    request: Request
    lanes: NDArray[np.int64]
    starts: NDArray[np.int64]
    bytes: NDArray[np.uint8]
    values: NDArray[Any]

    def conflict(self, one: int, other: int, *, is_update: bool = False) -> Conflict:
        """Return the conflict of two lanes, by their positions among the active lanes."""
        first, second = self._touch(one), self._touch(other)
        witness = Witness(first, second, int(max(self.starts[one], self.starts[other])))
        values = self.values[one].item(), self.values[other].item()
        return Conflict(witness, values, is_update)

    def _touch(self, number: int) -> Touch:
        request, scope = self.request, self.request.scope
        return Touch(
            request.op,
            int(scope.linear[0]),
            int(np.broadcast_to(np.asarray(scope.iteration), (1,))[0]),
            tuple(map(int, np.unravel_index(self.lanes[number], request.type_.shape))),
            request.argument,
            int(self.starts[number]) - request.tensor.offset_bytes,
        )


def _stored(request: Request, values: Any) -> _Stored:
    element = request.type_.element
    index = request.lane_bytes()
    active = request.lane_mask().reshape(-1)
    every = np.broadcast_to(values, index.shape).reshape(-1)[active]
    raw = np.ascontiguousarray(to_memory(every, element)).view(np.uint8)
    return _Stored(
        request,
        np.flatnonzero(active),
        index.reshape(-1)[active],
        raw.reshape(len(every), element.bytes),
        every,
    )


class _WatchedMemory(Memory):
    """Memory that compares the executions of one store until a conflict is found."""

    def __init__(self, before: Memory, launch: Launch, watch: _Watch) -> None:
        super().__init__(launch.arguments, before.written)
        self._watch = watch

    def load(
        self, op: Op, scope: Scope, pointer: Any, mask: Any, other: Any, type_: ValueType
    ) -> Any:
        """Load, with one lane's update in memory if this is the watched load of a replay."""
        watch = self._watch
        if op is not watch.load:
            return super().load(op, scope, pointer, mask, other, type_)
        watch.loads += 1
        first = watch.first
        if first is None or watch.loads != watch.at:
            return super().load(op, scope, pointer, mask, other, type_)
        start, raw = first
        assert watch.storage is not None
        data = self.bytes_of(watch.storage)
        saved = data[start : start + len(raw)].copy()
        data[start : start + len(raw)] = raw
        loaded = super().load(op, scope, pointer, mask, other, type_)
        if isinstance(loaded, np.ndarray):
            loaded = loaded.copy()
        data[start : start + len(raw)] = saved
        return loaded

    def write(self, request: Request, values: Any) -> None:
        """Store, and compare two orders of the lanes if the op is the watched store."""
        watch = self._watch
        if request.op is watch.store:
            watch.stores += 1
            if watch.first is not None and watch.stores == watch.at:
                watch.after = _stored(request, values)
            elif watch.first is None and watch.shown_conflict is None:
                watch.look(_stored(request, values), self.bytes_of(request.tensor.storage))
        super().write(request, values)


class _Watch(Instrument):
    """An instrument for one run: looks for conflicts of `store`, or replays an update.

    A replay stores `first`, the address and bytes of one lane's update, before execution number
    `at` of the load, and records in `after` what the lanes then store. `meets` has the first two
    lanes that meet, if any.
    """

    def __init__(self, store: Op, load: Op | None) -> None:
        super().__init__()
        self.store = store
        self.load = load
        self.shown_conflict: Conflict | None = None
        self.meets: tuple[int, _Stored, int, int] | None = None
        self.first: tuple[int, NDArray[np.uint8]] | None = None
        self.storage: Storage | None = None
        self.at = self.loads = self.stores = 0
        self.after: _Stored | None = None

    def begin(self, launch: Launch, values: list[Any]) -> None:
        """Replace the launch's memory."""
        del values
        launch.memory = _WatchedMemory(launch.memory, launch, self)

    def look(self, stored: _Stored, data: NDArray[np.uint8]) -> None:
        """Store the lanes in two orders and compare the results; memory is then restored."""
        order = np.argsort(stored.starts, kind="stable")
        overlapping = np.flatnonzero(np.diff(stored.starts[order]) < stored.bytes.shape[1])
        if not len(overlapping):
            return
        if self.meets is None:
            one, other = sorted((int(order[overlapping[0]]), int(order[overlapping[0] + 1])))
            self.meets = self.stores, stored, one, other
        pair = _lanes_with_different_bytes(stored, order)
        if pair is None:
            return
        touched = np.unique(stored.starts[:, None] + np.arange(stored.bytes.shape[1]))
        saved = data[touched]
        _store(stored, (*order, *pair), data)
        first = data[touched]
        data[touched] = saved
        _store(stored, (*order, *pair[::-1]), data)
        if (first != data[touched]).any():
            one, other = sorted(pair)
            self.shown_conflict = stored.conflict(one, other)
        data[touched] = saved


def _lanes_with_different_bytes(
    stored: _Stored, order: NDArray[np.int64]
) -> tuple[int, int] | None:
    """Return two lanes that meet and store different bytes; `order` sorts lanes by address."""
    starts, raw = stored.starts[order], stored.bytes[order]
    is_first = np.diff(starts, prepend=starts[0] - 1) > 0
    firsts = np.maximum.accumulate(np.where(is_first, np.arange(len(starts)), 0))
    different = np.flatnonzero((raw != raw[firsts]).any(axis=1))
    if len(different):
        return int(order[firsts[different[0]]]), int(order[different[0]])
    size = raw.shape[1]
    for number in np.flatnonzero(is_first)[1:].tolist():
        gap = int(starts[number] - starts[number - 1])
        if gap < size and (raw[number - 1][gap:] != raw[number][: size - gap]).any():
            return int(order[number - 1]), int(order[number])
    return None


def _store(stored: _Stored, lanes: Sequence[int], data: NDArray[np.uint8]) -> None:
    """Store lanes one after the other, so that the last one stays."""
    chosen = np.array(lanes, np.int64)
    places = stored.starts[chosen][:, None] + np.arange(stored.bytes.shape[1])
    # For repeated indices NumPy keeps the last value in the index's memory order, which is C order.
    data[places] = stored.bytes[chosen]


def conflict_of(
    bound: BoundCall, store: Op, load: Op | None, programs: Sequence[int]
) -> Conflict | str:
    """Run programs until two orders of a store's lanes differ; return the conflict, or a reason.

    `load` reads the values that the store's lanes update, if any. Unrecorded contents are made up,
    except for those that decide an address, a mask or a branch.
    """
    arguments = with_contents(bound.call.arguments, _numbers_for(bound))
    reason = "two lanes that access the same byte by formulas did not do so in the replay"
    for program in programs:
        watch = _Watch(store, load)
        failure = evaluated(bound.call, arguments, watch, program)
        if watch.shown_conflict is not None:
            return watch.shown_conflict
        if watch.meets is None:
            reason = failure or reason
            continue
        reason = _SAME
        if load is not None:
            conflict = _update(bound, watch, arguments, program)
            if conflict is not None:
                return conflict
    return reason


def _update(bound: BoundCall, first_run: _Watch, arguments: Any, program: int) -> Conflict | None:
    """Run again with one lane's update in memory before the other lane loads.

    A lost update is returned, if there is one.
    """
    assert first_run.meets is not None
    execution, stored, one, other = first_run.meets
    watch = _Watch(first_run.store, first_run.load)
    watch.at, watch.storage = execution, stored.request.tensor.storage
    watch.first = int(stored.starts[one]), stored.bytes[one]
    evaluated(bound.call, arguments, watch, program)
    after = watch.after
    if after is None or not np.array_equal(after.lanes, stored.lanes):
        return None
    if not np.array_equal(after.starts, stored.starts):
        return None
    if np.array_equal(after.bytes[other], stored.bytes[other]):
        return None
    conflict = stored.conflict(one, other, is_update=True)
    return replace(conflict, values=(stored.values[other].item(), after.values[other].item()))


def _numbers_for(bound: BoundCall) -> Any:
    """Return a function that gives made-up contents for tensors without recorded contents."""
    module = bound.call.module
    deciding = frozenset[int]().union(
        *(feeding(op, module) for op in module.ops if op.name in MEMORY)
    )
    reads = {op.index for op in module.ops if op.name in READING} & deciding
    storages = {
        argument.storage
        for access in bound.summary.accesses
        if access.op.index in reads and access.argument is not None
        if isinstance(argument := bound.call.arguments[access.argument], TensorArgument)
    }
    unfilled = {
        a.name
        for a in bound.call.arguments
        if isinstance(a, TensorArgument) and a.storage in storages
    }
    is_lost = any(a.op.index in reads and a.argument is None for a in bound.summary.accesses)

    def numbers(argument: TensorArgument) -> Numbers:
        if is_lost or argument.name in unfilled:
            return None
        if argument.element.kind == "f":
            return [number / 64 for number in _DISTINCT]
        return _DISTINCT

    return numbers
