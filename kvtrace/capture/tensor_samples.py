"""Samples of tensors at launches, for the numbers in `tensor_statistics` (setting `stats`).

Before the first launch of a call, some memory of each of its tensors is copied as contents are: on
a GPU by copies on the launch's stream, for which no memory of the device is needed, no kernel runs
and nothing waits. NumPy computes the numbers in the journal's thread; copied bytes are not kept.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kvtrace.capture.arguments import short_dtype, tensor_of
from kvtrace.capture.copied_contents import Listed, view_of
from kvtrace.capture.device_copies import ARENA_BYTES, CopyFailed
from kvtrace.capture.host_devices import memory_kind
from kvtrace.capture.launch_copies import LaunchCopier, LaunchCopies

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal
    from kvtrace.capture.session import Session


# Choice of the memory to read of a tensor: all of a small one, else pieces spread over it.
#
# A tensor's elements lie in runs: a slice `x[:, :8]` of a matrix with 4096 columns has runs of 8
# elements. Where runs are long, or most elements between them belong to the tensor too, pieces of
# the memory between its first and last element are read, and elements of others are dropped
# afterwards. Else runs are read. The distance of pieces is constant, so that one 2D copy reads
# them, and is no multiple of a row: pieces of a matrix at distances of whole rows would all be of
# the same columns.

#: Most bytes that are read of a tensor, and bytes of a piece.
SAMPLE_BYTES: Final = 64 << 10
_PIECE_BYTES: Final = 2 << 10
#: Most runs that are read of a tensor with short ones.
_RUNS: Final = 512
#: Tensors with at least this share of the memory between first and last element are read in pieces.
_DENSE: Final = 0.25
#: So many pieces of a row cover it, wherever they are.
_FEW_PIECES: Final = 8
#: The fractional part of the golden ratio: its multiples are spread over a row most evenly.
_GOLDEN: Final = 0.6180339887

#: Dimensions in memory: pairs of stride and size, in elements, the largest stride first.
Steps = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class SampledRanges:
    """Ranges of a tensor's memory, in elements from its first one.

    Attributes:
        elements: the tensor's distinct elements.
        offsets: where the ranges begin, in the order in which they are read.
        length: of each range.
        steps: those of the tensor if the ranges have elements of others, too; else ().
    """

    elements: int
    offsets: tuple[int, ...]
    length: int
    steps: Steps = ()


def sampled_ranges(
    shape: Sequence[int], strides: Sequence[int], element_bytes: int
) -> SampledRanges | None:
    """Return the memory to read of a tensor, or None if it has no element.

    Args:
        shape: of the tensor.
        strides: in elements, none below zero.
        element_bytes: bytes of an element.

    """
    if 0 in shape:
        return None
    steps = _merged(shape, strides)
    span = 1 + sum((size - 1) * stride for stride, size in steps)
    elements = math.prod(size for _, size in steps)
    if elements >= span or _overlap(steps):
        elements, steps = span, ()
    if span * element_bytes <= SAMPLE_BYTES:
        return SampledRanges(elements, (0,), span, steps)
    if elements >= _DENSE * span:
        rows = [stride for stride in strides if stride > 1]
        length = _PIECE_BYTES // element_bytes
        offsets = _spread(span - length + 1, SAMPLE_BYTES // _PIECE_BYTES, rows)
        return SampledRanges(elements, offsets, length, steps)
    return _sampled_runs(elements, steps, element_bytes)


def _sampled_runs(elements: int, steps: Steps, element_bytes: int) -> SampledRanges:
    run = steps[-1][1] if steps[-1][0] == 1 else 1
    outer = steps[:-1] if steps[-1][0] == 1 else steps
    length = min(run, _PIECE_BYTES // element_bytes)
    pieces = run // length  # of each run; the rest of a run is not read
    count = min(_RUNS, SAMPLE_BYTES // (length * element_bytes))
    rows = [pieces * math.prod(size for _, size in outer[n:]) for n in range(1, len(outer) + 1)]
    numbers = _spread(elements // run * pieces, count, rows)
    offsets = tuple(_offset(number, outer, pieces, length) for number in numbers)
    return SampledRanges(elements, offsets, length)


def _offset(number: int, outer: Steps, pieces: int, length: int) -> int:
    """Return where a piece of a run begins; pieces are numbered in the order of memory."""
    number, piece = divmod(number, pieces)
    offset = piece * length
    for stride, size in reversed(outer):
        number, index = divmod(number, size)
        offset += index * stride
    return offset


def _spread(total: int, count: int, rows: Sequence[int]) -> tuple[int, ...]:
    """Return up to `count` of the numbers below `total`, at a constant distance, modulo `total`.

    The distance is, modulo the largest of `rows` with few numbers, the golden ratio's fractional
    part of that row.
    """
    if total <= count:
        return tuple(range(total))
    distance = total // count
    row = max((row for row in rows if row <= _FEW_PIECES * distance), default=1)
    distance += (round(_GOLDEN * row) - distance) % row
    return tuple(number * distance % total for number in range(count))


def _merged(shape: Sequence[int], strides: Sequence[int]) -> Steps:
    """Return the steps of a tensor; dimensions that continue each other in memory are one."""
    merged: list[tuple[int, int]] = []
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size == 1 or stride == 0:
            continue
        if merged and stride == merged[-1][0] * merged[-1][1]:
            merged[-1] = (merged[-1][0], merged[-1][1] * size)
        else:
            merged.append((stride, size))
    return tuple(reversed(merged))


def _overlap(steps: Steps) -> bool:
    """Return whether a tensor may have several elements in one place."""
    covered = 1
    for stride, size in reversed(steps):
        if stride < covered:
            return True
        covered += (size - 1) * stride
    return False


#: Most tensors of a launch: samples of more do not fit into the pinned memory.
_TENSORS: Final = 128
#: Most bytes that wait for the background thread; each is some work for it.
_WAITING_BYTES: Final = 32 << 20


@dataclass(frozen=True, slots=True)
class _SampledArgument:
    """An argument's position in the signature, its element type, and the memory that was read."""

    position: int
    type_name: str
    ranges: SampledRanges


