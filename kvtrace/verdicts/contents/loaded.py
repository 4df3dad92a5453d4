"""Recorded integers that loads read: the values at addresses, and the range of a storage."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.evaluate import TensorArgument
from kvtrace.ir.data_dependence import depending_on_data
from kvtrace.symbolic.prover import Interval
from kvtrace.symbolic.summary import Access, Summary, op_index
from kvtrace.symbolic.terms import Key, Symbol, signed_range

if TYPE_CHECKING:
    from kvtrace.ir import Op
    from kvtrace.recorded_calls.recorded import Call

_INTEGERS: Final = ("i", "u")


class Recorded(Struct, frozen=True):
    """The recorded integers that a load may read: those of a storage from byte `first`.

    `base` is the byte of the storage from which the load's offsets count. `numbers` has those of
    `sets` contents, one after the other, each of `count`.
    """

    numbers: NDArray[Any]
    size: int
    first: int
    base: int
    sets: int = 1

    def positions_at(
        self, offsets: NDArray[np.int64], contents: Any = 0
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the positions of the numbers at byte offsets, and where there is a number.

        `contents` are the positions of the contents that are read, among the `sets`.
        """
        elements, remainder = np.divmod(offsets + (self.base - self.first), self.size)
        is_recorded = (remainder == 0) & (elements >= 0) & (elements < self.count)
        return elements + contents * self.count, is_recorded

    @property
    def count(self) -> int:
        """The number of recorded integers in each of the `sets` contents."""
        return len(self.numbers) // self.sets


