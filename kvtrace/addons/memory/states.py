"""States of the bytes of a storage: written, perhaps written, or written by nobody.

A state is the storage's size and two sets of bytes; a step, what a launch or an operator reads and
writes, leads from one state to the next. Programs repeat themselves: a buffer is allocated and
filled in the same way in each iteration. So states are made once, and the step from one state by
one effect is worked out once; following a launch costs a lookup.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

import msgspec
from msgspec import Struct

from kvtrace.metrics.byte_ranges import NOTHING, ByteRanges, TooManyRanges

if TYPE_CHECKING:
    from kvtrace.addons.memory.lives import Birth

Answer = Literal["proven", "violation", "unknown"]


class Effect(Struct, frozen=True, eq=False):
    """Bytes of one storage that one launch or operator reads and writes.

    Bytes are offsets from the storage's begin. Reads come before writes: a read of what the same
    program has stored before is not among them.

    Attributes:
        reads: bytes that are certainly read; an unwritten one is a violation.
        may_read: all bytes that may be read, `reads` among them.
        writes: bytes that are certainly written.
        may_write: all bytes that may be written, `writes` among them.
        reason: why `may_read` and `may_write` have more than `reads` and `writes`; "" if they have
            not.
        adds: it certainly changes some of these elements, by what they were before.
    """

    reads: ByteRanges = msgspec.field(default_factory=ByteRanges)
    may_read: ByteRanges = msgspec.field(default_factory=ByteRanges)
    writes: ByteRanges = msgspec.field(default_factory=ByteRanges)
    may_write: ByteRanges = msgspec.field(default_factory=ByteRanges)
    reason: str = ""
    adds: bool = False

    @staticmethod
    def anywhere(size: int, reason: str) -> Effect:
        """Return the effect of accesses at places of a storage that are not known."""
        whole = ByteRanges.of(0, size)
        return Effect(may_read=whole, may_write=whole, reason=reason)

    def moved(self, by: int, size: int) -> Effect:
        """Return the effect `by` bytes farther on, in a storage of `size` bytes."""
        whole = ByteRanges.of(0, size)
        return Effect(
            whole & self.reads.moved(by),
            whole & self.may_read.moved(by),
            whole & self.writes.moved(by),
            whole & self.may_write.moved(by),
            self.reason,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Spoiling:
    """Bytes that get the values of unwritten memory, or perhaps do; `doubt` is why only perhaps.

    `birth` is the origin of that memory, not of copies on the way; None: it is not known.
    """

    unwritten: ByteRanges = field(default_factory=ByteRanges)
    doubtful: ByteRanges = field(default_factory=ByteRanges)
    doubt: str = ""
    birth: Birth | None = None

    def reaches(self, touched: ByteRanges) -> bool:
        """Return whether any of its bytes are among some others."""
        return bool(self.unwritten & touched) or bool(self.doubtful & touched)

    def placed(self, shift: int | None, size: int) -> Spoiling:
        """Return the bytes so far on, in a storage of `size` bytes; None: perhaps all of it."""
        whole = ByteRanges.of(0, size)
        if shift is None:
            return replace(self, unwritten=NOTHING, doubtful=whole)
        moved = (whole & part.moved(shift) for part in (self.unwritten, self.doubtful))
        unwritten, doubtful = moved
        return replace(self, unwritten=unwritten, doubtful=doubtful)


class Reading(Struct, frozen=True):
    """The verdict on the bytes that an effect reads.

    `unwritten` are the bytes that are certainly read and that nobody wrote, if it is a violation;
    `reason` says why it is unknown. `spoilings` left values in bytes that may be read.
    """

    answer: Answer
    unwritten: ByteRanges = msgspec.field(default_factory=ByteRanges)
    reason: str = ""
    spoilings: tuple[Spoiling, ...] = ()


_READ_WRITTEN: Final = Reading("proven")
_SCATTERED: Final = "what was written is in too many places of memory"


@dataclass(slots=True, eq=False)
class State:
    """A state of a storage of `size` bytes.

    Attributes:
        size: in bytes.
        unwritten: bytes that certainly nobody wrote since the storage was allocated.
        doubtful: bytes that may have been written.
        doubt: why they only may have been.
        before: the state before the last step that wrote, and the effect of that step; None for the
            state of a new storage.
        spoilings: those by which bytes count as unwritten, though they were written.
        whole: whether every byte was certainly written.
    """

    size: int
    unwritten: ByteRanges
    doubtful: ByteRanges = field(default_factory=ByteRanges)
    doubt: str = ""
    before: tuple[State, Effect] | None = None
    spoilings: tuple[Spoiling, ...] = ()
    whole: bool = field(init=False)
    _steps: dict[Effect, tuple[State, Reading]] = field(default_factory=dict, repr=False)
    _spoiled: dict[Spoiling, State] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Note whether all bytes are written, which is asked at each step."""
        self.whole = not self.unwritten and not self.doubtful

    def step(self, effect: Effect) -> tuple[State, Reading]:
        """Return the state after an effect, and what is known of the bytes that it reads."""
        if self.whole:
            return self, _READ_WRITTEN
        step = self._steps.get(effect)
        if step is None:
            try:
                step = self._after(effect), self._reading(effect)
            except TooManyRanges:
                step = self._in_doubt((self, effect)), Reading("unknown", reason=_SCATTERED)
            self._steps[effect] = step
        return step

    def spoiling_of(self, touched: ByteRanges) -> Spoiling | None:
        """Return the last one that left values in some bytes, if one did."""
        return next((by for by in reversed(self.spoilings) if by.reaches(touched)), None)

    def birth_of(self, touched: ByteRanges, own: Birth) -> Birth | None:
        """Return the origin of the unwritten values in some bytes; `own` is the storage's."""
        spoiling = self.spoiling_of(touched)
        return own if spoiling is None else spoiling.birth

    def _in_doubt(self, before: tuple[State, Effect] | None) -> State:
        """Return the state of which only is known that some bytes may not have been written."""
        whole = ByteRanges.of(0, self.size)
        return State(self.size, NOTHING, whole, _SCATTERED, before, self.spoilings)

    def spoiled(self, by: Spoiling) -> State:
        """Return the state after unwritten values were moved into the storage."""
        state = self._spoiled.get(by)
        if state is None:
            try:
                unwritten = (self.unwritten - by.doubtful) | by.unwritten
                doubtful = (self.doubtful | by.doubtful) - by.unwritten
                doubt = (by.doubt or self.doubt) if doubtful else ""
                spoilings = tuple(dict.fromkeys((*self.spoilings, by)))
                state = State(self.size, unwritten, doubtful, doubt, self.before, spoilings)
            except TooManyRanges:
                state = self._in_doubt(self.before)
            self._spoiled[by] = state
        return state

    def _reading(self, effect: Effect) -> Reading:
        spoilings = tuple(by for by in self.spoilings if by.reaches(effect.may_read))
        unwritten = effect.reads & self.unwritten
        if effect.adds and not effect.may_read - self.unwritten:
            unwritten = effect.may_read
        if unwritten:
            return Reading("violation", unwritten, spoilings=spoilings)
        if effect.reads & self.doubtful:
            return Reading("unknown", reason=self.doubt, spoilings=spoilings)
        if effect.may_read & self.unwritten:
            return Reading("unknown", reason=effect.reason, spoilings=spoilings)
        if effect.may_read & self.doubtful:
            return Reading("unknown", reason=self.doubt, spoilings=spoilings)
        return _READ_WRITTEN

    def _after(self, effect: Effect) -> State:
        unwritten = self.unwritten - effect.may_write
        doubtful = (self.doubtful | (self.unwritten & effect.may_write)) - effect.writes
        if unwritten == self.unwritten and doubtful == self.doubtful:
            return self
        doubt = (self.doubt if self.doubtful else effect.reason) if doubtful else ""
        spoilings = tuple(
            by for by in self.spoilings if by.reaches(unwritten) or by.reaches(doubtful)
        )
        return State(self.size, unwritten, doubtful, doubt, (self, effect), spoilings)
