"""The rule descriptor-contract: requirements on tensor maps, and stores past an inner extent.

From sm_90 on, a tensor descriptor is a tensor map of the hardware, and nothing checks a map that is
made on the device. The claim for each access through a descriptor: addresses, strides, the block's
row and the block's start are multiples of 16 bytes, and extents and strides are in range. For
stores, reductions and scatters also: no active lane lies past the inner extent, as the target
writes whole chunks of 16 bytes (`kvtrace.ir.tensor_maps`). Stores and reductions begin at no
negative coordinate: on two H100s (Triton 3.6) 48 of 48 that did ended with an illegal instruction.
On gfx1250 extents and strides are in range, and the inner stride is 1; nothing else is claimed.
Storages are assumed to start at multiples of 256 bytes, as in `misaligned`.

Sources: cuTensorMapEncodeTiled in the CUDA driver's documentation,
https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TENSOR__MEMORY.html; for the block's
start, https://github.com/triton-lang/triton/issues/8657.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.registry import Step
from kvtrace.evaluate.types import ValueType, element_of, value_type
from kvtrace.evaluate.values import Descriptor, Pointer, Unknown, to_array
from kvtrace.ir import Op
from kvtrace.ir.ops import KINDS
from kvtrace.ir.tensor_maps import CHUNK_BYTES, has_tensor_maps, multiples_of
from kvtrace.ir.updates import positions_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.symbolic.conditions import TRUE, Condition, at_least, conjunction, equal, less
from kvtrace.symbolic.functions import remainder
from kvtrace.symbolic.prover import Decision, Given, Method, Proven, Refuted, strongest
from kvtrace.symbolic.summary import Access, BlockPointer
from kvtrace.symbolic.terms import Term, as_term, lane
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.contents.loaded import depends_on, recorded_text
from kvtrace.verdicts.rules.watched_values import Watch, watched
from kvtrace.verdicts.verdict import Verdict, worst_by_op

RULE: Final = "descriptor-contract"


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return the worst verdict for each op that accesses memory through a tensor descriptor."""
    module = bound.call.module
    if module.target and not multiples_of(module):
        return ()  # descriptors are compiled to pointers
    return worst_by_op(
        _judge_access(bound, access)
        for access in bound.summary.accesses
        if KINDS[access.op.name].has("descriptor")
    )


def _judge_access(bound: BoundCall, access: Access) -> Verdict:
    descriptor = access.descriptor
    if not bound.call.module.target:
        return _unknown(bound, access, "the kernel's compilation target was not recorded")
    if descriptor is None:
        return _unknown(bound, access, "kvtrace cannot trace its descriptor")
    reached = bound.given(access)
    if bound.is_unreached(access, reached):
        return _proven(bound, access, "interval", "no program reaches it")
    if access.argument is None:
        return _unknown(bound, access, access.unknown or "its base comes from no argument")
    method: Method = "interval"
    for claim, given in _claims(bound, access, descriptor, reached):
        decision = bound.prove(claim, given)
        if not isinstance(decision, Proven) or bound.may_wrap(access) is not None:
            return _by_runs(bound, access, decision)
        method = strongest((method, decision.method))
    return _proven(bound, access, method)


def _by_runs(bound: BoundCall, access: Access, decision: Decision) -> Verdict:
    """Return the verdict from evaluations, of the program in which a claim fails first."""
    if isinstance(decision, Refuted):
        doubts = bound.doubts(decision.model)
        if doubts.unrecorded:
            return _unknown(bound, access, depends_on(doubts.unrecorded))
    watch, method, reason = watched(bound, lambda: TensorMapWatch(bound.call, access), decision)
    if watch.witness is None:
        return _unknown(bound, access, reason) if reason else _proven(bound, access, method)
    message = f"{access.kind} by descriptor: {watch.text}"
    if watch.address_offset is not None:
        message = (
            f"{access.kind} by descriptor {watch.text}: {bound.call.module.target} writes whole "
            f"chunks of {CHUNK_BYTES} bytes"
        )
    verdict = bound.verdict(
        RULE, "violation", access, message, method, address_offset=watch.address_offset
    )
    return verdict.at(watch.witness)


def _claims(
    bound: BoundCall, access: Access, descriptor: BlockPointer, reached: Given
) -> Iterator[tuple[Condition, Given]]:
    """Yield the claims on a descriptor that are not trivially true, each with its conditions."""
    size, extents, chunk = access.element_bytes, descriptor.extents, multiples_of(bound.call.module)
    byte_terms = [
        *(stride * size for stride in descriptor.strides[:-1]),
        descriptor.positions[-1] * size,
        as_term(access.shape[-1] * size),
    ]
    claims: list[Condition] = []
    if chunk > 1:
        claims = [_base_is_aligned(bound, access, descriptor), *map(_is_chunk_multiple, byte_terms)]
    limit, least = _limits(chunk, size)
    claims += [_is_between(stride, 0, limit - 1) for stride in byte_terms[: len(extents) - 1]]
    claims += [_is_between(extent, least, LARGEST_EXTENT) for extent in extents]
    claims.append(equal(descriptor.strides[-1], 1))
    yield from ((claim, reached) for claim in claims if claim is not TRUE)
    if access.kind != "load" and chunk > 1:
        if not KINDS[access.op.name].has("row"):
            yield from ((at_least(start, 0), reached) for start in descriptor.positions)
        axis = len(extents) - 1
        position = descriptor.positions[-1] + lane(axis, access.shape[-1])
        yield less(position, extents[-1]), bound.active(access)


