"""Sets of bytes as sorted ranges with gaps between them: exact, and small if dense."""

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from kvtrace.metrics.distinct import distinct
from kvtrace.metrics.patterns import Patterns
from kvtrace.metrics.progressions import nested_progression

Integers = NDArray[np.int64]

_BATCH = 1 << 21
"""Number of ranges that are sorted at once."""

_LISTED = 1 << 16
"""Limit of ranges of repetitions that are listed at once, as neighbors may join."""


class TooManyRanges(Exception):
    """The error of a set with more ranges than the limit."""


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges of bytes [first, end), ascending and with gaps between them."""

    first: Integers
    end: Integers

    @property
    def size(self) -> int:
        """The number of bytes."""
        return int((self.end - self.first).sum())


def merged(first: Integers, end: Integers) -> Ranges:
    """Return ranges sorted, with ranges joined that overlap or touch."""
    if len(first) < 2:
        return Ranges(first, end)
    if (first[1:] < first[:-1]).any():
        order = np.argsort(first, kind="stable")
        first, end = first[order], end[order]
    highest_end = np.maximum.accumulate(end)
    gaps = np.flatnonzero(first[1:] > highest_end[:-1])
    return Ranges(
        np.concatenate([first[:1], first[gaps + 1]]),
        np.concatenate([highest_end[gaps], highest_end[-1:]]),
    )


def joined(sets: list[Ranges]) -> Ranges:
    """Return the union of sets."""
    if len(sets) == 1:
        return sets[0]
    return merged(
        np.concatenate([byte_set.first for byte_set in sets]),
        np.concatenate([byte_set.end for byte_set in sets]),
    )


def spread(ranges: Ranges, offsets: Integers, most: int) -> Ranges:
    """Return the union of the ranges moved by each offset.

    Raises TooManyRanges if the union has more than `most` ranges, or needs more than 64 times that
    number to compute.
    """
    offsets = distinct(offsets)
    if len(offsets) == 1:
        return Ranges(ranges.first + offsets[0], ranges.end + offsets[0])
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


@dataclass(frozen=True, eq=False)
class Repetition:
    """Ranges that are repeated at regular distances without overlap: counted, not listed.

    `levels` are (count, distance); each distance is at least the span of all earlier levels.
    """

    ranges: Ranges
    levels: tuple[tuple[int, int], ...] = ()

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

    def listed(self, most: int) -> Ranges:
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
        is_large = len(self.ranges.first) * self._count * count > _LISTED
        if is_large and step >= high - low:
            return Repetition(self.ranges, (*self.levels, (count, step)))
        offsets = np.arange(count, dtype=np.int64) * step
        return Repetition(spread(self.listed(most), offsets, most))

    def shifted(self, offset: int) -> "Repetition":
        """Return the set with all bytes moved by an offset."""
        return Repetition(Ranges(self.ranges.first + offset, self.ranges.end + offset), self.levels)

    def moved(self, offsets: Integers, most: int) -> "Repetition":
        """Return the union of the set moved by irregular offsets; raise TooManyRanges."""
        return Repetition(spread(self.listed(most), offsets, most))


def size_of_union(sets: list[Repetition], most: int) -> int:
    """Return the number of bytes in a union; only sets that may overlap are listed.

    Raises TooManyRanges if more than `most` ranges have to be listed.
    """
    total = 0
    overlapping: list[Repetition] = []
    end = 0
    for repetition in sorted(sets, key=lambda repetition: repetition.hull):
        low, high = repetition.hull
        if overlapping and low >= end:
            total += _size_of_overlapping(overlapping, most)
            overlapping = []
        end = max(end, high) if overlapping else high
        overlapping.append(repetition)
    return total + _size_of_overlapping(overlapping, most)


def _size_of_overlapping(group: list[Repetition], most: int) -> int:
    if len(group) == 1:
        return group[0].size
    return joined([repetition.listed(most) for repetition in group]).size if group else 0


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


def _move_by_sums(ranges: Ranges, offsets: list[Integers], most: int) -> Repetition:
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
    result = Repetition(Ranges(ranges.first + start, ranges.end + start))
    for values in irregular:
        result = result.moved(values, most)
    for count, step in sorted(levels, key=lambda level: level[1]):
        result = result.repeated(count, step, most)
    return result


def _ranges_of_lanes(patterns: Patterns, element_bytes: int) -> Ranges:
    offsets = patterns.bases[:, None] + patterns.lanes[patterns.pattern_of_program]
    if patterns.active is None:
        offsets = offsets.reshape(-1)
    else:
        offsets = offsets[patterns.active[patterns.pattern_of_program]]
    return merged(offsets, offsets + element_bytes)
