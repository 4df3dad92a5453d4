"""Requirements on tensor maps, checked while an op is evaluated, for descriptor-contract."""

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
from kvtrace.ir.ops import KINDS, positions_of
from kvtrace.ir.tensor_maps import CHUNK_BYTES
from kvtrace.verdicts.replaying import program_at
from kvtrace.verdicts.rules.watched_values import Sighted

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step
    from kvtrace.ir import Op

STRIDE_LIMIT: Final = 1 << 40
"""Upper limit (exclusive) of strides of tensor maps, in bytes."""
LARGEST_EXTENT: Final = 1 << 32

_NUMBER: Final = ValueType("i64", (), element_of("i64"))
_Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Breach:
    """A violated requirement, as text, and the first place where it is violated.

    `past_extent`: the access writes past the inner extent; only then `lane` and `address_offset`,
    in bytes from the argument's data pointer, are set.
    """

    text: str
    program: tuple[int, int, int]
    iteration: int
    lane: tuple[int, ...] | None = None
    address_offset: int | None = None
    past_extent: bool = False


@dataclass(frozen=True, slots=True)
class _DescriptorBatch:
    """A descriptor and a block's position in all programs of a batch, in elements."""

    base: _Numbers
    extents: tuple[_Numbers, ...]
    strides: tuple[_Numbers, ...]
    positions: tuple[_Numbers, ...]  # of one axis also (programs, rows)


_Violation = tuple[int, str]
"""A program's index in the batch, and text that names the requirement that it violates."""


