"""Which memory of a launch is kept so that it can be computed again.

As long as that is not much, it is all of it: the storages that the kernel has pointers to, or what
tensors view of them. Of a large launch it is that of some programs, spread over the grid: their
accesses are evaluated, with no data known but that of small integer tensors that decide addresses.
Where they depend on more, nothing is kept.
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

#: Bytes of a launch that are copied at most, before and after it together.
LAUNCH_BYTES: Final = 64 << 20

#: Programs of a larger launch whose memory is kept at most.
PROGRAMS: Final = 8

#: Pieces of a storage at most; those with fewer bytes between them than `GAP` are one.
SPANS: Final = 1 << 14
GAP: Final = 256

#: Steps that the evaluation of these programs may take: a second, mostly.
_STEPS: Final = 1 << 17

#: Kinds of launches of a kernel of which it is remembered what their programs touch.
_PARTS: Final = 64

#: Bits that an offset has at most, where each program's are in a separate range.
_RANGE: Final = 50

#: Where pieces begin and end, in order, apart from each other.
_Pieces = NDArray[np.int64]


class NotKept(KvtraceError):
    """The memory of a launch cannot be kept so that it could be computed again."""

    slug = "not-kept"


@dataclass(slots=True)
class _Stored:
    """A storage that a kernel has pointers to, and what tensors view of it (first, end)."""

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
    """A launch that is to come.

    Attributes:
        parameters: the flattened signature.
        values: its values.
        grid: the grid.
        kernel: the kernel's IR, and what is known of it.
        fetched: gives what memory (address, bytes) holds when the launch begins; None: it cannot.
    """

    parameters: Sequence[Parameter]
    values: Sequence[Any]
    grid: tuple[int, int, int]
    kernel: "Kernel"
    fetched: Callable[[Sequence[tuple[int, int]]], Sequence[bytes] | None]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's IR, the places of parameters it may write through, and whose contents decide."""

    module: Module
    written: frozenset[int]
    deciding: frozenset[int]


@dataclass(frozen=True, slots=True)
class Part:
    """What some programs touch of storages, by their first arguments, and what they write of it."""

    programs: tuple[int, ...]
    all: Mapping[int, _Pieces]
    written: Mapping[int, _Pieces]


#: What was worked out for launches of one kernel before: parts, or why there is none.
Parts = dict[Any, Part | KvtraceError]


def memory_needed(launch: Launch, parts: Parts) -> Needed:
    """Say what is kept of a launch; `parts` are those of its kernel, and are added to.

    Raises:
        NotKept: nothing is, and why.
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
    """Name the kind of device that a launch runs on, by its tensors; empty if none says it."""
    tensors = (value for value in values if is_tensor(value) or is_descriptor(value))
    kinds = {kind for kind in map(memory_kind, tensors) if kind is not None}
    return min(kinds - {"cpu"} or kinds, default="")  # memory of the host can be a kernel's, too


def _storages(launch: Launch) -> list[_Stored]:
    """Return the storages that a launch's pointers lead to, by the first argument with each."""
    found: dict[int, _Stored] = {}
    for place, (parameter, value) in enumerate(zip(launch.parameters, launch.values, strict=True)):
        base = getattr(value, "base", value)
        if not is_memory(parameter):
            continue
        if not hasattr(base, "untyped_storage"):
            raise NotKept(f"{parameter.name} is a pointer into memory whose extent is not known")
        held = base.untyped_storage()
        address, size = held.data_ptr(), held.nbytes()
        if not address or not size:
            continue
        stored = found.setdefault(address, _Stored(place, address, size))
        stored.written |= place in launch.kernel.written
        stored.decides |= place in launch.kernel.deciding and holds_integers(parameter)
        view = view_of(base, address, size)
        if view is not None:
            stored.views.append((view.offset, view.offset + view.size))
        elif 0 not in base.shape:
            stored.views.append((0, size))
    ordered = sorted(found.values(), key=lambda stored: stored.address)
    for one, next_one in pairwise(ordered):
        if one.address + one.size > next_one.address:
            name = launch.parameters[next_one.arg].name
            raise NotKept(f"the storage of {name} overlaps another that torch takes to be apart")
    return [stored for stored in found.values() if stored.views]


