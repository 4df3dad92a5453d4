"""Samples of tensors at launches, for the numbers in `tensor_statistics` (setting `stats`).

Before the first launch of a call, some memory of each of its tensors is copied as contents are: on
a GPU by copies on the launch's stream, for which no memory of the device is needed, no kernel runs
and nothing waits. NumPy computes the numbers in the journal's thread; copied bytes are not kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kvtrace.capture.arguments import short_dtype
from kvtrace.capture.copied_contents import Listed, view_of
from kvtrace.capture.device_copies import ARENA_BYTES, CopyFailed
from kvtrace.capture.host_devices import memory_kind
from kvtrace.capture.launch_copies import LaunchCopier, LaunchCopies
from kvtrace.capture.sampled_ranges import SampledRanges, sampled_ranges

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal
    from kvtrace.capture.session import Session

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
        for position, value in tensors[:_TENSORS]:
            kind = kind or memory_kind(value)
            sample = None if memory_kind(value) != kind else _sample(position, value)
            if sample is not None:
                arguments.append(sample[0])
                memory += sample[1]
        if not memory or kind not in ("cpu", "cuda") or (kind == "cuda" and self._broken):
            return number
        copied = self._copied(kind, memory, stream, patient=False)
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


def _sample(position: int, value: Any) -> tuple[_SampledArgument, list[tuple[int, int]]] | None:
    """Return what to read of a tensor, with the ranges (address, bytes); None: nothing."""
    tensor = getattr(value, "base", value)  # Triton's reinterpreted tensors wrap one
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
    return _SampledArgument(position, short_dtype(value.dtype), ranges), memory


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
