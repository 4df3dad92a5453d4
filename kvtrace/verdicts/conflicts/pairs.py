"""Verdicts of the ops that write, made of the outcomes of all pairs of accesses with the op.

A rule lists the pairs of accesses that clash, and returns the outcome of each by formulas
(`Pairs`). An evaluation of the grid decides the pairs that formulas leave open (`EvaluatedPairs`),
with outcomes of the same kinds. A verdict takes the most severe outcome of its op: a shown race,
then an open pair, then a free pair.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from kvtrace.ir import Op
from kvtrace.metrics.of_ops import kind_of
from kvtrace.symbolic.prover import strongest
from kvtrace.verdicts.concrete import Concrete
from kvtrace.verdicts.conflicts.messages import proven, unknown
from kvtrace.verdicts.conflicts.outcomes import NoConflict, ShownConflict, Undecided
from kvtrace.verdicts.conflicts.parts import parts_of
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall
    from kvtrace.verdicts.conflicts.sharers import Sharer

#: Reasons why grids with 0 and 1 programs have no two actors.
_ALONE: Final = ("the grid has no program", "the grid has one program")


class Pairs(ABC):
    """Base of the pairs of accesses of one call that clash by a rule, and their outcomes.

    `least_programs`: a smaller grid has no two actors. `always_judged`: kinds of ops that have a
    verdict even without a pair. `one_is_enough`: a pair is skipped if each of its ops that writes
    is in another pair that races.
    """

    rule: ClassVar[str]
    least_programs: ClassVar[int]
    always_judged: ClassVar[frozenset[str]]
    one_is_enough: ClassVar[bool]

    def __init__(self, bound: BoundCall) -> None:
        """Prepare the pairs of a call."""
        self._bound = bound

    @abstractmethod
    def clashing(self) -> Iterator[tuple[Sharer, Sharer]]:
        """Yield each pair of accesses (or one access twice) that race if they meet in no order."""

    @abstractmethod
    def outcome(self, one: Sharer, other: Sharer) -> NoConflict | ShownConflict | Undecided:
        """Return whether two actors race by these accesses; a race by formulas is replayed."""

    @abstractmethod
    def violation(self, op: Op, shown: Sequence[ShownConflict], solver_ns: int) -> Verdict:
        """Return the violation of an op that was shown to race."""


@dataclass
class Finding:
    """An op that writes, with the outcomes of all pairs that contain the op."""

    op: Op
    free: list[NoConflict] = field(default_factory=list)
    open: list[Undecided] = field(default_factory=list)
    shown: list[ShownConflict] = field(default_factory=list)

    def note(self, outcome: NoConflict | ShownConflict | Undecided) -> None:
        """Add the outcome of a pair."""
        if isinstance(outcome, NoConflict):
            self.free.append(outcome)
        elif isinstance(outcome, Undecided):
            self.open.append(outcome)
        else:
            self.shown.append(outcome)

    @property
    def solver_ns(self) -> int:
        """The time of the solver for the op's pairs, ns."""
        outcomes: list[NoConflict | Undecided | ShownConflict]
        outcomes = [*self.free, *self.open, *self.shown]
        return sum(outcome.solver_ns for outcome in outcomes)

    def verdict(self, bound: BoundCall, rule: str, unless: Op | None = None) -> Verdict:
        """Return the verdict of an op without a shown race.

        Of several open pairs, a reason that no evaluation removes comes first. An unknown verdict
        is left out where the verdict of the op `unless` is unknown.
        """
        outcomes = self.open or self.free
        assumption = next((outcome.assumption for outcome in outcomes if outcome.assumption), None)
        if self.open:
            first = min(self.open, key=lambda outcome: outcome.evaluating)
            return unknown(
                rule, bound, self.op, first.reason, evaluating=first.evaluating,
                solver_ns=self.solver_ns, assumption=assumption, unless=unless,
            )  # fmt: skip
        proofs = [outcome.method for outcome in self.free if outcome.method != "evaluated"]
        by_evaluation = len(proofs) < len(self.free)
        why = [outcome.why for outcome in self.free]
        return proven(
            rule, bound, self.op, "evaluated" if by_evaluation else strongest(proofs), why,
            solver_ns=self.solver_ns, assumption=assumption,
        )  # fmt: skip


@dataclass(frozen=True)
class UndecidedPairs:
    """The pairs of a call that formulas leave open, by the indices of both ops, ascending.

    `meeting` are all ops that may touch the same byte as another op, racing or not. `free` has the
    outcomes of the decided pairs, by the index of each op that writes.
    """

    pairs: Mapping[tuple[int, int], tuple[Sharer, Sharer]]
    meeting: frozenset[int]
    free: Mapping[int, Sequence[NoConflict]]

    def others(self, op: int) -> tuple[int, ...]:
        """Return the indices of the ops that an op has an open pair with, ascending."""
        return tuple(sorted({sum(pair) - op for pair in self.pairs if op in pair}))


