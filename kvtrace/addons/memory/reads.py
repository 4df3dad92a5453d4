"""What is known of the reads at a place of a run: how many were proven, and the violations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kvtrace.addons.memory.lives import Birth, Life, Place
from kvtrace.addons.memory.moves import is_computed
from kvtrace.addons.memory.states import Answer, Reading, Spoiling, State

UNSEEN: Final = "its storage was made where kvtrace does not see it"
HOST: Final = (
    "it is memory of the host, which is not followed: record with KVTRACE_DEVICE=cpu and tensors "
    'made with device="cuda"'
)
_UNFOLLOWED: Final = {"unseen": UNSEEN, "host": HOST}


@dataclass(slots=True, eq=False)
class Unwritten:
    """The first read of unwritten bytes of a kind of storages, and how many of these were read.

    `state` is the storage's state before it, whose steps say who wrote to it; `seq` is the launch
    that read, None for an operator; `origin` is where its tensor's data pointer lies in the
    storage, in bytes; `given` is the last kernel that was given the storage and has a store to it,
    `source` the last one that was given the memory from which unwritten bytes were moved here.
    """

    reading: Reading
    birth: Birth
    state: State
    seq: int | None
    origin: int
    given: Place | None
    source: Place | None
    count: int = 1


@dataclass(slots=True, eq=False)
class Reads:
    """What is known of all reads at a place: how many of each answer, and why.

    `unwritten` has the violations by where the storage came from; `reason` is why the first
    unknown read is unknown that is not weak, if one is. `spoilings` left values that unknown reads
    may get, or violations other than the first ones.
    """

    proven: int = 0
    violations: int = 0
    unknown: int = 0
    unwritten: dict[Birth, Unwritten] = field(default_factory=dict)
    reason: str = ""
    spoilings: set[Spoiling] = field(default_factory=set)

    @property
    def is_weak(self) -> bool:
        """Return whether the storages are not followed or were computed: no reason of its own."""
        return self.reason in ("", UNSEEN, HOST) or is_computed(self.reason)

    @property
    def count(self) -> int:
        """How many reads there were."""
        return self.proven + self.violations + self.unknown

    def add(
        self, reading: Reading, life: Life, state: State, seq: int | None, origin: int
    ) -> Answered:
        """Add a read of a storage that was in a state; `origin`: where the tensor lies in it."""
        origin_reason = _UNFOLLOWED.get(life.birth.origin)
        if origin_reason is not None or reading.answer == "unknown":
            self.unknown += 1
            if self.is_weak:
                self.reason = reading.reason or self.reason or origin_reason or ""
            self.spoilings.update(reading.spoilings)
            return Answered(self, "unknown")
        if reading.answer == "proven":
            self.proven += 1
            return Answered(self, "proven")
        self.violations += 1
        unwritten = self.unwritten.get(life.birth)
        if unwritten is None:
            unwritten = self.unwritten[life.birth] = Unwritten(
                reading, life.birth, state, seq, origin, life.given, life.source
            )
        else:
            unwritten.count += 1
            if reading.spoilings != unwritten.reading.spoilings:
                self.spoilings.update(reading.spoilings)
        return Answered(self, "violation", unwritten)


class Answered(NamedTuple):
    """A read that was added to those of its place."""

    reads: Reads
    answer: Answer
    unwritten: Unwritten | None = None

    def repeat(self, times: int) -> None:
        """Add equal reads."""
        if self.answer == "proven":
            self.reads.proven += times
        elif self.answer == "unknown":
            self.reads.unknown += times
        else:
            assert self.unwritten is not None
            self.reads.violations += times
            self.unwritten.count += times
