"""What one memory op touches in one argument over the whole launch: sectors, distinct bytes, where.

Accesses without other conditions than a box of lanes are worked out from their formulas
(affine_footprint.py), all others on arrays. Of these, accesses that come again, as in a loop, with
only their constant changed are worked out once.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.observe import Access, AccessParts
from kvtrace.metrics.access_records import AccessRecords
from kvtrace.metrics.affine_footprint import AffineFigures, LaunchFigures, touched_by
from kvtrace.metrics.distinct import distinct
from kvtrace.metrics.fresh_bytes import Touched
from kvtrace.metrics.patterns import Patterns, Repeated, patterns_of
from kvtrace.metrics.sectors import GROUP_LANES, SECTOR_BYTES, sector_counts
from kvtrace.metrics.unique_bytes import (
    Repetition,
    TooManyRanges,
    joined,
    size_of_union,
    touched,
)
from kvtrace.recorded_calls.thread_layouts import BlockedLayout, lane_order

if TYPE_CHECKING:
    from kvtrace.evaluate.observe import AffineFormula

Integers = NDArray[np.int64]

MOST_LANES = 1 << 24
"""Lanes of distinct patterns that one access may materialise."""

MOST_WORK = 1 << 26
"""Lanes that one op of one call may materialise in all."""

MOST_RANGES = 1 << 22
"""Ranges of bytes that one op's distinct bytes may fall into."""

_SCATTERED = "the bytes that it touches lie too scattered to count each"

_OPEN = 16
"""Repeating accesses that are kept open at once."""

_LARGE = 1 << 18
"""Elements from which on a repeating access is kept open alone."""

_PENDING = 256
"""Sets of distinct bytes that wait to be joined."""


