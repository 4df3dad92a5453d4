"""Unions of sets of bytes that are moved by many offsets: repeated, or listed as ranges.

Fresh bytes of ops, which no earlier op of the launch touches, are differences of such unions.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from operator import itemgetter
from typing import TypeVar

import numpy as np
from msgspec import Struct

from kvtrace.metrics.byte_ranges import (
    MOST_RANGES,
    ByteRanges,
    Integers,
    TooManyRanges,
    joined,
    merged,
)
from kvtrace.metrics.distinct import distinct
from kvtrace.metrics.patterns import Patterns
from kvtrace.metrics.progressions import nested_progression

T = TypeVar("T")

_BATCH = 1 << 21
"""Number of ranges that are sorted at once."""

_FEW_PATTERNS = 8
"""Limit of patterns whose lanes are joined before they are moved to programs."""

_LISTED = 1 << 16
"""Limit of ranges of repetitions that are listed at once, as neighbors may join."""


def spread(ranges: ByteRanges, offsets: Integers, most: int) -> ByteRanges:
    """Return the union of the ranges moved by each offset.

    Raises TooManyRanges if the union has more than `most` ranges, or needs more than 64 times that
    number to compute.
    """
    offsets = distinct(offsets)
    if len(offsets) == 1:
        return ranges.moved(int(offsets[0]))
    if len(offsets) * len(ranges.first) > 64 * most:
        raise TooManyRanges
    step = max(1, _BATCH // max(1, len(ranges.first)))
    unions = []
    for start in range(0, len(offsets), step):
        batch_offsets = offsets[start : start + step]
        # Offsets outermost: ranges of one offset remain sorted, and mostly those of all offsets.
        first = (batch_offsets[:, None] + ranges.first).reshape(-1)
        unions.append(merged(first, (batch_offsets[:, None] + ranges.end).reshape(-1)))
        if sum(len(part.first) for part in unions) > 2 * most:
            unions = [joined(unions)]
    result = joined(unions)
    if len(result.first) > most:
        raise TooManyRanges
    return result


class Repetition(Struct, frozen=True, eq=False):
    """Ranges that are repeated at regular distances without overlap: counted, not listed.

    ByteRanges list each range, of which a strided access of a large grid has millions.
    `levels` are (count, distance); each distance is at least the span of all earlier levels.
    """

    ranges: ByteRanges
    levels: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of_elements(
        cls, first: int, steps: Sequence[tuple[int, int]], element_bytes: int, most: int
    ) -> "Repetition":
        """Return the bytes of elements at `first` plus sums of steps (step > 0, count)."""
        repetition = cls(ByteRanges.of(first, first + element_bytes))
        for step, count in sorted(steps):
            repetition = repetition.repeated(count, step, most)
        return repetition

    @classmethod
    def joined(cls, sets: Iterable["Repetition"], most: int) -> "Repetition":
        """Return the union of sets, each listed; raise TooManyRanges."""
        return cls(joined([repetition.listed(most) for repetition in sets]))

    @property
    def size(self) -> int:
        """The number of bytes."""
        return self.ranges.size * self._count

    @property
    def hull(self) -> tuple[int, int]:
        """The first byte, and the end after the last byte."""
        span = sum((count - 1) * step for count, step in self.levels)
        return int(self.ranges.first[0]), int(self.ranges.end[-1]) + span

    @property
    def _count(self) -> int:
        return prod(count for count, _ in self.levels)

    def listed(self, most: int) -> ByteRanges:
        """Return all ranges; raise TooManyRanges if there are more than `most`."""
        if len(self.ranges.first) * self._count > most:
            raise TooManyRanges
        ranges = self.ranges
        for count, step in self.levels:
            ranges = spread(ranges, np.arange(count, dtype=np.int64) * step, most)
        return ranges

    def repeated(self, count: int, step: int, most: int) -> "Repetition":
        """Return the set `count` times, `step` > 0 bytes apart; raises TooManyRanges."""
        low, high = self.hull
        if self.ranges.size == high - low >= step:  # one range grows
            return Repetition(ByteRanges.of(low, high + (count - 1) * step))
        last_count, distance = self.levels[-1] if self.levels else (0, 1)
        if step % distance == 0 and step <= last_count * distance:  # the last level goes on
            longer = last_count + (count - 1) * (step // distance)
            return Repetition(self.ranges, (*self.levels[:-1], (longer, distance)))
        is_large = len(self.ranges.first) * self._count * count > _LISTED
        if is_large and step >= high - low:
            return Repetition(self.ranges, (*self.levels, (count, step)))
        offsets = np.arange(count, dtype=np.int64) * step
        return Repetition(spread(self.listed(most), offsets, most))

    def shifted(self, offset: int) -> "Repetition":
        """Return the set with all bytes moved by an offset."""
        return Repetition(self.ranges.moved(offset), self.levels)

    def moved(self, offsets: Integers, most: int) -> "Repetition":
        """Return the union of the set moved by irregular offsets; raise TooManyRanges."""
        return Repetition(spread(self.listed(most), offsets, most))


def overlapping_groups(sets: Iterable[tuple[int, int, T]]) -> Iterator[list[T]]:
    """Yield groups of sets whose hulls overlap; a set has the begin and the end of its hull."""
    group: list[T] = []
    last_end = 0
    for begin, end, one_set in sorted(sets, key=itemgetter(0, 1)):
        if group and begin >= last_end:
            yield group
            group = []
        last_end = max(last_end, end) if group else end
        group.append(one_set)
    if group:
        yield group


def size_of_union(sets: list[Repetition], most: int) -> int:
    """Return the number of bytes in a union; only sets that may overlap are listed.

    Raises TooManyRanges if more than `most` ranges have to be listed.
    """
    groups = overlapping_groups([(*repetition.hull, repetition) for repetition in sets])
    return sum(
        group[0].size if len(group) == 1 else Repetition.joined(group, most).size
        for group in groups
    )


def touched(
    patterns: Patterns, constants: Integers, element_bytes: int, most: int
) -> list[Repetition]:
    """Return sets whose union is all bytes that programs access, moved by each constant.

    Args:
        patterns: byte offsets of lanes, and the programs with these offsets.
        constants: byte offsets to add.
        element_bytes: size of an element.
        most: limit of ranges that are listed.

    Raises:
        TooManyRanges: listing overlapping sets needs more than `most` ranges.
    """
    if patterns.size > 1 and len(patterns.programs) * patterns.lanes.shape[1] <= _BATCH:
        ranges = _ranges_of_lanes(patterns, element_bytes)
        return [_move_by_sums(ranges, [constants], most)] if len(ranges.first) else []
    sets = []
    for pattern_index in range(patterns.size):
        lanes = patterns.active_lanes(pattern_index)
        if not len(lanes):
            continue
        bases = patterns.bases[patterns.pattern_of_program == pattern_index]
        ranges = merged(lanes, lanes + element_bytes)
        sets.append(_move_by_sums(ranges, [bases, constants], most))
    return sets


def _move_by_sums(ranges: ByteRanges, offsets: list[Integers], most: int) -> Repetition:
    """Return ranges moved by every sum of offsets; small steps come first, to join neighbors."""
    start = 0
    levels: list[tuple[int, int]] = []
    irregular: list[Integers] = []
    for values in map(distinct, offsets):
        nested_levels = nested_progression(values.reshape(-1, 1))
        if nested_levels is None:
            irregular.append(values)
            continue
        start += int(values[0])
        levels += [(count, step) for count, step in nested_levels]
    result = Repetition(ranges.moved(start))
    for values in irregular:
        result = result.moved(values, most)
    for count, step in sorted(levels, key=lambda level: level[1]):
        result = result.repeated(count, step, most)
    return result


def _ranges_of_lanes(patterns: Patterns, element_bytes: int) -> ByteRanges:
    """Return the bytes of all programs without constants; lanes of few patterns join first."""
    if patterns.size <= _FEW_PATTERNS:
        parts = []
        for pattern_index in range(patterns.size):
            bases = patterns.bases[patterns.pattern_of_program == pattern_index, None]
            lanes = patterns.active_lanes(pattern_index)
            ranges = merged(lanes, lanes + element_bytes)
            parts.append(ByteRanges((bases + ranges.first).ravel(), (bases + ranges.end).ravel()))
        return joined(parts)
    offsets = patterns.bases[:, None] + patterns.lanes[patterns.pattern_of_program]
    if patterns.active is None:
        offsets = offsets.reshape(-1)
    else:
        offsets = offsets[patterns.active[patterns.pattern_of_program]]
    return merged(offsets, offsets + element_bytes)


# Fresh bytes of each op: bytes that no earlier op of the launch touches; their sum is moved.
#
# Reads and writes are counted separately, storage by storage, also if arguments share a storage.
# The counts are as exact as `unique_bytes`: unions of the same sets, listed if they may overlap.


def fresh_bytes(ops: Iterable[tuple[int, Sequence[Repetition]]]) -> list[int | None]:
    """Return the number of fresh bytes of each op, in order; None if a union is too scattered.

    `ops` has for each op the number of bytes of one storage that it touches, and their sets.
    """
    sizes: list[int | None] = []
    union: list[Repetition] = []
    total: int | None = 0
    for size, sets in ops:
        union += sets
        try:
            new_total = size_of_union(union, MOST_RANGES) if sizes else size
        except TooManyRanges:
            new_total = None
        sizes.append(None if new_total is None or total is None else new_total - total)
        total = new_total
    return sizes
