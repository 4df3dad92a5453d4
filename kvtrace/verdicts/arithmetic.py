"""Whether integer arithmetic of a kernel stays within its width."""

from __future__ import annotations

from kvtrace.symbolic.conditions import Condition, at_least, conjunction
from kvtrace.symbolic.decide import Given, proves_at_least
from kvtrace.symbolic.linear import constant
from kvtrace.symbolic.summary import Arithmetic
from kvtrace.symbolic.terms import signed_range


def fits(arithmetic: Arithmetic, given: Given) -> bool:
    """Prove without a solver that a result stays within its width wherever `given` holds."""
    low, high = signed_range(arithmetic.bits)
    form = given.ranges.form(arithmetic.result)
    below, above = form.shifted(-low), constant(high) - form
    return all(proves_at_least(goal, given) is not None for goal in (below, above))


def within_width(arithmetic: Arithmetic) -> Condition:
    """Claim that a result stays within its width."""
    low, high = signed_range(arithmetic.bits)
    result = arithmetic.result
    return conjunction((at_least(result, low), at_least(high - result)))
