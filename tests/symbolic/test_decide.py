"""Decisions against every point of small ranges."""

from hypothesis import HealthCheck, given, settings

from kvtrace.symbolic.decide import Proven, Refuted, decide
from kvtrace.symbolic.intervals import Ranges
from tests.symbolic.random_formulas import KNOWN, POINTS, conditions


def check(claim, assumed, budget):
    decision = decide(claim, assumed, Ranges(KNOWN), budget=budget)
    if isinstance(decision, Refuted):
        assert assumed.value(decision.model)
        assert not claim.value(decision.model)
    if isinstance(decision, Proven):
        broken = [p for p in POINTS if assumed.value(p) and not claim.value(p)]
        assert not broken, (decision, broken[0])
    return decision


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(conditions(), conditions())
def test_linear_reasoning_is_sound(claim, assumed):
    check(claim, assumed, 0)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(conditions(), conditions())
def test_solver_is_sound(claim, assumed):
    check(claim, assumed, 0.2)
