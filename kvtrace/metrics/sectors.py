"""32-byte sectors that groups of lanes touch: how well an access coalesces.

Each group counts the distinct 32-byte sectors that its active lanes touch; a perfect access counts
one sector for 32 bytes. Which lanes go together, by the better of two models that can be had:

* what one instruction of a warp moves, by the layout that the op was compiled with
  (recorded_calls/thread_layouts.py): 32 threads, or 64 on AMD, each with what its instructions
  move;
* without one, 32 lanes that follow each other in the row-major order of the block. TTIR has no
  layout, so this is the logical order and not the threads': a block that is read along its first
  axis counts worse here than a compiler that turns its threads' order makes it.

The first gives what Nsight Compute counts for kernels tried on an H200. Storages are taken to begin
on a sector, as allocators for devices see to.
"""

import numpy as np
from numpy.typing import NDArray

SECTOR_BYTES = 32
GROUP_LANES = 32
_NOWHERE = 1 << 62
"""Above every sector, and far enough from the end of int64 for differences."""


def sector_counts(
    lanes: NDArray[np.int64],
    active: NDArray[np.bool_] | None,
    shift: int,
    element_bytes: int,
    width: int = GROUP_LANES,
) -> NDArray[np.int64]:
    """Count the sectors of each row of byte offsets, `shift` added to all of them.

    Args:
        lanes: byte offsets, shape (patterns, lanes).
        active: which lanes are on, of the same shape; None: all.
        shift: bytes to add to all offsets.
        element_bytes: size of an element.
        width: lanes in a group, which follow each other.

    Returns:
        Sectors per pattern, summed over groups: shape (patterns,).

    """
    patterns, count = lanes.shape
    width = min(width, max(count, 1))
    rest = -count % width
    if rest:
        lanes = np.pad(lanes, ((0, 0), (0, rest)))
        active = np.ones((patterns, count), np.bool_) if active is None else active
        active = np.pad(active, ((0, 0), (0, rest)))
    starts = (lanes + shift).reshape(-1, width)
    sectors = starts // SECTOR_BYTES
    chosen = None if active is None else active.reshape(-1, width)
    if (starts % SECTOR_BYTES + element_bytes > SECTOR_BYTES).any():
        last = (starts + element_bytes - 1) // SECTOR_BYTES
        sectors = np.concatenate([sectors, last], axis=1)
        chosen = None if chosen is None else np.concatenate([chosen, chosen], axis=1)
    distinct = _distinct_in_rows(sectors, chosen)
    total: NDArray[np.int64] = distinct.reshape(patterns, -1).sum(axis=1)
    return total


def _distinct_in_rows(
    values: NDArray[np.int64], chosen: NDArray[np.bool_] | None
) -> NDArray[np.int64]:
    if chosen is not None:
        values = np.where(chosen, values, _NOWHERE)
    steps = values[:, 1:] - values[:, :-1]
    if (steps < 0).any():
        values = np.sort(values, axis=1)
        steps = values[:, 1:] - values[:, :-1]
    distinct = 1 + np.count_nonzero(steps, axis=1)
    if chosen is not None:
        distinct = distinct - (values[:, -1] == _NOWHERE)
    result: NDArray[np.int64] = distinct.astype(np.int64)
    return result
