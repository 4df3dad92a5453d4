"""Footprint of one memory op in one argument over a launch: sectors, bytes and addresses.

Accesses that are repeated with a different constant, as in a loop, are counted once. Programs whose
lanes lie alike are one pattern (patterns.py), whose sectors and bytes are counted once.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial

import numpy as np
from msgspec import Struct

from kvtrace.evaluate.observe import Access, AccessParts
from kvtrace.metrics.access_records import AccessRecords, Rows
from kvtrace.metrics.byte_ranges import TooManyRanges
from kvtrace.metrics.patterns import Patterns, patterns_of
from kvtrace.metrics.sectors import SECTOR_BYTES, sectors_of_patterns
from kvtrace.metrics.unique_bytes import Repetition, size_of_union, touched
from kvtrace.recorded_calls.thread_layouts import BlockedLayout

MOST_LANES = 1 << 24
"""Limit of lanes of an access's distinct patterns."""

MOST_WORK = 1 << 26
"""Limit of lanes of all patterns of one op of one call."""

MOST_RANGES = 1 << 22
"""Limit of ranges of one op's distinct bytes."""

_SCATTERED = "the bytes that the op touches are in too many ranges to count"

_SAMPLE = 1 << 8
"""Elements of a large array that are hashed; the others are compared if these are equal."""

_MOST_LATEST = 4

_MAX_OPEN = 16
"""Limit of accesses that may be repeated in other trips, as their arrays stay in memory."""

_LARGE_ACCESS = 1 << 18
"""Accesses of more elements than this close all other open accesses."""

_MAX_SETS = 256
"""Number of byte sets at which they are joined into one."""


class _RepeatedAccess(Struct, eq=False):
    """One pattern of addresses, accessed at several constant offsets, usually one for each trip.

    `steps` has the turn among all accesses, the trip and the constant of each.
    """

    parts: AccessParts
    patterns: Patterns
    steps: list[tuple[int, int, int]] = []


LatestPatterns = dict[Hashable, Patterns]
"""Patterns by content, at most `_MOST_LATEST`."""


