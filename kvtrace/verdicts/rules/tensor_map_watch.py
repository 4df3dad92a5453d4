"""Requirements of tensor maps, checked in an evaluation: replays for descriptor-contract."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.arguments import Argument, TensorArgument
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.types import ValueType, element_of, value_type
from kvtrace.evaluate.values import Descriptor, Pointer, Unknown, to_array
from kvtrace.ir.ops import positions_of
from kvtrace.ir.tensor_maps import CHUNK_BYTES
from kvtrace.verdicts.replaying import program_at
from kvtrace.verdicts.rules.watched_values import Sighted

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step
    from kvtrace.ir import Op

STRIDE_LIMIT: Final = 1 << 40
"""Strides of tensor maps are below so many bytes."""
LARGEST_EXTENT: Final = 1 << 32

_NUMBER: Final = ValueType("i64", (), element_of("i64"))
_Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Breach:
    """A violated requirement, as text, and the first place that violates it.

    `past_extent`: the access writes past the inner extent. Only then `lane` and `address_offset`,
    in bytes from the argument's data pointer, are set.
    """

    text: str
    program: tuple[int, int, int]
    iteration: int
    lane: tuple[int, ...] | None = None
    address_offset: int | None = None
    past_extent: bool = False


@dataclass(frozen=True, slots=True)
class _Map:
    """A descriptor and a block's position in all programs of a batch, in elements."""

    base: _Numbers
    extents: tuple[_Numbers, ...]
    strides: tuple[_Numbers, ...]
    positions: tuple[_Numbers, ...]  # of one axis also (programs, rows)


_Broken = tuple[int, str]
"""A program's index in the batch, and text on the requirement that the program violates."""


