"""Launches under evaluation, and scopes: the programs that run a step, and with what certainty."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.evaluate.errors import TooLarge
from kvtrace.evaluate.observe import LaneRanges, Observer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtrace.evaluate.arguments import Argument
    from kvtrace.evaluate.memory import Memory
    from kvtrace.evaluate.shared_memory import SharedMemory
    from kvtrace.evaluate.turns import Turns


MOST_STEPS: Final = 1 << 22
"""The step limit of the evaluation of a recorded call: mostly some minutes."""


@dataclass(eq=False)
class Launch:
    """State that all programs of one evaluation share."""

    kernel: str
    grid: tuple[int, int, int]
    arguments: tuple[Argument, ...]
    observers: Sequence[Observer]
    memory: Memory = field(init=False)
    shared: SharedMemory = field(init=False)
    in_order: bool = False
    turns: Turns | None = None
    steps: float = math.inf
    """The number of steps that remain; see `spend`."""
    programs_a_step: float = math.inf
    """The number of programs at once for which an op counts as one step."""
    latest_ranges: dict[Any, tuple[LaneRanges, Any, Any]] = field(default_factory=dict)
    """Ranges of the latest accesses that were observed; see requests.py."""
    op_observers: tuple[Observer, ...] = field(init=False)
    access_observers: tuple[Observer, ...] = field(init=False)
    defect_observers: tuple[Observer, ...] = field(init=False)
    loop_observers: tuple[Observer, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.op_observers = listeners(self.observers, "op")
        self.access_observers = listeners(self.observers, "access")
        self.defect_observers = listeners(self.observers, "out_of_bounds")
        self.loop_observers = listeners(self.observers, "loop")

    def spend(self, steps: int, programs: int) -> None:
        """Subtract the cost of steps from `steps`; TooLarge if too few remain."""
        self.steps -= self.afford(steps, programs)

    def afford(self, steps: int, programs: int) -> int:
        """Return the cost of steps for so many programs; TooLarge if too few remain."""
        cost = steps * (1 + int(programs / self.programs_a_step))
        if cost > self.steps:
            raise TooLarge(
                f"evaluating kernel {self.kernel!r} over its grid {self.grid} needs more than "
                f"{MOST_STEPS:,} steps, the limit for a recorded call; replay a smaller launch"
            )
        return cost


def listeners(observers: Sequence[Observer], event: str) -> tuple[Observer, ...]:
    """Return the observers that override the method `event`; others are not called for it."""
    return tuple(
        observer
        for observer in observers
        if getattr(type(observer), event) is not getattr(Observer, event)
    )


class Scope(Struct, eq=False):
    """The programs that run a step: linear ids (x fastest), and whether they certainly run it.

    `reason` says why not. `iteration` is the trip of the innermost loop.
    """

    launch: Launch
    linear: NDArray[np.int64]
    certain: bool = True
    reason: str = ""
    iteration: int = 0

    @property
    def programs(self) -> int:
        """The number of active programs."""
        return len(self.linear)

    def program(self, row: int) -> tuple[int, int, int]:
        """Return the index along x, y and z of the program in a row."""
        return program_at(int(self.linear[row]), self.launch.grid)

    def axis(self, axis: int) -> NDArray[np.int32]:
        """Return each program's id along one axis of the grid (0 to 2)."""
        x, y, _ = self.launch.grid
        if axis == 0:
            return (self.linear % x).astype(np.int32)
        if axis == 1:
            return (self.linear // x % y).astype(np.int32)
        return (self.linear // (x * y)).astype(np.int32)

    def restricted(self, index: NDArray[Any]) -> Scope:
        """Return the scope of the programs at `index`."""
        return Scope(self.launch, self.linear[index], self.certain, self.reason, self.iteration)

    def doubtful(self, reason: str) -> Scope:
        """Return a scope of the same programs that may not run, for the first reason."""
        first_reason = self.reason or reason
        return Scope(self.launch, self.linear, False, first_reason, self.iteration)

    def at_iteration(self, iteration: int) -> Scope:
        """Return a scope of the same programs in another trip of the innermost loop."""
        return Scope(self.launch, self.linear, self.certain, self.reason, iteration)


def linear_program(program: tuple[int, int, int], grid: tuple[int, int, int]) -> int:
    """Return the linear id (x fastest) of a program."""
    return program[0] + grid[0] * (program[1] + grid[1] * program[2])


def program_at(linear: int, grid: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return the index along x, y and z of a program with a linear id (x fastest)."""
    x, y, _ = grid
    return int(linear) % x, int(linear) // x % y, int(linear) // (x * y)
