"""Sectors that an affine access touches, group by group of lanes, without looking at each group.

The model is that of sectors.py. All groups of a block hold lanes in the same steps, except for
those that the edge of a mask cuts; what differs is where they begin within a sector, and how many
groups begin where is counted axis by axis.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

from kvtrace.metrics.combs import steps_upwards
from kvtrace.metrics.sectors import GROUP_LANES, SECTOR_BYTES, sector_counts
from kvtrace.recorded_calls.thread_layouts import BlockedLayout, LaneOrder, lane_order

Axis = tuple[int, int, int]
"""Step in bytes, first value, last value."""

MOST_LANES = 1 << 20
"""Lanes of a block that are enumerated."""


def affine_sectors(
    base: int,
    outer: Sequence[Axis],
    lanes: Sequence[Axis],
    block: tuple[int, ...],
    element_bytes: int,
    layout: BlockedLayout | None = None,
) -> int | None:
    """Count the sectors of the elements at `base` plus steps; None if that is not seen here.

    Args:
        base: byte offset from the start of the storage.
        outer: axes of programs and trips, steps in bytes.
        lanes: axes of a block's lanes, as far as the mask leaves them, steps in bytes.
        block: the block's shape.
        element_bytes: size of an element.
        layout: how lanes are distributed to threads; None: in the order of the block.

    """
    if layout is not None:
        order = lane_order(layout, block, element_bytes)
        if order is not None:
            return _by_order(base, outer, tuple(lanes), block, element_bytes, order)
    size = prod(block)
    if size & (size - 1):
        return _by_order(base, outer, tuple(lanes), block, element_bytes, None)
    total = 0
    for among, within in _groups(lanes, block, min(GROUP_LANES, size)):
        first, steps = steps_upwards(base, within)
        starts, times = starts_in_sectors(first, (*outer, *among))
        steps.sort()
        for start, count in starts.items():
            total += _sectors_of_group(start, steps, element_bytes) * count * times
    return total


def _groups(
    lanes: Sequence[Axis], block: tuple[int, ...], width: int
) -> Iterable[tuple[list[Axis], list[Axis]]]:
    """Split a block into groups: axes from group to group, and axes within one.

    Extents are powers of two, so that a group is whole axes and a part of one. Where a mask cuts
    that one, there are up to three kinds of groups.
    """
    among: list[Axis] = []
    within: list[Axis] = []
    cut: Axis | None = None
    part = 1
    for axis, extent in zip(reversed(lanes), reversed(block), strict=True):
        if width >= extent:
            within.append(axis)
            width //= extent
        elif width == 1:
            among.append(axis)
        else:
            cut, part, width = axis, width, 1
    if cut is None:
        return [(among, within)]
    step, first, last = cut
    low, high = first // part, last // part
    kinds: list[tuple[int, int, int, int]] = []  # groups from, to; lanes of each from, to
    if low == high:
        kinds.append((low, low, first - low * part, last - low * part))
    else:
        if first % part:
            kinds.append((low, low, first % part, part - 1))
            low += 1
        if last % part != part - 1:
            kinds.append((high, high, 0, last % part))
            high -= 1
        if low <= high:
            kinds.append((low, high, 0, part - 1))
    return [
        ([*among, (step * part, start, stop)], [*within, (step, bottom, top)])
        for start, stop, bottom, top in kinds
    ]


def starts_in_sectors(base: int, axes: Iterable[Axis]) -> tuple[dict[int, int], int]:
    """Count how often sums of `base` and steps lie where in a sector, and how often all that is."""
    starts = {base % SECTOR_BYTES: 1}
    times = 1
    for step, first, last in axes:
        count = last - first + 1
        if step % SECTOR_BYTES == 0:
            times *= count
            continue
        period = SECTOR_BYTES // gcd(step, SECTOR_BYTES)
        rounds, rest = divmod(count, period)
        found: dict[int, int] = {}
        for start, known in starts.items():
            place = start + step * first
            for turn in range(min(period, count)):
                at = (place + turn * step) % SECTOR_BYTES
                found[at] = found.get(at, 0) + known * (rounds + (turn < rest))
        starts = found
    return starts, times


def _sectors_of_group(start: int, steps: Sequence[tuple[int, int]], element_bytes: int) -> int:
    """Count the sectors of one group; `start` lies in the first, `steps` ascend."""
    run = element_bytes
    rest = list(steps)
    while rest and rest[0][0] <= run:
        step, count = rest.pop(0)
        run += (count - 1) * step
    times = (start + run - 1) // SECTOR_BYTES + 1
    reach = run
    for step, count in rest:
        if step % SECTOR_BYTES or (start + reach - 1) // SECTOR_BYTES >= step // SECTOR_BYTES:
            return _sectors_one_by_one(start, steps, element_bytes)
        times *= count
        reach += (count - 1) * step
    return times


def _sectors_one_by_one(start: int, steps: Sequence[tuple[int, int]], element_bytes: int) -> int:
    places = [start]
    for step, count in steps:
        places = [place + turn * step for turn in range(count) for place in places]
    found = {place // SECTOR_BYTES for place in places}
    found.update((place + element_bytes - 1) // SECTOR_BYTES for place in places)
    return len(found)


def _by_order(
    base: int,
    outer: Sequence[Axis],
    lanes: tuple[Axis, ...],
    block: tuple[int, ...],
    element_bytes: int,
    order: LaneOrder | None,
) -> int | None:
    """Count with lanes in the order of a layout, on one block."""
    if prod(block) > MOST_LANES:
        return None
    starts, times = starts_in_sectors(base, outer)
    return times * sum(
        count * _sectors_of_block(start, lanes, block, element_bytes, order)
        for start, count in starts.items()
    )


@lru_cache(maxsize=1024)
def _sectors_of_block(
    start: int,
    lanes: tuple[Axis, ...],
    block: tuple[int, ...],
    element_bytes: int,
    order: LaneOrder | None,
) -> int:
    places: NDArray[np.int64] = np.zeros((1,) * len(block), np.int64)
    active: NDArray[np.bool_] = np.ones((1,) * len(block), np.bool_)
    for axis, (step, first, last) in enumerate(lanes):
        line = np.arange(block[axis]).reshape([-1 if a == axis else 1 for a in range(len(block))])
        places = places + line * step
        active = active & (line >= first) & (line <= last)
    places = np.broadcast_to(places, block).reshape(1, -1)
    active = np.broadcast_to(active, block).reshape(1, -1)
    width = GROUP_LANES
    if order is not None:
        places, active, width = places[:, order.lanes], active[:, order.lanes], order.width
    chosen = None if active.all() else active
    return int(sector_counts(places, chosen, start, element_bytes, width).sum())
