"""Copies made for launches, which wait until they are complete and their launches have rows.

The copies for a launch have a number, which the hot path writes into the launch's row
(`Recorder.tag`). The journal's thread passes launches with copies to `launches`, and calls `round`,
which writes the copies that are complete.
"""

import ctypes
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from kvtrace.capture.device_copies import Copy, DeviceCopies, device_copies
from kvtrace.capture.messages import message_row
from kvtrace.surroundings import pause

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal
    from kvtrace.capture.session import Session

#: Rounds of the background thread after which copies without a recorded launch are dropped.
_PATIENCE: Final = 20

#: Bytes after which a round leaves the rest to the next round: a fork waits for a round.
_ROUND_BYTES: Final = 128 << 20

#: Seconds that the end of a recording waits for copies that are in progress.
_LAST_SECONDS: Final = 5.0

_LOST: Final = "contents of launches are missing: their stream or the copy failed"
_UNKNOWN: Final = "copies were made for launches that were not recorded"
_LATE: Final = (
    "contents of launches are missing: their stream had not reached the copy "
    f"{_LAST_SECONDS:.0f} seconds after the recording's end"
)

#: A copy in progress, or the parts of a complete copy.
Copied = Copy | tuple[bytes, ...]


@dataclass(slots=True)
class LaunchCopies:
    """Copies made for one launch, with their number and their size in bytes.

    `lost` is whether a copy failed, `rounds` the number of rounds that they waited for a launch.
    """

    number: int
    size: int
    copies: list[Copied]
    lost: bool = False
    rounds: int = 0


class Devices(Protocol):
    """The methods of a maker of device copies that readers of copies call."""

    def release(self, copy: Copy) -> None:
        """Free the pinned memory of a copy that has been read or is not needed."""

    def is_lost(self, copy: Copy) -> bool:
        """Return whether a copy can never complete because its stream has failed."""


T = TypeVar("T", bound=LaunchCopies)


class LaunchCopier(Generic[T]):
    """Base class of copiers for launches of one session; subclasses write the rows."""

    def __init__(self, session: "Session", arena_bytes: int) -> None:
        """Make a copier; the first device copy allocates `arena_bytes` of pinned memory."""
        self._session = session
        self._arena_bytes = arena_bytes
        self._devices: Devices | None = None
        self.renew()

    def renew(self) -> None:
        """Forget all copies: another run begins, perhaps in a forked process."""
        self._run: str | None = None
        self._waiting: deque[T] = deque()
        self._waiting_bytes = 0
        self._launches: dict[int, tuple[int, int] | None] = {}
        self._missing: Counter[str] = Counter()

    # -- in the program's threads -----------------------------------------------------------

    def follow(self) -> None:
        """Add this copier to the listeners of the run's journal, once; called for each new call."""
        run = self._session.run_id
        if run is not None and run != self._run:
            self._run = run
            self._session.follow(self)

    def has(self, number: int) -> bool:
        """Return whether copies with that number wait to be written."""
        return number in self._launches

    def _devices_copies(self) -> DeviceCopies:
        if not isinstance(self._devices, DeviceCopies):
            self._devices = device_copies(self._arena_bytes)
        return self._devices

    def _copied(
        self, kind: str, spans: Sequence[tuple[int, int]], stream: int, patient: bool
    ) -> Copied | None:
        """Return the bytes of ranges (address, size) on the host, or an enqueued device copy.

        If the pinned memory is full, wait for the stream if `patient`. None if nothing can be
        copied now.
        """
        if kind == "cpu":
            return tuple(ctypes.string_at(address, size) for address, size in spans)
        devices = self._devices_copies()
        copy = devices.copy(spans, stream)
        return devices.copied(spans, stream) if copy is None and patient else copy

    def _await(self, taken: T) -> None:
        """Queue copies, which `round` writes once they are complete and their launch has a row."""
        self._launches[taken.number] = None
        self._waiting_bytes += taken.size
        self._waiting.append(taken)

    # -- in the journal's thread ------------------------------------------------------------

    def row(self, table: str, row: Mapping[str, Any]) -> None:
        """Ignore rows other than launches."""

    def launches(self, _columns: Mapping[str, Any], copied: Sequence[tuple[int, int, int]]) -> None:
        """Store `seq` and call id of the launches that have copies, by the copies' number."""
        for copies_number, seq, call_id in copied:
            if copies_number in self._launches:
                self._launches[copies_number] = (seq, call_id)

    def round(self, journal: "Journal") -> None:
        """Write complete copies of recorded launches, in order, up to `_ROUND_BYTES`.

        Copies whose launch has no row after `_PATIENCE` rounds are dropped and reported.
        """
        written_bytes = 0
        for _ in range(len(self._waiting)):
            oldest_copies = self._waiting[0]
            if written_bytes > _ROUND_BYTES or not self._has_arrived(oldest_copies):
                break  # pinned memory is freed in the order of allocation
            self._waiting.popleft()
            launch = self._launches.get(oldest_copies.number)
            if launch is None and oldest_copies.rounds < _PATIENCE:
                oldest_copies.rounds += 1
                self._waiting.append(oldest_copies)
                continue
            self._launches.pop(oldest_copies.number, None)
            self._waiting_bytes -= oldest_copies.size
            if launch is not None and not oldest_copies.lost:
                self._write(journal, oldest_copies, *launch)
                written_bytes += oldest_copies.size
            elif launch is not None:
                self._missing[_LOST] += 1
            elif not oldest_copies.lost:  # else the launch was not made
                self._missing[_UNKNOWN] += 1
        self._report_missing(journal)

    def _report_missing(self, journal: "Journal") -> None:
        for text, count in self._missing.items():
            journal.add("messages", message_row("info", "copy-lost", text, count))
        self._missing.clear()

    def _end(self, journal: "Journal") -> None:
        """Count the copies that still wait as missing, and report them."""
        for copies in self._waiting:
            if not copies.lost:
                has_launch = self._launches.get(copies.number) is not None
                self._missing[_LATE if has_launch else _UNKNOWN] += 1
        self._report_missing(journal)

    def finish(self, journal: "Journal") -> None:
        """Write all complete copies; wait `_LAST_SECONDS` at most for copies in progress."""
        until = time.monotonic() + _LAST_SECONDS
        while self._waiting:
            waiting_count = len(self._waiting)
            self.round(journal)
            if len(self._waiting) < waiting_count:
                continue
            if not any(map(_under_way, self._waiting)) or time.monotonic() > until:
                break
            pause(0.001)
        self._end(journal)

    def _write(self, journal: "Journal", taken: T, seq: int, call_id: int) -> None:
        """Write the rows of a launch's copies."""
        raise NotImplementedError

    def _has_arrived(self, taken: T) -> bool:
        """Replace complete copies by their bytes, and return whether none is in progress."""
        for index, copy in enumerate(taken.copies):
            if isinstance(copy, tuple):
                continue
            assert self._devices is not None
            if copy.done:
                taken.copies[index] = copy.read()
            elif self._devices.is_lost(copy):
                taken.copies[index], taken.lost = (), True
            else:
                return False
            self._devices.release(copy)
        return True


def _under_way(taken: LaunchCopies) -> bool:
    return any(isinstance(copy, Copy) for copy in taken.copies)
