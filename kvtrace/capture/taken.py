"""What was copied for launches, until the copies have arrived and the launches are known.

Whoever copies something for a launch has a number for it, which the hot path writes into the
launch's row (`Recorder.tag`). Several may copy for one launch, under the one number. The journal's
thread tells of launches, waits for the copies, and has both written together.
"""

import ctypes
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from kvtrace.capture.device_copies import Copy, DeviceCopies, device_copies
from kvtrace.capture.messages import message_row

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal
    from kvtrace.capture.session import Session

#: Rounds of the background thread after which what was copied for no launch is dropped.
_PATIENCE: Final = 20

#: Bytes after which a round of writing leaves the rest to the next: a fork waits for it.
_ROUND_BYTES: Final = 128 << 20

#: Seconds that the end of a recording waits for copies that are in progress.
_LAST_SECONDS: Final = 5.0

_LOST: Final = "contents of launches are missing: their stream or the copy failed"
_UNKNOWN: Final = "copies were made for launches that were not recorded"
_LATE: Final = (
    "contents of launches are missing: their stream had not reached the copy "
    f"{_LAST_SECONDS:.0f} seconds after the recording's end"
)

#: A copy: in progress, or the parts that were copied.
Copied = Copy | tuple[bytes, ...]


@dataclass(slots=True)
class Taken:
    """What was copied for one launch; `size` is in bytes."""

    number: int
    size: int
    copies: list[Copied]
    lost: bool = False
    rounds: int = 0


class Devices(Protocol):
    """Whoever made copies of devices' memory, for who waits for them."""

    def release(self, copy: Copy) -> None:
        """Free the room of a copy that has been read, or is not wanted any more."""

    def is_lost(self, copy: Copy) -> bool:
        """Whether a copy that is not done never will be, for its stream has failed."""


T = TypeVar("T", bound=Taken)


class TakenForLaunches(Generic[T]):
    """Copies of one kind, of one session. Subclasses say what is written of them."""

    def __init__(self, session: "Session", arena_bytes: int) -> None:
        """Prepare; pinned memory, `arena_bytes` of it, is taken by the first copy of a device's."""
        self._session = session
        self._arena_bytes = arena_bytes
        self._devices: Devices | None = None
        self.renew()

    def renew(self) -> None:
        """Begin again: another run begins, perhaps in a forked process."""
        self._run: str | None = None
        self._waiting: deque[T] = deque()
        self._waiting_bytes = 0
        self._launches: dict[int, tuple[int, int] | None] = {}
        self._missing: Counter[str] = Counter()

    # -- in the program's threads -----------------------------------------------------------

    def follow(self) -> None:
        """Have the run's journal tell of launches; backends call it for each new call."""
        run = self._session.run_id
        if run is not None and run != self._run:
            self._run = run
            self._session.follow(self)

    def has(self, number: int) -> bool:
        """Whether something was copied under that number."""
        return number in self._launches

    def _devices_copies(self) -> DeviceCopies:
        if not isinstance(self._devices, DeviceCopies):
            self._devices = device_copies(self._arena_bytes)
        return self._devices

    def _copied(
        self, kind: str, spans: Sequence[tuple[int, int]], stream: int, patient: bool
    ) -> Copied | None:
        """Copy spans (address, bytes) of the host's memory, or a device's when its stream is there.

        Where there is no room, `patient` waits for the stream. None: nothing can be copied now.
        """
        if kind == "cpu":
            return tuple(ctypes.string_at(address, size) for address, size in spans)
        devices = self._devices_copies()
        copy = devices.copy(spans, stream)
        return devices.copied(spans, stream) if copy is None and patient else copy

    def _await(self, taken: T) -> None:
        """Have it written when its copies have arrived and its launch is known."""
        self._launches[taken.number] = None
        self._waiting_bytes += taken.size
        self._waiting.append(taken)

    # -- in the journal's thread ------------------------------------------------------------

    def row(self, table: str, row: Mapping[str, Any]) -> None:
        """Other rows are of no interest."""

    def launches(self, _columns: Mapping[str, Any], copied: Sequence[tuple[int, int, int]]) -> None:
        """Note which launches had something copied for them."""
        for number, seq, call_id in copied:
            if number in self._launches:
                self._launches[number] = (seq, call_id)

    def round(self, journal: "Journal") -> None:
        """Write what has arrived, as much as a round takes."""
        written = 0
        for _ in range(len(self._waiting)):
            taken = self._waiting[0]
            if written > _ROUND_BYTES or not self._has_arrived(taken):
                break  # room is given back in the order in which it was taken
            self._waiting.popleft()
            launch = self._launches.get(taken.number)
            if launch is None and taken.rounds < _PATIENCE:
                taken.rounds += 1
                self._waiting.append(taken)
                continue
            self._launches.pop(taken.number, None)
            self._waiting_bytes -= taken.size
            if launch is not None and not taken.lost:
                self._write(journal, taken, *launch)
                written += taken.size
            elif launch is not None:
                self._missing[_LOST] += 1
            elif not taken.lost:  # else it was not made
                self._missing[_UNKNOWN] += 1
        self._tell_missing(journal)

    def _tell_missing(self, journal: "Journal") -> None:
        """Say for how many launches something was copied and is not written."""
        for text, count in self._missing.items():
            journal.add("messages", message_row("info", "copy-lost", text, count))
        self._missing.clear()

    def _end(self, journal: "Journal") -> None:
        """Say of what still waits that it is not written."""
        for taken in self._waiting:
            if not taken.lost:
                known = self._launches.get(taken.number) is not None
                self._missing[_LATE if known else _UNKNOWN] += 1
        self._tell_missing(journal)

    def finish(self, journal: "Journal") -> None:
        """Write all that has arrived, and wait for copies that are in progress, for a while."""
        until = time.monotonic() + _LAST_SECONDS
        while self._waiting:
            before = len(self._waiting)
            self.round(journal)
            if len(self._waiting) < before:
                continue
            if not any(map(_under_way, self._waiting)) or time.monotonic() > until:
                break
            time.sleep(0.001)
        self._end(journal)

    def _write(self, journal: "Journal", taken: T, seq: int, call_id: int) -> None:
        """Write what was copied for a launch."""
        raise NotImplementedError

    def _has_arrived(self, taken: T) -> bool:
        for place, copy in enumerate(taken.copies):
            if isinstance(copy, tuple):
                continue
            assert self._devices is not None
            if copy.done:
                taken.copies[place] = copy.read()
            elif self._devices.is_lost(copy):
                taken.copies[place], taken.lost = (), True
            else:
                return False
            self._devices.release(copy)
        return True


def _under_way(taken: Taken) -> bool:
    return any(isinstance(copy, Copy) for copy in taken.copies)


__all__ = ["Copied", "Taken", "TakenForLaunches"]
