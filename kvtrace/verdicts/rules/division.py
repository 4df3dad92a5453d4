"""The rule division-by-zero: an integer divisor is 0 in a program that reaches the division.

On GPUs an integer divided by 0 gives some number and no fault, so the defect shows later, if at
all. All lanes count, as masks apply only after the division.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kvtrace.ir.types import integer_bits
from kvtrace.symbolic.conditions import equal, in_order
from kvtrace.symbolic.expressions import operation_expression
from kvtrace.symbolic.prover import Proven
from kvtrace.symbolic.summary import Division
from kvtrace.symbolic.terms import Symbol, signed_range
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.contents.loaded import depends_on
from kvtrace.verdicts.rules.watched_values import ValueWatch, watched
from kvtrace.verdicts.verdict import Verdict, worst_by_op

RULE: Final = "division-by-zero"


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return the worst verdict for each division whose divisor is not a constant."""
    return worst_by_op(_judge_division(bound, division) for division in bound.summary.divisions)


def _judge_division(bound: BoundCall, division: Division) -> Verdict:
    given = bound.given(division)
    if bound.is_unreached(division, given):
        return _proven(bound, division, "interval", "no program reaches it")
    is_exact = _is_exact(bound, division)
    decision = bound.prove(~equal(division.divisor), given)
    if isinstance(decision, Proven) and is_exact:
        return _proven(bound, division, decision.method)
    symbols = [a for a in in_order(division.divisor.atoms()) if isinstance(a, Symbol)]
    unrecorded = bound.unrecorded(symbols)
    if unrecorded:
        return _unknown(bound, division, depends_on(unrecorded))
    watch, method, reason = watched(
        bound,
        lambda: ValueWatch(division.op, division.op.operand("right"), lambda ns: ns == 0),
        decision if is_exact else None,
    )
    if watch.witness is None:
        return _unknown(bound, division, reason) if reason else _proven(bound, division, method)
    text = operation_expression(division.op, bound.summary)
    message = f"{text} divides by zero, which gives an undefined number"
    verdict = bound.verdict(RULE, "violation", division, message, method, expression=text)
    return verdict.at(watch.witness)


def _is_exact(bound: BoundCall, division: Division) -> bool:
    """Return whether the kernel computes the formula's divisor, as no integer wraps around."""
    low, high = signed_range(integer_bits(division.op.operand("right").type) or 64)
    smallest, largest = bound.ranges.interval(division.divisor)
    return low <= smallest and largest <= high and bound.may_wrap(division) is None


def _proven(
    bound: BoundCall, division: Division, method: str, scope: str = "in every program"
) -> Verdict:
    text = operation_expression(division.op, bound.summary)
    message = f"the divisor of {text} is not zero for this call ({scope})"
    return bound.verdict(RULE, "proven", division, message, method, expression=text)


def _unknown(bound: BoundCall, division: Division, reason: str) -> Verdict:
    text = operation_expression(division.op, bound.summary)
    message = f"whether the divisor of {text} is zero could not be decided: {reason}"
    return bound.verdict(RULE, "unknown", division, message, reason=reason, expression=text)
