"""Counts of one memory op's sectors and bytes in one argument, on arrays of programs and lanes.

They are for accesses whose masks or addresses are not affine, as in a gather. Accesses that are
repeated with only another constant, as in a loop, are counted once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.observe import Access, AccessParts, AffineFormula
from kvtrace.metrics.access_records import AccessRecords, OpenAccesses, lanes_of_pattern, pieces
from kvtrace.metrics.fresh_bytes import TouchedBytes
from kvtrace.metrics.patterns import Patterns, patterns_of
from kvtrace.metrics.sectors import SECTOR_BYTES, sectors_of_patterns
from kvtrace.metrics.unique_bytes import (
    Repetition,
    TooManyRanges,
    joined,
    size_of_union,
    touched,
)
from kvtrace.recorded_calls.thread_layouts import BlockedLayout

Integers = NDArray[np.int64]

MOST_LANES = 1 << 24
"""The most lanes of an access's distinct patterns that are computed."""

MOST_WORK = 1 << 26
"""The most lanes of one op of one call that are computed in all."""

MOST_RANGES = 1 << 22
"""The most ranges of one op's distinct bytes."""

_SCATTERED = "the bytes that the op touches are too scattered to count each"
_UNDERIVED = "the address could not be derived"

_PENDING = 256
"""The number of sets of distinct bytes at which they are joined."""


@dataclass(eq=False)
class _RepeatedAccess:
    """Patterns that are accessed with one or more constants, mostly in trips of loops.

    `constants` and `iterations` have an entry for each access; an iteration is -1 if programs were
    in different ones. `sectors` are the counts so far, by the constant modulo a sector.
    """

    parts: AccessParts
    patterns: Patterns
    constants: list[int] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    sectors: dict[int, int] = field(default_factory=dict)


