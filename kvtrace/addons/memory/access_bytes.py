"""Bytes that accesses touch, as a union of regular and irregular sets.

A regular set is its first byte and steps, a few numbers whatever the grid is. Sets are joined where
they fit together before they are listed: the even and the odd elements, stored by two ops, are one
range, and not a million ranges each. What is not affine becomes ranges on arrays of programs and
lanes, as in `kvtrace.metrics`.
"""

from __future__ import annotations

from itertools import groupby
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.evaluate.observe import Access
from kvtrace.metrics.byte_ranges import MOST_RANGES, ByteRanges, TooManyRanges
from kvtrace.metrics.patterns import patterns_of
from kvtrace.metrics.unique_bytes import Repetition, overlapping_groups, touched

MOST_LANES: Final = 1 << 22
"""Limit of lanes of one access that are not described by a formula."""

_MOST_SETS: Final = 64
"""Number of sets at which they are joined, into one if it must be."""


ORIGIN: Final = np.zeros(1, np.int64)

SCATTERED: Final = "its bytes are too scattered: they are in more than a million ranges"


Steps = tuple[tuple[int, int], ...]
"""Distances in bytes, > 0, each with its count of elements."""


class TouchedBytes(Struct, eq=False):
    """The bytes of a storage that some accesses touch; offsets count from the storage's begin.

    `low` and `high` are the first byte and the end of all; low >= high if there are none.
    `problem` says why they cannot be listed, "" if they can.
    """

    sets: list[Repetition] = []
    low: int = 0
    high: int = 0
    problem: str = ""

    def __bool__(self) -> bool:
        """Return whether there are any bytes."""
        return self.low < self.high

    def add(self, access: Access) -> None:
        """Add the active lanes of an access with known addresses, over all its programs.

        An access that is too large to list sets `problem`.
        """
        parts = access.parts
        if access.active == 0 or parts is None or access.lowest is None or access.highest is None:
            return
        origin = parts.origin_bytes
        self._extend(access.lowest + origin, access.highest + origin + access.element_bytes)
        if min(access.lowest, -access.highest) < -(1 << 62):
            self.problem = "its bytes are too far from their tensor"
        if self.problem:
            return
        patterns = patterns_of(parts, MOST_LANES)
        if patterns is None:
            self.problem = "its addresses or its mask are not affine, and it is too large to list"
            return
        constants = np.array([parts.constant + origin], np.int64)
        try:
            self.sets += touched(patterns, constants, access.element_bytes, MOST_RANGES)
        except TooManyRanges:
            self.problem = SCATTERED

    def add_elements(
        self,
        first: int,
        steps: Steps,
        element_bytes: int,
        begins: NDArray[np.int64] = ORIGIN,
    ) -> None:
        """Add elements at a first byte plus sums of steps, and plus each of `begins`, ascending."""
        if not len(begins):
            return
        last = first + sum(step * (count - 1) for step, count in steps)
        self._extend(first + int(begins[0]), last + int(begins[-1]) + element_bytes)
        try:
            added = Repetition.of_elements(first, steps, element_bytes, MOST_RANGES)
            self.sets.append(added if begins is ORIGIN else added.moved(begins, MOST_RANGES))
        except TooManyRanges:
            self.problem = SCATTERED

    def include(self, other: TouchedBytes) -> None:
        """Add all bytes of another set."""
        if other:
            self._extend(other.low, other.high)
            self.sets += other.sets
            self.problem = self.problem or other.problem
            if len(self.sets) > _MOST_SETS:
                self._join_sets()

    def listed(self, size: int) -> ByteRanges:
        """Return the bytes within a storage of `size` bytes.

        Raises:
            TooManyRanges: they are too many or too scattered; `problem` says why, if it is set.
        """
        if self.problem:
            raise TooManyRanges
        union = ByteRanges.union_of(part.listed(MOST_RANGES) for part in _joined_sets(self.sets))
        return union & ByteRanges.of(0, size) if self.low < 0 or self.high > size else union

    def hull(self, size: int) -> ByteRanges:
        """Return one range that has all bytes within a storage of `size` bytes."""
        return ByteRanges.of(max(self.low, 0), min(self.high, size))

    def _extend(self, low: int, high: int) -> None:
        if self:
            low, high = min(low, self.low), max(high, self.high)
        self.low, self.high = low, high

    def _join_sets(self) -> None:
        try:
            self.sets = _joined_sets(self.sets)
            if len(self.sets) > _MOST_SETS:
                self.sets = [Repetition.joined(self.sets, MOST_RANGES)]
        except TooManyRanges:
            self.problem, self.sets = SCATTERED, []


def _joined_sets(sets: list[Repetition]) -> list[Repetition]:
    """Return sets of the same union: those of equal levels are one where their ranges touch."""
    while len(sets) > 1:
        result: list[Repetition] = []
        ordered = sorted(sets, key=lambda repeated: repeated.levels)
        for levels, group in groupby(ordered, key=lambda repeated: repeated.levels):
            ranges = (repeated.ranges for repeated in group)
            hulls = ((int(r.first[0]), int(r.end[-1]) + 1, r) for r in ranges)
            for parts in overlapping_groups(hulls):
                union = Repetition(ByteRanges.union_of(parts))
                for count, step in levels:
                    union = union.repeated(count, step, MOST_RANGES)
                result.append(union)
        if len(result) == len(sets):
            return result
        sets = result
    return sets
