"""Bytes that accesses touch, as a union of regular and irregular sets.

A formula is a comb: a run of bytes at nested distances, a few numbers whatever the grid is. Combs
are joined where they fit together before anything is listed: the even and the odd elements, stored
by two ops, are one range, and not a million ranges each. What is not affine becomes ranges on
arrays of programs and lanes, as in `kvtrace.metrics`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

import numpy as np

from kvtrace.addons.memory.combs import Comb, ascending_steps, comb_of
from kvtrace.addons.memory.formulas import AffineFormula, FormulaAccess
from kvtrace.evaluate.observe import Access, AccessParts
from kvtrace.metrics.byte_ranges import MOST_RANGES, ByteRanges, TooManyRanges
from kvtrace.metrics.patterns import patterns_of
from kvtrace.metrics.unique_bytes import Repetition, touched

MOST_LANES: Final = 1 << 22
"""Limit of lanes of one access that are not described by a formula."""

_MOST_SETS: Final = 64
"""Number of irregular sets at which they are joined into one."""


_SCATTERED: Final = "its bytes are too scattered: they are in more than a million ranges"


class NotListed(Exception):
    """The error of bytes that are too many or too scattered to list; its text is the reason."""


@dataclass(eq=False)
class TouchedBytes:
    """The bytes of a storage that some accesses touch; offsets count from the storage's begin.

    `low` and `high` are the first byte and the end of all; low >= high if there are none.
    `problem` says why they cannot be listed, "" if they can.
    """

    combs: dict[Comb, None] = field(default_factory=dict)
    sets: list[Repetition] = field(default_factory=list)
    low: int = 0
    high: int = 0
    problem: str = ""

    def add(self, access: Access) -> None:
        """Add the active lanes of an access with known addresses, over all its programs and trips.

        An access that is too large to list sets `problem`.
        """
        if access.active == 0 or access.lowest is None or access.highest is None:
            return
        origin = origin_of(access)
        self._extend(access.lowest + origin, access.highest + origin + access.element_bytes)
        if self.problem:
            return
        try:
            self._add_lanes(access)
        except TooManyRanges:
            self.problem = _SCATTERED
        except NotListed as reason:
            self.problem = str(reason)

    def _add_lanes(self, access: Access) -> None:
        if isinstance(access, FormulaAccess):
            self._add_formula(access.formula, access.element_bytes)
        elif access.parts is not None:
            self._add_parts(access.parts, access.element_bytes)

    def include(self, other: TouchedBytes) -> None:
        """Add all bytes of another set."""
        if other.low < other.high:
            self._extend(other.low, other.high)
            self.combs.update(other.combs)
            self.sets += other.sets
            self.problem = self.problem or other.problem
            if len(self.sets) > _MOST_SETS:
                self._join_sets()

    def listed(self, size: int) -> ByteRanges:
        """Return the bytes within a storage of `size` bytes; raise NotListed."""
        if self.problem:
            raise NotListed(self.problem)
        try:
            return self._listed(size)
        except TooManyRanges as error:
            raise NotListed(_SCATTERED) from error

    def _listed(self, size: int) -> ByteRanges:
        combs = _joined_combs(list(self.combs))
        sets = [Repetition(ByteRanges.of(c.first, c.first + c.run), c.levels) for c in combs]
        union = ByteRanges.union_of(part.listed(MOST_RANGES) for part in (*sets, *self.sets))
        return union & ByteRanges.of(0, size) if self.low < 0 or self.high > size else union

    def hull(self, size: int) -> ByteRanges:
        """Return one range that has all bytes within a storage of `size` bytes."""
        return ByteRanges.of(max(self.low, 0), min(self.high, size))

    def _extend(self, low: int, high: int) -> None:
        if self.low < self.high:
            low, high = min(low, self.low), max(high, self.high)
        self.low, self.high = low, high

    def _add_formula(self, formula: AffineFormula, element_bytes: int) -> None:
        axes = [(axis.step, axis.first, axis.last) for axis in formula.axes]
        first, steps = ascending_steps(formula.base + formula.origin_bytes, axes)
        comb = comb_of(first, steps, element_bytes)
        if comb is not None:
            self.combs[comb] = None
            return
        self.sets.append(Repetition.of_elements(first, steps, element_bytes, MOST_RANGES))

    def _add_parts(self, parts: AccessParts, element_bytes: int) -> None:
        patterns = patterns_of(parts, MOST_LANES)
        if patterns is None:
            raise NotListed("its addresses or its mask are not affine, and it is too large to list")
        constants = np.array([parts.constant + parts.origin_bytes], np.int64)
        self.sets += touched(patterns, constants, element_bytes, MOST_RANGES)

    def _join_sets(self) -> None:
        try:
            self.sets = [Repetition.joined(self.sets, MOST_RANGES)]
        except TooManyRanges:
            self.problem, self.sets = _SCATTERED, []


def origin_of(access: Access) -> int:
    """Return the offset of the argument's data pointer in its storage, in bytes."""
    if isinstance(access, FormulaAccess):
        return access.formula.origin_bytes
    return 0 if access.parts is None else access.parts.origin_bytes


def _joined_combs(combs: list[Comb]) -> list[Comb]:
    """Return combs of the same union; those of equal levels are joined where their runs touch."""
    while True:
        ordered = sorted(combs, key=lambda comb: (comb.levels, comb.first))
        result: list[Comb] = []
        for levels, group in groupby(ordered, key=lambda comb: comb.levels):
            latest: Comb | None = None
            for comb in group:
                longer = None if latest is None else _joined_pair(latest, comb)
                if longer is None:
                    result += [] if latest is None else [latest]
                    latest = comb
                else:
                    latest = longer
                    if latest.levels != levels:  # nothing is left between its runs
                        result.append(latest)
                        latest = None
            result += [] if latest is None else [latest]
        if len(result) == len(combs):
            return result
        combs = result


def _joined_pair(comb: Comb, later: Comb) -> Comb | None:
    """Return the union of two combs of equal levels as a comb, None if runs do not touch."""
    if later.first > comb.first + comb.run:
        return None
    run = max(comb.run, later.first + later.run - comb.first)
    return comb_of(comb.first, [(step, count) for count, step in comb.levels], run)
