"""Barriers between two memory ops of a program, read from its TTIR and from the PTX made of it.

A barrier in the kernel's source (`tl.debug_barrier`) holds the threads of one CTA. In a program
that was compiled to several CTAs (num_ctas) the threads of the other CTAs continue.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kvtrace.ir import Op
from kvtrace.ir.columns import version_numbers
from kvtrace.ir.flow import deciding
from kvtrace.ir.ops import BRANCHES
from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.conditions import Condition
from kvtrace.verdicts.conflicts.order import Order
from kvtrace.verdicts.ideal_trips import are_ideal, has_ideal_trips

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

#: From this version on Triton compiles a barrier before a release and behind an acquire (its PTX).
_BARRIERS_AROUND_RELEASES: Final = (3, 9)


class Barriers:
    """The barriers between memory ops of one call, in its TTIR and PTX."""

    def __init__(self, bound: BoundCall) -> None:
        self._bound = bound
        compiled = bound.call.compiled
        self._in_ptx = None if compiled is None else compiled.barriers
        self.several_blocks = (bound.call.ctas or 1) > 1

    @property
    def are_around_releases(self) -> bool | None:
        """Whether atomics that release or acquire are compiled with barriers; None: unknown."""
        triton = version_numbers(self._bound.call.triton)
        if triton is None or self.several_blocks:
            return None
        return triton >= _BARRIERS_AROUND_RELEASES

    @cached_property
    def order(self) -> Order:
        """The paths between memory ops on which the TTIR has no barrier."""
        return Order(
            self._bound.call.module,
            self._loops_with_trips(),
            self._known_conditions(),
            barriers_hold=not self.several_blocks,
            releases_may_hold=self.are_around_releases is not False,
        )

    def separate(self, first: Op, second: Op) -> bool | None:
        """Return whether the PTX has a barrier on each path between two ops; None without PTX."""
        if self._in_ptx is None:
            return None
        return self._in_ptx.separate(first, second, self.order.between(first, second))

    def hold_back(self, first: Op, second: Op) -> bool | None:
        """Return whether every thread does the first op before any thread does the second.

        None: the code between the ops may or may not have a barrier.
        """
        is_separated = self.separate(first, second)
        if is_separated:
            return True
        paths = self.order.paths(first, second)
        if not paths:
            return True
        if self._bound.call.compiled is None:
            return None if all(path.is_doubtful for path in paths) else False
        # PTX has a path around a nested loop or branch that the program may never take.
        may_be_skipped = all(path.is_doubtful and path.nested for path in paths)
        return None if is_separated is None or may_be_skipped else False

    def _loops_with_trips(self) -> frozenset[int]:
        """Return the indices of the loops that take at least one trip whenever they are reached."""
        loop_trips = [(loop.op, loop.trips) for loop in self._bound.summary.loops]
        maybe_empty = {
            op.index
            for op, trip_count in loop_trips
            if self._bound.ranges.interval(trip_count)[0] < 1
        }
        with_trips = {op for op, _ in loop_trips if op.index not in maybe_empty}
        return frozenset(op.index for op in with_trips if has_ideal_trips(self._bound, op))

    def _known_conditions(self) -> Mapping[int, bool]:
        """Return the truth of branch conditions that the call's numbers decide, by op index."""
        truths = {}
        for op in self._bound.call.module.ops:
            values = deciding(op) if op.name in BRANCHES else ()
            condition = self._bound.summary.values.get(values[0].id) if len(values) == 1 else None
            truth = (
                self._bound.ranges.truth(condition) if isinstance(condition, Condition) else None
            )
            if truth is not None and are_ideal(self._bound, values):
                truths[op.index] = truth
        return truths
