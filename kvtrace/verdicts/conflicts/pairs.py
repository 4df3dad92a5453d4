"""Verdicts on writing ops, made of the outcomes of all pairs of accesses that contain the op.

A rule lists the pairs of accesses that clash, and decides each by formulas
(`Pairs`). An evaluation of the grid decides the pairs that formulas leave open (`EvaluatedPairs`),
with outcomes of the same kinds. The most severe outcome of an op is its verdict: a confirmed race,
then an undecided pair, then a pair without conflict.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from msgspec import Struct

from kvtrace.ir import Op
from kvtrace.ir.ops import effect_of
from kvtrace.symbolic.prover import strongest
from kvtrace.verdicts.concrete import Concrete
from kvtrace.verdicts.conflicts.messages import proven, unknown
from kvtrace.verdicts.conflicts.outcomes import ConfirmedConflict, NoConflict, Undecided
from kvtrace.verdicts.conflicts.parts import roles_of
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall
    from kvtrace.verdicts.conflicts.sharers import Sharer

#: Reasons why grids with 0 and 1 programs have no two actors.
_TOO_FEW_PROGRAMS: Final = ("the grid has no program", "the grid has one program")


class Pairs(ABC):
    """Base class of a rule's pairs of clashing accesses of one call, and their outcomes.

    `least_programs`: a grid of fewer programs has no two actors. `always_judged`: kinds of ops that
    have a verdict even without a pair. `one_race_is_enough`: a pair is skipped if each of its ops
    that writes is in another pair that races.
    """

    rule: ClassVar[str]
    least_programs: ClassVar[int]
    always_judged: ClassVar[frozenset[str]]
    one_race_is_enough: ClassVar[bool]

    def __init__(self, bound: BoundCall) -> None:
        """Store the call in which pairs are judged."""
        self._bound = bound

    @abstractmethod
    def clashing(self) -> Iterator[tuple[Sharer, Sharer]]:
        """Yield each pair of accesses (also an access with itself) that race if unordered."""

    @abstractmethod
    def outcome(self, left: Sharer, right: Sharer) -> NoConflict | ConfirmedConflict | Undecided:
        """Return whether two actors race by these accesses, after a replay if formulas say so."""

    @abstractmethod
    def violation(self, op: Op, shown: Sequence[ConfirmedConflict], solver_ns: int) -> Verdict:
        """Return the violation verdict of an op from its confirmed races."""


class Finding(Struct):
    """A writing op, with the outcomes of all pairs that contain the op, by kind."""

    op: Op
    harmless: list[NoConflict] = []
    undecided: list[Undecided] = []
    confirmed: list[ConfirmedConflict] = []

    def add(self, outcome: NoConflict | ConfirmedConflict | Undecided) -> None:
        """Add the outcome of a pair to the list of its kind."""
        if isinstance(outcome, NoConflict):
            self.harmless.append(outcome)
        elif isinstance(outcome, Undecided):
            self.undecided.append(outcome)
        else:
            self.confirmed.append(outcome)

    @property
    def solver_ns(self) -> int:
        """The solver's time for all pairs of the op, in ns."""
        outcomes: list[NoConflict | Undecided | ConfirmedConflict]
        outcomes = [*self.harmless, *self.undecided, *self.confirmed]
        return sum(outcome.solver_ns for outcome in outcomes)

    def verdict(self, bound: BoundCall, rule: str, unless: Op | None = None) -> Verdict:
        """Return the verdict of an op without a confirmed race: unknown or proven.

        Its reason is that of an undecided pair, preferably one that no evaluation may decide. The
        verdict is left out if the verdict of the op `unless` is unknown.
        """
        outcomes = self.undecided or self.harmless
        assumption = next((outcome.assumption for outcome in outcomes if outcome.assumption), None)
        if self.undecided:
            undecided = min(self.undecided, key=lambda outcome: outcome.evaluating)
            return unknown(
                rule, bound, self.op, undecided.reason, evaluating=undecided.evaluating,
                solver_ns=self.solver_ns, assumption=assumption, unless=unless,
            )  # fmt: skip
        methods = [outcome.method for outcome in self.harmless if outcome.method != "evaluated"]
        by_evaluation = len(methods) < len(self.harmless)
        reasons = [outcome.why for outcome in self.harmless]
        return proven(
            rule, bound, self.op, "evaluated" if by_evaluation else strongest(methods), reasons,
            solver_ns=self.solver_ns, assumption=assumption,
        )  # fmt: skip


class UndecidedPairs(Struct, frozen=True):
    """The pairs of a call that formulas do not decide, by the ascending indices of both ops.

    `meeting` has the indices of ops that may touch the same byte as another op. `harmless` has the
    outcomes of the decided pairs, by the index of each op that writes.
    """

    pairs: Mapping[tuple[int, int], tuple[Sharer, Sharer]]
    meeting: frozenset[int]
    harmless: Mapping[int, Sequence[NoConflict]]

    def partners(self, op: int) -> tuple[int, ...]:
        """Return the ascending indices of the ops that have an undecided pair with an op."""
        return tuple(sorted({sum(pair) - op for pair in self.pairs if op in pair}))


