"""Reads at a place of a run: how many were proven, the violations, and whether values matter."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from msgspec import Struct, field

from kvtrace.addons.memory.lives import Birth, Life, Place
from kvtrace.addons.memory.moves import is_computed
from kvtrace.addons.memory.states import Answer, Reading, Spoiling, State

UNSEEN: Final = "its storage was made where kvtrace does not see it"
HOST: Final = (
    "it is memory of the host, which is not followed: record with KVTRACE_DEVICE=cpu and tensors "
    'made with device="cuda"'
)
#: Doubts of storages that are not followed, which what is copied from them takes over.
HOST_COPIED: Final = (
    "it is made of memory of the host, which not only torch's operators fill (numpy, other "
    'processes): followed are tensors that operators make with device="cuda", as '
    'torch.tensor(array.tolist(), device="cuda"), with KVTRACE_DEVICE=cpu also without a GPU'
)
UNSEEN_COPIED: Final = "it is made of memory that was made where kvtrace does not see it"
_WEAK: Final = ("", UNSEEN, HOST, HOST_COPIED, UNSEEN_COPIED)


class Unwritten(Struct, eq=False):
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


class Reads(Struct, eq=False):
    """The verdicts on all reads at a place: how many of each answer, and the reason.

    `unwritten` has the violations by where the storage came from. `reason` is why the first unknown
    read is unknown, unless that is weak: then a later read's reason replaces it. `spoilings` left
    values that unknown reads may get, or violations other than the first ones. `drops`: what nobody
    wrote, or may not have written, was read and did not matter.
    """

    answers: Counter[Answer] = field(default_factory=Counter)
    unwritten: dict[Birth, Unwritten] = {}
    reason: str = ""
    spoilings: set[Spoiling] = set()
    drops: bool = False

    @property
    def is_weak(self) -> bool:
        """Return whether the reason is only that storages are not followed or were computed."""
        return self.reason in _WEAK or is_computed(self.reason)

    def add(
        self, reading: Reading, life: Life, state: State, seq: int | None, origin: int
    ) -> Answered:
        """Add a read of a storage that was in a state; `origin`: where the tensor lies in it."""
        answer, reason = reading.answer, reading.reason
        if life.birth.origin == "unseen":
            answer, reason = "unknown", UNSEEN
        elif reason == HOST_COPIED and life.birth.origin == "host":
            reason = HOST
        self.answers[answer] += 1
        if answer == "unknown":
            if self.is_weak:
                self.reason = reason or self.reason
            self.spoilings.update(reading.spoilings)
        if answer != "violation":
            return Answered(self, answer)
        unwritten = self.unwritten.get(life.birth)
        if unwritten is None:
            unwritten = self.unwritten[life.birth] = Unwritten(
                reading, life.birth, state, seq, origin, life.given, life.source
            )
        else:
            unwritten.count += 1
            if reading.spoilings != unwritten.reading.spoilings:
                self.spoilings.update(reading.spoilings)
        return Answered(self, answer, unwritten)


class Answered(NamedTuple):
    """A read that was added to those of its place."""

    reads: Reads
    answer: Answer
    unwritten: Unwritten | None = None

    def repeat(self, times: int) -> None:
        """Add equal reads."""
        self.reads.answers[self.answer] += times
        if self.unwritten is not None:
            self.unwritten.count += times