@dataclass(slots=True)
class _SampleCopies(LaunchCopies):
    """Copies for one launch: the ranges of each of `arguments`, one after another."""

    arguments: tuple[_SampledArgument, ...] = ()


class TensorSamples(LaunchCopier[_SampleCopies]):
    """The copier of samples of one session's tensors. `take` may be called from any thread."""

    def __init__(self, session: "Session") -> None:
        self._broken = False
        super().__init__(session, ARENA_BYTES)

    def take(self, tensors: Listed, stream: int, number: int = 0) -> int:
        """Copy samples of tensors at this point of `stream`; return the copies' number.

        Args:
            tensors: position in the signature, and value.
            stream: the launch's stream.
            number: that of other copies for the same launch; 0: a new one.

        Returns:
            The number; `number` if nothing was copied. Failures are reported in the run.

        """
        try:
            return self._take(tensors, stream, number)
        except CopyFailed as error:
            self._broken = True
            text = f"numbers of tensors on the device are no longer recorded: {error}"
            self._session.message("info", "statistics-failed", text)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)
        return number

    def _take(self, tensors: Listed, stream: int, number: int) -> int:
        if self._waiting_bytes > _WAITING_BYTES:
            return number
        kind, arguments, memory = None, [], []
        held = []  # until the copy is made, or enqueued on the stream that the launch is on
        for position, value in tensors[:_TENSORS]:
            kind = kind or memory_kind(value)
            sample = None if memory_kind(value) != kind else _sample(position, value)
            if sample is not None:
                arguments.append(sample[0])
                memory += sample[1]
                held.append(sample[2])
        if not memory or kind not in ("cpu", "cuda") or (kind == "cuda" and self._broken):
            return number
        copied = self._copied(kind, memory, stream, patient=False)
        held.clear()
        if copied is None:
            return number
        number = number or next(self._session.copy_numbers)
        size = sum(size for _, size in memory)
        self._await(_SampleCopies(number, size, [copied], arguments=tuple(arguments)))
        return number

    def _write(self, journal: "Journal", taken: _SampleCopies, seq: int, call_id: int) -> None:
        (parts,) = taken.copies
        assert isinstance(parts, tuple)
        first = 0
        for argument in taken.arguments:
            count = len(argument.ranges.offsets)
            columns = _columns(argument, parts[first : first + count])
            first += count
            if columns["sampled"]:
                row = {"seq": seq, "call_id": call_id, "arg": argument.position}
                journal.add("tensor_statistics", row | columns)


def _sample(
    position: int, value: Any
) -> tuple[_SampledArgument, list[tuple[int, int]], tuple[Any, Any]] | None:
    """Return what to read of a tensor, with the ranges (address, bytes); None: nothing.

    The third result owns the memory.
    """
    tensor = tensor_of(value)
    if not hasattr(tensor, "untyped_storage"):
        return None
    item = tensor.element_size()
    storage = tensor.untyped_storage()
    start, size = storage.data_ptr(), storage.nbytes()
    view = view_of(tensor, start, size) if start and size else None
    ranges = None if view is None else sampled_ranges(tensor.shape, tensor.stride(), item)
    if view is None or ranges is None:
        return None
    length = ranges.length * item
    memory = [(view.address + offset * item, length) for offset in ranges.offsets]
    argument = _SampledArgument(position, short_dtype(value.dtype), ranges)
    return argument, memory, (tensor, storage)


def _columns(argument: _SampledArgument, parts: Sequence[bytes]) -> dict[str, Any]:
    """Return the columns of a row from the bytes of an argument's ranges.

    None were `sampled` if elements of the type are not read.
    """
    from kvtrace.capture.sample_numbers import numbers_of, of_tensor, values_of
    from kvtrace.schema.element_values import stored_type

    ranges = argument.ranges
    stored = stored_type(argument.type_name)
    if stored is None or len(parts[0]) != ranges.length * stored.itemsize:
        return {"sampled": 0}
    offsets, in_order = zip(*sorted(zip(ranges.offsets, parts, strict=True)), strict=True)
    values = values_of(b"".join(in_order), argument.type_name)
    if ranges.steps:
        values = values[of_tensor(offsets, ranges.length, ranges.steps)]
    return {"elements": ranges.elements} | numbers_of(values)
