"""Defective kernels, one defect each. A comment `# finds: RULE` marks the line of the defect.

Several rules that the same line violates are separated by commas.
"""

from typing import Any

import numpy as np

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.isa as nisa
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron import newer, older


@older.jit
def add_without_mask(a: Any) -> Any:
    """Read past the last row, because the last tile has no mask."""
    rows, columns = a.shape
    total = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    p = nl.arange(128)[:, None]
    f = nl.arange(columns)[None, :]
    for tile in nl.affine_range((rows + 127) // 128):
        row = tile * 128 + p
        loaded = nl.load(a[row, f])  # finds: out-of-bounds
        nl.store(total[row, f], value=loaded, mask=row < rows)
    return total


@older.jit
def read_unwritten(a: Any) -> Any:
    """Use a tile of which half is unwritten."""
    rows, columns = a.shape
    total = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((nl.par_dim(rows), 2 * columns), dtype=a.dtype, buffer=nl.sbuf)
    tile[0:rows, 0:columns] = nl.load(a)
    half = nl.copy(tile[0:rows, 1 : columns + 1])  # finds: uninitialized-read
    nl.store(total, value=half)
    return total


@older.jit
def skip_last_tile(a: Any) -> Any:
    """Return a tensor whose last rows are not written."""
    rows, columns = a.shape
    total = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)  # finds: unwritten-result
    for tile in nl.affine_range(rows // 128):
        index = nl.ds(tile * 128, 128)
        nl.store(total[index, 0:columns], value=nl.load(a[index, 0:columns]))
    return total


@older.jit
def load_too_many_rows(a: Any) -> Any:
    """Load more rows than there are partitions."""
    total = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    tile = nl.load(a)  # finds: partition-limit
    nl.store(total, value=tile)
    return total


@older.jit
def multiply_wide(a: Any, b: Any) -> Any:
    """Multiply by more columns than a bank of PSUM holds."""
    total = nl.ndarray((a.shape[1], b.shape[1]), dtype=a.dtype, buffer=nl.shared_hbm)
    product = nisa.nc_matmul(nl.load(a), nl.load(b))  # finds: psum-bank, matmul-limit
    nl.store(total, value=nl.copy(product))
    return total


@older.jit
def multiply_many_rows(a: Any, b: Any) -> Any:
    """Multiply by more stationary columns than the engine has."""
    total = nl.ndarray((a.shape[1], b.shape[1]), dtype=a.dtype, buffer=nl.shared_hbm)
    left, right = nl.load(a), nl.load(b)
    product = nl.matmul(left, right, transpose_x=True)  # finds: matmul-limit, partition-limit
    nl.store(total, value=nl.copy(product))  # finds: partition-limit
    return total


@older.jit
def multiply_mixed(a: Any, b: Any) -> Any:
    """Multiply float32 with bfloat16."""
    total = nl.ndarray((a.shape[1], b.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    right = nl.load(b, dtype=nl.bfloat16)
    product = nisa.nc_matmul(nl.load(a), right)  # finds: engine-dtype
    nl.store(total, value=nl.copy(product))
    return total


@older.jit
def add_in_device_memory(a: Any) -> Any:
    """Compute with a tensor that was not loaded."""
    total = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(total, value=nl.add(a, 1.0))  # finds: memory-space
    return total


@newer.jit
def copy_psum_by_gpsimd(a: Any) -> Any:
    """Copy from PSUM by GpSimd, which cannot access PSUM."""
    tile = nl2.load(a)
    product = nl2.ndarray((a.shape[1], a.shape[1]), dtype=nl2.float32, buffer=nl2.psum)
    nisa2.nc_matmul(dst=product, stationary=tile, moving=tile)
    copied = nl2.ndarray(product.shape, dtype=nl2.float32, buffer=nl2.sbuf)
    nisa2.tensor_copy(dst=copied, src=product, engine=nisa2.engine.gpsimd)  # finds: memory-space
    total = nl2.ndarray(product.shape, dtype=nl2.float32, buffer=nl2.shared_hbm)
    nisa2.dma_copy(dst=total, src=copied)
    return total


@newer.jit
def multiply_into_sbuf(a: Any) -> Any:
    """Write a product to SBUF, in bfloat16."""
    tile = nl2.load(a)
    product = nl2.ndarray((a.shape[1], a.shape[1]), dtype=nl2.bfloat16, buffer=nl2.sbuf)
    nisa2.nc_matmul(dst=product, stationary=tile, moving=tile)  # finds: memory-space, engine-dtype
    total = nl2.ndarray(product.shape, dtype=nl2.bfloat16, buffer=nl2.shared_hbm)
    nisa2.dma_copy(dst=total, src=product)
    return total


@older.jit
def hold_too_many_sums(a: Any) -> Any:
    """Accumulate nine products at once; PSUM has eight banks."""
    total = nl.ndarray((64, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    tile = nl.load(a)
    products = [nisa.nc_matmul(tile[:, 0:64], tile) for _ in range(9)]  # finds: psum-capacity
    added = products[0]
    for product in products[1:]:
        added = nl.add(added, product)
    nl.store(total, value=added)
    return total


@older.jit
def hold_too_many_tiles(a: Any) -> Any:
    """Use more of SBUF at the same time than there is."""
    rows, columns = a.shape
    total = nl.ndarray((rows, columns), dtype=a.dtype, buffer=nl.shared_hbm)
    loaded = [nl.load(a) for _ in range(8)]  # finds: sbuf-capacity
    added = loaded[0]
    for tile in loaded[1:]:
        added = nl.add(added, tile)
    nl.store(total, value=added)
    return total


def _array(*shape: int) -> Any:
    return np.ones(shape, np.float32)


#: (kernel, grid, arguments). A kernel may violate further rules as a consequence.
BROKEN = (
    (add_without_mask, (1,), (_array(200, 32),)),
    (read_unwritten, (1,), (_array(128, 32),)),
    (skip_last_tile, (1,), (_array(200, 32),)),
    (load_too_many_rows, (1,), (_array(200, 32),)),
    (multiply_wide, (1,), (_array(128, 64), _array(128, 600))),
    (multiply_many_rows, (1,), (_array(128, 130), _array(128, 64))),
    (multiply_mixed, (1,), (_array(128, 64), _array(128, 64))),
    (add_in_device_memory, (1,), (_array(128, 32),)),
    (copy_psum_by_gpsimd, (1,), (_array(128, 32),)),
    (multiply_into_sbuf, (1,), (_array(128, 32),)),
    (hold_too_many_sums, (1,), (_array(128, 512),)),
    (hold_too_many_tiles, (1,), (_array(128, 8192),)),
)
