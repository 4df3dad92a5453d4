"""Judgment of a unique call: rules on its formulas, then one evaluation for undecided verdicts.

Proofs and witnesses come from the symbolic summary, so they cost the same for any grid. The grid is
evaluated only for undecided verdicts that an evaluation can decide, and only within the budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kvtrace.symbolic.expressions import address_expression
from kvtrace.verdicts.binding import BoundCall, Budget
from kvtrace.verdicts.concrete import Concrete
from kvtrace.verdicts.feeding import feeding
from kvtrace.verdicts.replaying import holds_floats, run
from kvtrace.verdicts.rules.out_of_bounds_zeros import without_zeros
from kvtrace.verdicts.rules.table import chosen_rules
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call

#: The rule by which loads of substituted zeros are found.
_BOUNDS: Final = "out-of-bounds"


class Judgment:
    """The verdicts of one call, in two steps.

    The constructor judges by formulas. `observers` are then to observe an evaluation of the whole
    grid for undecided verdicts; there are none if all are decided or the evaluation would cost too
    much. `verdicts` returns all verdicts.
    """

    def __init__(
        self, call: Call, rules: Iterable[str] | None = None, budget: Budget | None = None
    ) -> None:
        """Judge a call by rules of these ids (None: the default ones).

        Raises:
            BadSetting: no rule has one of the ids.
            NoKernel: the call's module has no function to run.

        """
        self.call = call
        self._rules = chosen_rules(rules)
        ids = [rule.id for rule in self._rules]
        self.bound = BoundCall(call, ids, budget)
        judges = dict.fromkeys(rule.judge for rule in self._rules)
        self._verdicts = [verdict for judge in judges for verdict in judge(self.bound)]
        self.observers: tuple[Concrete, ...] = self._observers()

    def _observers(self) -> tuple[Concrete, ...]:
        undecided = [v for v in self._verdicts if v.verdict == "unknown" and v.evaluating]
        if not undecided:
            return ()
        lanes, most = self.bound.lanes, self.bound.budget.lanes
        if lanes > most:
            if most:
                self._verdicts = [
                    self._too_large(v) if v in undecided else v for v in self._verdicts
                ]
            return ()
        makers = dict.fromkeys(rule.concrete for rule in self._rules if rule.concrete is not None)
        candidates = (make(self.bound, undecided) for make in makers)
        return tuple(observer for observer in candidates if observer is not None)

    def _too_large(self, verdict: Verdict) -> Verdict:
        reason = (
            f"{verdict.reason}, and evaluating {self.bound.lanes:,} lanes would be more than "
            f"the budget of {self.bound.budget.lanes:,}"
        )
        message = verdict.message.replace(verdict.reason or "", reason)
        return replace(verdict, reason=reason, message=message)

    def verdicts(self, failure: str | None = None) -> list[Verdict]:
        """Return all verdicts, in the order of ops; `failure`: why the evaluation ended early."""
        verdicts = list(self._verdicts)
        for observer in self.observers:
            verdicts = _with_evaluated(verdicts, observer.verdicts(failure), observer.rules)
        open_ops = {v.op for v in verdicts if v.verdict == "unknown" and v.unless is None}
        verdicts = [v for v in verdicts if v.unless not in open_ops]
        verdicts = [self._after_overflow(v, verdicts) for v in verdicts]
        ids = {rule.id for rule in self._rules}
        selected = (self._with_expression(v) for v in verdicts if v.rule in ids)
        return sorted(selected, key=lambda verdict: verdict.op.index)

    def _after_overflow(self, verdict: Verdict, verdicts: Sequence[Verdict]) -> Verdict:
        """Return an access's violation with the integer overflow that causes it, if any."""
        if verdict.verdict != "violation" or verdict.rule not in ("out-of-bounds", "out-of-view"):
            return verdict
        fed = feeding(verdict.op, self.call.module)
        for other in verdicts:
            if other.rule == "overflow" and other.verdict == "violation" and other.op.index in fed:
                reason = f"{other.expression} wraps around"
                message = f"{verdict.message}, as {reason}"
                return replace(verdict, reason=reason, message=message)
        return verdict

    def _with_expression(self, verdict: Verdict) -> Verdict:
        """Add the address in the kernel's own names to an unproven verdict on an access."""
        if verdict.verdict == "proven" or verdict.access is None or verdict.expression is not None:
            return verdict
        summary = self.bound.summary
        access = next((access_ for access_ in summary.accesses if access_.op is verdict.op), None)
        if access is None:
            return verdict
        return replace(verdict, expression=address_expression(access, summary))


def _with_evaluated(
    verdicts: Sequence[Verdict], evaluated: Sequence[Verdict], rules: frozenset[str]
) -> list[Verdict]:
    """Replace undecided verdicts of some rules by the verdicts of an evaluation.

    A verdict that the evaluation leaves open too keeps its first reason, and the new one is added.
    """
    reasons = {v.op.index: v.reason for v in evaluated if v.verdict == "unknown"}
    decided = {v.op.index for v in evaluated if v.verdict != "unknown"}
    merged = []
    for verdict in verdicts:
        if not verdict.evaluating or verdict.rule not in rules:
            merged.append(verdict)
        elif verdict.op.index in reasons and verdict.op.index not in decided:
            merged.append(_still_open(verdict, reasons[verdict.op.index]))
        elif verdict.op.index not in decided:
            merged.append(verdict)
    return merged + [verdict for verdict in evaluated if verdict.verdict != "unknown"]


def _still_open(verdict: Verdict, reason: str | None) -> Verdict:
    if reason is None or verdict.reason is None or reason in verdict.reason:
        return verdict
    whole = f"{verdict.reason}; evaluated: {reason}"
    message = verdict.message.replace(verdict.reason, whole)
    return replace(verdict, reason=whole, message=message, method="evaluated")


def judge(
    call: Call, rules: Iterable[str] | None = None, budget: Budget | None = None
) -> list[Verdict]:
    """Return the verdicts of rules (None: the default ones) on one unique call.

    The tensors of the call are never written. Each unknown verdict has a reason, and so has a
    verdict that depends on a load that is itself out of bounds.

    Raises:
        BadSetting: no rule has one of the ids.
        NoKernel: the call's module has no function to run.

    """
    selected = {rule.id for rule in chosen_rules(rules)}
    ids = (*selected, _BOUNDS) if call.recorded else tuple(selected)

    def judged(other: Call, rules: Iterable[str]) -> list[Verdict]:
        return _judge(other, rules, budget)

    return without_zeros(call, judged(call, ids), selected, judged)


def _judge(call: Call, rules: Iterable[str], budget: Budget | None) -> list[Verdict]:
    judgment = Judgment(call, rules, budget)
    if not judgment.observers:
        return judgment.verdicts()
    lanes = judgment.bound.budget.lanes
    failure = run(call, judgment.observers, contents="integers", lanes=lanes)
    verdicts = judgment.verdicts(failure)
    if not holds_floats(call) or not any(v.evaluating and v.verdict == "unknown" for v in verdicts):
        return verdicts
    again = Judgment(call, rules, budget)
    return again.verdicts(run(call, again.observers, contents="all", lanes=lanes))
