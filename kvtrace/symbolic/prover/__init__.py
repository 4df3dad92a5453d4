"""Prover of claims: a claim holds at all points of its symbols that satisfy the assumptions.

`prove(claim, given)` returns `Proven`, `Refuted` with a point where the claim fails, or `Unknown`
with the reason. `Given` has the assumptions and the `Ranges` of symbols, prepared once for many
claims. `procedure` decides by intervals (`intervals.py`), by multiples of forms (`linear.py`), and
by Z3 (`solver.py`), which is imported only if both fail. `digits` finds the variables that are
equal if two addresses are equal. Other packages import only this module and `digits`.
"""

from kvtrace.symbolic.prover.intervals import Ranges
from kvtrace.symbolic.prover.linear import interval
from kvtrace.symbolic.prover.procedure import (
    SOLVER_SECONDS,
    Decision,
    Given,
    Method,
    Point,
    Proven,
    Refuted,
    Unknown,
    follows,
    is_counterexample,
    prove,
    strongest,
)
from kvtrace.symbolic.prover.work import nominal_seconds
from kvtrace.symbolic.terms import Interval

__all__ = [
    "SOLVER_SECONDS",
    "Decision",
    "Given",
    "Interval",
    "Method",
    "Point",
    "Proven",
    "Ranges",
    "Refuted",
    "Unknown",
    "follows",
    "interval",
    "is_counterexample",
    "nominal_seconds",
    "prove",
    "strongest",
]
