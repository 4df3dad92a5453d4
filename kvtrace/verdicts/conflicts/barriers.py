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
    """The barriers of one call's programs."""

    def __init__(self, bound: BoundCall) -> None:
        self._bound = bound
        compiled = bound.call.compiled
        self._in_ptx = None if compiled is None else compiled.barriers
        self.several_blocks = (bound.call.ctas or 1) > 1

    @property
    def are_around_releases(self) -> bool | None:
        """Atomics that release or acquire are compiled with barriers; None: not known."""
        triton = version_numbers(self._bound.call.triton)
        if triton is None or self.several_blocks:
            return None
        return triton >= _BARRIERS_AROUND_RELEASES

    @cached_property
    def order(self) -> Order:
        """The paths between memory ops on which the kernel's source has no barrier."""
        return Order(
            self._bound.call.module,
            self._entered(),
            self._decided_branches(),
            barriers_hold=not self.several_blocks,
            releases_may_hold=self.are_around_releases is not False,
        )

    def separate(self, first: Op, second: Op) -> bool | None:
        """Return whether the PTX has a barrier on each path between two ops; None: no PTX."""
        if self._in_ptx is None:
            return None
        return self._in_ptx.separate(first, second, self.order.between(first, second))

    def hold_back(self, first: Op, second: Op) -> bool | None:
        """Return whether all threads have done the first op before any thread does the second.

        None: the code between the ops may or may not have a barrier.
        """
        separate = self.separate(first, second)
        if separate:
            return True
        paths = self.order.paths(first, second)
        if not paths:
            return True
        if self._bound.call.compiled is None:
            return None if all(path.doubtful for path in paths) else False
        # Of a loop or branch between, PTX has a way past that the program may not have.
        unclear = all(path.doubtful and path.nested for path in paths)
        return None if separate is None or unclear else False

    def _entered(self) -> frozenset[int]:
        """Return the indices of the loops that take at least one trip whenever they are reached."""
        trips = [(loop.op, loop.trips) for loop in self._bound.summary.loops]
        maybe_empty = {op.index for op, count in trips if self._bound.ranges.interval(count)[0] < 1}
        entered = {op for op, _ in trips if op.index not in maybe_empty}
        return frozenset(op.index for op in entered if has_ideal_trips(self._bound, op))

    def _decided_branches(self) -> Mapping[int, bool]:
        """Return the truth of the branch conditions that the call's numbers decide, by op index."""
        decided = {}
        for op in self._bound.call.module.ops:
            values = deciding(op) if op.name in BRANCHES else ()
            condition = self._bound.summary.values.get(values[0].id) if len(values) == 1 else None
            truth = (
                self._bound.ranges.truth(condition) if isinstance(condition, Condition) else None
            )
            if truth is not None and are_ideal(self._bound, values):
                decided[op.index] = truth
        return decided