class Footprint:
    """Collects the accesses of one op to one argument.

    `layout`: how the op's lanes were given to threads, None if that is not known; `launch`: what is
    known of the launch's other ops.
    `unknown` says why the figures cannot be given exactly, `limit` if kvtrace's limit is why.
    """

    def __init__(
        self,
        element_bytes: int,
        layout: BlockedLayout | None = None,
        launch: LaunchFigures | None = None,
    ) -> None:
        self.element_bytes = element_bytes
        self._layout = layout
        self._launch = launch or LaunchFigures()
        self.unknown: str | None = None
        self.limit: str | None = None
        self._records = AccessRecords()
        self._sectors = 0
        self._open: dict[Any, Repeated] = {}
        self._latest: Repeated | None = None
        self._sets: list[Repetition] = []
        self._work = 0
        self._waiting: list[Access] | None = []
        self._affine: AffineFigures | None = None
        self._rows: tuple[list[dict[str, Any]], str | None] | None = None

    def add(self, access: Access) -> None:
        """Take in a batch of programs, in one trip or in all that a formula is over."""
        if self.unknown is not None or access.executions == 0 or access.active == 0:
            return
        self._rows = None
        formula = access.formula
        if formula is not None and not formula.conditions and self._waiting is not None:
            self._waiting.append(access)
            self._affine = None
            return
        self._take_waiting()
        if not access.certain or access.active is None:
            self._give_up(access.reason or "its address could not be derived")
        elif access.parts is not None:
            self._take(access.parts, [access.parts.constant], [_uniform(access.parts.iteration)])
        elif access.formula is not None and access.each_trip is not None:
            self._add_formula(access.formula, access.each_trip)
        else:
            self._give_up(access.reason or "its address could not be derived")

    def _take_waiting(self) -> None:
        """Take in what seemed to have a closed form: it has not, or not with what follows."""
        waiting, self._waiting, self._affine = self._waiting, None, None
        for access in waiting or ():
            self.add(access)

    def _add_formula(
        self, formula: "AffineFormula", each_trip: Callable[[], Iterable[Access]]
    ) -> None:
        """Take in all trips at once where they differ in nothing but the constant."""
        trips = [axis for axis in formula.axes if axis.kind == "trip"]
        if {axis.number for axis in trips} & _decisive(formula):
            for access in each_trip():
                self.add(access)
            return
        parts = next(iter(each_trip())).parts
        if parts is None:
            self._give_up("its address could not be derived")
            return
        moves: Integers = np.zeros(1, np.int64)
        for axis in trips:
            steps = np.arange(axis.last - axis.first + 1, dtype=np.int64) * axis.step
            moves = (moves[:, None] + steps).reshape(-1)
        innermost = np.arange(trips[-1].first, trips[-1].last + 1) if trips else np.zeros(1)
        iterations = np.tile(innermost.astype(np.int64), len(moves) // len(innermost))
        self._take(parts, (moves + parts.constant).tolist(), iterations.tolist())

    def _take(
        self, parts: AccessParts, constants: list[int], iterations: Sequence[int | None]
    ) -> None:
        """Take in accesses that differ only in their constant."""
        repeated = self._repeated(parts)
        if repeated is None:
            self._exceed("it touches too many different lanes to count each")
            return
        repeated.constants += constants
        repeated.iterations += iterations
        shifts = (np.array(constants, np.int64) + parts.origin_bytes) % SECTOR_BYTES
        for shift, count in zip(*np.unique(shifts, return_counts=True), strict=True):
            if int(shift) not in repeated.sectors:
                repeated.sectors[int(shift)] = self._sectors_of(repeated.patterns, int(shift))
            self._sectors += repeated.sectors[int(shift)] * int(count)

    def _sectors_of(self, patterns: Patterns, shift: int) -> int:
        """Sum over programs: those of one pattern and one position in a sector count the same."""
        lanes, active, width = patterns.lanes, patterns.active, GROUP_LANES
        order = None
        if self._layout is not None:
            order = lane_order(self._layout, patterns.block, self.element_bytes)
        if order is not None:
            lanes, width = lanes[:, order.lanes], order.width
            active = None if active is None else active[:, order.lanes]
        phases = (patterns.bases + shift) % SECTOR_BYTES
        total = 0
        for phase in distinct(phases).tolist():
            programs = np.bincount(patterns.which[phases == phase], minlength=patterns.size)
            present = np.flatnonzero(programs)
            chosen = None if active is None else active[present]
            counts = sector_counts(lanes[present], chosen, phase, self.element_bytes, width)
            total += int((counts * programs[present]).sum())
        return total

    def finish(self) -> None:
        """Close what is open; figures are whole from then on."""
        if self._affine is not None:
            return
        if self._waiting:
            formulas = [access.formula for access in self._waiting if access.formula is not None]
            self._affine = self._launch.of(formulas, self.element_bytes, self._layout)
            if self._affine is not None:
                return
            self._take_waiting()
        for repeated in self._open.values():
            self._close(repeated)
        self._open = {}
        self._latest = None

    @property
    def sectors(self) -> int | None:
        """Sectors touched by each group of lanes, over all groups; None if not known."""
        if self._affine is not None:
            return self._affine.sectors
        return None if self.unknown is not None else self._sectors

    def record_rows(self) -> tuple[list[dict[str, Any]], str | None]:
        """Return the rows of `accesses`, and a text of what they leave out (None: nothing)."""
        if self._affine is not None:
            return self._affine.rows, self._affine.left_out
        if self._rows is None:
            self._rows = self._records.rows()
        return self._rows

    def unique_bytes(self) -> int | None:
        """Return the distinct bytes of all accesses; None if not known."""
        if self._affine is not None:
            return self._affine.unique_bytes
        if self.unknown is not None:
            return None
        try:
            return size_of_union(self._sets, MOST_RANGES)
        except TooManyRanges:
            self._exceed(_SCATTERED)
            return None

    def touched(self, origin_bytes: int) -> Touched | None:
        """Return the bytes of all accesses in the storage, where the data begin at `origin_bytes`.

        None if they are not known.
        """
        size = self.unique_bytes()
        if size is None:
            return None
        if self._affine is None:
            return Touched(size, tuple(each.shifted(origin_bytes) for each in self._sets))
        formulas = [a.formula for a in self._waiting or () if a.formula is not None]
        return touched_by(formulas, self.element_bytes, origin_bytes, size)

    def _repeated(self, parts: AccessParts) -> Repeated | None:
        latest = self._latest
        if latest is not None and _are_the_same(latest.parts, parts):
            return latest
        key = _content(parts)
        found = self._open.get(key)
        if found is None:
            patterns = patterns_of(parts, MOST_LANES)
            if patterns is None:
                return None
            self._work += patterns.lanes.size
            if self._work > MOST_WORK:
                return None
            self._make_room(parts, patterns)
            found = self._open[key] = Repeated(parts, patterns)
        self._latest = found
        return found

    def _make_room(self, parts: AccessParts, patterns: Patterns) -> None:
        """Close the oldest, or all where the new one is large: open ones hold their arrays."""
        large = patterns.lanes.size + sum(term.size for term in parts.terms) > _LARGE
        while self._open and (large or len(self._open) >= _OPEN):
            self._close(self._open.pop(next(iter(self._open))))

    def _close(self, repeated: Repeated) -> None:
        if self.unknown is not None:
            return
        self._records.add(repeated)
        constants = np.array(repeated.constants, np.int64)
        try:
            self._sets += touched(repeated.patterns, constants, self.element_bytes, MOST_RANGES)
            if len(self._sets) >= _PENDING:
                self._sets = [Repetition(joined([s.listed(MOST_RANGES) for s in self._sets]))]
        except TooManyRanges:
            self._exceed(_SCATTERED)

    def _exceed(self, limit: str) -> None:
        self.limit = f"sectors and unique bytes are null: {limit}"
        self._give_up(limit)

    def _give_up(self, reason: str) -> None:
        self.unknown = reason
        self._sets = []


def _decisive(formula: "AffineFormula") -> set[int]:
    """Numbers of the axes that say which lanes are active."""
    return {number for _, factors in formula.conditions for number, _ in factors}


def _are_the_same(first: AccessParts, second: AccessParts) -> bool:
    """Whether all but the constant is the very same objects."""
    return (
        first.block == second.block
        and first.terms is second.terms
        and first.programs is second.programs
        and len(first.factors) == len(second.factors)
        and all(a is b for a, b in zip(first.factors, second.factors, strict=True))
    )


def _content(parts: AccessParts) -> Any:
    return (
        parts.block,
        _array_content(parts.programs),
        tuple(_array_content(term) for term in parts.terms),
        tuple(_array_content(factor) for factor in parts.factors),
    )


def _array_content(array: NDArray[Any]) -> tuple[tuple[int, ...], bytes]:
    return array.shape, array.tobytes()


def _uniform(iteration: int | NDArray[np.int64]) -> int | None:
    """Return the trip that all programs are in, None if they are in different ones."""
    if not isinstance(iteration, np.ndarray):
        return int(iteration)
    return int(iteration.flat[0]) if (iteration == iteration.flat[0]).all() else None
