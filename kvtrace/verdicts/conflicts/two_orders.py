"""Showing that lanes of one store conflict: one program is run, and the store done in two orders.

The lanes of the store go one after the other, twice from the same memory; at the end come two that
meet, in the one order and in the other. A byte that is not the same afterwards is in conflict.
Where lanes update what they load, one lane's update is put into memory before the other lane's
load: what it then stores is another value, and one update is lost.
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
"""Made-up numbers: a prime count, so that those at strides of powers of two differ."""
_SAME: Final = "lanes that meet there store the same when it is run"


@dataclass(frozen=True)
class Conflict:
    """Two lanes of a program that store different `values` to a byte, the first that both touch.

    `is_update`: the second lane would store another value had it loaded what the first one stored.
    """

    witness: Witness
    values: tuple[Any, Any]
    is_update: bool = False


@dataclass(frozen=True)
class _Stored:
    """What the active lanes of one execution of a store do: lanes in order, flat."""

    request: Request
    lanes: NDArray[np.int64]
    starts: NDArray[np.int64]
    bytes: NDArray[np.uint8]
    values: NDArray[Any]

    def conflict(self, one: int, other: int, *, is_update: bool = False) -> Conflict:
        """Show two of the lanes, by their places among the active ones."""
        first, second = self._touch(one), self._touch(other)
        witness = Witness(first, second, int(max(self.starts[one], self.starts[other])))
        values = self.values[one].item(), self.values[other].item()
        return Conflict(witness, values, is_update)

    def _touch(self, place: int) -> Touch:
        request, scope = self.request, self.request.scope
        return Touch(
            request.op,
            int(scope.linear[0]),
            int(np.broadcast_to(np.asarray(scope.iteration), (1,))[0]),
            tuple(map(int, np.unravel_index(self.lanes[place], request.type_.shape))),
            request.argument,
            int(self.starts[place]) - request.tensor.offset_bytes,
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


class _Watching(Memory):
    """Memory in which the executions of one store are compared, until a conflict is found."""

    def __init__(self, before: Memory, launch: Launch, watch: _Watch) -> None:
        super().__init__(launch.arguments, before.written)
        self._watch = watch

    def load(
        self, op: Op, scope: Scope, pointer: Any, mask: Any, other: Any, type_: ValueType
    ) -> Any:
        """Read; where one lane's update is to come first, with that in memory."""
        watch = self._watch
        if op is not watch.load:
            return super().load(op, scope, pointer, mask, other, type_)
        watch.loads += 1
        first = watch.first
        if first is None or watch.loads != watch.at:
            return super().load(op, scope, pointer, mask, other, type_)
        place, raw = first
        assert watch.storage is not None
        data = self.bytes_of(watch.storage)
        kept = data[place : place + len(raw)].copy()
        data[place : place + len(raw)] = raw
        loaded = super().load(op, scope, pointer, mask, other, type_)
        if isinstance(loaded, np.ndarray):
            loaded = loaded.copy()
        data[place : place + len(raw)] = kept
        return loaded

    def write(self, request: Request, values: Any) -> None:
        """Write, and look at what the store does."""
        watch = self._watch
        if request.op is watch.store:
            watch.stores += 1
            if watch.first is not None and watch.stores == watch.at:
                watch.after = _stored(request, values)
            elif watch.first is None and watch.found is None:
                watch.look(_stored(request, values), self.bytes_of(request.tensor.storage))
        super().write(request, values)


