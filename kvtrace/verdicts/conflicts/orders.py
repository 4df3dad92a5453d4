"""Orders in which the programs of a call are run one by one: ascending, descending, shuffled.

The program that runs as number `turn` reads the id `order[turn]` as its own.
Observers receive the turn in place of the program's id.
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
"""Limit of programs that are run one by one."""

Order = NDArray[np.int64]
"""Linear ids of all programs, in the order in which they run."""


def orders_of(programs: int) -> tuple[Order, ...]:
    """Return three orders of programs: ascending, descending, and shuffled with a fixed seed."""
    ascending = np.arange(programs, dtype=np.int64)
    shuffled = np.random.default_rng(programs).permutation(programs).astype(np.int64)
    return ascending, ascending[::-1], shuffled


class ProgramRenaming(Instrument):
    """An instrument by which each program reads the id that an order has for its turn."""

    def __init__(self, order: Order) -> None:
        super().__init__()
        self._order = order

    def wrapped(self, op: Op, step: Step) -> Step:
        """Replace the step of a program_id op; return other steps unchanged."""
        return self._reading_order(op) if operator_of(op) == "program_id" else step

    def _reading_order(self, op: Op) -> Step:
        axis, result = int(attribute(op, "axis")), op.results[0].id

        def renamed(values: list[Any], scope: Scope) -> None:
            (turn,) = scope.linear
            values[result] = constant_sum(program_at(self._order[turn], scope.launch.grid)[axis])

        return renamed


def run_in_order(
    call: Call, observers: Sequence[Observer], instrument: ProgramRenaming
) -> str | None:
    """Evaluate a call one program at a time; return the reason if it ended early, else None."""
    return run(call, observers, contents="all", instrument=instrument, one_by_one=True)
