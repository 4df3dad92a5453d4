"""Footprint of one memory op in one argument over a launch: sectors, bytes and addresses.

Accesses that are repeated with a different constant, as in a loop, are counted once. Programs whose
lanes lie alike are one pattern (patterns.py), whose sectors and bytes are counted once.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.observe import Access, AccessParts
from kvtrace.metrics.access_records import (
    LARGE_ACCESS,
    AccessRecords,
    Lanes,
    OpenAccesses,
    Progression,
    lanes_of_pattern,
    progressions_of,
)
from kvtrace.metrics.byte_ranges import TooManyRanges
from kvtrace.metrics.patterns import Patterns, patterns_of
from kvtrace.metrics.sectors import SECTOR_BYTES, sectors_of_patterns
from kvtrace.metrics.unique_bytes import Repetition, TouchedBytes, size_of_union, touched
from kvtrace.recorded_calls.thread_layouts import BlockedLayout

Integers = NDArray[np.int64]

MOST_LANES = 1 << 24
"""Limit of lanes of an access's distinct patterns."""

MOST_WORK = 1 << 26
"""Limit of lanes of all patterns of one op of one call."""

MOST_RANGES = 1 << 22
"""Limit of ranges of one op's distinct bytes."""

_SCATTERED = "the bytes that the op touches are in too many ranges to count"
_UNDERIVED = "the address could not be derived"

_SAMPLE = 1 << 8
"""Elements of a large array that are hashed; the others are compared if these are equal."""

_MOST_LATEST = 4

_MAX_SETS = 256
"""Number of byte sets at which they are joined into one."""


@dataclass(eq=False)
class _RepeatedAccess:
    """One pattern of addresses, accessed at several constant offsets, usually one for each trip.

    `constants` and `iterations` have an entry for each access; an iteration is -1 if programs were
    in different ones.
    """

    parts: AccessParts
    patterns: Patterns
    constants: list[int] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)


LatestPatterns = dict[Hashable, Patterns]
"""Patterns by content, at most `_MOST_LATEST`."""