class _Watch(Instrument):
    """What is looked for in one run: conflicts of `store`, or what its lanes store after `first`.

    `first` is one lane's update: where it lies, and its bytes, put before the load `at` (the
    number of its execution, and of the store's). `meets` is where two lanes meet, if they do.
    """

    def __init__(self, store: Op, load: Op | None) -> None:
        super().__init__()
        self.store = store
        self.load = load
        self.found: Conflict | None = None
        self.meets: tuple[int, _Stored, int, int] | None = None
        self.first: tuple[int, NDArray[np.uint8]] | None = None
        self.storage: Storage | None = None
        self.at = self.loads = self.stores = 0
        self.after: _Stored | None = None

    def begin(self, launch: Launch, values: list[Any]) -> None:
        """Take the place of the launch's memory."""
        del values
        launch.memory = _Watching(launch.memory, launch, self)

    def look(self, stored: _Stored, data: NDArray[np.uint8]) -> None:
        """Store in two orders, and leave memory as it was."""
        order = np.argsort(stored.starts, kind="stable")
        close = np.flatnonzero(np.diff(stored.starts[order]) < stored.bytes.shape[1])
        if not len(close):
            return
        if self.meets is None:
            one, other = sorted((int(order[close[0]]), int(order[close[0] + 1])))
            self.meets = self.stores, stored, one, other
        pair = _different(stored, order)
        if pair is None:
            return
        touched = np.unique(stored.starts[:, None] + np.arange(stored.bytes.shape[1]))
        kept = data[touched]
        _store(stored, (*order, *pair), data)
        first = data[touched]
        data[touched] = kept
        _store(stored, (*order, *pair[::-1]), data)
        if (first != data[touched]).any():
            one, other = sorted(pair)
            self.found = stored.conflict(one, other)
        data[touched] = kept


def _different(stored: _Stored, order: NDArray[np.int64]) -> tuple[int, int] | None:
    """Return two lanes that meet, and do not store the same there; `order` is by where."""
    starts, raw = stored.starts[order], stored.bytes[order]
    is_first = np.diff(starts, prepend=starts[0] - 1) > 0
    firsts = np.maximum.accumulate(np.where(is_first, np.arange(len(starts)), 0))
    unlike = np.flatnonzero((raw != raw[firsts]).any(axis=1))
    if len(unlike):
        return int(order[firsts[unlike[0]]]), int(order[unlike[0]])
    size = raw.shape[1]
    for place in np.flatnonzero(is_first)[1:].tolist():
        gap = int(starts[place] - starts[place - 1])
        if gap < size and (raw[place - 1][gap:] != raw[place][: size - gap]).any():
            return int(order[place - 1]), int(order[place])
    return None


def _store(stored: _Stored, lanes: Sequence[int], data: NDArray[np.uint8]) -> None:
    """Store lanes one after the other."""
    chosen = np.array(lanes, np.int64)
    places = stored.starts[chosen][:, None] + np.arange(stored.bytes.shape[1])
    # NumPy keeps what comes last, in memory's order of the index: this one has no other.
    data[places] = stored.bytes[chosen]


def conflict_of(
    bound: BoundCall, store: Op, load: Op | None, programs: Sequence[int]
) -> Conflict | str:
    """Run programs until lanes of a store leave another result in another order; else say why not.

    `load` reads what the store's lanes then update, if they do. Contents that were not recorded are
    made up, except for those that decide an address, a mask or a branch.
    """
    arguments = with_contents(bound.call.arguments, _numbers_for(bound))
    reason = "two lanes that meet by formulas did not do so when it was run"
    for program in programs:
        watch = _Watch(store, load)
        failure = evaluated(bound.call, arguments, watch, program)
        if watch.found is not None:
            return watch.found
        if watch.meets is None:
            reason = failure or reason
            continue
        reason = _SAME
        if load is not None:
            found = _update(bound, watch, arguments, program)
            if found is not None:
                return found
    return reason


def _update(bound: BoundCall, seen: _Watch, arguments: Any, program: int) -> Conflict | None:
    """Run again with one lane's update in memory before the other lane loads."""
    assert seen.meets is not None
    at, stored, one, other = seen.meets
    watch = _Watch(seen.store, seen.load)
    watch.at, watch.storage = at, stored.request.tensor.storage
    watch.first = int(stored.starts[one]), stored.bytes[one]
    evaluated(bound.call, arguments, watch, program)
    after = watch.after
    if after is None or not np.array_equal(after.lanes, stored.lanes):
        return None
    if not np.array_equal(after.starts, stored.starts):
        return None
    if np.array_equal(after.bytes[other], stored.bytes[other]):
        return None
    shown = stored.conflict(one, other, is_update=True)
    return replace(shown, values=(stored.values[other].item(), after.values[other].item()))


def _numbers_for(bound: BoundCall) -> Any:
    """Return what tensors are filled with whose contents were not recorded."""
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
