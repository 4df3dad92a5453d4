"""Sectors of 32 bytes that groups of lanes touch, which measure how an access coalesces.

Each group counts the distinct 32-byte sectors that its active lanes touch; a perfect access counts
one sector for 32 bytes. A group is, by the better of two models that is available:

* the lanes of one instruction of a warp, by the layout that the op was compiled with
  (recorded_calls/thread_layouts.py): 32 threads, or 64 on AMD, with the lanes of each thread's
  instruction;
* without a layout, 32 consecutive lanes in the row-major order of the block. TTIR has no layout, so
  this is the logical order and not the threads' order: a block that is read along its first axis
  counts worse here than with a compiler that reorders threads.

The first model agrees with Nsight Compute for the kernels that were measured on an H200. Storages
are assumed to begin at a sector, as device allocators guarantee.

Blocks with the same lanes differ only in their start within a sector, so one block is counted for
each start.
"""

import numpy as np
from numpy.typing import NDArray

from kvtrace.metrics.distinct import distinct_counts
from kvtrace.metrics.patterns import Patterns
from kvtrace.recorded_calls.thread_layouts import BlockedLayout, lane_order

_SECTOR_BITS = 5
SECTOR_BYTES = 1 << _SECTOR_BITS
GROUP_LANES = 32
_NO_SECTOR = 1 << 62
"""A number above every sector, and small enough for differences in int64."""

_MOST_AT_ONCE = 1 << 17
"""Limit of lanes that are counted at once, whose arrays stay in the processor's caches."""


def sectors_of_patterns(
    patterns: Patterns, shift: int, element_bytes: int, layout: BlockedLayout | None
) -> int:
    """Return the sectors of all programs, with `shift` bytes added to their bases."""
    order = None if layout is None else lane_order(layout, patterns.block, element_bytes)
    width = GROUP_LANES if order is None else order.width
    starts = (patterns.bases + shift) % SECTOR_BYTES
    blocks = distinct_counts(patterns.pattern_of_program * SECTOR_BYTES + starts)
    step = max(1, _MOST_AT_ONCE // max(patterns.lanes.shape[1], 1))
    total = 0
    for first in range(0, len(blocks), step):
        keys, uses = np.array(blocks[first : first + step]).T
        used_patterns, shifts = keys // SECTOR_BYTES, keys[:, None] % SECTOR_BYTES
        active = None if patterns.active is None else patterns.active[used_patterns]
        lanes = patterns.lanes[used_patterns]
        if order is not None:
            lanes = lanes[:, order.lanes]
            active = None if active is None else active[:, order.lanes]
        total += int(sector_counts(lanes, active, shifts, element_bytes, width) @ uses)
    return total


def sector_counts(
    lanes: NDArray[np.int64],
    active: NDArray[np.bool_] | None,
    shift: int | NDArray[np.int64],
    element_bytes: int,
    width: int = GROUP_LANES,
) -> NDArray[np.int64]:
    """Return the sectors that each row of byte offsets plus `shift` touches.

    Args:
        lanes: byte offsets, shape (patterns, lanes).
        active: flags of active lanes, of the same shape; None: all are active.
        shift: bytes to add to all offsets, or to those of each row: shape (patterns, 1).
        element_bytes: size of an element.
        width: number of consecutive lanes in a group.

    Returns:
        Sectors per pattern, summed over groups: shape (patterns,).
    """
    patterns, count = lanes.shape
    width = min(width, max(count, 1))
    padding = -count % width
    if padding:
        lanes = np.pad(lanes, ((0, 0), (0, padding)))
        active = np.ones((patterns, count), np.bool_) if active is None else active
        active = np.pad(active, ((0, 0), (0, padding)))
    starts = (lanes + shift).reshape(-1, width)
    sectors = starts >> _SECTOR_BITS  # as `//`, several times faster
    active_groups = None if active is None else active.reshape(-1, width)
    if ((starts & (SECTOR_BYTES - 1)) + element_bytes > SECTOR_BYTES).any():
        last_sectors = (starts + element_bytes - 1) >> _SECTOR_BITS
        sectors = np.concatenate([sectors, last_sectors], axis=1)
        active_groups = (
            None
            if active_groups is None
            else np.concatenate([active_groups, active_groups], axis=1)
        )
    counts = _distinct_in_rows(sectors, active_groups)
    total: NDArray[np.int64] = counts.reshape(patterns, -1).sum(axis=1)
    return total


def _distinct_in_rows(
    values: NDArray[np.int64], chosen: NDArray[np.bool_] | None
) -> NDArray[np.int64]:
    """Return the number of distinct values of each row, of chosen elements only."""
    if chosen is not None:
        values = np.where(chosen, values, _NO_SECTOR)
    steps = values[:, 1:] - values[:, :-1]
    if (steps < 0).any():
        values = np.sort(values, axis=1)
        steps = values[:, 1:] - values[:, :-1]
    distinct = 1 + np.count_nonzero(steps, axis=1)
    if chosen is not None:
        distinct = distinct - (values[:, -1] == _NO_SECTOR)
    result: NDArray[np.int64] = distinct.astype(np.int64)
    return result
