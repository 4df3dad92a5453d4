"""Choice of the memory to record of a launch, so that the launch can be evaluated again.

Whole storages behind the kernel's pointers are recorded if they stay below a size limit, else the
tensors' own parts of them. If these are too large too, only the memory of some programs is
recorded, spread over the grid: their accesses are evaluated, with the data of small integer tensors
that determine addresses. If addresses depend on other data, nothing is recorded.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.check.recording.checks import Memory, Needed
from kvtrace.backends.compiled_kernels.contents_to_copy import holds_integers, is_memory
from kvtrace.capture.arguments import (
    address_of,
    argument_records,
    is_descriptor,
    is_tensor,
    tensor_of,
)
from kvtrace.capture.copied_contents import SMALL_BYTES, view_of
from kvtrace.capture.host_devices import memory_kind
from kvtrace.capture.records import ArgumentRecord, Parameter
from kvtrace.evaluate import Access, Observer, TensorArgument, evaluate
from kvtrace.evaluate.errors import TooLarge
from kvtrace.ir import Module, Op
from kvtrace.recorded_calls.reading import call_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.errors import KvtraceError

#: Most bytes copied for a launch, before and after it together.
LAUNCH_BYTES: Final = 64 << 20

#: Most programs of a larger launch whose memory is recorded.
PROGRAMS: Final = 8

#: Most pieces of a storage; pieces with at most `GAP` bytes between them are merged.
SPANS: Final = 1 << 14
GAP: Final = 256

#: Most steps of the evaluation of these programs, usually a second.
_STEPS: Final = 1 << 17

#: Most stored results for a kernel, one for each kind of launch.
_PARTS: Final = 64

#: Bits of an offset; the program's number is stored above them.
_RANGE: Final = 50

#: Sorted, disjoint pieces: rows of begin and end.
_Pieces = NDArray[np.int64]


class NotKept(KvtraceError):
    """The memory of a launch cannot be recorded for evaluation."""

    slug = "not-kept"


@dataclass(slots=True)
class _LaunchStorage:
    """A storage behind a kernel's pointers; `views` are byte ranges (begin, end) of its tensors.

    `arg` is its first argument. `decides`: its integers determine addresses or masks.
    """

    arg: int
    address: int
    size: int
    written: bool = False
    decides: bool = False
    views: list[tuple[int, int]] = field(default_factory=list)

    def memory(self, pieces: _Pieces) -> Memory:
        spans = tuple((first, end - first) for first, end in pieces.tolist())
        return Memory(self.arg, self.address, spans)

    @property
    def whole(self) -> Memory:
        return Memory(self.arg, self.address, ((0, self.size),))

    @property
    def viewed(self) -> Memory:
        return self.memory(_merged_pieces(np.array(self.views, np.int64), 0))


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch that is about to start.

    `parameters` is the flattened signature, with `values`. `fetched` returns the bytes of memory at
    (address, size) pairs before the launch; None if they cannot be read.
    """

    parameters: Sequence[Parameter]
    values: Sequence[Any]
    grid: tuple[int, int, int]
    kernel: "Kernel"
    fetched: Callable[[Sequence[tuple[int, int]]], Sequence[bytes] | None]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's IR, and positions of parameters.

    `written`: the kernel may write through them. `deciding`: their contents determine addresses or
    masks.
    """

    module: Module
    written: frozenset[int]
    deciding: frozenset[int]


@dataclass(frozen=True, slots=True)
class ProgramsMemory:
    """Memory of some programs, by the first argument of each storage: accessed, and written."""

    programs: tuple[int, ...]
    all: Mapping[int, _Pieces]
    written: Mapping[int, _Pieces]


#: Cached results for launches of one kernel: memory of some programs, or the error without it.
Parts = dict[Any, ProgramsMemory | KvtraceError]


def memory_needed(launch: Launch, parts: Parts) -> Needed:
    """Return the memory to record of a launch: storages, else views, else that of some programs.

    The first of these that fits the limits is taken. `parts` is the kernel's cache, which may grow.

    Raises:
        NotKept: nothing is recorded, for the given reason.
        KvtraceError: the launch cannot be evaluated.
    """
    storages = _storages(launch)
    for memories in ({s.arg: s.whole for s in storages}, {s.arg: s.viewed for s in storages}):
        after = tuple(memories[s.arg] for s in storages if s.written)
        needed = Needed(tuple(memories.values()), after)
        if needed.size <= LAUNCH_BYTES:
            return needed
    some_memory = _programs_memory(launch, storages, parts)
    return Needed(
        tuple(s.memory(some_memory.all[s.arg]) for s in storages if s.arg in some_memory.all),
        tuple(
            s.memory(some_memory.written[s.arg]) for s in storages if s.arg in some_memory.written
        ),
        some_memory.programs,
    )


def kind_of(values: Sequence[Any]) -> str:
    """Return torch's device type of a launch's tensors, "" if unknown.

    If some tensors are in host memory and others on a device, this is the device's type.
    """
    tensors = (value for value in values if is_tensor(value) or is_descriptor(value))
    device_types = {
        device_type for device_type in map(memory_kind, tensors) if device_type is not None
    }
    return min(
        device_types - {"cpu"} or device_types, default=""
    )  # memory of the host can be a kernel's, too


def _storages(launch: Launch) -> list[_LaunchStorage]:
    """Return the storages behind a launch's pointers, in the order of their first arguments.

    Raises:
        NotKept: a pointer is no tensor, or storages overlap.
    """
    by_address: dict[int, _LaunchStorage] = {}
    for position, (parameter, value) in enumerate(
        zip(launch.parameters, launch.values, strict=True)
    ):
        base = tensor_of(value)
        if not is_memory(parameter):
            continue
        if not hasattr(base, "untyped_storage"):
            raise NotKept(f"{parameter.name} is a pointer into memory whose extent is not known")
        address_of(base)  # wrappers answer from here on
        torch_storage = base.untyped_storage()
        address, size = torch_storage.data_ptr(), torch_storage.nbytes()
        if not address or not size:
            continue
        stored = by_address.setdefault(address, _LaunchStorage(position, address, size))
        stored.written |= position in launch.kernel.written
        stored.decides |= position in launch.kernel.deciding and holds_integers(parameter)
        view = view_of(base, address, size)
        if view is not None:
            stored.views.append((view.offset, view.offset + view.size))
        elif 0 not in base.shape:
            stored.views.append((0, size))
    ordered = sorted(by_address.values(), key=lambda stored: stored.address)
    for storage, next_storage in pairwise(ordered):
        if storage.address + storage.size > next_storage.address:
            name = launch.parameters[next_storage.arg].name
            raise NotKept(f"the storage of {name} overlaps another storage")
    return [stored for stored in by_address.values() if stored.views]


def _programs_memory(
    launch: Launch, storages: Sequence[_LaunchStorage], parts: Parts
) -> ProgramsMemory:
    """Return the memory that some programs of a launch access.

    Cached in `parts` by grid, argument records and the contents that determine addresses.
    """
    records = argument_records(launch.parameters, launch.values)
    index_contents = _address_contents(launch, storages)
    digests = tuple((arg, sha256(content).digest()) for arg, content in index_contents.items())
    key = (launch.grid, repr(records), digests)
    memory = parts.get(key)
    if memory is None:
        if len(parts) >= _PARTS:
            parts.clear()
        try:
            memory = _evaluated_programs_memory(
                launch, {s.arg: s.size for s in storages}, records, index_contents
            )
        except KvtraceError as error:
            memory = error
        parts[key] = memory
    if isinstance(memory, KvtraceError):
        raise NotKept(str(memory))
    return memory


def _address_contents(launch: Launch, storages: Sequence[_LaunchStorage]) -> dict[int, bytes]:
    """Read the small, unwritten storages that determine addresses; bytes by first argument."""
    small = [s for s in storages if s.decides and not s.written and s.size <= SMALL_BYTES]
    contents = launch.fetched([(s.address, s.size) for s in small]) if small else None
    return {s.arg: content for s, content in zip(small, contents or (), strict=False)}


def _evaluated_programs_memory(
    launch: Launch,
    sizes: Mapping[int, int],
    records: Sequence[ArgumentRecord],
    index_contents: Mapping[int, bytes],
) -> ProgramsMemory:
    """Evaluate accesses of up to 8 programs, and return the memory of those that fit the limits.

    Raises:
        NotKept: one program's memory is too large, or accesses depend on data not recorded.
    """
    call = _call(launch, records, index_contents)
    x, y, z = launch.grid
    programs = _spread(x * y * z, PROGRAMS)
    groups = {record.name: record.alias_group for record in records}
    accesses = _AccessRecorder(
        call.arguments, [groups.get(a.name) for a in call.arguments], sizes, programs
    )
    try:
        evaluate(
            call.module, call.arguments, call.grid,
            observers=(accesses,), programs=programs, most_steps=_STEPS,
        )  # fmt: skip
    except TooLarge as error:
        raise NotKept("the launch is large, and evaluating its accesses takes too long") from error
    program_count = len(programs)
    while program_count:
        memory = accesses.part(_spread(len(programs), program_count))
        pieces = max(map(len, memory.all.values()), default=0)
        touched = (*memory.all.values(), *memory.written.values())
        size = sum(int((p[:, 1] - p[:, 0]).sum()) for p in touched)
        if pieces <= SPANS and size <= LAUNCH_BYTES:
            return memory
        program_count //= 2
    raise NotKept(
        f"one program alone touches more than {LAUNCH_BYTES >> 20} MiB, or {SPANS:,} pieces"
    )


def _spread(count: int, number: int) -> NDArray[np.int64]:
    """Return up to `number` integers, spread evenly over 0 to `count` - 1; the middle for 1."""
    if number == 1:
        return np.array([count // 2])
    numbers = np.linspace(0, count - 1, min(number, count))
    return np.unique(numbers.round().astype(np.int64))


def _call(
    launch: Launch, records: Sequence[ArgumentRecord], index_contents: Mapping[int, bytes]
) -> Call:
    """Return the launch as a call for the evaluator; `index_contents` are bytes by argument."""
    rows = []
    for position, record in enumerate(records):
        row = asdict(record)
        del row["value"]
        rows.append(row | {"value_artifact": str(position) if position in index_contents else None})
    contents = {str(position): content for position, content in index_contents.items()}
    x, y, z = launch.grid
    call = {"call_id": 0, "args": rows, "grid_x": x, "grid_y": y, "grid_z": z}
    kernel = {"name": None, "signature": [asdict(parameter) for parameter in launch.parameters]}
    return call_of(call, kernel, launch.kernel.module, contents.get)


class _AccessRecorder(Observer):
    """Observer that records the bytes that programs access, by storage.

    `groups` has the first argument of each argument's storage, `sizes` the storages' sizes by first
    argument. Raises NotKept if an access is not known from the launch's metadata.
    """

    def __init__(
        self,
        arguments: Sequence[Any],
        groups: Sequence[int | None],
        sizes: Mapping[int, int],
        programs: NDArray[np.int64],
    ) -> None:
        self._arguments = arguments
        self._groups = groups
        self._sizes = sizes
        self._programs = programs
        #: Storage, whether it was written, and pieces, with program numbers above `_RANGE` bits.
        self._accesses: list[tuple[int, bool, _Pieces]] = []

    def access(self, access: Access) -> None:
        """Record the bytes of an access, including lanes whose mask is unknown."""
        if not access.executions:
            return
        if access.kind == "atomic":
            raise NotKept(
                "the launch is large, and the result of an atomic operation depends on all programs"
            )
        argument = None if access.argument is None else self._arguments[access.argument]
        storage_arg = None if access.argument is None else self._groups[access.argument]
        elements = access.elements()
        if elements is None or storage_arg is None or not isinstance(argument, TensorArgument):
            why = access.reason or "its pointer is not an argument of the kernel"
            raise NotKept(
                f"the launch is large, and the addresses of a {access.kind} are not known: {why}"
            )
        starts, programs = elements[0] + argument.offset_bytes, elements[1]
        if not starts.size or storage_arg not in self._sizes:
            return
        is_gap = (np.diff(starts) != access.element_bytes) | (np.diff(programs) != 0)
        is_begin, is_end = np.append(True, is_gap), np.append(is_gap, True)
        pieces = np.stack([starts[is_begin], starts[is_end] + access.element_bytes], 1)
        pieces = np.clip(pieces, 0, self._sizes[storage_arg])  # out of bounds there is no memory
        pieces += (np.searchsorted(self._programs, programs[is_begin]) << _RANGE)[:, None]
        pieces = pieces[pieces[:, 0] < pieces[:, 1]]
        if pieces.size:
            self._accesses.append(
                (storage_arg, access.kind == "store", _merged_pieces(pieces, GAP))
            )

    def loop(self, op: Op, trips: NDArray[np.int64]) -> None:
        """Raise NotKept if the trip count of a loop is unknown (-1)."""
        del op
        if (trips < 0).any():
            raise NotKept("the launch is large, and the trip count of a loop depends on data")

    def part(self, chosen: NDArray[np.int64]) -> ProgramsMemory:
        """Return the memory of the programs at some positions among the evaluated programs."""
        everything, written = (dict(self._pieces(chosen, only)) for only in (False, True))
        return ProgramsMemory(tuple(self._programs[chosen].tolist()), everything, written)

    def _pieces(
        self, chosen: NDArray[np.int64], only_written: bool
    ) -> Iterator[tuple[int, _Pieces]]:
        for storage_arg in self._sizes:
            accesses = [
                p for g, wrote, p in self._accesses if g == storage_arg and wrote >= only_written
            ]
            if not accesses:
                continue
            pieces = np.concatenate(accesses)
            program_positions = pieces[:, 0] >> _RANGE
            pieces = (pieces - (program_positions << _RANGE)[:, None])[
                np.isin(program_positions, chosen)
            ]
            if pieces.size:
                yield storage_arg, _merged_pieces(pieces, GAP)


def _merged_pieces(pieces: _Pieces, gap: int) -> _Pieces:
    """Return pieces (begin, end), sorted and merged if at most `gap` bytes are between them."""
    ordered = pieces[np.argsort(pieces[:, 0], kind="stable")]
    ends = np.maximum.accumulate(ordered[:, 1])
    is_begin = np.concatenate([[True], ordered[1:, 0] > ends[:-1] + gap])
    is_end = np.concatenate([is_begin[1:], [True]])
    return np.stack([ordered[is_begin, 0], ends[is_end]], 1)