def ascending(one: int, other: int) -> tuple[int, int]:
    """Return two indices of ops in ascending order."""
    return (one, other) if one <= other else (other, one)


# -- by formulas -----------------------------------------------------------------------------------


def judged(bound: BoundCall, pairs_of: type[Pairs]) -> list[Verdict]:
    """Return a rule's verdicts by formulas on the ops of a call that write."""
    parts = parts_of(bound.call.module)
    writing = [part.op for part in parts.by_op.values() if part.writes]
    if bound.programs < pairs_of.least_programs:
        why = (_ALONE[bound.programs],)
        return [proven(pairs_of.rule, bound, op, "interval", why) for op in writing]
    pairs = pairs_of(bound)
    findings = {op.index: Finding(op) for op in writing}
    bound.memo[pairs_of] = pairs, _undecided(pairs, findings)
    judged_findings = [
        finding
        for finding in findings.values()
        if finding.free
        or finding.open
        or finding.shown
        or kind_of(finding.op) in pairs_of.always_judged
    ]
    if parts.unseen is not None:
        for finding in judged_findings:
            finding.note(Undecided(f"the kernel has {parts.unseen}", evaluating=False))
    return [_verdict(bound, pairs, finding) for finding in judged_findings]


def _verdict(bound: BoundCall, pairs: Pairs, finding: Finding) -> Verdict:
    if finding.shown:
        return pairs.violation(finding.op, finding.shown, finding.solver_ns)
    return finding.verdict(bound, pairs.rule)


def _undecided(pairs: Pairs, findings: Mapping[int, Finding]) -> UndecidedPairs:
    """Note the outcome of each pair at its ops; return the pairs that stay open."""
    undecided: dict[tuple[int, int], tuple[Sharer, Sharer]] = {}
    meeting: set[int] = set()
    for one, other in pairs.clashing():
        key = ascending(one.access.op.index, other.access.op.index)
        writing = [findings[index] for index in dict.fromkeys(key) if index in findings]
        if pairs.one_is_enough and all(finding.shown for finding in writing):
            continue
        outcome = pairs.outcome(one, other)
        for finding in writing:
            finding.note(outcome)
        if isinstance(outcome, Undecided):
            undecided[key] = one, other
        if not isinstance(outcome, NoConflict) or (outcome.why and not outcome.settled):
            meeting.update(key)
    free = {index: finding.free for index, finding in findings.items()}
    return UndecidedPairs(undecided, frozenset(meeting), free)


# -- by an evaluation of the grid ------------------------------------------------------------------

_Pairs = TypeVar("_Pairs", bound=Pairs)


class EvaluatedPairs(Concrete, Generic[_Pairs]):
    """Base of the observers that decide the pairs that formulas leave open."""

    def __init__(
        self, bound: BoundCall, pairs: _Pairs, undecided: UndecidedPairs, ops: Sequence[Op]
    ) -> None:
        """Prepare to decide `ops`, each of them in an undecided pair."""
        self._bound = bound
        self._call = bound.call
        self._pairs = pairs
        self._undecided = undecided
        self._ops = ops

    def verdicts(self, failure: str | None) -> list[Verdict]:
        """Return one verdict for each of the ops."""
        return [self._verdict(op, failure) for op in self._ops]

    def _verdict(self, op: Op, failure: str | None) -> Verdict:
        finding = Finding(op, list(self._undecided.free[op.index]))
        for outcome in self.outcomes(op) if failure is None else (Undecided(failure),):
            finding.note(outcome)
            if finding.shown:
                break
        return _verdict(self._bound, self._pairs, finding)

    @abstractmethod
    def outcomes(self, op: Op) -> Iterator[NoConflict | ShownConflict | Undecided]:
        """Yield the outcomes of an op's open pairs, at least one; stop after a race."""


def evaluation(
    bound: BoundCall,
    pairs_of: type[Pairs],
    undecided: Sequence[Verdict],
    observer: type[EvaluatedPairs[Any]],
) -> Concrete | None:
    """Return the observer for the ops that `judged` left open; None: no op is open."""
    ops = {v.op.index: v.op for v in undecided if v.rule == pairs_of.rule and v.evaluating}
    if not ops:
        return None
    pairs, open_pairs = bound.memo[pairs_of]
    return observer(bound, pairs, open_pairs, [ops[index] for index in sorted(ops)])