def ascending(left: int, right: int) -> tuple[int, int]:
    """Return two op indices in ascending order."""
    return (left, right) if left <= right else (right, left)


# -- by formulas -----------------------------------------------------------------------------------


def judged(bound: BoundCall, pairs_of: type[Pairs]) -> list[Verdict]:
    """Return a rule's verdicts on the writing ops of a call, by formulas only."""
    roles = roles_of(bound.call.module)
    writing = [role.op for role in roles.by_op.values() if role.writes]
    if bound.programs < pairs_of.least_programs:
        reasons = (_TOO_FEW_PROGRAMS[bound.programs],)
        return [proven(pairs_of.rule, bound, op, "interval", reasons) for op in writing]
    pairs = pairs_of(bound)
    findings = {op.index: Finding(op) for op in writing}
    bound.memo[pairs_of] = pairs, _undecided(pairs, findings)
    judged_findings = [
        finding
        for finding in findings.values()
        if finding.harmless
        or finding.undecided
        or finding.confirmed
        or effect_of(finding.op) in pairs_of.always_judged
    ]
    if roles.unseen is not None:
        for finding in judged_findings:
            finding.add(Undecided(f"the kernel has {roles.unseen}", evaluating=False))
    return [_verdict(bound, pairs, finding) for finding in judged_findings]


def _verdict(bound: BoundCall, pairs: Pairs, finding: Finding) -> Verdict:
    if finding.confirmed:
        return pairs.violation(finding.op, finding.confirmed, finding.solver_ns)
    return finding.verdict(bound, pairs.rule)


def _undecided(pairs: Pairs, findings: Mapping[int, Finding]) -> UndecidedPairs:
    """Add each pair's outcome to the findings of its ops; return the undecided pairs."""
    undecided: dict[tuple[int, int], tuple[Sharer, Sharer]] = {}
    meeting: set[int] = set()
    for left, right in pairs.clashing():
        op_pair = ascending(left.access.op.index, right.access.op.index)
        writing_findings = [
            findings[index] for index in dict.fromkeys(op_pair) if index in findings
        ]
        if pairs.one_race_is_enough and all(finding.confirmed for finding in writing_findings):
            continue
        outcome = pairs.outcome(left, right)
        for finding in writing_findings:
            finding.add(outcome)
        if isinstance(outcome, Undecided):
            undecided[op_pair] = left, right
        if not isinstance(outcome, NoConflict) or (outcome.why and not outcome.settled):
            meeting.update(op_pair)
    harmless = {index: finding.harmless for index, finding in findings.items()}
    return UndecidedPairs(undecided, frozenset(meeting), harmless)


# -- by an evaluation of the grid ------------------------------------------------------------------

_Pairs = TypeVar("_Pairs", bound=Pairs)


class EvaluatedPairs(Concrete, Generic[_Pairs]):
    """Base class of observers that decide, by an evaluation, pairs that formulas do not."""

    def __init__(
        self, bound: BoundCall, pairs: _Pairs, undecided: UndecidedPairs, ops: Sequence[Op]
    ) -> None:
        """Prepare to decide `ops`, each of which is in an undecided pair."""
        self._bound = bound
        self._call = bound.call
        self._pairs = pairs
        self._undecided = undecided
        self._ops = ops

    def verdicts(self, failure: str | None) -> list[Verdict]:
        """Return one verdict for each op to decide."""
        return [self._verdict(op, failure) for op in self._ops]

    def _verdict(self, op: Op, failure: str | None) -> Verdict:
        finding = Finding(op, list(self._undecided.harmless[op.index]))
        for outcome in self.outcomes(op) if failure is None else (Undecided(failure),):
            finding.add(outcome)
            if finding.confirmed:
                break
        return _verdict(self._bound, self._pairs, finding)

    @abstractmethod
    def outcomes(self, op: Op) -> Iterator[NoConflict | ConfirmedConflict | Undecided]:
        """Yield at least one outcome for an op's undecided pairs, up to the first race."""


def evaluation(
    bound: BoundCall,
    pairs_of: type[Pairs],
    undecided: Sequence[Verdict],
    observer: type[EvaluatedPairs[Any]],
) -> Concrete | None:
    """Return the observer for the ops that `judged` left undecided, None if there are none."""
    ops = {v.op.index: v.op for v in undecided if v.rule == pairs_of.rule and v.evaluating}
    if not ops:
        return None
    pairs, open_pairs = bound.memo[pairs_of]
    return observer(bound, pairs, open_pairs, [ops[index] for index in sorted(ops)])
