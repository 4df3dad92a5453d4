"""Schedules of the programs that are run one by one: how they take turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.registry import Step
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.turns import Turns
from kvtrace.ir import Op

MOST_PROGRAMS: Final = 2048
"""Limit of programs that are run one by one."""
_CHANCE: Final = 0.5
"""The chance that a program lets others run, at each op where it may."""

Order = NDArray[np.int64]
"""Linear ids of all programs, in the order in which they begin."""


def orders_of(programs: int) -> tuple[Order, ...]:
    """Return three orders of programs: ascending, descending, and shuffled with a fixed seed."""
    ascending = np.arange(programs, dtype=np.int64)
    shuffled = np.random.default_rng(programs).permutation(programs).astype(np.int64)
    return ascending, ascending[::-1], shuffled


@dataclass(frozen=True)
class Schedule:
    """The order in which programs begin, and ops before which they let others run.

    Each does so until others wait; if some are `held`, only these, until no other can go on; with a
    `seed`, by chance.
    """

    order: Order
    aside_before: frozenset[int] = frozenset()
    held: Order | None = None
    seed: int | None = None

    @property
    def instrument(self) -> Scheduled | None:
        """The instrument of a run; None if no program lets others run unless it waits."""
        return Scheduled(self) if self.aside_before else None


class Scheduled(Instrument):
    """An instrument by which the programs of a run keep to a schedule."""

    def __init__(self, schedule: Schedule) -> None:
        super().__init__()
        self.schedule = schedule
        self._chance = np.random.default_rng(schedule.seed)
        self.takes_turns = schedule.seed is not None

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap the ops before which programs let others run."""
        if op.index not in self.schedule.aside_before:
            return step

        def waiting(values: list[Any], scope: Scope) -> None:
            if scope.launch.turns is not None:
                self._let_others_run(scope.launch.turns, int(scope.linear[0]))
            step(values, scope)

        return waiting

    def _let_others_run(self, turns: Turns, program: int) -> None:
        held = self.schedule.held
        if self.schedule.seed is not None:
            while self._chance.random() < _CHANCE:
                turns.step_aside()
        elif held is None or program in held:
            turns.step_aside(gives_up=held is not None)
