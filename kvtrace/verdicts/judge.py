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
    """The verdicts of one call, in two steps: formulas in the constructor, then one evaluation.

    `observers` decide the remaining unknown verdicts while the whole grid is evaluated; the tuple
    is empty if nothing is left to decide or the evaluation would exceed the budget. `verdicts`
    returns the verdicts of both steps.
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
        self.observers: tuple[Concrete, ...] = self._evaluation_observers()

    def _evaluation_observers(self) -> tuple[Concrete, ...]:
        """Return observers for undecided verdicts, none if the grid has too many lanes."""
        undecided = [v for v in self._verdicts if v.verdict == "unknown" and v.evaluating]
        if not undecided:
            return ()
        lanes, lane_budget = self.bound.lanes, self.bound.budget.lanes
        if lanes > lane_budget:
            if lane_budget:
                self._verdicts = [
                    self._too_large(v) if v in undecided else v for v in self._verdicts
                ]
            return ()
        observer_factories = dict.fromkeys(
            rule.concrete for rule in self._rules if rule.concrete is not None
        )
        candidates = (factory(self.bound, undecided) for factory in observer_factories)
        return tuple(observer for observer in candidates if observer is not None)

    def _too_large(self, verdict: Verdict) -> Verdict:
        reason = (
            f"{verdict.reason}, and evaluating {self.bound.lanes:,} lanes would be more than "
            f"the budget of {self.bound.budget.lanes:,}"
        )
        message = verdict.message.replace(verdict.reason or "", reason)
        return replace(verdict, reason=reason, message=message)

    def verdicts(self, failure: str | None = None) -> list[Verdict]:
        """Return all verdicts by op; `failure` is the reason why the evaluation ended early."""
        verdicts = list(self._verdicts)
        for observer in self.observers:
            verdicts = _with_evaluated(verdicts, observer.verdicts(failure), observer.rules)
        open_ops = {v.op for v in verdicts if v.verdict == "unknown" and v.unless is None}
        verdicts = [v for v in verdicts if v.unless not in open_ops]
        verdicts = [self._with_overflow_cause(v, verdicts) for v in verdicts]
        ids = {rule.id for rule in self._rules}
        selected = (self._with_expression(v) for v in verdicts if v.rule in ids)
        return sorted(selected, key=lambda verdict: verdict.op.index)

    def _with_overflow_cause(self, verdict: Verdict, verdicts: Sequence[Verdict]) -> Verdict:
        """Return a violation of bounds with its address's overflow as reason; others unchanged."""
        if verdict.verdict != "violation" or verdict.rule not in ("out-of-bounds", "out-of-view"):
            return verdict
        feeders = feeding(verdict.op, self.call.module)
        for candidate in verdicts:
            if (
                candidate.rule == "overflow"
                and candidate.verdict == "violation"
                and candidate.op.index in feeders
            ):
                reason = f"{candidate.expression} wraps around"
                message = f"{verdict.message}, as {reason}"
                return replace(verdict, reason=reason, message=message)
        return verdict

    def _with_expression(self, verdict: Verdict) -> Verdict:
        """Return a verdict on an access with its address as expression, unless it is proven."""
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
    """Return verdicts in which the evaluation's results replace undecided verdicts of `rules`.

    If the evaluation does not decide a verdict either, its reason is appended to the verdict's own.
    """
    reasons = {v.op.index: v.reason for v in evaluated if v.verdict == "unknown"}
    decided = {v.op.index for v in evaluated if v.verdict != "unknown"}
    merged = []
    for verdict in verdicts:
        if not verdict.evaluating or verdict.rule not in rules:
            merged.append(verdict)
        elif verdict.op.index in reasons and verdict.op.index not in decided:
            merged.append(_with_added_reason(verdict, reasons[verdict.op.index]))
        elif verdict.op.index not in decided:
            merged.append(verdict)
    return merged + [verdict for verdict in evaluated if verdict.verdict != "unknown"]


def _with_added_reason(verdict: Verdict, reason: str | None) -> Verdict:
    if reason is None or verdict.reason is None or reason in verdict.reason:
        return verdict
    combined_reason = f"{verdict.reason}; evaluated: {reason}"
    message = verdict.message.replace(verdict.reason, combined_reason)
    return replace(verdict, reason=combined_reason, message=message, method="evaluated")


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

    def judged(judged_call: Call, rules: Iterable[str]) -> list[Verdict]:
        return _judge(judged_call, rules, budget)

    return without_zeros(call, judged(call, ids), selected, judged)


def _judge(call: Call, rules: Iterable[str], budget: Budget | None) -> list[Verdict]:
    """Return the verdicts of rules on a call; floats are evaluated only if some stay unknown."""
    judgment = Judgment(call, rules, budget)
    if not judgment.observers:
        return judgment.verdicts()
    lanes = judgment.bound.budget.lanes
    failure = run(call, judgment.observers, contents="integers", lanes=lanes)
    verdicts = judgment.verdicts(failure)
    if not holds_floats(call) or not any(v.evaluating and v.verdict == "unknown" for v in verdicts):
        return verdicts
    second_judgment = Judgment(call, rules, budget)
    return second_judgment.verdicts(
        run(call, second_judgment.observers, contents="all", lanes=lanes)
    )
