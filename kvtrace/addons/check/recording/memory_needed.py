"""Memory of a launch to record so that the launch can be evaluated again.

Up to a size limit, all memory is recorded: the storages behind the kernel's pointers, or the
tensors' views of them. For a larger launch, only the memory of some programs is recorded, spread
over the grid: their accesses are evaluated, with the data of small integer tensors that determine
addresses. If addresses depend on other data, nothing is recorded.
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
from kvtrace.capture.arguments import argument_records, is_descriptor, is_tensor
from kvtrace.capture.copied_contents import SMALL_BYTES, view_of
from kvtrace.capture.host_devices import memory_kind
from kvtrace.capture.records import ArgumentRecord, Parameter
from kvtrace.evaluate import Access, Observer, TensorArgument, evaluate
from kvtrace.evaluate.errors import TooLarge
from kvtrace.ir import Module, Op
from kvtrace.recorded_calls.recorded import Call, call_of
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
    """A storage behind a kernel's pointers, and the tensors' views (first, end)."""

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
        return self.memory(_merged(np.array(self.views, np.int64), 0))


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch that is about to start.

    Attributes:
        parameters: the flattened signature.
        values: the parameters' values.
        grid: the grid.
        kernel: the kernel's IR and facts.
        fetched: returns the contents of memory (address, bytes) at the launch, or None.
    """

    parameters: Sequence[Parameter]
    values: Sequence[Any]
    grid: tuple[int, int, int]
    kernel: "Kernel"
    fetched: Callable[[Sequence[tuple[int, int]]], Sequence[bytes] | None]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's IR, parameters it may write through, and parameters that determine addresses."""

    module: Module
    written: frozenset[int]
    deciding: frozenset[int]


@dataclass(frozen=True, slots=True)
class Part:
    """Memory that some programs access, and write, by the first argument of each storage."""

    programs: tuple[int, ...]
    all: Mapping[int, _Pieces]
    written: Mapping[int, _Pieces]


#: Cached results for launches of one kernel: parts, or the reason why there is none.
Parts = dict[Any, Part | KvtraceError]


def memory_needed(launch: Launch, parts: Parts) -> Needed:
    """Return the memory to record of a launch; `parts` is the kernel's cache.

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
    part = _part(launch, storages, parts)
    return Needed(
        tuple(s.memory(part.all[s.arg]) for s in storages if s.arg in part.all),
        tuple(s.memory(part.written[s.arg]) for s in storages if s.arg in part.written),
        part.programs,
    )


def kind_of(values: Sequence[Any]) -> str:
    """Return the device type of a launch's tensors, or "" if unknown."""
    tensors = (value for value in values if is_tensor(value) or is_descriptor(value))
    kinds = {kind for kind in map(memory_kind, tensors) if kind is not None}
    return min(kinds - {"cpu"} or kinds, default="")  # memory of the host can be a kernel's, too


def _storages(launch: Launch) -> list[_LaunchStorage]:
    """Return the storages behind a launch's pointers, by the first argument of each."""
    by_address: dict[int, _LaunchStorage] = {}
    for place, (parameter, value) in enumerate(zip(launch.parameters, launch.values, strict=True)):
        base = getattr(value, "base", value)
        if not is_memory(parameter):
            continue
        if not hasattr(base, "untyped_storage"):
            raise NotKept(f"{parameter.name} is a pointer into memory whose extent is not known")
        torch_storage = base.untyped_storage()
        address, size = torch_storage.data_ptr(), torch_storage.nbytes()
        if not address or not size:
            continue
        stored = by_address.setdefault(address, _LaunchStorage(place, address, size))
        stored.written |= place in launch.kernel.written
        stored.decides |= place in launch.kernel.deciding and holds_integers(parameter)
        view = view_of(base, address, size)
        if view is not None:
            stored.views.append((view.offset, view.offset + view.size))
        elif 0 not in base.shape:
            stored.views.append((0, size))
    ordered = sorted(by_address.values(), key=lambda stored: stored.address)
    for one, next_one in pairwise(ordered):
        if one.address + one.size > next_one.address:
            name = launch.parameters[next_one.arg].name
            raise NotKept(f"the storage of {name} overlaps another that torch takes to be apart")
    return [stored for stored in by_address.values() if stored.views]


def _part(launch: Launch, storages: Sequence[_LaunchStorage], parts: Parts) -> Part:
    """Return the memory that some programs of a launch access, cached by kind of launch."""
    records = argument_records(launch.parameters, launch.values)
    index_contents = _indices(launch, storages)
    digests = tuple((arg, sha256(content).digest()) for arg, content in index_contents.items())
    key = (launch.grid, repr(records), digests)
    part = parts.get(key)
    if part is None:
        if len(parts) >= _PARTS:
            parts.clear()
        try:
            part = _evaluated_part(
                launch, {s.arg: s.size for s in storages}, records, index_contents
            )
        except KvtraceError as error:
            part = error
        parts[key] = part
    if isinstance(part, KvtraceError):
        raise NotKept(str(part))
    return part


