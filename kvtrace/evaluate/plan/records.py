"""Records of a launch's plan: regions, and each region's blocks, accesses and loops.

This module imports no planning module, so that a cached plan can run without them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kvtrace.evaluate.plan.affine import Affine, Interval, plus, times

if TYPE_CHECKING:
    from kvtrace.evaluate.observe import Access, AccessKind
    from kvtrace.evaluate.plan.execute import Executable
    from kvtrace.evaluate.plan.instructions import Instruction
    from kvtrace.ir import Block, Op


@dataclass(frozen=True)
class Region:
    """A part of the grid, described by program symbols and their ranges.

    `order` lists the symbols, slowest first; `ids` are the three program ids as affine forms of
    them.
    """

    grid: tuple[int, int, int]
    ranges: dict[int, Interval]
    order: tuple[int, ...]
    ids: tuple[Affine, Affine, Affine]

    @property
    def programs(self) -> int:
        """The number of programs in the region."""
        return math.prod(last - first + 1 for first, last in self.ranges.values())

    @property
    def linear(self) -> Affine:
        """The linear program id (x fastest) as an affine form."""
        x, y, z = self.ids
        width, height, _ = self.grid
        return plus(plus(x, times(y, width)), times(z, width * height))

    @property
    def axes(self) -> tuple[int, ...]:
        """The symbols that are axes of arrays: those with several values, or else the fastest."""
        varying = tuple(s for s in self.order if self.ranges[s][0] != self.ranges[s][1])
        return varying or self.order[-1:]


@dataclass(frozen=True, eq=False)
class AccessRecord:
    """A memory op over a region and the trips of the loops around it, as one formula.

    `form` counts bytes from the data pointer. `lanes` are the ranges of active lanes, None if there
    are none; `conditions` are the mask's further conditions (all >= 0). `trips` are the symbols of
    the loops around it, innermost last, with their ranges.
    """

    op: Op
    kind: AccessKind
    argument: int
    form: Affine
    shape: tuple[int, ...]
    lanes: tuple[Interval, ...] | None
    conditions: tuple[Affine, ...]
    element_bytes: int
    region: Region
    trips: tuple[tuple[int, Interval], ...]
    extremes: Interval

    @property
    def executions(self) -> int:
        """Runs of the op: programs times trips."""
        trips = math.prod(last - first + 1 for _, (first, last) in self.trips)
        return self.region.programs * trips


@dataclass(frozen=True, eq=False)
class LoopRecord:
    """A loop that was executed `executions` times, with `trips` trips each time."""

    op: Op
    trips: int
    executions: int


@dataclass(frozen=True, eq=False)
class RegionPlan:
    """The instructions of a region, and its accesses, loops and executed blocks.

    `executed` are blocks with their numbers of executions. A plan from the cache has no
    `instructions`.
    """

    region: Region
    instructions: list[Instruction]
    accesses: tuple[AccessRecord, ...]
    loops: tuple[LoopRecord, ...]
    executed: tuple[tuple[Block, int], ...]


@dataclass(eq=False)
class LaunchPlan:
    """All regions of a launch, or a `refusal` that says why there is no plan.

    `runs` is False if running the plan would have no effect; else `executables` is the code, region
    by region. `offsets` has the byte offset of each tensor argument in its storage. `accesses` are
    created when an observer first needs them. The programs `unplanned` (linear ids, ascending;
    `why_unplanned` says why) run by array evaluation.
    """

    regions: list[RegionPlan]
    offsets: dict[int, int]
    runs: bool
    refusal: str | None = None
    unplanned: tuple[int, ...] = ()
    why_unplanned: str | None = None
    executables: list[Executable] = field(default_factory=list)
    accesses: list[Access] | None = None
