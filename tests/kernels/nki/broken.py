"""Kernels with one defect each. The comment `# finds: RULE` stands at the line that is wrong."""

from typing import Any

import numpy as np

import kvtrace.nki.older.language as nl
from kvtrace.nki import older


@older.jit
def add_without_mask(a: Any) -> Any:
    """Read past the last row, for the last tile lacks its mask."""
    rows, columns = a.shape
    total = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    p = nl.arange(128)[:, None]
    f = nl.arange(columns)[None, :]
    for tile in nl.affine_range((rows + 127) // 128):
        row = tile * 128 + p
        held = nl.load(a[row, f])  # finds: out-of-bounds
        nl.store(total[row, f], value=held, mask=row < rows)
    return total


@older.jit
def store_masked_lanes(a: Any) -> Any:
    """Store lanes that the load left out."""
    rows, columns = a.shape
    total = nl.ndarray((128, columns), dtype=a.dtype, buffer=nl.shared_hbm)
    p = nl.arange(128)[:, None]
    f = nl.arange(columns)[None, :]
    held = nl.load(a[p, f], mask=p < rows)
    nl.store(total[p, f], value=held)  # finds: undefined-lanes
    return total


@older.jit
def read_unwritten(a: Any) -> Any:
    """Use a tile half of which nothing was written to."""
    rows, columns = a.shape
    total = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    held = nl.ndarray((nl.par_dim(rows), 2 * columns), dtype=a.dtype, buffer=nl.sbuf)
    held[0:rows, 0:columns] = nl.load(a)
    nl.store(total, value=nl.copy(held[0:rows, 1 : columns + 1]))  # finds: uninitialised-read
    return total


@older.jit
def store_same_block(a: Any) -> Any:
    """Have every program of the grid write the same rows."""
    total = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    row = nl.program_id(0) * 0
    p = nl.arange(64)[:, None]
    f = nl.arange(a.shape[1])[None, :]
    nl.store(total[row + p, f], value=nl.load(a[row + p, f]))  # finds: race
    return total


@older.jit
def skip_last_tile(a: Any) -> Any:
    """Return a tensor whose last rows no tile covers."""
    rows, columns = a.shape
    total = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)  # finds: unwritten-result
    for tile in nl.affine_range(rows // 128):
        place = nl.ds(tile * 128, 128)
        nl.store(total[place, 0:columns], value=nl.load(a[place, 0:columns]))
    return total


@older.jit
def carry_in_affine_range(a: Any) -> Any:
    """Use in each iteration what the one before has left, in a loop that promises the opposite."""
    total = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    state = nl.zeros((nl.par_dim(128), a.shape[1]), dtype=a.dtype)
    for _ in nl.affine_range(4):
        decayed = nl.multiply(state, 0.5)  # finds: loop-dependence
        state[...] = decayed + nl.load(a)
    nl.store(total, value=state)
    return total


def _array(*shape: int) -> Any:
    return np.ones(shape, np.float32)


#: Kernel, grid, arguments. A kernel may break further rules in consequence.
BROKEN = (
    (add_without_mask, (1,), (_array(200, 32),)),
    (store_masked_lanes, (1,), (_array(100, 32),)),
    (read_unwritten, (1,), (_array(128, 32),)),
    (skip_last_tile, (1,), (_array(200, 32),)),
    (carry_in_affine_range, (1,), (_array(128, 32),)),
    (store_same_block, (2,), (_array(128, 32),)),
)
