"""Orders of a call's programs for a run program by program: by id, backwards, shuffled.

Programs are renamed: the program whose turn it is reads the id that the order has for the turn.
Observers receive turns where they expect programs' ids.
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
"""Most programs that are run one by one."""

Order = NDArray[np.int64]
"""Linear ids of all programs by their turn."""


def orders_of(programs: int) -> tuple[Order, ...]:
    """Return the orders that are run: by id, backwards, and one shuffled."""
    ascending = np.arange(programs, dtype=np.int64)
    shuffled = np.random.default_rng(programs).permutation(programs).astype(np.int64)
    return ascending, ascending[::-1], shuffled


class Renamed(Instrument):
    """An instrument that gives each program the id that an order has for its turn."""

    def __init__(self, order: Order) -> None:
        super().__init__()
        self._order = order

    def wrapped(self, op: Op, step: Step) -> Step:
        """Replace the step of an op that reads a program id."""
        return self._renamed(op) if operator_of(op) == "program_id" else step

    def _renamed(self, op: Op) -> Step:
        axis, result = int(attribute(op, "axis")), op.results[0].id

        def renamed(values: list[Any], scope: Scope) -> None:
            (turn,) = scope.linear
            values[result] = constant_sum(program_at(self._order[turn], scope.launch.grid)[axis])

        return renamed


def run_in_order(call: Call, observers: Sequence[Observer], instrument: Renamed) -> str | None:
    """Evaluate a call program by program; return the reason if the run broke off, else None."""
    return run(call, observers, contents="all", instrument=instrument, one_by_one=True)