def _part(launch: Launch, storages: Sequence[_Stored], parts: Parts) -> Part:
    """Return what some programs of a launch touch; worked out once for each kind of launch."""
    records = argument_records(launch.parameters, launch.values)
    known = _indices(launch, storages)
    digests = tuple((arg, sha256(content).digest()) for arg, content in known.items())
    key = (launch.grid, repr(records), digests)
    found = parts.get(key)
    if found is None:
        if len(parts) >= _PARTS:
            parts.clear()
        try:
            found = _worked_out(launch, {s.arg: s.size for s in storages}, records, known)
        except KvtraceError as error:
            found = error
        parts[key] = found
    if isinstance(found, KvtraceError):
        raise NotKept(str(found))
    return found


def _indices(launch: Launch, storages: Sequence[_Stored]) -> dict[int, bytes]:
    """Return what small storages hold that decide addresses and are not written, by argument."""
    small = [s for s in storages if s.decides and not s.written and s.size <= SMALL_BYTES]
    held = launch.fetched([(s.address, s.size) for s in small]) if small else None
    return {s.arg: content for s, content in zip(small, held or (), strict=False)}


def _worked_out(
    launch: Launch,
    sizes: Mapping[int, int],
    records: Sequence[ArgumentRecord],
    known: Mapping[int, bytes],
) -> Part:
    """Work out what programs touch, of as many as are not too much."""
    call = _call(launch, records, known)
    x, y, z = launch.grid
    programs = _spread(x * y * z, PROGRAMS)
    groups = {record.name: record.alias_group for record in records}
    seen = _Seen(call.arguments, [groups.get(a.name) for a in call.arguments], sizes, programs)
    try:
        evaluate(
            call.module, call.arguments, call.grid,
            observers=(seen,), programs=programs, most_steps=_STEPS,
        )  # fmt: skip
    except TooLarge as error:
        raise NotKept("it is large, and evaluating its accesses takes too long") from error
    number = len(programs)
    while number:
        part = seen.part(_spread(len(programs), number))
        pieces = max(map(len, part.all.values()), default=0)
        touched = (*part.all.values(), *part.written.values())
        size = sum(int((each[:, 1] - each[:, 0]).sum()) for each in touched)
        if pieces <= SPANS and size <= LAUNCH_BYTES:
            return part
        number //= 2
    raise NotKept(
        f"one program alone touches more than {LAUNCH_BYTES >> 20} MiB, or {SPANS:,} pieces"
    )


def _spread(count: int, number: int) -> NDArray[np.int64]:
    """Return so many numbers below a count, from the first to the last; one: that in the middle."""
    if number == 1:
        return np.array([count // 2])
    chosen = np.linspace(0, count - 1, min(number, count))
    return np.unique(chosen.round().astype(np.int64))


def _call(launch: Launch, records: Sequence[ArgumentRecord], known: Mapping[int, bytes]) -> Call:
    """Make the launch's call, with the data of some storages known, by their first argument."""
    rows = []
    for place, record in enumerate(records):
        row = asdict(record)
        del row["value"]
        rows.append(row | {"value_artifact": str(place) if place in known else None})
    contents = {str(place): content for place, content in known.items()}
    x, y, z = launch.grid
    call = {"call_id": 0, "args": rows, "grid_x": x, "grid_y": y, "grid_z": z}
    kernel = {"name": None, "signature": [asdict(each) for each in launch.parameters]}
    return call_of(call, kernel, launch.kernel.module, contents.get)


class _Seen(Observer):
    """Notes which bytes of which storages some programs touch."""

    def __init__(
        self,
        arguments: Sequence[Any],
        groups: Sequence[int | None],
        sizes: Mapping[int, int],
        programs: NDArray[np.int64],
    ) -> None:
        """`groups` name the storage of each argument, and `sizes` have its bytes."""
        self._arguments = arguments
        self._groups = groups
        self._sizes = sizes
        self._programs = programs
        #: Storage, whether it was written, and pieces, those of each program in a separate range.
        self._noted: list[tuple[int, bool, _Pieces]] = []

    def access(self, access: Access) -> None:
        """Note what an access touches, or may touch where its mask is not known."""
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
        """Refuse what runs no one knows how often."""
        del op
        if (trips < 0).any():
            raise NotKept("it is large, and how often a loop runs depends on data")

    def part(self, chosen: NDArray[np.int64]) -> Part:
        """Return what some of the programs touch, by their places among those."""
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
