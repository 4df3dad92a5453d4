"""Work of a thread's proofs, in nominal seconds: a count of steps, equal however busy a machine is.

A budget of nominal seconds ends at the same claim everywhere, so that no verdict depends on load.
"""

import threading
from typing import Final

STEPS_A_SECOND: Final = 150_000
"""Steps (claims, propagated constraints, searched nodes) that take a second with what is around."""
SOLVER_STEPS_A_SECOND: Final = 2_000_000
"""Steps of Z3's own count (`rlimit`) in a second."""


class _Counted(threading.local):
    steps = 0.0


_counted: Final = _Counted()


def count(steps: float) -> None:
    """Add steps to the work of this thread."""
    _counted.steps += steps


def count_solver(steps: float) -> None:
    """Add steps of Z3's own count to the work of this thread."""
    _counted.steps += steps * STEPS_A_SECOND / SOLVER_STEPS_A_SECOND


def nominal_seconds() -> float:
    """Return the work of this thread so far."""
    return _counted.steps / STEPS_A_SECOND
