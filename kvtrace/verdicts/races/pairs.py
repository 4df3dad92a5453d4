"""Two accesses of a call, by two different programs: whether they can touch one byte unordered.

Between the two steps of `search.py` comes what programs may touch together without harm: numbers
that each draws for itself, one value that all write, and sections of one lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate import TensorArgument
from kvtrace.symbolic.terms import MOST_PROGRAMS, Symbol
from kvtrace.verdicts.races.data_behind import unrecorded
from kvtrace.verdicts.races.digits import Common
from kvtrace.verdicts.races.exclusion import Exclusion
from kvtrace.verdicts.races.outcomes import Free, Meeting, Open, Shown
from kvtrace.verdicts.races.own_stores import loads_its_own
from kvtrace.verdicts.races.parts import parts_of
from kvtrace.verdicts.races.releases import releases_of
from kvtrace.verdicts.races.replay import replayed
from kvtrace.verdicts.races.same_values import store_the_same
from kvtrace.verdicts.races.search import Actors, by_digits, searched
from kvtrace.verdicts.races.sharers import Sharer, pairs_of_one_storage, sharers_of

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

_AXES: Final = tuple(Symbol("program", axis, 0, MOST_PROGRAMS - 1) for axis in range(3))
_ORDERED: Final = "atomics may order the programs that meet here"
_LOCKS: Final = "all locks are open when the kernel starts"


class Pairs:
    """The accesses of one call that may race, and what becomes of each two of them."""

    def __init__(self, bound: BoundCall) -> None:
        self._bound = bound
        self._arguments = bound.call.arguments
        grid = bound.call.grid
        axes = tuple(axis for axis, extent in zip(_AXES, grid, strict=True) if extent > 1)
        self._actors = Actors(axes)
        self.sharers = sharers_of(bound)
        self._exclusion = Exclusion(bound.call.module, self.sharers, releases_of(bound))

    def clashing(self) -> Iterator[tuple[Sharer, Sharer]]:
        """Return each two sharers (or one) that race where they meet, the first one writing."""
        for one, other in pairs_of_one_storage(self.sharers):
            one_width = one.access.element_bytes == other.access.element_bytes
            if one.part.clashes(other.part, one_width=one_width):
                yield (one, other) if one.part.writes else (other, one)

    def outcome(self, one: Sharer, other: Sharer) -> Free | Shown | Open:
        """Tell whether two programs race that do these; two that seem to are run."""
        found = self.judged(one, other)
        if not isinstance(found, Meeting):
            return found
        bound, solver_ns = self._bound, found.solver_ns
        if parts_of(bound.call.module).synchronises:
            hidden = self._unrecorded_atomics()
            reason = f"{_ORDERED}, by {unrecorded(hidden)}" if hidden else _ORDERED
            return Open(reason, solver_ns=solver_ns)
        assert one.storage is not None
        ops, whole = (one.access.op, other.access.op), bound.lanes <= bound.budget.lanes
        witness = replayed(bound.call, ops, found.programs, one.storage, found.byte, whole=whole)
        if witness is None:
            reason = "a race that formulas show did not show when it was run"
            return Open(reason, solver_ns=solver_ns)
        return Shown(witness, found.method, solver_ns)

    def judged(self, one: Sharer, other: Sharer) -> Free | Meeting | Open:
        """Tell by formulas whether two programs race that do these."""
        found = by_digits(self._bound, one, other, self._actors)
        if not isinstance(found, Common):
            return found
        if self._exclusion.draws_numbers(one, other, found):
            return Free("affine", "each program draws its own numbers from a counter")
        if store_the_same(self._bound, one, other, found):
            return Free("affine", "all programs write the same value")
        if self._loads_its_own(one, other):
            why = "each program loads what it has itself stored, and all store the same there"
            return Free("affine", why, settled=True)
        if self._exclusion.takes_turns(one, other, found):
            return Free("affine", "a lock lets one program at a time do it", assumption=_LOCKS)
        return searched(self._bound, one, other, self._actors, found)

    def _loads_its_own(self, one: Sharer, other: Sharer) -> bool:
        """Whether one stores what all programs store, and the other loads it in each of them."""
        if other.part.writes or one.side is None:
            return False
        bound, common = self._bound, Common(one.side, one.side)
        alike = store_the_same(bound, one, one, common)
        return alike and loads_its_own(bound, one, other, self.sharers)

    def _unrecorded_atomics(self) -> tuple[str, ...]:
        """Return the tensors without contents through which programs may wait for each other."""
        waiting = (s.access.argument for s in self.sharers if s.part.acquires)
        tensors = (self._arguments[argument] for argument in waiting if argument is not None)
        names = {t.name for t in tensors if isinstance(t, TensorArgument) if t.storage.data is None}
        return tuple(sorted(names))