class Footprint:
    """The accesses of one op to one argument.

    `layout` distributes the op's lanes to threads (None: unknown). `unknown` is the reason why
    figures are unknown; `limit` names the figures that are None because of a limit of kvtrace.
    `latest` has the latest patterns of all footprints of a call: many ops access equal ones.
    """

    def __init__(
        self, element_bytes: int, layout: BlockedLayout | None, latest: LatestPatterns
    ) -> None:
        self.unknown: str | None = None
        self.limit: str | None = None
        self._element_bytes = element_bytes
        self._layout = layout
        self._latest_patterns = latest
        self._records = AccessRecords()
        self._rows: tuple[list[dict[str, Any]], str | None] | None = None
        self._sectors = 0
        self._open: OpenAccesses[_RepeatedAccess] = OpenAccesses()
        self._latest: _RepeatedAccess | None = None
        self._sets: list[Repetition] = []
        self._work = 0

    def add(self, access: Access) -> None:
        """Add the accesses of a batch of programs, in one trip."""
        if self.unknown is not None or access.executions == 0 or access.active == 0:
            return
        self._rows = None
        if not access.certain or access.active is None or access.parts is None:
            self._set_unknown(access.reason or _UNDERIVED)
            return
        self._add_repeated(access.parts)

    def count(self) -> Footprint:
        """Return this footprint with all accesses so far counted."""
        self.close()
        return self

    def _add_repeated(self, parts: AccessParts) -> None:
        """Add an access, to those with equal patterns and different constants."""
        repeated = self._find_repeated(parts)
        if repeated is None:
            self._stop_at_limit("the op has too many distinct patterns of lanes to count")
            return
        repeated.constants.append(parts.constant)
        repeated.iterations.append(_common_trip(parts.iteration))
        sector_offset = (parts.constant + parts.origin_bytes) % SECTOR_BYTES
        values = repeated.patterns, sector_offset, self._element_bytes, self._layout
        self._sectors += repeated.patterns.once(values[1:], partial(sectors_of_patterns, *values))

    def _find_repeated(self, parts: AccessParts) -> _RepeatedAccess | None:
        """Return the open access with equal patterns, or a new one; None beyond the limits."""
        latest = self._latest
        if latest is not None and _differ_only_in_constant(latest.parts, parts):
            return latest
        key = _ContentKey(parts)
        repeated = self._open.find(key)
        if repeated is None:
            patterns = self._latest_patterns.get(key) or patterns_of(parts, MOST_LANES)
            if patterns is None:
                return None
            self._work += patterns.lanes.size
            if self._work > MOST_WORK:
                return None
            repeated = _RepeatedAccess(parts, patterns)
            elements = patterns.lanes.size + sum(term.size for term in parts.terms)
            if elements <= LARGE_ACCESS:
                self._latest_patterns[key] = patterns
                if len(self._latest_patterns) > _MOST_LATEST:
                    del self._latest_patterns[next(iter(self._latest_patterns))]
            for finished in self._open.add(key, repeated, elements):
                self._count_access(finished)
        self._latest = repeated
        return repeated

    def close(self) -> None:
        """Count all open accesses."""
        for repeated in self._open.close():
            self._count_access(repeated)
        self._latest = None

    def _count_access(self, repeated: _RepeatedAccess) -> None:
        """Count the bytes of an access that will not be repeated, and add its rows."""
        if self.unknown is not None:
            return
        patterns = repeated.patterns
        constants = np.array(repeated.constants, np.int64)
        programs = patterns.once("programs", partial(_programs_with_lanes, patterns))
        trips_ = progressions_of(
            np.stack([np.array(repeated.iterations, np.int64), constants], axis=1)
        )
        active_programs = sum(progression.size for progression, _ in programs)
        self._records.add(active_programs * len(constants), programs, trips_)
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
        return None if self.unknown is not None else self._sectors

    @property
    def records(self) -> tuple[list[dict[str, Any]], str | None]:
        """The rows of `accesses`, and a text of what is left out (None: nothing)."""
        if self._rows is None:
            self._rows = self._records.rows()
        return self._rows

    def unique_bytes(self) -> int | None:
        """Return the number of distinct bytes of all accesses, None if unknown."""
        if self.unknown is not None:
            return None
        try:
            return size_of_union(self._sets, MOST_RANGES)
        except TooManyRanges:
            self._stop_at_limit(_SCATTERED)
            return None

    def touched(self, origin_bytes: int) -> TouchedBytes | None:
        """Return the touched bytes of the storage, None if unknown."""
        size = self.unique_bytes()
        if size is None:
            return None
        return TouchedBytes(size, tuple(part.shifted(origin_bytes) for part in self._sets))

    def _stop_at_limit(self, limit: str) -> None:
        self.limit = f"sectors and unique bytes are null: {limit}"
        self._set_unknown(limit)

    def _set_unknown(self, reason: str) -> None:
        self.unknown = reason
        self._sets = []


def _programs_with_lanes(patterns: Patterns) -> list[tuple[Progression, Lanes]]:
    """Return progressions of programs with their bases, and the lanes of each program."""
    programs = []
    for pattern_index in range(patterns.size):
        lanes = lanes_of_pattern(patterns, pattern_index)
        if lanes is not None:
            programs_of_pattern = np.flatnonzero(patterns.pattern_of_program == pattern_index)
            bases = np.stack(
                [patterns.programs[programs_of_pattern], patterns.bases[programs_of_pattern]],
                axis=1,
            )
            programs += [(progression, lanes) for progression in progressions_of(bases)]
    return programs


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
            and all(map(np.array_equal, self._arrays, other._arrays))
        )


def _common_trip(iteration: int | NDArray[np.int64]) -> int:
    """Return the trip of all programs, -1 if their trips differ."""
    if not isinstance(iteration, np.ndarray):
        return int(iteration)
    return int(iteration.flat[0]) if (iteration == iteration.flat[0]).all() else -1