class Footprint:
    """The accesses of one op to one argument.

    `layout` distributes the op's lanes to threads (None: unknown). `limit` names the figures that
    are None because of a limit of kvtrace. `latest` has the latest patterns of all footprints of a
    call: many ops access equal ones.
    """

    def __init__(
        self, element_bytes: int, layout: BlockedLayout | None, latest: LatestPatterns
    ) -> None:
        self._is_lost = False
        self.limit: str | None = None
        self._element_bytes = element_bytes
        self._layout = layout
        self._latest_patterns = latest
        self._records = AccessRecords()
        self._rows: Rows | None = None
        self._sectors = 0
        self._open: dict[Hashable, _RepeatedAccess] = {}
        self._latest: _RepeatedAccess | None = None
        self._sets: list[Repetition] = []
        self._work = 0
        self._turn = 0

    def add(self, access: Access) -> None:
        """Add the accesses of a batch of programs, in one trip."""
        if self._is_lost or access.executions == 0 or access.active == 0:
            return
        self._rows = None
        if not access.certain or access.active is None or access.parts is None:
            self._lose()
            return
        self._add_repeated(access.parts)

    def count(self) -> Footprint:
        """Return this footprint with all accesses so far counted."""
        for repeated in self._open.values():
            self._count_access(repeated)
        self._open, self._latest = {}, None
        return self

    def _add_repeated(self, parts: AccessParts) -> None:
        """Add an access, to those with equal patterns and different constants."""
        repeated = self._find_repeated(parts)
        if repeated is None:
            self._stop_at_limit("the op has too many distinct patterns of lanes to count")
            self._lose()
            return
        self._turn += 1
        repeated.steps.append((self._turn, parts.iteration, parts.constant))
        sector_offset = (parts.constant + parts.origin_bytes) % SECTOR_BYTES
        values = repeated.patterns, sector_offset, self._element_bytes, self._layout
        self._sectors += repeated.patterns.once(values[1:], partial(sectors_of_patterns, *values))

    def _find_repeated(self, parts: AccessParts) -> _RepeatedAccess | None:
        """Return the open access with equal patterns, or a new one; None beyond the limits."""
        latest = self._latest
        if latest is not None and _differ_only_in_constant(latest.parts, parts):
            return latest
        key = _ContentKey(parts)
        repeated = self._open.get(key)
        if repeated is None:
            patterns = self._latest_patterns.get(key) or patterns_of(parts, MOST_LANES)
            if patterns is None:
                return None
            self._work += patterns.lanes.size
            if self._work > MOST_WORK:
                return None
            repeated = _RepeatedAccess(parts, patterns)
            elements = patterns.lanes.size + sum(term.size for term in parts.terms)
            if elements <= _LARGE_ACCESS:
                self._latest_patterns[key] = patterns
                if len(self._latest_patterns) > _MOST_LATEST:
                    del self._latest_patterns[next(iter(self._latest_patterns))]
            while self._open and (elements > _LARGE_ACCESS or len(self._open) >= _MAX_OPEN):
                self._count_access(self._open.pop(next(iter(self._open))))
            self._open[key] = repeated
        self._latest = repeated
        return repeated

    def _count_access(self, repeated: _RepeatedAccess) -> None:
        """Count the bytes of an access that will not be repeated, and add its rows."""
        if self._is_lost:
            return
        patterns = repeated.patterns
        steps = np.array(repeated.steps, np.int64)
        constants = steps[:, 2]
        self._records.add(patterns, steps)
        if self.limit is not None:
            return
        try:
            values = patterns, constants, self._element_bytes, MOST_RANGES
            key = constants.tobytes(), self._element_bytes
            self._sets += patterns.once(key, partial(touched, *values))
            if len(self._sets) >= _MAX_SETS:
                self._sets = [Repetition.joined(self._sets, MOST_RANGES)]
        except TooManyRanges:
            self._stop_at_limit(_SCATTERED)

    @property
    def sectors(self) -> int | None:
        """The sectors touched by each group of lanes, summed over groups; None if unknown."""
        return self._sectors if self._is_counted else None

    @property
    def records(self) -> Rows:
        """The rows of `accesses`, and a text of what is left out (None: nothing)."""
        if self._rows is None:
            self._rows = self._records.rows()
        return self._rows

    def unique_bytes(self) -> int | None:
        """Return the number of distinct bytes of all accesses, None if unknown."""
        if not self._is_counted:
            return None
        try:
            return size_of_union(self._sets, MOST_RANGES)
        except TooManyRanges:
            self._stop_at_limit(_SCATTERED)
            return None

    def touched(self, origin_bytes: int) -> tuple[int, list[Repetition]] | None:
        """Return the number of touched bytes of the storage, and their sets; None if unknown."""
        size = self.unique_bytes()
        return None if size is None else (size, [p.shifted(origin_bytes) for p in self._sets])

    @property
    def _is_counted(self) -> bool:
        return not self._is_lost and self.limit is None

    def _stop_at_limit(self, limit: str) -> None:
        """Leave out sectors and bytes, not rows: some regular accesses are too many ranges."""
        self.limit = f"sectors and unique bytes are null: {limit}"
        self._sets = []

    def _lose(self) -> None:
        """Leave out all figures and rows, also of earlier accesses, as others are not known."""
        self._is_lost = True
        self._records, self._sets = AccessRecords(), []


def _differ_only_in_constant(first: AccessParts, second: AccessParts) -> bool:
    """Return whether all but the constants of two accesses are the same objects."""
    return (
        first.block == second.block
        and first.terms is second.terms
        and first.programs is second.programs
        and len(first.factors) == len(second.factors)
        and all(left is right for left, right in zip(first.factors, second.factors, strict=True))
    )


class _ContentKey:
    """A key that is equal for accesses with equal programs, terms and factors.

    Arrays are compared only where a sample of their elements is equal.
    """

    def __init__(self, parts: AccessParts) -> None:
        self._block = parts.block
        self._arrays = (parts.programs, *parts.terms, *parts.factors)
        self._shapes = tuple((array.shape, array.dtype.str) for array in self._arrays)
        samples = (array.flat[:: array.size // _SAMPLE + 1] for array in self._arrays)
        self._hash = hash((parts.block, self._shapes, *(sample.tobytes() for sample in samples)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _ContentKey)
            and self._block == other._block
            and self._shapes == other._shapes
            and all(
                own is array or np.array_equal(own, array)
                for own, array in zip(self._arrays, other._arrays, strict=True)
            )
        )
