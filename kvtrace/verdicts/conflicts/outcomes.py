"""Outcomes of pairs of accesses by two actors (programs, or lanes of one), and of their ops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from kvtrace.ir import Op
from kvtrace.symbolic.prover import strongest

if TYPE_CHECKING:
    from kvtrace.symbolic.prover import Method
    from kvtrace.verdicts.conflicts.parts import Parts
    from kvtrace.verdicts.conflicts.sharers import Sharer


@dataclass(frozen=True)
class Free:
    """The two actors do not race; `why` is the reason if they may touch one byte all the same.

    It holds under an `assumption`. `settled`: what one loads is the same in whatever order
    programs run.
    """

    method: Method
    why: str = ""
    solver_ns: int = 0
    assumption: str | None = None
    settled: bool = False


@dataclass(frozen=True)
class Meeting:
    """Two actors that seem to race at `byte`, which counts from the start of the storage.

    It has to be replayed before it is reported. `programs` are the linear ids of both sides.
    """

    programs: tuple[int, int]
    byte: int
    method: Method
    solver_ns: int = 0


@dataclass(frozen=True)
class Open:
    """It is not known whether they race; `reason` says why; `evaluating`: a whole run may tell.

    `assumption` would make it safe.
    """

    reason: str
    evaluating: bool = True
    solver_ns: int = 0
    assumption: str | None = None


@dataclass(frozen=True)
class Touch:
    """A lane of a program that touches a byte; `address_offset` is its element's first byte.

    It counts from the data pointer of the argument (an index) through which it is reached.
    """

    op: Op
    program: int
    iteration: int
    lane: tuple[int, ...]
    argument: int
    address_offset: int


@dataclass(frozen=True)
class Witness:
    """Both sides of a race at one byte, counted from the start of a storage."""

    first: Touch
    second: Touch
    byte: int

    def seen_from(self, op: Op) -> Witness:
        """Return the witness with the side of an op first."""
        if self.first.op is op:
            return self
        return Witness(self.second, self.first, self.byte)


@dataclass(frozen=True)
class Shown:
    """They race: `witness` was seen in a run; lanes of one program are in the kernel's order.

    `is_pipelined`: one thread does both, a load of a later trip first. `is_across`: they are lanes
    of different CTAs of a program.
    """

    witness: Witness
    method: Method | Literal["evaluated"]
    solver_ns: int = 0
    is_pipelined: bool = False
    is_across: bool = False


class Pairs(Protocol):
    """The pairs of accesses of one call, and the outcome of each."""

    def clashing(self) -> Iterator[tuple[Sharer, Sharer]]:
        """Return each two sharers (or one) that race where they meet in no order."""

    def outcome(self, one: Sharer, other: Sharer) -> Free | Shown | Open:
        """Return whether two actors race by these accesses; a race that formulas show is run."""


@dataclass
class Finding:
    """An op that writes, with the outcomes of all pairs that it is in."""

    op: Op
    free: list[Free] = field(default_factory=list)
    open: list[Open] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)

    def note(self, outcome: Free | Shown | Open) -> None:
        """Add the outcome of a pair."""
        if isinstance(outcome, Free):
            self.free.append(outcome)
        elif isinstance(outcome, Open):
            self.open.append(outcome)
        else:
            self.shown.append(outcome)

    @property
    def solver_ns(self) -> int:
        """The time that a solver took for the op's pairs, ns."""
        taken = [each.solver_ns for each in self.free] + [each.solver_ns for each in self.open]
        return sum(taken) + sum(each.solver_ns for each in self.shown)

    @property
    def why(self) -> tuple[str, ...]:
        """The reasons why the op may meet others and does not race."""
        return tuple(each.why for each in self.free)

    @property
    def method(self) -> str:
        """The method of the proof that no pair races: the strongest that any pair took."""
        methods = (each.method for each in self.free)
        return strongest(methods)


@dataclass(frozen=True)
class UndecidedPairs:
    """The pairs of a call that formulas leave open, by the indices of both ops, ascending.

    `meeting` are all ops that others may meet, racing or not; `why` says of writing ops, by index,
    why they may and do not race, in the pairs that are not open.
    """

    pairs: Mapping[tuple[int, int], tuple[Sharer, Sharer]]
    meeting: frozenset[int]
    why: Mapping[int, tuple[str, ...]]

    def others(self, op: int) -> tuple[int, ...]:
        """Return the ops that an op has an open pair with, in their order."""
        return tuple(sorted({sum(pair) - op for pair in self.pairs if op in pair}))


def ascending(one: int, other: int) -> tuple[int, int]:
    """Return two indices of ops in their order."""
    return (one, other) if one <= other else (other, one)


def findings_of(
    pairs: Pairs, parts: Parts, *, one_is_enough: bool = False
) -> tuple[dict[int, Finding], UndecidedPairs]:
    """Return what is known of each op that writes, by index, and what is left open.

    Args:
        pairs: the pairs of accesses.
        parts: the call's memory ops.
        one_is_enough: leave out pairs of which each writing op is in one that races.

    """
    findings = {index: Finding(part.op) for index, part in parts.by_op.items() if part.writes}
    undecided: dict[tuple[int, int], tuple[Sharer, Sharer]] = {}
    meeting: set[int] = set()
    for one, other in pairs.clashing():
        key = ascending(one.access.op.index, other.access.op.index)
        writing = [findings[index] for index in dict.fromkeys(key) if index in findings]
        if one_is_enough and all(finding.shown for finding in writing):
            continue
        outcome = pairs.outcome(one, other)
        for finding in writing:
            finding.note(outcome)
        if isinstance(outcome, Open):
            undecided[key] = one, other
        if not isinstance(outcome, Free) or (outcome.why and not outcome.settled):
            meeting.update(key)
    why = {index: finding.why for index, finding in findings.items()}
    return findings, UndecidedPairs(undecided, frozenset(meeting), why)
