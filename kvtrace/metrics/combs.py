"""Combs: sets of bytes of an affine access, as a run that is repeated at nested distances.

A few numbers replace lists of ranges: a set's size depends only on counts and distances, for any
number of programs and lanes. 1,000 rows of 512 bytes, 4,096 bytes apart, are the run 512 with the
level (1000, 4096): 512,000 bytes. Other sets are counted in unique_bytes.py.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import prod
from operator import itemgetter
from typing import NamedTuple, TypeVar

T = TypeVar("T")

Box = list[tuple[int, int]]
"""The start and end (excluded) along each axis."""


class Comb(NamedTuple):
    """`run` bytes from offset `first`, repeated at all sums of multiples of the distances.

    `levels` are (count, distance) by ascending distance; each distance is at least the span of all
    smaller levels with the run, so that no bytes overlap.
    """

    first: int
    run: int
    levels: tuple[tuple[int, int], ...] = ()

    @property
    def size(self) -> int:
        """The number of bytes."""
        return self.run * prod(count for count, _ in self.levels)

    @property
    def end(self) -> int:
        """The offset after the last byte."""
        return self.first + self.run + sum((count - 1) * step for count, step in self.levels)


def ascending_steps(
    base: int, axes: Iterable[tuple[int, int, int]]
) -> tuple[int, list[tuple[int, int]]]:
    """Return the lowest sum of `base` and steps, and the nonzero steps as positive ones.

    `axes` are (step, first value, last value); the returned steps are (step, count).
    """
    steps = []
    for step, first, last in axes:
        if step > 0:
            base += step * first
            if last > first:
                steps.append((step, last - first + 1))
        elif step:
            base += step * last
            if last > first:
                steps.append((-step, last - first + 1))
    return base, steps


def comb_of(first: int, steps: Sequence[tuple[int, int]], element_bytes: int) -> Comb | None:
    """Return the elements at `first` plus sums of steps (step > 0, count) as a comb, else None."""
    run = span = element_bytes
    levels: list[tuple[int, int]] = []
    for step, count in sorted(steps):
        if step <= run and not levels:
            run += (count - 1) * step
            span = run
            continue
        last_count, distance = levels[-1] if levels else (0, 1)
        if step % distance == 0 and step <= last_count * distance:
            # The new level continues where the last level ends, or within it.
            levels[-1] = (last_count + (count - 1) * (step // distance), distance)
        elif step >= span:
            levels.append((count, step))
        else:
            return None
        span += (count - 1) * step
    return Comb(first, run, tuple(levels))


def size_of_combs(combs: Sequence[Comb]) -> int | None:
    """Return the number of bytes in a union of combs, None if they interleave irregularly."""
    total = 0
    for group in overlapping_groups([(c.first, c.end, c) for c in dict.fromkeys(combs)]):
        boxes = None if len(group) == 1 else _boxes(group)
        if len(group) > 1 and boxes is None:
            return None
        total += group[0].size if boxes is None else volume(boxes)
    return total


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


def _boxes(combs: Sequence[Comb]) -> list[Box] | None:
    """Return combs as boxes over digits of offsets: an axis per distance, and one for bytes.

    Returns None if an offset may have several representations by digits.
    """
    origin = min(comb.first for comb in combs)
    distances = sorted({step for comb in combs for _, step in comb.levels}, reverse=True)
    boxes = []
    for comb in combs:
        counts = {step: count for count, step in comb.levels}
        remaining_offset = comb.first - origin
        box: Box = []
        for distance in distances:
            digit, remaining_offset = divmod(remaining_offset, distance)
            box.append((digit, digit + counts.get(distance, 1)))
        box.append((remaining_offset, remaining_offset + comb.run))
        boxes.append(box)
    span = max(box[-1][1] for box in boxes)
    for axis in reversed(range(len(distances))):
        if distances[axis] < span:
            return None
        span += (max(box[axis][1] for box in boxes) - 1) * distances[axis]
    return boxes


def volume(boxes: list[Box]) -> int:
    """Return the number of points in a union of boxes."""
    if not boxes:
        return 0
    if len(boxes) == 1:
        return prod(end - first for first, end in boxes[0])
    edges = sorted({edge for box in boxes for edge in box[0]})
    if len(boxes[0]) == 1:
        return sum(
            end - first
            for first, end in pairwise(edges)
            if any(box[0][0] <= first and end <= box[0][1] for box in boxes)
        )
    return sum(
        (end - first) * volume([b[1:] for b in boxes if b[0][0] <= first and end <= b[0][1]])
        for first, end in pairwise(edges)
    )