class ArrayCount:
    """The accesses of one op to one argument; all figures are complete after `close`.

    `unknown` says why the figures are not known, `limit` whether a limit of kvtrace is the reason.
    """

    def __init__(self, element_bytes: int, layout: BlockedLayout | None) -> None:
        self.unknown: str | None = None
        self.limit: str | None = None
        self._element_bytes = element_bytes
        self._layout = layout
        self._records = AccessRecords()
        self._rows: tuple[list[dict[str, Any]], str | None] | None = None
        self._sectors = 0
        self._open: OpenAccesses[_RepeatedAccess] = OpenAccesses()
        self._latest: _RepeatedAccess | None = None
        self._sets: list[Repetition] = []
        self._work = 0

    def add(self, access: Access) -> None:
        """Add a batch of programs, in one trip or in all trips of a formula."""
        if self.unknown is not None:
            return
        self._rows = None
        if not access.certain or access.active is None:
            self._give_up(access.reason or _UNDERIVED)
        elif access.parts is not None:
            self._add_repeated(
                access.parts, [access.parts.constant], [_uniform(access.parts.iteration)]
            )
        elif access.formula is not None and access.each_trip is not None:
            self._add_trips(access, access.formula)
        else:
            self._give_up(access.reason or _UNDERIVED)

    def _add_trips(self, access: Access, formula: AffineFormula) -> None:
        """Add all trips at once if they differ only in the constant."""
        each_trip = access.each_trip
        assert each_trip is not None
        axes = [axis for axis in formula.axes if axis.kind == "trip"]
        if {axis.number for axis in axes} & _decisive(formula):
            for trip in each_trip():
                if trip.executions and trip.active != 0:
                    self.add(trip)
            return
        parts = next(iter(each_trip())).parts
        if parts is None:
            self._give_up(_UNDERIVED)
            return
        moves: Integers = np.zeros(1, np.int64)
        for axis in axes:
            steps = np.arange(axis.last - axis.first + 1, dtype=np.int64) * axis.step
            moves = (moves[:, None] + steps).reshape(-1)
        innermost = np.arange(axes[-1].first, axes[-1].last + 1) if axes else np.zeros(1)
        iterations = np.tile(innermost.astype(np.int64), len(moves) // len(innermost))
        self._add_repeated(parts, (moves + parts.constant).tolist(), iterations.tolist())

    def _add_repeated(
        self, parts: AccessParts, constants: list[int], iterations: Sequence[int]
    ) -> None:
        """Add accesses that differ only in their constant."""
        repeated = self._repeated(parts)
        if repeated is None:
            self._exceed("the op touches too many different lanes to count each")
            return
        repeated.constants += constants
        repeated.iterations += iterations
        shifts = (np.array(constants, np.int64) + parts.origin_bytes) % SECTOR_BYTES
        for shift, count in zip(*np.unique(shifts, return_counts=True), strict=True):
            if int(shift) not in repeated.sectors:
                repeated.sectors[int(shift)] = sectors_of_patterns(
                    repeated.patterns, int(shift), self._element_bytes, self._layout
                )
            self._sectors += repeated.sectors[int(shift)] * int(count)

    def _repeated(self, parts: AccessParts) -> _RepeatedAccess | None:
        latest = self._latest
        if latest is not None and _are_the_same(latest.parts, parts):
            return latest
        key = _content(parts)
        repeated = self._open.find(key)
        if repeated is None:
            patterns = patterns_of(parts, MOST_LANES)
            if patterns is None:
                return None
            self._work += patterns.lanes.size
            if self._work > MOST_WORK:
                return None
            repeated = _RepeatedAccess(parts, patterns)
            elements = patterns.lanes.size + sum(term.size for term in parts.terms)
            for finished in self._open.keep(key, repeated, elements):
                self._count(finished)
        self._latest = repeated
        return repeated

    def close(self) -> None:
        """Count all open accesses."""
        for repeated in self._open.close():
            self._count(repeated)
        self._latest = None

    def _count(self, repeated: _RepeatedAccess) -> None:
        """Count the bytes of accesses that will not be repeated, and describe the accesses."""
        if self.unknown is not None:
            return
        patterns = repeated.patterns
        constants = np.array(repeated.constants, np.int64)
        programs = []
        for number in range(patterns.size):
            lanes = lanes_of_pattern(patterns, number)
            if lanes is not None:
                programs_of_pattern = np.flatnonzero(patterns.which == number)
                bases = np.stack(
                    [patterns.programs[programs_of_pattern], patterns.bases[programs_of_pattern]],
                    axis=1,
                )
                programs += [(several, lanes) for several in pieces(bases)]
        moments = pieces(np.stack([np.array(repeated.iterations, np.int64), constants], axis=1))
        self._records.add(len(patterns.programs) * len(constants), programs, moments)
        try:
            self._sets += touched(patterns, constants, self._element_bytes, MOST_RANGES)
            if len(self._sets) >= _PENDING:
                self._sets = [Repetition(joined([s.listed(MOST_RANGES) for s in self._sets]))]
        except TooManyRanges:
            self._exceed(_SCATTERED)

    @property
    def sectors(self) -> int | None:
        """Sectors touched by each group of lanes, over all groups; None if not known."""
        return None if self.unknown is not None else self._sectors

    @property
    def records(self) -> tuple[list[dict[str, Any]], str | None]:
        """The rows of `accesses`, and a text of what they leave out (None: nothing)."""
        if self._rows is None:
            self._rows = self._records.rows()
        return self._rows

    def unique_bytes(self) -> int | None:
        """Return the number of distinct bytes of all accesses; None if not known."""
        if self.unknown is not None:
            return None
        try:
            return size_of_union(self._sets, MOST_RANGES)
        except TooManyRanges:
            self._exceed(_SCATTERED)
            return None

    def touched(self, origin_bytes: int) -> TouchedBytes | None:
        """Return the bytes in the storage if known; the tensor begins at `origin_bytes`."""
        size = self.unique_bytes()
        if size is None:
            return None
        return TouchedBytes(size, tuple(part.shifted(origin_bytes) for part in self._sets))

    def _exceed(self, limit: str) -> None:
        self.limit = f"sectors and unique bytes are null: {limit}"
        self._give_up(limit)

    def _give_up(self, reason: str) -> None:
        self.unknown = reason
        self._sets = []


def _decisive(formula: AffineFormula) -> set[int]:
    """Return the numbers of the axes that determine which lanes are active."""
    return {number for _, factors in formula.conditions for number, _ in factors}


def _are_the_same(first: AccessParts, second: AccessParts) -> bool:
    """Return whether all but the constant are the very same objects."""
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


def _uniform(iteration: int | NDArray[np.int64]) -> int:
    """Return the trip of all programs, -1 if they are in different trips."""
    if not isinstance(iteration, np.ndarray):
        return int(iteration)
    return int(iteration.flat[0]) if (iteration == iteration.flat[0]).all() else -1
