"""The prover: whether a claim holds wherever what is given does, for all values of its symbols.

`prove(claim, given)` answers `Proven`, `Refuted` with a point where the claim fails, or `Unknown`
with the reason. `Given` has what may be assumed and the `Ranges` of symbols, prepared once for many
claims. `digits` answers what two addresses that are equal have in common. Nothing else of the room
is imported from outside: `procedure` decides, by intervals (`intervals.py`), by multiples of forms
(`linear.py`), and by Z3 (`solver.py`), which is imported once these two have failed.
"""

from kvtrace.symbolic.prover.intervals import Ranges
from kvtrace.symbolic.prover.linear import Interval, Linear, Variable
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

__all__ = [
    "SOLVER_SECONDS",
    "Decision",
    "Given",
    "Interval",
    "Linear",
    "Method",
    "Point",
    "Proven",
    "Ranges",
    "Refuted",
    "Unknown",
    "Variable",
    "follows",
    "is_counterexample",
    "prove",
    "strongest",
]
