"""The rule division-by-zero: an integer divisor is 0 in a program that reaches the division.

On GPUs an integer divided by 0 gives some number and no fault, so the defect shows later, if at
all. All lanes count, as masks apply only after the division.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kvtrace.ir.types import integer_bits
from kvtrace.symbolic.conditions import equal
from kvtrace.symbolic.expressions import operation_expression
from kvtrace.symbolic.prover import Proven, Refuted
from kvtrace.symbolic.summary import Division
from kvtrace.symbolic.terms import Symbol, signed_range
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.contents.loaded import depends_on
from kvtrace.verdicts.rules.watched_values import Sighting, ValueWatch, evaluated
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
        return _proven(bound, division, decision.method, "in every program", decision.solver_ns)
    symbols = [a for a in division.divisor.atoms() if isinstance(a, Symbol)]
    unrecorded = bound.unrecorded(symbols)
    if unrecorded:
        return _unknown(bound, division, depends_on(unrecorded))
    if isinstance(decision, Refuted) and is_exact and not bound.doubts(decision.model):
        zero = _first_zero(bound, division, bound.program_of(decision.model))
        if isinstance(zero, Sighting):
            return _violation(bound, division, zero, decision.method, decision.solver_ns)
    return _by_evaluation(bound, division)


def _is_exact(bound: BoundCall, division: Division) -> bool:
    """Return whether the kernel computes the formula's divisor, as no integer wraps around."""
    low, high = signed_range(integer_bits(division.op.operand("right").type) or 64)
    smallest, largest = bound.ranges.interval(division.divisor)
    return low <= smallest and largest <= high and bound.may_wrap(division) is None


def _by_evaluation(bound: BoundCall, division: Division) -> Verdict:
    """Return the verdict from an evaluation of all programs, unknown if over the budget."""
    if bound.lanes > bound.budget.lanes:
        return _unknown(bound, division, "no formula decides it, and the grid is too large to run")
    zero = _first_zero(bound, division, None)
    if isinstance(zero, Sighting):
        return _violation(bound, division, zero, "evaluated")
    if zero is None:
        return _proven(bound, division, "evaluated", "in every program")
    return _unknown(bound, division, zero)


def _first_zero(bound: BoundCall, division: Division, program: int | None) -> Sighting | str | None:
    """Return the first divisor of 0, None if there is none, or a reason if unknown."""
    op = division.op
    watch = ValueWatch(op, op.operand("right"), lambda numbers: numbers == 0)
    failure = evaluated(bound, watch, None if program is None else (program,))
    if watch.sighting is not None:
        return watch.sighting
    return failure or ("it depends on contents that were not recorded" if watch.hidden else None)


def _proven(
    bound: BoundCall, division: Division, method: str, scope: str, solver_ns: int = 0
) -> Verdict:
    text = operation_expression(division.op, bound.summary)
    message = f"the divisor of {text} is not zero for this call ({scope})"
    return Verdict(
        RULE, "proven", division.op, message, method, expression=text,
        solver_ns=solver_ns or None,
    )  # fmt: skip


def _unknown(bound: BoundCall, division: Division, reason: str) -> Verdict:
    text = operation_expression(division.op, bound.summary)
    message = f"whether the divisor of {text} is zero could not be decided: {reason}"
    return Verdict(RULE, "unknown", division.op, message, reason=reason, expression=text)


def _violation(
    bound: BoundCall, division: Division, zero: Sighting, method: str, solver_ns: int = 0
) -> Verdict:
    text = operation_expression(division.op, bound.summary)
    return Verdict(
        RULE,
        "violation",
        division.op,
        f"{text} divides by zero, which gives an undefined number",
        method,
        program=zero.program,
        iteration=zero.iteration,
        lane=zero.lane,
        expression=text,
        solver_ns=solver_ns or None,
    )
