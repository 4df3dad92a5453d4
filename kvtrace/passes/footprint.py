"""What one memory op touches in one argument over the whole launch: sectors, distinct bytes, where.

Accesses that come again, as in a loop, with only their constant changed are worked out once.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.observe import Access, AccessParts
from kvtrace.passes.access_records import AccessRecords
from kvtrace.passes.patterns import Patterns, Repeated, patterns_of
from kvtrace.passes.sectors import SECTOR_BYTES, sector_counts
from kvtrace.passes.unique_bytes import Ranges, TooManyRanges, joined, touched

MOST_LANES = 1 << 24
"""Lanes of distinct patterns that one access may materialise."""

MOST_WORK = 1 << 26
"""Lanes that one op of one call may materialise in all."""

MOST_RANGES = 1 << 22
"""Ranges of bytes that one op's distinct bytes may fall into."""

_OPEN = 16
"""Repeating accesses that are kept open at once."""

_LARGE = 1 << 18
"""Elements from which on a repeating access is kept open alone."""

_PENDING = 64
"""Sets of distinct bytes that wait to be joined."""


class Footprint:
    """Collects the accesses of one op to one argument.

    `unknown` says why the figures cannot be given exactly, `limit` if a limit of ours is why.
    """

    def __init__(self, element_bytes: int) -> None:
        self.element_bytes = element_bytes
        self.unknown: str | None = None
        self.limit: str | None = None
        self.records = AccessRecords()
        self._sectors = 0
        self._open: dict[Any, Repeated] = {}
        self._latest: Repeated | None = None
        self._ranges: list[Ranges] = []
        self._work = 0

    def add(self, access: Access) -> None:
        """Take in a batch of programs in one trip."""
        if self.unknown is not None or access.executions == 0 or access.active == 0:
            return
        if not access.certain or access.parts is None or access.active is None:
            self._give_up(access.reason or "its address could not be derived")
            return
        repeated = self._repeated(access.parts)
        if repeated is None:
            self._exceed("it touches too many different lanes to count each")
            return
        constant = access.parts.constant
        repeated.constants.append(constant)
        repeated.iterations.append(_uniform(access.parts.iteration))
        shift = (constant + access.parts.origin_bytes) % SECTOR_BYTES
        if shift not in repeated.sectors:
            repeated.sectors[shift] = _sectors_of(repeated.patterns, shift, self.element_bytes)
        self._sectors += repeated.sectors[shift]

    def finish(self) -> None:
        """Close what is open; figures are whole from then on."""
        for repeated in self._open.values():
            self._close(repeated)
        self._open = {}
        self._latest = None

    @property
    def sectors(self) -> int | None:
        """Sectors touched by each group of lanes, over all groups; None if not known."""
        return None if self.unknown is not None else self._sectors

    def unique_bytes(self) -> int | None:
        """Give the distinct bytes of all accesses; None if not known."""
        if self.unknown is not None:
            return None
        return joined(self._ranges).size if self._ranges else 0

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
        self.records.add(repeated)
        constants = np.array(repeated.constants, np.int64)
        try:
            ranges = touched(repeated.patterns, constants, self.element_bytes, MOST_RANGES)
        except TooManyRanges:
            self._exceed("the bytes that it touches lie too scattered to count each")
            return
        self._ranges.append(ranges)
        if len(self._ranges) >= _PENDING or len(ranges.first) > MOST_RANGES // 4:
            self._ranges = [joined(self._ranges)]
            if len(self._ranges[0].first) > MOST_RANGES:
                self._exceed("the bytes that it touches lie too scattered to count each")

    def _exceed(self, limit: str) -> None:
        self.limit = f"sectors and unique bytes are null: {limit}"
        self._give_up(limit)

    def _give_up(self, reason: str) -> None:
        self.unknown = reason
        self._ranges = []


def _sectors_of(patterns: Patterns, shift: int, element_bytes: int) -> int:
    """Sum over programs: those of one pattern and one position in a sector count the same."""
    phases = (patterns.bases + shift) % SECTOR_BYTES
    total = 0
    for phase in np.unique(phases).tolist():
        programs = np.bincount(patterns.which[phases == phase], minlength=patterns.size)
        present = np.flatnonzero(programs)
        active = None if patterns.active is None else patterns.active[present]
        counts = sector_counts(patterns.lanes[present], active, phase, element_bytes)
        total += int((counts * programs[present]).sum())
    return total


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
    """Give the trip that all programs are in, None if they are in different ones."""
    if not isinstance(iteration, np.ndarray):
        return int(iteration)
    return int(iteration.flat[0]) if (iteration == iteration.flat[0]).all() else None