class TensorMapWatch(Instrument):
    """An instrument that checks the descriptor of an op; evaluation ends at the first breach.

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
        """Wrap the op so that its descriptor is checked first."""
        if op is not self._op:
            return step
        descriptor_id = op.operand("descriptor").id
        position_ids = [value.id for value in positions_of(op)]

        def watched(values: list[Any], scope: Any) -> None:
            self._check(
                values[descriptor_id], [values[position_id] for position_id in position_ids], scope
            )
            step(values, scope)

        return watched

    def _check(self, descriptor: Any, positions: list[Any], scope: Any) -> None:
        batch = None
        if scope.certain and isinstance(descriptor, Descriptor):
            batch = self._batch(descriptor, positions, len(scope.linear))
        if batch is None:
            self.hidden = True
            return
        tensor = self._arguments[descriptor.base.argument]
        offset_bytes = tensor.offset_bytes if isinstance(tensor, TensorArgument) else 0
        for program_index, text in self._violations(batch, offset_bytes):
            self._report(scope, program_index, text)
        if self._writes:
            self._check_extent(batch, scope)

    def _batch(
        self, descriptor: Descriptor, positions: list[Any], programs: int
    ) -> _DescriptorBatch | None:
        """Return the numbers of a descriptor in all programs, None if any is unknown."""
        base = descriptor.base
        values = (base.offset, *descriptor.shape, *descriptor.strides, *positions)
        if not isinstance(base, Pointer) or base.argument is None:
            return None
        if any(isinstance(value, Unknown) for value in values):
            return None
        arrays = [_by_program(value, programs) for value in values]
        rank = len(descriptor.shape)
        return _DescriptorBatch(
            arrays[0],
            tuple(arrays[1 : 1 + rank]),
            tuple(arrays[1 + rank : 1 + 2 * rank]),
            tuple(arrays[1 + 2 * rank :]),
        )

    def _violations(self, batch: _DescriptorBatch, offset_bytes: int) -> Iterator[_Violation]:
        """Yield violated requirements, in the order of the hardware's documentation."""
        size = self._size
        base = batch.base + offset_bytes
        yield from _first_violation(
            base % CHUNK_BYTES, base, "the descriptor's base is {past} bytes past"
        )
        for axis, stride in enumerate(batch.strides[:-1]):
            stride_bytes = stride * size
            text = f"a stride of {{number}} bytes along axis {axis} is {{past}} past"
            yield from _first_violation(stride_bytes % CHUNK_BYTES, stride_bytes, text)
            is_outside = (stride_bytes < 0) | (stride_bytes >= STRIDE_LIMIT)
            text = f"a stride of {{number}} bytes along axis {axis} is not below 2^40"
            yield from _first_violation(is_outside, stride_bytes, text, whole=False)
        text = "elements along the inner axis are {number} apart, but must be 1 apart"
        yield from _first_violation(batch.strides[-1] != 1, batch.strides[-1], text, whole=False)
        for axis, extent in enumerate(batch.extents):
            is_outside = (extent < 1) | (extent > LARGEST_EXTENT)
            text = f"an extent of {{number}} along axis {axis} is not in 1 to 2^32"
            yield from _first_violation(is_outside, extent, text, whole=False)
        row_bytes = np.full_like(base, self._shape[-1] * size)
        yield from _first_violation(
            row_bytes % CHUNK_BYTES, row_bytes, "a row of the block, {number} bytes, is {past} past"
        )
        start_bytes = batch.positions[-1] * size
        text = "the block starts {number} bytes along the inner axis, {past} past"
        yield from _first_violation(start_bytes % CHUNK_BYTES, start_bytes, text)
        if self._writes and not KINDS[self._op.name].has("row"):
            yield from self._negative_starts(batch)

    def _negative_starts(self, batch: _DescriptorBatch) -> Iterator[_Violation]:
        """Yield the first program whose written block starts before its descriptor, by axis."""
        for axis, start in enumerate(batch.positions):
            text = f"the block starts at {{number}} along axis {axis}, before the first element"
            yield from _first_violation(start < 0, start, text, whole=False)

    def _check_extent(self, batch: _DescriptorBatch, scope: Any) -> None:
        """End the evaluation at a lane past the inner extent whose 16-byte chunk begins inside."""
        chunk = max(1, CHUNK_BYTES // self._size)
        extent, start = batch.extents[-1], batch.positions[-1]
        first_past = np.maximum(extent, start)
        chunk_end = np.minimum(-(-extent // chunk) * chunk, start + self._shape[-1])
        first_rows = [self._first_inside(batch, axis) for axis in range(len(batch.extents) - 1)]
        is_written = (first_past < chunk_end) & (start < extent)
        for row in first_rows:
            is_written &= row >= 0
        programs = np.flatnonzero(is_written)
        if not programs.size:
            return
        program_index = int(programs[0])
        lanes = (
            *(int(row[program_index]) for row in first_rows),
            int(first_past[program_index] - start[program_index]),
        )
        last = int(chunk_end[program_index]) - 1
        elements_text = (
            f"element {last}"
            if last == first_past[program_index]
            else f"elements {first_past[program_index]} to {last}"
        )
        text = (
            f"writes {elements_text} of the inner axis, past its extent of {extent[program_index]}"
        )
        self._report(
            scope,
            program_index,
            text,
            lanes,
            self._address(batch, program_index, lanes),
            past_extent=True,
        )

    def _first_inside(self, batch: _DescriptorBatch, axis: int) -> _Numbers:
        """Return each program's first lane of an axis inside the extent, -1 if none is."""
        position = batch.positions[axis]
        if position.ndim == 1:
            position = position[:, None] + np.arange(self._shape[axis])
        is_inside = (position >= 0) & (position < batch.extents[axis][:, None])
        return np.where(is_inside.any(axis=1), is_inside.argmax(axis=1), -1)

    def _address(self, batch: _DescriptorBatch, program_index: int, lanes: tuple[int, ...]) -> int:
        """Return a lane's offset from the argument's data pointer, in bytes."""
        offset = int(batch.base[program_index])
        for position, stride, lane in zip(batch.positions, batch.strides, lanes, strict=True):
            index = (
                position[program_index] + lane
                if position.ndim == 1
                else position[program_index, lane]
            )
            offset += int(index) * int(stride[program_index]) * self._size
        return offset

    def _report(
        self,
        scope: Any,
        program_index: int,
        text: str,
        lane: tuple[int, ...] | None = None,
        address: int | None = None,
        *,
        past_extent: bool = False,
    ) -> None:
        """Record the breach and end the evaluation."""
        trips = np.broadcast_to(np.asarray(scope.iteration), len(scope.linear))
        program = program_at(int(scope.linear[program_index]), scope.launch.grid)
        self.breach = Breach(text, program, int(trips[program_index]), lane, address, past_extent)
        raise Sighted


def _by_program(value: Any, programs: int) -> _Numbers:
    """Return each program's integer as (programs,), or integers per row as (programs, rows)."""
    array = to_array(value, _NUMBER).astype(np.int64)
    rows = array.reshape(array.shape[0], -1)
    rows = np.broadcast_to(rows, (programs, rows.shape[1]))
    return rows[:, 0] if array.ndim == 1 else rows


def _first_violation(
    broken: Any, numbers: _Numbers, text: str, *, whole: bool = True
) -> Iterator[_Violation]:
    """Yield the first program whose flag is set in `broken`, with its number in the text."""
    programs = np.flatnonzero(broken)
    if not programs.size:
        return
    program_index = int(programs[0])
    number = int(numbers[program_index])
    text = text.format(number=number, past=number % CHUNK_BYTES)
    yield program_index, f"{text} a multiple of {CHUNK_BYTES}" if whole else text
