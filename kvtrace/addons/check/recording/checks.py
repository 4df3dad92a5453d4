"""Copies of launches' memory before and after the launch, for checks.

Memory is copied on the launch's stream (on a GPU the copies are only enqueued, while pinned memory
is free), and written to the trace by the journal's thread when the copies are complete. A launch
captured into a graph is recorded at the graph's first replay. A launch is recorded completely or
not at all, and the total of a run stays below the setting `check_bytes`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.check.recording.graph_copies import (
    GRAPH_BYTES,
    FirstReplay,
    GraphCopies,
    graph_copies,
)
from kvtrace.addons.check.settings import CHECK_BYTES
from kvtrace.capture.device_copies import Copy, CopyFailed
from kvtrace.capture.launch_copies import Copied, LaunchCopier, LaunchCopies
from kvtrace.capture.messages import message_row
from kvtrace.forks import Lock
from kvtrace.schema.cached_property import cached_property

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal
    from kvtrace.capture.session import Session

#: Pinned memory for copies in flight, allocated by the first check on a device.
ARENA_BYTES: Final = 256 << 20

#: Most bytes waiting for the background thread; launches beyond stay due.
WAITING_BYTES: Final = 512 << 20


@dataclass(frozen=True, slots=True)
class Memory:
    """Pieces of one storage: `spans` are byte offset and size of each.

    `arg` is the position of the storage's first argument, `address` the storage's address.
    """

    arg: int
    address: int
    spans: tuple[tuple[int, int], ...]

    @property
    def size(self) -> int:
        """Bytes of all pieces."""
        return sum(size for _, size in self.spans)


@dataclass(frozen=True)
class Needed:
    """The memory to copy before and after a launch.

    `programs` are the programs that can be evaluated from this memory; None: all.
    """

    before: tuple[Memory, ...]
    after: tuple[Memory, ...]
    programs: tuple[int, ...] | None = None

    @cached_property
    def size(self) -> int:
        """Total bytes to copy."""
        return sum(memory.size for memory in (*self.before, *self.after))


@dataclass(frozen=True, slots=True)
class BegunCopies:
    """Copies made before a launch, and the memory to copy after it.

    `why` is the part of the setting `check` that selected the launch, `kind` torch's device type.
    For a launch captured into a graph, `replay` has the copies at the graph's first replay.
    """

    why: str
    needed: Needed
    kind: str
    stream: int
    before: Copied
    replay: tuple[GraphCopies, FirstReplay] | None = None


@dataclass(slots=True)
class _CheckedCopies(LaunchCopies):
    """Copies of one launch's memory, before and after it."""

    begun: BegunCopies | None = None