def _base_is_aligned(bound: BoundCall, access: Access, descriptor: BlockPointer) -> Condition:
    tensor = bound.call.arguments[access.argument or 0]
    first = tensor.address if isinstance(tensor, TensorArgument) else 0
    return conjunction(
        ~choice.condition | _is_chunk_multiple(choice.offset + first)
        for choice in descriptor.base.choices
        if choice.argument == access.argument
    )


def _is_chunk_multiple(term: Term) -> Condition:
    """Return the condition that a number of bytes is a multiple of 16, even if it wraps."""
    return equal(remainder(term, CHUNK_BYTES, floor=True))


def _is_between(term: Term, low: int, high: int) -> Condition:
    return at_least(term, low) & at_least(high - term)


# -- verdicts -----------------------------------------------------------------------------------


def _proven(
    bound: BoundCall, access: Access, method: str, scope: str = "in every program"
) -> Verdict:
    module = bound.call.module
    writes_chunks = access.kind != "load" and has_tensor_maps(module)
    inside = ", and writes nothing past the inner extent" if writes_chunks else ""
    rules = "tensor maps" if has_tensor_maps(module) else "AMD's data mover"
    scope += recorded_text(bound.call, access.op)
    message = f"{access.kind} by descriptor meets the rules of {rules}{inside} ({scope})"
    return bound.verdict(RULE, "proven", access, message, method)


def _unknown(bound: BoundCall, access: Access, reason: str) -> Verdict:
    message = (
        f"whether {access.kind} by descriptor meets the target's rules is not decided: {reason}"
    )
    return bound.verdict(RULE, "unknown", access, message, reason=reason)


# -- tensor maps at an op --------------------------------------------------------------------------


STRIDE_LIMIT: Final = 1 << 40
"""Upper limit (exclusive) of strides of tensor maps, in bytes."""
LARGEST_EXTENT: Final = 1 << 32


def _limits(chunk: int, size: int) -> tuple[int, int]:
    """Return the (exclusive) limit of strides in bytes, and the least extent."""
    return (STRIDE_LIMIT, 1) if chunk > 1 else (size << 32, 0)


_NUMBER: Final = ValueType("i64", (), element_of("i64"))
_Numbers = NDArray[np.int64]


class _DescriptorBatch(Struct, frozen=True):
    """A descriptor and a block's position in all programs of a batch, in elements."""

    base: _Numbers
    extents: tuple[_Numbers, ...]
    strides: tuple[_Numbers, ...]
    positions: tuple[_Numbers, ...]  # of one axis also (programs, rows)


_Violation = tuple[int, str]
"""A program's index in the batch, and text that names the requirement that it violates."""


class TensorMapWatch(Watch):
    """A watch of the descriptor of an access; `text` names the requirement that it violates.

    `address_offset` is set if the access writes past the inner extent: the bytes from the
    argument's data pointer.
    """

    def __init__(self, call: Call, access: Access) -> None:
        super().__init__(access.op)
        self._shape, self._arguments = access.shape, call.arguments
        self._chunk = multiples_of(call.module)
        self._writes = access.kind != "load" and self._chunk > 1
        self._size = value_type(access.op.operand("descriptor").type).element.bytes
        self.text = ""
        self.address_offset: int | None = None

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
        address = tensor.address if isinstance(tensor, TensorArgument) else 0
        for program_index, text in self._violations(batch, address):
            self.text = text
            self.end_at(scope, program_index, None)
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

    def _violations(self, batch: _DescriptorBatch, address: int) -> Iterator[_Violation]:
        """Yield violated requirements, in the order of the hardware's documentation."""
        size, chunk = self._size, self._chunk
        limit, least = _limits(chunk, size)
        base = batch.base + address
        yield from _first_violation(
            base % chunk, base, "the descriptor's base is {past} bytes past"
        )
        for axis, stride in enumerate(batch.strides[:-1]):
            stride_bytes = stride * size
            text = f"a stride of {{number}} bytes along axis {axis} is {{past}} past"
            yield from _first_violation(stride_bytes % chunk, stride_bytes, text)
            is_outside = (stride_bytes < 0) | (stride_bytes >= limit)
            power = limit.bit_length() - 1
            text = f"a stride of {{number}} bytes along axis {axis} is not in 0 to below 2^{power}"
            yield from _first_violation(is_outside, stride_bytes, text, whole=False)
        text = "elements along the inner axis are {number} apart, but must be 1 apart"
        yield from _first_violation(batch.strides[-1] != 1, batch.strides[-1], text, whole=False)
        for axis, extent in enumerate(batch.extents):
            is_outside = (extent < least) | (extent > LARGEST_EXTENT)
            text = f"an extent of {{number}} along axis {axis} is not in {least} to 2^32"
            yield from _first_violation(is_outside, extent, text, whole=False)
        row_bytes = np.full_like(base, self._shape[-1] * size)
        yield from _first_violation(
            row_bytes % chunk, row_bytes, "a row of the block, {number} bytes, is {past} past"
        )
        start_bytes = batch.positions[-1] * size
        text = "the block starts {number} bytes along the inner axis, {past} past"
        yield from _first_violation(start_bytes % chunk, start_bytes, text)
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
        self.text = (
            f"writes {elements_text} of the inner axis, past its extent of {extent[program_index]}"
        )
        self.address_offset = self._address(batch, program_index, lanes)
        self.end_at(scope, program_index, lanes)

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
        for position, stride, number in zip(batch.positions, batch.strides, lanes, strict=True):
            index = (
                position[program_index] + number
                if position.ndim == 1
                else position[program_index, number]
            )
            offset += int(index) * int(stride[program_index]) * self._size
        return offset


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