class TensorMapWatch(Instrument):
    """Checks a descriptor whenever an op goes through it; evaluation ends at the first breach.

    `hidden`: some numbers were not checked, as they depend on contents that were not recorded.
    """

    def __init__(
        self, op: Op, kind: str, shape: tuple[int, ...], arguments: Sequence[Argument]
    ) -> None:
        super().__init__()
        self._op, self._writes, self._shape, self._arguments = op, kind != "load", shape, arguments
        self._size = value_type(op.operand("descriptor").type).element.bytes
        self.breach: Breach | None = None
        self.hidden = False

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap the op."""
        if op is not self._op:
            return step
        slot = op.operand("descriptor").id
        places = [value.id for value in positions_of(op)]

        def watched(values: list[Any], scope: Any) -> None:
            self._check(values[slot], [values[place] for place in places], scope)
            step(values, scope)

        return watched

    def _check(self, descriptor: Any, positions: list[Any], scope: Any) -> None:
        map_ = None
        if scope.certain and isinstance(descriptor, Descriptor):
            map_ = self._map(descriptor, positions, len(scope.linear))
        if map_ is None:
            self.hidden = True
            return
        tensor = self._arguments[descriptor.base.argument]
        first = tensor.offset_bytes if isinstance(tensor, TensorArgument) else 0
        for at, text in self._broken_requirements(map_, first):
            self._end(scope, at, text)
        if self._writes:
            self._check_extent(map_, scope)

    def _map(self, descriptor: Descriptor, positions: list[Any], programs: int) -> _Map | None:
        base = descriptor.base
        values = (base.offset, *descriptor.shape, *descriptor.strides, *positions)
        if not isinstance(base, Pointer) or base.argument is None:
            return None
        if any(isinstance(value, Unknown) for value in values):
            return None
        arrays = [_of_programs(value, programs) for value in values]
        rank = len(descriptor.shape)
        return _Map(
            arrays[0],
            tuple(arrays[1 : 1 + rank]),
            tuple(arrays[1 + rank : 1 + 2 * rank]),
            tuple(arrays[1 + 2 * rank :]),
        )

    def _broken_requirements(self, map_: _Map, first: int) -> Iterator[_Broken]:
        """Yield violated requirements, in the order of the hardware's documentation."""
        size = self._size
        base = map_.base + first
        yield from _where(base % CHUNK_BYTES, base, "the descriptor's base is {past} bytes past")
        for axis, stride in enumerate(map_.strides[:-1]):
            number = stride * size
            text = f"a stride of {{number}} bytes along axis {axis} is {{past}} past"
            yield from _where(number % CHUNK_BYTES, number, text)
            outside = (number < 0) | (number >= STRIDE_LIMIT)
            text = f"a stride of {{number}} bytes along axis {axis} is not below 2^40"
            yield from _where(outside, number, text, whole=False)
        text = "elements along the inner axis are {number} apart, but must be 1 apart"
        yield from _where(map_.strides[-1] != 1, map_.strides[-1], text, whole=False)
        for axis, extent in enumerate(map_.extents):
            outside = (extent < 1) | (extent > LARGEST_EXTENT)
            text = f"an extent of {{number}} along axis {axis} is not in 1 to 2^32"
            yield from _where(outside, extent, text, whole=False)
        row = np.full_like(base, self._shape[-1] * size)
        yield from _where(
            row % CHUNK_BYTES, row, "a row of the block, {number} bytes, is {past} past"
        )
        start = map_.positions[-1] * size
        text = "the block starts {number} bytes along the inner axis, {past} past"
        yield from _where(start % CHUNK_BYTES, start, text)

    def _check_extent(self, map_: _Map, scope: Any) -> None:
        """End at a lane past the inner extent whose chunk of 16 bytes begins inside."""
        chunk = max(1, CHUNK_BYTES // self._size)
        extent, start = map_.extents[-1], map_.positions[-1]
        first = np.maximum(extent, start)
        end = np.minimum(-(-extent // chunk) * chunk, start + self._shape[-1])
        rows = [self._first_inside(map_, axis) for axis in range(len(map_.extents) - 1)]
        written = (first < end) & (start < extent)
        for row in rows:
            written &= row >= 0
        places = np.flatnonzero(written)
        if not places.size:
            return
        at = int(places[0])
        lanes = (*(int(row[at]) for row in rows), int(first[at] - start[at]))
        last = int(end[at]) - 1
        which = f"element {last}" if last == first[at] else f"elements {first[at]} to {last}"
        text = f"writes {which} of the inner axis, past its extent of {extent[at]}"
        self._end(scope, at, text, lanes, self._address(map_, at, lanes), past_extent=True)

    def _first_inside(self, map_: _Map, axis: int) -> _Numbers:
        """Return each program's first lane of an axis inside the extent, or -1."""
        position = map_.positions[axis]
        if position.ndim == 1:
            position = position[:, None] + np.arange(self._shape[axis])
        inside = (position >= 0) & (position < map_.extents[axis][:, None])
        return np.where(inside.any(axis=1), inside.argmax(axis=1), -1)

    def _address(self, map_: _Map, at: int, lanes: tuple[int, ...]) -> int:
        """Return a lane's offset from the argument's data pointer, in bytes."""
        total = int(map_.base[at])
        for position, stride, lane in zip(map_.positions, map_.strides, lanes, strict=True):
            index = position[at] + lane if position.ndim == 1 else position[at, lane]
            total += int(index) * int(stride[at]) * self._size
        return total

    def _end(
        self,
        scope: Any,
        at: int,
        text: str,
        lane: tuple[int, ...] | None = None,
        address: int | None = None,
        *,
        past_extent: bool = False,
    ) -> None:
        trips = np.broadcast_to(np.asarray(scope.iteration), len(scope.linear))
        program = program_at(int(scope.linear[at]), scope.launch.grid)
        self.breach = Breach(text, program, int(trips[at]), lane, address, past_extent)
        raise Sighted


def _of_programs(value: Any, programs: int) -> _Numbers:
    """Return each program's integer (programs,), or rows of integers (programs, rows)."""
    array = to_array(value, _NUMBER).astype(np.int64)
    rows = array.reshape(array.shape[0], -1)
    rows = np.broadcast_to(rows, (programs, rows.shape[1]))
    return rows[:, 0] if array.ndim == 1 else rows


def _where(broken: Any, numbers: _Numbers, text: str, *, whole: bool = True) -> Iterator[_Broken]:
    """Yield the first program that is `broken`, with its number in the text."""
    places = np.flatnonzero(broken)
    if not places.size:
        return
    at = int(places[0])
    number = int(numbers[at])
    text = text.format(number=number, past=number % CHUNK_BYTES)
    yield at, f"{text} a multiple of {CHUNK_BYTES}" if whole else text