class Checks(LaunchCopier[_CheckedCopies]):
    """Recorder of launches' memory, one per session. Methods may be called in any thread.

    They raise CopyFailed if the device's driver refuses a copy.
    """

    def __init__(self, session: "Session") -> None:
        self._lock = Lock()
        self._broken = False
        #: Number of the run; a forked process begins a new run.
        self.generation = 0
        super().__init__(session, ARENA_BYTES)

    def renew(self) -> None:
        """Reset for a new run, perhaps in a forked process."""
        super().renew()
        self.generation += 1
        self._left = CHECK_BYTES.of(self._session.settings)
        self._nodes: list[_CheckedCopies] = []  # in graphs that were not replayed yet

    # -- in the program's threads -----------------------------------------------------------

    def may_begin(self, kind: str) -> bool:
        """Return whether memory of a device type can be copied now; report temporary obstacles."""
        if kind == "cuda" and (self._broken or not self._devices_copies().has_context()):
            return False
        if self._waiting_bytes > WAITING_BYTES:
            text = "launches are not checked while more than 512 MiB wait to be written"
            self._session.message("info", "check-busy", text)
            return False
        return True

    def fetched(
        self, kind: str, stream: int, spans: Sequence[tuple[int, int]]
    ) -> tuple[bytes, ...] | None:
        """Wait until the stream's earlier work is done, and return the bytes at (address, size).

        None if there is no copier for the device type.
        """
        if kind == "cuda":
            return self._devices_copies().copied(spans, stream)
        copied = self._copied(kind, spans, stream, patient=True) if kind == "cpu" else None
        return copied if isinstance(copied, tuple) else None

    def begin(self, why: str, needed: Needed, kind: str, stream: int) -> BegunCopies | None:
        """Copy memory before a launch; None if the launch cannot be recorded.

        `why` is the selecting part of the setting, `kind` torch's device type, `stream` a handle.
        """
        if kind not in ("cpu", "cuda") or not needed.size:
            return None
        if not self._take_from_budget(needed.size):
            text = (
                "launches are not checked if their memory does not fit into the remainder of "
                f"{CHECK_BYTES.of(self._session.settings):,} bytes (KVTRACE_CHECK_BYTES)"
            )
            self._session.message("info", "check-over-budget", text)
            return None
        if kind == "cuda" and self._devices_copies().is_capturing(stream):
            return self._begin_node(why, needed, stream)
        copies = self._copied(kind, _addresses_and_sizes(needed.before), stream, patient=True)
        if copies is None:
            self._take_from_budget(-needed.size)
            return None
        return BegunCopies(why, needed, kind, stream, copies)

    def _begin_node(self, why: str, needed: Needed, stream: int) -> BegunCopies | None:
        graphs = graph_copies()
        spans = _addresses_and_sizes(needed.before), _addresses_and_sizes(needed.after)
        replay = None if graphs is None else graphs.before(*spans, stream)
        if graphs is None or replay is None:
            self._take_from_budget(-needed.size)
            text = (
                "launches that are captured into graphs are not checked while copies of "
                f"{GRAPH_BYTES >> 20} MiB wait for the first replay of other graphs"
            )
            self._session.message("info", "check-in-graph", text)
            return None
        return BegunCopies(why, needed, "cuda", stream, replay.before, (graphs, replay))

    def end(self, begun: BegunCopies, number: int) -> int:
        """Copy memory after the launch, and return the number for the launch's row.

        This is `number` unless it is 0, else a new number.
        """
        number = number or next(self._session.copy_numbers)
        if begun.replay is not None:
            graphs, replay = begun.replay
            graphs.after(replay, begun.stream)
            copies: list[Copied] = [replay.before, replay.after]
            self._launches[number] = None  # `launches` replaces it by the launch's row
            self._nodes.append(_CheckedCopies(number, begun.needed.size, copies, begun=begun))
            return number
        after: Copied | None = None
        try:
            spans = _addresses_and_sizes(begun.needed.after)
            after = self._copied(begun.kind, spans, begun.stream, patient=True) if spans else ()
        finally:  # without `after`, too, the first copy must arrive before its room is reused
            copies = [begun.before] if after is None else [begun.before, after]
            lost, size = after is None, begun.needed.size
            self._await(_CheckedCopies(number, size, copies, lost, begun=begun))
        return number

    def drop(self, begun: BegunCopies) -> None:
        """Release the memory of copies made before a launch that then raised an error."""
        self._take_from_budget(-begun.needed.size)
        if begun.replay is not None:
            return  # the graph may still exist, so its room is not reused
        number, size = next(self._session.copy_numbers), begun.needed.size
        self._await(_CheckedCopies(number, size, [begun.before], lost=True))

    def failed(self, error: CopyFailed) -> None:
        """Report an error of the driver, and record no more launches on devices."""
        self._broken = True
        self._session.message("info", "check-failed", f"launches are no longer checked: {error}")

    def _take_from_budget(self, size: int) -> bool:
        """Take bytes from the run's budget, and return whether enough were left.

        A negative size gives bytes back.
        """
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
            return True

    # -- in the journal's thread ------------------------------------------------------------

    def round(self, journal: "Journal") -> None:
        """Write the copies that are complete into the journal, of graphs' launches too."""
        super().round(journal)
        for node in self._nodes[:]:
            launch = self._launches.get(node.number)
            copies = [copy for copy in node.copies if isinstance(copy, Copy)]
            if launch is None or not all(copy.done for copy in copies):
                continue  # the launch has no row yet, or its graph was not replayed
            assert node.begun is not None
            assert node.begun.replay is not None
            graphs, replay = node.begun.replay
            node.copies = [copy.read() for copy in copies]
            graphs.release(replay)
            self._nodes.remove(node)
            self._launches.pop(node.number)
            self._write(journal, node, *launch)

    def _end(self, journal: "Journal") -> None:
        super()._end(journal)
        if self._nodes:
            text = "launches captured into graphs that were never replayed are not checked"
            row = message_row("info", "check-in-graph", text, len(self._nodes))
            journal.add("messages", row)

    def _write(self, journal: "Journal", taken: _CheckedCopies, seq: int, call_id: int) -> None:
        assert taken.begun is not None
        needed = taken.begun.needed
        row: dict[str, Any] = {"seq": seq, "call_id": call_id, "why": taken.begun.why}
        row |= {"programs": needed.programs, "bytes": needed.size}
        journal.add("checked_launches", row)
        memory_by_time = (("before", needed.before), ("after", needed.after))
        for (when, memories), copy in zip(memory_by_time, taken.copies, strict=True):
            assert isinstance(copy, tuple)
            pieces = iter(copy)
            for memory in memories:
                content = b"".join(next(pieces) for _ in memory.spans)
                spans = [{"offset_bytes": o, "size_bytes": size} for o, size in memory.spans]
                row = {"seq": seq, "call_id": call_id, "arg": memory.arg, "when": when}
                row |= {"spans": spans, "artifact": journal.add_artifact("tensor", content)}
                journal.add("checked_memory", row)


def _addresses_and_sizes(memories: tuple[Memory, ...]) -> list[tuple[int, int]]:
    """Return the absolute address and size of each piece, storage by storage."""
    return [(m.address + offset, size) for m in memories for offset, size in m.spans]


__all__ = ["BegunCopies", "Checks", "Memory", "Needed"]
