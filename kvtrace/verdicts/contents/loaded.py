"""Recorded integers behind loads: values at addresses, and the range of a whole storage."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import TensorArgument
from kvtrace.symbolic.prover import Interval
from kvtrace.symbolic.summary import Access, Summary
from kvtrace.symbolic.terms import Key, Symbol, signed_range

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call

_INTEGERS: Final = ("i", "u")


@dataclass(frozen=True)
class Recorded:
    """The recorded integers that a load reads: those of a storage, from byte `first`.

    `base` is the origin of the load's offsets, in bytes from the storage's start.
    """

    numbers: NDArray[Any]
    size: int
    first: int
    base: int

    def places(self, offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the positions of the numbers at byte offsets, and where a number exists."""
        places, between = np.divmod(offsets + (self.base - self.first), self.size)
        return places, (between == 0) & (places >= 0) & (places < len(self.numbers))


class Contents:
    """The recorded integer tensors of a call, as read by loads of its kernel."""

    def __init__(self, call: Call, summary: Summary) -> None:
        self._call = call
        self._summary = summary
        self._ranges: dict[int, Interval | None] = {}
        self._recorded: dict[tuple[Key, int], Recorded | None] = {}

    def range_of(self, symbol: Symbol) -> Interval | None:
        """Return the range of values that a load may give; None: not known.

        The range includes the whole storage, the values outside of it, and 0, which masked lanes
        give.
        """
        op = _load_of(symbol)
        if op is None:
            return None
        if op not in self._ranges:
            self._ranges[op] = self._range(op)
        return self._ranges[op]

    def recorded(self, symbol: Symbol) -> Recorded | None:
        """Return the integers that a content symbol's load reads; None: not known.

        No program of the launch writes there, so the integers stay the same.
        """
        key = symbol.key, symbol.high
        if key not in self._recorded:
            self._recorded[key] = self._read(symbol)
        return self._recorded[key]

    def number(self, symbol: Symbol, point: Mapping[Any, int]) -> int | None:
        """Return the integer that a load gives at a point; None: not known."""
        recorded = self.recorded(symbol)
        if recorded is None:
            return None
        try:
            offset = symbol.at[0].value(point)
        except KeyError:
            return None
        position, between = divmod(offset + recorded.base - recorded.first, recorded.size)
        inside = between == 0 and 0 <= position < len(recorded.numbers)
        return int(recorded.numbers[position]) if inside else None

    def _read(self, symbol: Symbol) -> Recorded | None:
        if symbol.kind != "content" or not isinstance(symbol.key, tuple):
            return None
        op, argument = symbol.key[:2]
        for access in self._summary.accesses:
            if access.op.index == op and access.argument == argument:
                size = access.element_bytes
                tensor = self._tensor(access)
                numbers = None if tensor is None else self._numbers(tensor, size)
                if tensor is None or numbers is None or signed_range(8 * size)[1] != symbol.high:
                    return None
                base = tensor.offset_bytes
                return Recorded(numbers, size, base % size, base)
        return None

    def sources(self, symbol: Symbol) -> tuple[TensorArgument, ...]:
        """Return the tensors that a content symbol's integer was loaded from."""
        op = _load_of(symbol)
        accesses = [access for access in self._summary.accesses if access.op.index == op]
        tensors = (self._tensor(access) for access in accesses)
        return tuple(tensor for tensor in tensors if tensor is not None)

    def read_by(self, ops: Collection[int]) -> tuple[TensorArgument, ...]:
        """Return the tensors without contents that ops of these indices read."""
        tensors = (
            self._tensor(access) for access in self._summary.accesses if access.op.index in ops
        )
        return tuple(t for t in tensors if t is not None and t.storage.data is None)

    def _range(self, op: int) -> Interval | None:
        accesses = [access for access in self._summary.accesses if access.op.index == op]
        ranges = [self._stored(access) for access in accesses]
        if not ranges:
            return None
        low = high = 0
        for interval in ranges:
            if interval is None:
                return None
            low, high = min(low, interval[0]), max(high, interval[1])
        return low, high

    def _stored(self, access: Access) -> Interval | None:
        tensor, size = self._tensor(access), access.element_bytes
        if any(step % size for step in access.offset.coefficients.values()):
            return None  # not at multiples of its size, so other numbers than these may be read
        numbers = None if tensor is None else self._numbers(tensor, size)
        if numbers is None or tensor is None:
            return None
        low, high = tensor.outside.first, tensor.outside.first + tensor.outside.count - 1
        if not numbers.size:
            return low, high
        return min(int(np.min(numbers)), low), max(int(np.max(numbers)), high)

    def _numbers(self, tensor: TensorArgument, size: int) -> NDArray[Any] | None:
        """Return the integers of `size` bytes in a tensor's storage, if the launch keeps them."""
        data = tensor.storage.data
        if size not in (1, 2, 4, 8) or tensor.dtype[0] not in _INTEGERS:
            return None
        if data is None or self._is_written(tensor):
            return None
        phase = tensor.offset_bytes % size
        count = (tensor.storage.nbytes - phase) // size
        return data[phase : phase + count * size].view(f"i{size}")

    def _is_written(self, tensor: TensorArgument) -> bool:
        for access in self._summary.accesses:
            if access.kind == "load":
                continue
            target = self._tensor(access)
            if target is None or target.storage is tensor.storage:
                return True
        return False

    def _tensor(self, access: Access) -> TensorArgument | None:
        if access.argument is None:
            return None
        argument = self._call.arguments[access.argument]
        return argument if isinstance(argument, TensorArgument) else None


def depends_on(tensors: Iterable[TensorArgument]) -> str:
    """Return a phrase for results that depend on tensors, and the setting that records them."""
    listed = list(tensors)
    names = ", ".join(dict.fromkeys(tensor.name for tensor in listed)) or "memory"
    setting = "int" if all(tensor.dtype[0] in _INTEGERS for tensor in listed) else "all"
    return (
        f"it depends on the contents of {names}, which were not recorded "
        f"(set KVTRACE_TENSORS={setting})"
    )


def _load_of(symbol: Symbol) -> int | None:
    """Return the op index of the load that a content symbol represents."""
    if symbol.kind != "content":
        return None
    return symbol.key if isinstance(symbol.key, int) else symbol.key[0]
