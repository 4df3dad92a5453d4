"""The rule device-assert: a kernel's assertion fails in some program and lane."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.observe import FailedAssertion
from kvtrace.ir import Op
from kvtrace.ir.feeding import feeding
from kvtrace.recorded_calls.recorded import Call
from kvtrace.symbolic.prover import Proven, Refuted
from kvtrace.symbolic.summary import Assertion
from kvtrace.verdicts.binding import BoundCall, Doubts
from kvtrace.verdicts.concrete import Concrete
from kvtrace.verdicts.contents.loaded import depends_on
from kvtrace.verdicts.replaying import NOT_REPRODUCED, WITNESS_LANES, run
from kvtrace.verdicts.verdict import Verdict, worst_by_op

RULE: Final = "device-assert"


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return the worst verdict for each assertion over all function calls that contain it."""
    return worst_by_op(_judge_assertion(bound, assertion) for assertion in bound.summary.assertions)


def concrete(bound: BoundCall, undecided: Sequence[Verdict]) -> Concrete | None:
    """Return an observer of failing assertions, or None if no assertion is undecided."""
    undecided = [v for v in undecided if v.rule == RULE]
    return EvaluatedAsserts(bound.call, undecided) if undecided else None


def _judge_assertion(bound: BoundCall, assertion: Assertion) -> Verdict:
    given = bound.given(assertion)
    if bound.is_unreached(assertion, given):
        return _proven(bound, assertion, "interval", "no program reaches it")
    if bound.may_wrap(assertion) is not None:
        return _unknown(bound, assertion, "arithmetic that it depends on may overflow")
    decision = bound.prove(assertion.condition, given)
    if isinstance(decision, Proven):
        return _proven(bound, assertion, decision.method, "in every program")
    if not isinstance(decision, Refuted):
        return _unknown(bound, assertion, decision.reason)
    doubts = bound.doubts(decision.model)
    if doubts:
        return _unknown(bound, assertion, _doubts_text(bound, assertion.op, doubts))
    program = bound.program_of(decision.model)
    observer = EvaluatedAsserts(bound.call, ())
    run(bound.call, (observer,), (program,), lanes=WITNESS_LANES)
    if observer.failure is None or observer.failure.op is not assertion.op:
        return _unknown(bound, assertion, NOT_REPRODUCED)
    return bound.timed(assertion_violation(observer.failure, decision.method))


def _doubts_text(bound: BoundCall, op: Op, doubts: Doubts) -> str:
    """Return a phrase for the unknowns that a counterexample assumes, and how to record them."""
    if doubts.unrecorded:
        return depends_on(doubts.unrecorded)
    missing = bound.contents.read_by(feeding(op, bound.call.module))
    return f"{doubts.reason}; {depends_on(missing)}" if missing else doubts.reason


def _proven(bound: BoundCall, assertion: Assertion, method: str, scope: str) -> Verdict:
    message = f"device_assert holds for this call ({scope}): {assertion.message}"
    return bound.verdict(RULE, "proven", assertion, message, method)


def _unknown(bound: BoundCall, assertion: Assertion, reason: str) -> Verdict:
    message = f"device_assert could not be decided: {reason}"
    return bound.verdict(RULE, "unknown", assertion, message, reason=reason, evaluating=True)


def assertion_violation(failure: FailedAssertion, method: str = "evaluated") -> Verdict:
    """Return the violation for an assertion that failed in an evaluation."""
    others = f" in {failure.lanes:,} lanes" if failure.lanes > 1 else ""
    message = f"device_assert fails{others}: {failure.message}"
    verdict = Verdict(RULE, "violation", failure.op, message, method, lanes=failure.lanes)
    return verdict.at(failure)


class EvaluatedAsserts(Concrete):
    """An observer of the failing assertion that ends a launch; decides the `undecided` verdicts."""

    rules = frozenset({RULE})

    def __init__(self, call: Call, undecided: Sequence[Verdict]) -> None:
        self._undecided = undecided
        tensors = [a for a in call.arguments if isinstance(a, TensorArgument)]
        self._all_recorded = all(tensor.storage.data is not None for tensor in tensors)
        self.failure: FailedAssertion | None = None

    def device_assert(self, failure: FailedAssertion) -> None:
        """Record the failed assertion, at which the launch ends."""
        self.failure = failure

    def verdicts(self, failure: str | None) -> list[Verdict]:
        """Return the violation, or proofs of all assertions if all contents were recorded."""
        if self.failure is not None:
            return [assertion_violation(self.failure)]
        if failure is not None or not self._all_recorded:
            return []
        message = "device_assert holds for this call, for the recorded contents of its tensors"
        return [Verdict(RULE, "proven", v.op, message, "evaluated") for v in self._undecided]
