"""Contents of tensors at launches: copied in the program's threads, written in the journal's.

A backend passes the tensors of a launch that is about to happen, or has just happened; `take`
copies them (on a GPU it only enqueues the copy) and returns a number, which the hot path writes
into the launch's row. The journal's thread waits for the copies, stores each distinct content once,
and writes a row of `contents` for each launch and argument.

With the settings `index` and `stats`, the copies take at most a fixed part of the program's time.
With `index`, the hot path copies by itself (`looks`, in `_hot_looks.h`).
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from kvtrace.capture.arguments import address_of, tensor_of
from kvtrace.capture.device_copies import (
    ARENA_BYTES,
    Copy,
    CopyFailed,
    driver_addresses,
    has_failed,
    pinned_memory,
)
from kvtrace.capture.host_devices import host_kind, memory_kind
from kvtrace.capture.launch_copies import Copied, LaunchCopier, LaunchCopies
from kvtrace.schema.content import BYTES_A_CALL, SETS_A_CALL, content_hash

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal
    from kvtrace.capture.session import Session

#: Largest tensor that is copied, in bytes: with the setting `index`, and with any other.
SMALL_BYTES: Final = 1 << 20
LIMIT_BYTES: Final = 256 << 20

#: The part of the program's time that copies may take, after an allowance in nanoseconds.
FRACTION: Final = 0.005
ALLOWANCE_NS: Final = 20_000_000

#: Nanoseconds that copies cost a device's stream: for each copy, and for each byte.
COPY_NS: Final = 11_000
BYTE_NS: Final = 0.02

#: Most bytes, and most launches, that wait for the background thread.
_WAITING_BYTES: Final = 256 << 20
_WAITING: Final = 10_000

#: Pairs of an argument's position in the signature and its value.
Listed = Sequence[tuple[int, Any]]


@dataclass(frozen=True, slots=True)
class Span:
    """A range of memory to copy: its address, its size and its offset in the storage, in bytes.

    The memory lives as long as `owners`, the tensor and its storage.
    """

    address: int
    size: int
    offset: int
    owners: tuple[Any, ...] = field(default=(), compare=False, repr=False)


class ArgumentSelection(Protocol):
    """A selection of arguments, read when the copied contents are written."""

    @property
    def places(self) -> frozenset[int]:
        """Positions in the signature of the arguments whose contents are written."""


@dataclass(slots=True)
class _ContentCopies(LaunchCopies):
    """Copies for one launch; `arguments` has the copied part of each argument."""

    #: Position in the signature, part, and in the storage: the part's offset, the view's offset.
    arguments: tuple[tuple[int, int, int, int], ...] = ()
    wanted: "ArgumentSelection | None" = None


class _NativeCopies:
    """The hot path as maker of device copies (`launch_copies.Devices`)."""

    def __init__(self, looks: Any) -> None:
        self._looks = looks

    def release(self, copy: Copy) -> None:
        """Free the pinned memory of a copy that has been read or is not needed."""
        self._looks.release(copy.end)

    def is_lost(self, copy: Copy) -> bool:
        """Return whether a copy can never complete because its stream has failed."""
        return has_failed(self._looks.query(copy.stream)) and not copy.done


class Contents(LaunchCopier[_ContentCopies]):
    """The copier of tensors' contents for one session. `take` may be called from any thread."""

    def __init__(self, session: "Session") -> None:
        self._all = session.settings.tensors != "index"
        self._looks: Any = None
        self._looks_asked = False
        self._limit = LIMIT_BYTES if self._all else SMALL_BYTES
        self._broken = False
        super().__init__(session, ARENA_BYTES)

    def renew(self) -> None:
        """Forget all copies, and begin the time budget: another run begins."""
        super().renew()
        self._begin = time.perf_counter_ns()
        self._spent = 0
        self._sets: dict[int, set[tuple[Any, ...]]] = {}
        self._bytes: dict[int, int] = {}
        self._kept: set[str] = set()
        self._refused = 0
        self._told = False
        if self._looks is not None:
            self._looks.renew(self._session.copy_numbers)

    # -- in the program's threads -----------------------------------------------------------

    def looks(self, schedule: tuple[int, ...]) -> Any:
        """Return the hot path's copier, made at the first call; None if Python copies (`all`).

        `schedule` has the numbers of launches between inspections, as `_hot_look.h` reads them.
        """
        recorder = self._session.recorder
        if not self._looks_asked and not self._all:
            budget = ALLOWANCE_NS, FRACTION, COPY_NS, BYTE_NS
            limits = self._limit, _WAITING, _WAITING_BYTES, ARENA_BYTES
            numbers = self._session.copy_numbers
            driver = driver_addresses()
            self._looks = recorder.looks(
                numbers, budget, limits, schedule, driver, pinned_memory, host_kind(), tensor_of
            )
            self._devices = None if self._looks is None else _NativeCopies(self._looks)
        self._looks_asked = True
        return self._looks

    def has(self, number: int) -> bool:
        """Return whether copies with that number wait to be written."""
        self._absorb()
        return super().has(number)

    def allows(self) -> bool:
        """Return whether the time budget allows another copy now; without a budget, True."""
        if self._all:
            return True
        if self._looks is not None:
            return bool(self._looks.allows())
        elapsed = time.perf_counter_ns() - self._begin
        return self._spent < ALLOWANCE_NS + FRACTION * elapsed

    def spend(self, nanoseconds: int) -> None:
        """Subtract nanoseconds that copies cost the program from the time budget."""
        if self._looks is not None:
            self._looks.spend(nanoseconds)
        self._spent += nanoseconds

    def refuse(self) -> None:
        """Count a launch that was not inspected because the time budget was used up."""
        self._refused += 1

    def take(
        self,
        listed: Listed,
        stream: int = 0,
        wanted: ArgumentSelection | None = None,
        number: int = 0,
    ) -> int:
        """Copy the contents of tensors at this point of `stream`; return the copies' number.

        0 if nothing was copied. `listed` has positions and values of the arguments; at writing,
        `wanted` selects some of them. `number` is that of earlier copies for the same launch, or 0
        for a new number. Failures are reported in the run and never raised.
        """
        try:
            if self._looks is not None:
                return int(self._looks.take(listed, stream, wanted, number))
            return self._take(listed, stream, wanted, number)
        except CopyFailed as error:
            self._broken = True
            text = f"contents of tensors on the device are no longer recorded: {error}"
            self._session.message("info", "contents-failed", text)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)
        return 0

    def _take(
        self, listed: Listed, stream: int, wanted: ArgumentSelection | None, number: int
    ) -> int:
        if len(self._waiting) >= _WAITING or self._waiting_bytes > _WAITING_BYTES:
            return 0
        spans: dict[Span, int] = {}
        arguments, kind = [], None
        for position, value in listed:
            span = self.span(value)
            if span is None:
                continue
            view_offset = span.owners[0].data_ptr() - span.address + span.offset
            part = spans.setdefault(span, len(spans))
            arguments.append((position, part, span.offset, view_offset))
            kind = memory_kind(value) if kind is None else kind
        if not spans or kind is None:
            return 0
        copied = self._copy_of(kind, tuple(spans), stream)
        if copied is None:
            return 0
        size = sum(span.size for span in spans)
        number = number or next(self._session.copy_numbers)
        self._await(
            _ContentCopies(number, size, [copied], arguments=tuple(arguments), wanted=wanted)
        )
        return number

    def span(self, value: Any) -> Span | None:
        """Return the memory to copy for a tensor: its storage, or its view if the storage is large.

        None if both are larger than the limit, for a tensor without elements, and for an object
        that points outside of the storage that it names.
        """
        base = tensor_of(value)
        if not hasattr(base, "untyped_storage"):
            return None
        pointer, storage = address_of(base), base.untyped_storage()
        start, size = storage.data_ptr(), storage.nbytes()
        if not start or not 0 <= pointer - start < size:
            return None
        if size <= self._limit:
            return Span(start, size, 0, (base, storage))
        view = view_of(base, start, size)
        if view is not None and view.size <= self._limit:
            return replace(view, owners=(base, storage))
        if self._all:
            text = f"contents of tensors of more than {self._limit >> 20} MiB are not recorded"
            self._session.message("info", "contents-too-large", text)
        return None

    def _copy_of(self, kind: str, spans: Sequence[Span], stream: int) -> Copied | None:
        if kind not in ("cpu", "cuda") or (kind == "cuda" and self._broken):
            return None
        ranges = [(span.address, span.size) for span in spans]
        if kind == "cuda":
            self._spent += int(COPY_NS * len(spans) + BYTE_NS * sum(span.size for span in spans))
        return self._copied(kind, ranges, stream, self._all)

    # -- in the journal's thread ------------------------------------------------------------

    def launches(self, columns: Mapping[str, Any], copied: Sequence[tuple[int, int, int]]) -> None:
        """Store the launches that have copies, after the hot path's copies were added."""
        self._absorb()
        super().launches(columns, copied)

    def round(self, journal: "Journal") -> None:
        """Write the contents whose copies are complete; the time counts in the budget."""
        begin = time.thread_time_ns()
        self._absorb()
        super().round(journal)
        self._absorb()
        self._report_limits()
        self.spend(time.thread_time_ns() - begin)

    def _absorb(self) -> None:
        """Take over the copies that the hot path has made since the last call."""
        if self._looks is None:
            return
        for number, size, copied, arguments, wanted in self._looks.drain(
            len(self._waiting), self._waiting_bytes
        ):
            copies = [copied if isinstance(copied[0], bytes) else Copy(*copied)]
            self._await(
                _ContentCopies(number, size, copies, arguments=tuple(arguments), wanted=wanted)
            )

    def _report_limits(self) -> None:
        """Add a message, once, if launches lack contents because of the budget or an error."""
        refused = self._refused + (0 if self._looks is None else self._looks.refused)
        if refused and not self._told:
            self._told = True
            text = (
                "contents of tensors are recorded at some launches only, to take at most "
                f"{FRACTION:.1%} of the program's time"
            )
            self._session.message("info", "contents-seldom", text)
        failed = 0 if self._looks is None else self._looks.failed
        if failed and not self._broken:
            self._broken = True
            reason = "the CUDA driver cannot be called" if failed < 0 else f"CUDA's error {failed}"
            text = f"contents of tensors on the device are no longer recorded: {reason}"
            self._session.message("info", "contents-failed", text)

    def _write(self, journal: "Journal", taken: _ContentCopies, seq: int, call_id: int) -> None:
        for row in self._rows(journal, taken, seq, call_id):
            journal.add("contents", row)

    def _rows(
        self, journal: "Journal", taken: _ContentCopies, seq: int, call_id: int
    ) -> Iterable[dict[str, Any]]:
        """Yield the `contents` rows of a launch, and add the artifacts that are new.

        No rows if the launch's call already has as many distinct contents as are recorded.
        """
        (parts,) = taken.copies
        assert isinstance(parts, tuple)
        arguments = taken.arguments
        if taken.wanted is not None:
            selected = taken.wanted.places
            arguments = tuple(argument for argument in arguments if argument[0] in selected)
        used_parts = dict.fromkeys(part for _, part, *_ in arguments)
        digests = {part: content_hash(parts[part]) for part in used_parts}
        contents = tuple(
            (position, digests[part], offset) for position, part, offset, _ in arguments
        )
        sets = self._sets.setdefault(call_id, set())
        if contents not in sets:
            added = {digest: parts[i] for i, digest in digests.items() if digest not in self._kept}
            size = self._bytes.get(call_id, 0) + sum(map(len, added.values()))
            if len(sets) >= SETS_A_CALL or (sets and size > BYTES_A_CALL):
                text = (
                    f"a call has more distinct contents than are recorded ({SETS_A_CALL}, or "
                    f"{BYTES_A_CALL >> 20} MiB): later launches of the call lack contents"
                )
                self._session.message("info", "contents-left-out", text)
                return
            sets.add(contents)
            self._bytes[call_id] = size
            for digest, content in added.items():
                journal.add_artifact("tensor", content)
                self._kept.add(digest)
        for position, part, offset, view_offset in arguments:
            yield {
                "seq": seq, "call_id": call_id, "arg": position, "artifact": digests[part],
                "offset_bytes": offset, "view_offset_bytes": view_offset,
            }  # fmt: skip


def view_of(tensor: Any, start: int, size: int) -> Span | None:
    """Return the range of bytes that a tensor's view covers in its storage.

    `start` and `size` are the storage's address and bytes. None if the view is empty, or if its
    range is not inside of the storage.
    """
    shape, strides, item = tensor.shape, tensor.stride(), tensor.element_size()
    if 0 in shape:
        return None
    reaches = [(extent - 1) * step for extent, step in zip(shape, strides, strict=True)]
    begin = tensor.data_ptr() + sum(reach for reach in reaches if reach < 0) * item
    view = Span(begin, (1 + sum(map(abs, reaches))) * item, begin - start)
    return view if view.offset >= 0 and view.offset + view.size <= size else None
