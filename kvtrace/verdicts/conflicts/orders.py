"""Other orders of a call's programs than that of their ids, for a run program by program.

Programs get other ids: the one whose turn it is gets the id that the order has there. Observers
observe turns, where they expect programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Observer
from kvtrace.evaluate.compiler import attribute
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.registry import Step
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.values import constant_sum
from kvtrace.ir import Op
from kvtrace.ir.ops import operator_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.replaying import program_at, run

MOST_PROGRAMS: Final = 2048
"""Programs that are run one by one."""

Order = NDArray[np.int64]
"""Linear ids of all programs by their turn."""


def orders_of(programs: int) -> tuple[Order, ...]:
    """Return the orders that are tried: by id, backwards, and one that is shuffled."""
    ascending = np.arange(programs, dtype=np.int64)
    shuffled = np.random.default_rng(programs).permutation(programs).astype(np.int64)
    return ascending, ascending[::-1], shuffled


class Renamed(Instrument):
    """Returns programs the ids that an order says."""

    def __init__(self, order: Order) -> None:
        super().__init__()
        self._order = order

    def wrapped(self, op: Op, step: Step) -> Step:
        """Take the place of program ids."""
        return self._renamed(op) if operator_of(op) == "program_id" else step

    def _renamed(self, op: Op) -> Step:
        axis, result = int(attribute(op, "axis")), op.results[0].id

        def renamed(values: list[Any], scope: Scope) -> None:
            (turn,) = scope.linear
            values[result] = constant_sum(program_at(self._order[turn], scope.launch.grid)[axis])

        return renamed


def run_in_order(call: Call, observers: Sequence[Observer], instrument: Renamed) -> str | None:
    """Evaluate a call program by program; return the reason if the end was not reached."""
    return run(call, observers, contents="all", instrument=instrument, one_by_one=True)
