"""Refutations at one size: integers that wrap around, and violations of rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kvtrace.recorded_calls.recorded import Call
from kvtrace.symbolic.conditions import Condition, Opaque
from kvtrace.symbolic.expressions import operation_expression
from kvtrace.symbolic.prover import Given, Interval, Refuted, prove
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.ideal import followed
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.sizes.sized import BUDGET
from kvtrace.verdicts.sizes.sized_claims import Claim
from kvtrace.verdicts.widths import Use

#: Limit of lanes of the run of a program that confirms a wrap.
_MAX_LANES: Final = 1 << 18

AssumedRanges = Mapping[tuple[str, Any], Interval]


def is_refuted(bound: BoundCall, claim: Condition, given: Given) -> bool:
    """Return whether a launch surely breaks a claim."""
    decision = bound.prove(claim, given)
    return isinstance(decision, Refuted) and not bound.doubts(decision.model)


def refuting_program(
    bound: BoundCall, claim: Condition, given: Given, ranges: AssumedRanges
) -> int | None:
    """Return a program of which the launch and assumed ranges surely break a claim, else None."""
    decision = prove(claim, given, seconds=BUDGET.solver_seconds, order=bound.order)
    if not isinstance(decision, Refuted):
        return None
    doubts = bound.doubts(decision.model).keys
    if any(isinstance(key, Opaque) or (key.kind, key.key) not in ranges for key in doubts):
        return None
    return bound.program_of(decision.model)


def wrapping_program(call: Call, ranges: AssumedRanges, use: Use) -> int | None:
    """Return a program in which an integer surely wraps around, None if none is known."""
    bound = BoundCall(call, (), BUDGET, ranges)
    given = bound.active(use.access) if use.exact_lanes else bound.given(use.place)
    return refuting_program(bound, use.right, given, ranges)


def is_wrap_confirmed(call: Call | None, use: Use, program: int) -> bool:
    """Return whether a run of a program confirms that an integer wraps around.

    Also True if the run ends early, or the launch is too large to run (`call` is None): then the
    counterexample alone decides.
    """
    if call is None:
        return True
    seen, failure = followed(call, (program,), _MAX_LANES)
    return failure is not None or seen.visible_wrap(use.arithmetic.op.index) is not None


def overflow_text(call: Call, use: Use) -> tuple[str, str]:
    """Return a message that describes an overflow, and the expression that wraps around."""
    arithmetic = use.arithmetic
    text = operation_expression(arithmetic.op, summarize(call.module))
    argument = use.access.argument
    tensor_text = "" if argument is None else f" of {call.arguments[argument].name}"
    purpose_text = "" if use.purpose == "address" else f" (by its {use.purpose})"
    message = (
        f"{text} does not fit into {arithmetic.width}, for the {use.access.kind}"
        f"{tensor_text}{purpose_text}"
    )
    return message, text


def rule_violation(call: Call, claim: Claim) -> tuple[str, str | None] | None:
    """Return the message of a launch's first violation of a claim's rules, else None."""
    op = claim.op if claim.use is None else claim.use.arithmetic.op
    for verdict in judge(call, claim.rules, BUDGET):
        if verdict.verdict == "violation" and op in (call.module.main.op, verdict.op):
            return f"{verdict.rule}: {verdict.message}", None
    return None