def _indices(launch: Launch, storages: Sequence[_LaunchStorage]) -> dict[int, bytes]:
    """Return contents of small, unwritten storages that determine addresses, by argument."""
    small = [s for s in storages if s.decides and not s.written and s.size <= SMALL_BYTES]
    contents = launch.fetched([(s.address, s.size) for s in small]) if small else None
    return {s.arg: content for s, content in zip(small, contents or (), strict=False)}


def _evaluated_part(
    launch: Launch,
    sizes: Mapping[int, int],
    records: Sequence[ArgumentRecord],
    index_contents: Mapping[int, bytes],
) -> Part:
    """Return the memory of as many programs as fit into the limits."""
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
        raise NotKept("it is large, and evaluating its accesses takes too long") from error
    number = len(programs)
    while number:
        part = accesses.part(_spread(len(programs), number))
        pieces = max(map(len, part.all.values()), default=0)
        touched = (*part.all.values(), *part.written.values())
        size = sum(int((p[:, 1] - p[:, 0]).sum()) for p in touched)
        if pieces <= SPANS and size <= LAUNCH_BYTES:
            return part
        number //= 2
    raise NotKept(
        f"one program alone touches more than {LAUNCH_BYTES >> 20} MiB, or {SPANS:,} pieces"
    )


def _spread(count: int, number: int) -> NDArray[np.int64]:
    """Return `number` evenly spread numbers below `count`; a single one is in the middle."""
    if number == 1:
        return np.array([count // 2])
    chosen = np.linspace(0, count - 1, min(number, count))
    return np.unique(chosen.round().astype(np.int64))


def _call(
    launch: Launch, records: Sequence[ArgumentRecord], index_contents: Mapping[int, bytes]
) -> Call:
    """Return the launch's call, with known contents of some storages, by their first argument."""
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
    """Observer that records the bytes of storages that some programs access."""

    def __init__(
        self,
        arguments: Sequence[Any],
        groups: Sequence[int | None],
        sizes: Mapping[int, int],
        programs: NDArray[np.int64],
    ) -> None:
        """Create the recorder; `groups` name the storage of each argument."""
        self._arguments = arguments
        self._groups = groups
        self._sizes = sizes
        self._programs = programs
        #: Storage, whether it was written, and pieces, with program numbers above `_RANGE` bits.
        self._noted: list[tuple[int, bool, _Pieces]] = []

    def access(self, access: Access) -> None:
        """Record the bytes of an access, including lanes whose mask is unknown."""
        if not access.executions:
            return
        if access.kind == "atomic":
            raise NotKept(
                "it is large, and what an atomic operation leaves is known of all programs alone"
            )
        argument = None if access.argument is None else self._arguments[access.argument]
        group = None if access.argument is None else self._groups[access.argument]
        elements = access.elements()
        if elements is None or group is None or not isinstance(argument, TensorArgument):
            why = access.reason or "it goes through a pointer that is not an argument"
            raise NotKept(f"it is large, and where a {access.kind} goes is not known: {why}")
        starts, programs = elements[0] + argument.offset_bytes, elements[1]
        if not starts.size or group not in self._sizes:
            return
        breaks = (np.diff(starts) != access.element_bytes) | (np.diff(programs) != 0)
        opens, closes = np.append(True, breaks), np.append(breaks, True)
        pieces = np.stack([starts[opens], starts[closes] + access.element_bytes], 1)
        pieces = np.clip(pieces, 0, self._sizes[group])  # out of bounds there is no memory
        pieces += (np.searchsorted(self._programs, programs[opens]) << _RANGE)[:, None]
        pieces = pieces[pieces[:, 0] < pieces[:, 1]]
        if pieces.size:
            self._noted.append((group, access.kind == "store", _merged(pieces, GAP)))

    def loop(self, op: Op, trips: NDArray[np.int64]) -> None:
        """Refuse loops with unknown trip counts."""
        del op
        if (trips < 0).any():
            raise NotKept("it is large, and how often a loop runs depends on data")

    def part(self, chosen: NDArray[np.int64]) -> Part:
        """Return the memory that some programs access, by their positions among the programs."""
        everything, written = (dict(self._pieces(chosen, only)) for only in (False, True))
        return Part(tuple(self._programs[chosen].tolist()), everything, written)

    def _pieces(
        self, chosen: NDArray[np.int64], only_written: bool
    ) -> Iterator[tuple[int, _Pieces]]:
        for group in self._sizes:
            noted = [p for g, wrote, p in self._noted if g == group and wrote >= only_written]
            if not noted:
                continue
            pieces = np.concatenate(noted)
            ranges = pieces[:, 0] >> _RANGE
            pieces = (pieces - (ranges << _RANGE)[:, None])[np.isin(ranges, chosen)]
            if pieces.size:
                yield group, _merged(pieces, GAP)


def _merged(pieces: _Pieces, gap: int) -> _Pieces:
    """Merge pieces (first, end) that touch, overlap, or have at most `gap` bytes between them."""
    ordered = pieces[np.argsort(pieces[:, 0], kind="stable")]
    ends = np.maximum.accumulate(ordered[:, 1])
    opens = np.concatenate([[True], ordered[1:, 0] > ends[:-1] + gap])
    closes = np.concatenate([opens[1:], [True]])
    return np.stack([ordered[opens, 0], ends[closes]], 1)