class Contents:
    """The recorded integer tensors of a call, as its kernel's loads read them.

    `sets` is the symbol of the contents among those of the call and of `Call.others`; it has one
    value if there are no others.
    """

    def __init__(self, call: Call, summary: Summary) -> None:
        self._call = call
        self.sets = Symbol("set", 0, 0, len(call.others))
        self._summary = summary
        self._ranges: dict[int, Interval | None] = {}
        self._recorded: dict[tuple[Key, int], Recorded | None] = {}

    def range_of(self, symbol: Symbol) -> Interval | None:
        """Return the range of values that a load may read, None if unknown.

        It includes the whole storage, substitutes for values outside, and 0, which masked lanes
        have.
        """
        op = op_index(symbol) if symbol.kind == "content" else None
        if op is None:
            return None
        if op not in self._ranges:
            self._ranges[op] = self._range_of_load(op)
        return self._ranges[op]

    def recorded(self, symbol: Symbol) -> Recorded | None:
        """Return the integers that a content symbol's load may read, None if unknown.

        The launch does not write to them, so they are constant.
        """
        key = symbol.key, symbol.high
        if key not in self._recorded:
            self._recorded[key] = self._find_recorded(symbol)
        return self._recorded[key]

    def number(self, symbol: Symbol, point: Mapping[Any, int]) -> int | None:
        """Return the integer that a content symbol has at a point, None if unknown."""
        recorded = self.recorded(symbol)
        contents = point.get(self.sets, None if self.sets.high else 0)
        if recorded is None or contents is None:
            return None
        try:
            offset = symbol.at[0].value(point)
        except KeyError:
            return None
        position, remainder = divmod(offset + recorded.base - recorded.first, recorded.size)
        is_recorded = remainder == 0 and 0 <= position < recorded.count
        return int(recorded.numbers[position + contents * recorded.count]) if is_recorded else None

    def _find_recorded(self, symbol: Symbol) -> Recorded | None:
        if symbol.kind != "content" or not isinstance(symbol.key, tuple):
            return None
        op, argument = symbol.key[:2]
        for access in self._summary.accesses:
            if access.op.index == op and access.argument == argument:
                size = access.element_bytes
                tensor = self._call.tensor_at(access.argument)
                numbers = self._numbers(access)
                if tensor is None or numbers is None or signed_range(8 * size)[1] != symbol.high:
                    return None
                base = tensor.offset_bytes
                return Recorded(numbers, size, base % size, base, self.sets.high + 1)
        return None

    def sources(self, symbol: Symbol) -> tuple[TensorArgument, ...]:
        """Return the tensors from which a content symbol's integer was loaded."""
        op = op_index(symbol) if symbol.kind == "content" else None
        accesses = [access for access in self._summary.accesses if access.op.index == op]
        tensors = (self._call.tensor_at(access.argument) for access in accesses)
        return tuple(tensor for tensor in tensors if tensor is not None)

    def read_by(self, ops: Collection[int]) -> tuple[TensorArgument, ...]:
        """Return the tensors without recorded contents that ops of these indices access."""
        tensors = (
            self._call.tensor_at(access.argument)
            for access in self._summary.accesses
            if access.op.index in ops
        )
        return tuple(t for t in tensors if t is not None and t.storage.data is None)

    def _range_of_load(self, op: int) -> Interval | None:
        accesses = [access for access in self._summary.accesses if access.op.index == op]
        ranges = [self._range_in_storage(access) for access in accesses]
        if not ranges:
            return None
        low = high = 0
        for interval in ranges:
            if interval is None:
                return None
            low, high = min(low, interval[0]), max(high, interval[1])
        return low, high

    def _range_in_storage(self, access: Access) -> Interval | None:
        tensor, size = self._call.tensor_at(access.argument), access.element_bytes
        if any(step % size for step in access.offset.coefficients.values()):
            return None  # offsets are not multiples of the element size
        numbers = self._numbers(access)
        if numbers is None or tensor is None:
            return None
        low, high = tensor.outside.first, tensor.outside.first + tensor.outside.count - 1
        if not numbers.size:
            return low, high
        return min(int(np.min(numbers)), low), max(int(np.max(numbers)), high)

    def _numbers(self, access: Access) -> NDArray[Any] | None:
        """Return the integers of an access, None if unknown or the launch writes to them."""
        tensor = self._call.tensor_at(access.argument)
        return None if tensor is None or self._is_written(tensor) else self.at_start(access)

    def at_start(self, access: Access) -> NDArray[Any] | None:
        """Return the integers that an access's storage has as the launch starts, None if unknown.

        Those of each contents of the call follow those of the one before.
        """
        tensor, size = self._call.tensor_at(access.argument), access.element_bytes
        if tensor is None or size not in (1, 2, 4, 8) or tensor.dtype[0] not in _INTEGERS:
            return None
        if tensor.storage.data is None:
            return None
        phase = tensor.offset_bytes % size
        count = (tensor.storage.nbytes - phase) // size
        numbers = []
        for call in (self._call, *self._call.others):
            argument = call.tensor(access.argument or 0)
            assert argument.storage.data is not None
            numbers.append(argument.storage.data[phase : phase + count * size].view(f"i{size}"))
        return numbers[0] if len(numbers) == 1 else np.concatenate(numbers)

    def _is_written(self, tensor: TensorArgument) -> bool:
        for access in self._summary.accesses:
            if access.kind == "load":
                continue
            target = self._call.tensor_at(access.argument)
            if target is None or target.storage is tensor.storage:
                return True
        return False


def depends_on(tensors: Iterable[TensorArgument]) -> str:
    """Return a reason that names unrecorded tensors, and the setting that records them."""
    listed = list(tensors)
    names = ", ".join(dict.fromkeys(tensor.name for tensor in listed)) or "memory"
    is_whole = all(tensor.dtype[0] in _INTEGERS for tensor in listed)
    setting = "int" if is_whole else "all, which keeps those of a call's first launch"
    return (
        f"it depends on the contents of {names}, which were not recorded "
        f"(set KVTRACE_TENSORS={setting})"
    )


def recorded_text(call: Call, op: Op) -> str:
    """Return text that names the recorded tensors if an op's address depends on contents."""
    if not call.recorded or op.index not in depending_on_data(call.module):
        return ""
    return f"; for the recorded contents of {', '.join(call.recorded)}"
