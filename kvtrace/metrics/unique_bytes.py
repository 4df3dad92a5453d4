"""Sets of bytes as sorted ranges that neither overlap nor touch: exact, and small if dense."""

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from kvtrace.metrics.distinct import distinct
from kvtrace.metrics.patterns import Patterns
from kvtrace.metrics.progressions import nested_progression

Integers = NDArray[np.int64]

_BATCH = 1 << 21
"""The number of ranges that are sorted at once."""

_LISTED = 1 << 16
"""The most ranges of repetitions that are listed at once, since neighbors may join."""


class TooManyRanges(Exception):
    """The set has more ranges than the limit."""


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
    """Return ranges, which may overlap, sorted, with those joined that overlap or touch."""
    if len(first) < 2:
        return Ranges(first, end)
    if (first[1:] < first[:-1]).any():
        order = np.argsort(first, kind="stable")
        first, end = first[order], end[order]
    reach = np.maximum.accumulate(end)
    apart = np.flatnonzero(first[1:] > reach[:-1])
    return Ranges(
        np.concatenate([first[:1], first[apart + 1]]), np.concatenate([reach[apart], reach[-1:]])
    )


def joined(sets: list[Ranges]) -> Ranges:
    """Return the union of sets."""
    if len(sets) == 1:
        return sets[0]
    return merged(np.concatenate([s.first for s in sets]), np.concatenate([s.end for s in sets]))


def spread(ranges: Ranges, offsets: Integers, most: int) -> Ranges:
    """Return the union of the ranges moved by each offset.

    Raises TooManyRanges if the union has more than `most` ranges, or needs more than 64 times as
    many to compute.
    """
    offsets = distinct(offsets)
    if len(offsets) == 1:
        return Ranges(ranges.first + offsets[0], ranges.end + offsets[0])
    if len(offsets) * len(ranges.first) > 64 * most:
        raise TooManyRanges
    step = max(1, _BATCH // max(1, len(ranges.first)))
    parts = []
    for start in range(0, len(offsets), step):
        moves = offsets[start : start + step]
        # Moves outermost: ranges of one move stay in order, and mostly those of all moves.
        first = (moves[:, None] + ranges.first).reshape(-1)
        parts.append(merged(first, (moves[:, None] + ranges.end).reshape(-1)))
        if sum(len(part.first) for part in parts) > 2 * most:
            parts = [joined(parts)]
    result = joined(parts)
    if len(result.first) > most:
        raise TooManyRanges
    return result


@dataclass(frozen=True, eq=False)
class Repetition:
    """Ranges repeated at regular distances without overlapping: counted, not listed.

    `levels` are (count, distance); each distance is at least the span of all earlier levels.
    """

    ranges: Ranges
    levels: tuple[tuple[int, int], ...] = ()

    @property
    def size(self) -> int:
        """The number of bytes."""
        return self.ranges.size * self._times

    @property
    def hull(self) -> tuple[int, int]:
        """The first byte and one past the last byte."""
        reach = sum((count - 1) * step for count, step in self.levels)
        return int(self.ranges.first[0]), int(self.ranges.end[-1]) + reach

    @property
    def _times(self) -> int:
        return prod(count for count, _ in self.levels)

    def listed(self, most: int) -> Ranges:
        """Return all ranges. Raises TooManyRanges if there are more than `most`."""
        if len(self.ranges.first) * self._times > most:
            raise TooManyRanges
        ranges = self.ranges
        for count, step in self.levels:
            ranges = spread(ranges, np.arange(count, dtype=np.int64) * step, most)
        return ranges

    def repeated(self, count: int, step: int, most: int) -> "Repetition":
        """Return the set `count` times, `step` > 0 bytes apart; raises TooManyRanges."""
        low, high = self.hull
        many = len(self.ranges.first) * self._times * count > _LISTED
        if many and step >= high - low:
            return Repetition(self.ranges, (*self.levels, (count, step)))
        moves = np.arange(count, dtype=np.int64) * step
        return Repetition(spread(self.listed(most), moves, most))

    def shifted(self, by: int) -> "Repetition":
        """Return the set moved by `by` bytes."""
        return Repetition(Ranges(self.ranges.first + by, self.ranges.end + by), self.levels)

    def moved(self, offsets: Integers, most: int) -> "Repetition":
        """Return the union over offsets that are no progression; raises TooManyRanges."""
        return Repetition(spread(self.listed(most), offsets, most))


def size_of_union(sets: list[Repetition], most: int) -> int:
    """Return the number of bytes in a union; only sets that may overlap are listed.

    Raises TooManyRanges if listing takes more than `most`.
    """
    total = 0
    group: list[Repetition] = []
    end = 0
    for repetition in sorted(sets, key=lambda repetition: repetition.hull):
        low, high = repetition.hull
        if group and low >= end:
            total += _size_of_group(group, most)
            group = []
        end = max(end, high) if group else high
        group.append(repetition)
    return total + _size_of_group(group, most)


def _size_of_group(group: list[Repetition], most: int) -> int:
    if len(group) == 1:
        return group[0].size
    return joined([repetition.listed(most) for repetition in group]).size if group else 0


def touched(
    patterns: Patterns, constants: Integers, element_bytes: int, most: int
) -> list[Repetition]:
    """Return sets whose union is all bytes that programs access, moved by each constant.

    Args:
        patterns: byte offsets of lanes, and the programs that have them.
        constants: byte offsets to add.
        element_bytes: size of an element.
        most: how many ranges may be listed.

    Raises:
        TooManyRanges: listing overlapping sets needs more than `most` ranges.
    """
    if patterns.size > 1 and len(patterns.programs) * patterns.lanes.shape[1] <= _BATCH:
        ranges = _every_lane(patterns, element_bytes)
        return [_at_all(ranges, [constants], most)] if len(ranges.first) else []
    sets = []
    for number in range(patterns.size):
        lanes = patterns.active_lanes(number)
        if not len(lanes):
            continue
        bases = patterns.bases[patterns.which == number]
        ranges = merged(lanes, lanes + element_bytes)
        sets.append(_at_all(ranges, [bases, constants], most))
    return sets


def _at_all(ranges: Ranges, offsets: list[Integers], most: int) -> Repetition:
    """Return ranges moved by every sum of offsets, small steps first, to join neighbors early."""
    start = 0
    levels: list[tuple[int, int]] = []
    irregular: list[Integers] = []
    for several in map(distinct, offsets):
        nest = nested_progression(several.reshape(-1, 1))
        if nest is None:
            irregular.append(several)
            continue
        start += int(several[0])
        levels += [(count, step) for count, step in nest]
    result = Repetition(Ranges(ranges.first + start, ranges.end + start))
    for several in irregular:
        result = result.moved(several, most)
    for count, step in sorted(levels, key=lambda level: level[1]):
        result = result.repeated(count, step, most)
    return result


def _every_lane(patterns: Patterns, element_bytes: int) -> Ranges:
    offsets = patterns.bases[:, None] + patterns.lanes[patterns.which]
    if patterns.active is None:
        offsets = offsets.reshape(-1)
    else:
        offsets = offsets[patterns.active[patterns.which]]
    return merged(offsets, offsets + element_bytes)
