"""Sets of bytes as sorted ranges that neither overlap nor touch: exact, and small where dense."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kvtrace.passes.patterns import Patterns

Integers = NDArray[np.int64]

_BATCH = 1 << 21
"""How many ranges are sorted at once."""


class TooManyRanges(Exception):
    """The set falls into more ranges than may be kept."""


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges of bytes [first, end), ascending and apart from each other."""

    first: Integers
    end: Integers

    @property
    def size(self) -> int:
        """Number of bytes."""
        return int((self.end - self.first).sum())


def merged(first: Integers, end: Integers) -> Ranges:
    """Sort ranges, which may overlap, and join those that overlap or touch."""
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
    """Give the union."""
    if len(sets) == 1:
        return sets[0]
    return merged(np.concatenate([s.first for s in sets]), np.concatenate([s.end for s in sets]))


def spread(ranges: Ranges, offsets: Integers, most: int) -> Ranges:
    """Give the union of the ranges moved by each offset.

    Raises TooManyRanges if it falls into more than `most`, or takes more than 64 times as many to
    work out.
    """
    offsets = np.unique(offsets)
    if len(offsets) == 1:
        return Ranges(ranges.first + offsets[0], ranges.end + offsets[0])
    if len(offsets) * len(ranges.first) > 64 * most:
        raise TooManyRanges
    step = max(1, _BATCH // max(1, len(ranges.first)))
    parts = []
    for start in range(0, len(offsets), step):
        moves = offsets[start : start + step]
        # Moves outermost: ranges of one move stay in order, and mostly of all of them.
        first = (moves[:, None] + ranges.first).reshape(-1)
        parts.append(merged(first, (moves[:, None] + ranges.end).reshape(-1)))
        if sum(len(part.first) for part in parts) > 2 * most:
            parts = [joined(parts)]
    result = joined(parts)
    if len(result.first) > most:
        raise TooManyRanges
    return result


def touched(patterns: Patterns, constants: Integers, element_bytes: int, most: int) -> Ranges:
    """Give all bytes that the patterns' programs touch, moved by each of the constants.

    Raises TooManyRanges as `spread`.
    """
    if patterns.size > 1 and len(patterns.programs) * patterns.lanes.shape[1] <= _BATCH:
        return spread(_every_lane(patterns, element_bytes), constants, most)
    sets = []
    for number in range(patterns.size):
        lanes = patterns.active_lanes(number)
        bases = np.unique(patterns.bases[patterns.which == number])
        ranges = merged(lanes, lanes + element_bytes)
        for offsets in sorted((bases, np.unique(constants)), key=_smallest_step):
            ranges = spread(ranges, offsets, most)
        sets.append(ranges)
    return joined(sets)


def _every_lane(patterns: Patterns, element_bytes: int) -> Ranges:
    offsets = patterns.bases[:, None] + patterns.lanes[patterns.which]
    if patterns.active is None:
        offsets = offsets.reshape(-1)
    else:
        offsets = offsets[patterns.active[patterns.which]]
    return merged(offsets, offsets + element_bytes)


def _smallest_step(offsets: Integers) -> int:
    """Small steps first: what touches is then joined before it is moved about."""
    return int((offsets[1:] - offsets[:-1]).min(initial=1 << 62))
