"""Sets of bytes as runs that come again at nested distances: what an affine access touches.

Whole numbers in place of lists of ranges: the size of a set depends on counts and distances alone,
whatever the number of programs and lanes. Any other set is left to unique_bytes.py.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import prod
from typing import NamedTuple

Box = list[tuple[int, int]]
"""Per axis, the first place and one past the last."""


class Comb(NamedTuple):
    """`run` bytes from `first` on, and the same at all sums of multiples of the distances.

    `levels` are (how many, distance), ascending; each distance is at least as long as all before
    it spans, the run included, so that nothing overlaps.
    """

    first: int
    run: int
    levels: tuple[tuple[int, int], ...] = ()

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.run * prod(count for count, _ in self.levels)

    @property
    def end(self) -> int:
        """One past the last byte."""
        return self.first + self.run + sum((count - 1) * step for count, step in self.levels)


def steps_upwards(
    base: int, axes: Iterable[tuple[int, int, int]]
) -> tuple[int, list[tuple[int, int]]]:
    """Return the lowest sum of `base` and steps, and the steps that matter, all positive.

    `axes` are (step, first value, last value); the result's are (step, how many), in their order.
    """
    upwards = []
    for step, first, last in axes:
        if step > 0:
            base += step * first
            if last > first:
                upwards.append((step, last - first + 1))
        elif step:
            base += step * last
            if last > first:
                upwards.append((-step, last - first + 1))
    return base, upwards


def comb_of(first: int, steps: Sequence[tuple[int, int]], element_bytes: int) -> Comb | None:
    """Return all elements at `first` plus sums of steps (step > 0, how many); None: no such set."""
    run = reach = element_bytes
    levels: list[tuple[int, int]] = []
    for step, count in sorted(steps):
        if step <= run and not levels:
            run += (count - 1) * step
            reach = run
            continue
        times, distance = levels[-1] if levels else (0, 1)
        if step % distance == 0 and step <= times * distance:
            # It continues where the last level ends, or within it.
            levels[-1] = (times + (count - 1) * (step // distance), distance)
        elif step >= reach:
            levels.append((count, step))
        else:
            return None
        reach += (count - 1) * step
    return Comb(first, run, tuple(levels))


def size_of_combs(combs: Sequence[Comb]) -> int | None:
    """Count the bytes of a union; None where they interleave in a way that this does not see."""
    if len(combs) == 1:
        return combs[0].size
    total = 0
    group: list[Comb] = []
    end = 0
    for comb in sorted(combs):
        if group and comb.first >= end:
            size = _size_of_group(group)
            if size is None:
                return None
            total += size
            group = []
        end = max(end, comb.end) if group else comb.end
        group.append(comb)
    size = _size_of_group(group)
    return None if size is None else total + size


def _size_of_group(group: list[Comb]) -> int | None:
    distinct = list(dict.fromkeys(group))
    if len(distinct) < 2:
        return distinct[0].size if distinct else 0
    boxes = _boxes(distinct)
    return None if boxes is None else volume(boxes)


def _boxes(combs: Sequence[Comb]) -> list[Box] | None:
    """See combs as boxes over the digits of their places: one axis a distance, and one for bytes.

    None if a place may have several such digits.
    """
    origin = min(comb.first for comb in combs)
    distances = sorted({step for comb in combs for _, step in comb.levels}, reverse=True)
    boxes = []
    for comb in combs:
        counts = {step: count for count, step in comb.levels}
        rest = comb.first - origin
        box: Box = []
        for distance in distances:
            digit, rest = divmod(rest, distance)
            box.append((digit, digit + counts.get(distance, 1)))
        box.append((rest, rest + comb.run))
        boxes.append(box)
    reach = max(box[-1][1] for box in boxes)
    for axis in reversed(range(len(distances))):
        if distances[axis] < reach:
            return None
        reach += (max(box[axis][1] for box in boxes) - 1) * distances[axis]
    return boxes


def volume(boxes: list[Box]) -> int:
    """Count the points of a union of boxes."""
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
