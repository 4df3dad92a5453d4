"""Kernels with one defect each. The comment `# finds: RULE` stands at the line that is wrong.

Several rules that the same line breaks are separated by commas.
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
    half = nl.copy(held[0:rows, 1 : columns + 1])  # finds: uninitialised-read
    nl.store(total, value=half)  # finds: undefined-lanes
    return total


@older.jit
def store_same_block(a: Any) -> Any:
    """Have every program of the grid write rows of its own to the same ones."""
    total = nl.ndarray((64, a.shape[1]), dtype=a.dtype, buffer=nl.shared_hbm)
    row = nl.program_id(0) * 64
    p = nl.arange(64)[:, None]
    f = nl.arange(a.shape[1])[None, :]
    nl.store(total[p, f], value=nl.load(a[row + p, f]))  # finds: race
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


@older.jit
def load_too_many_rows(a: Any) -> Any:
    """Load more rows than there are partitions."""
    total = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    held = nl.load(a)  # finds: partition-limit
    nl.store(total, value=held)
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
    """Have more stationary columns than the engine has."""
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
    """Have GpSimd read PSUM, which it cannot."""
    held = nl2.load(a)
    product = nl2.ndarray((a.shape[1], a.shape[1]), dtype=nl2.float32, buffer=nl2.psum)
    nisa2.nc_matmul(dst=product, stationary=held, moving=held)
    kept = nl2.ndarray(product.shape, dtype=nl2.float32, buffer=nl2.sbuf)
    nisa2.tensor_copy(dst=kept, src=product, engine=nisa2.engine.gpsimd)  # finds: memory-space
    total = nl2.ndarray(product.shape, dtype=nl2.float32, buffer=nl2.shared_hbm)
    nisa2.dma_copy(dst=total, src=kept)
    return total


@newer.jit
def multiply_into_sbuf(a: Any) -> Any:
    """Have the tensor engine write to SBUF, and sum in bfloat16."""
    held = nl2.load(a)
    kept = nl2.ndarray((a.shape[1], a.shape[1]), dtype=nl2.bfloat16, buffer=nl2.sbuf)
    nisa2.nc_matmul(dst=kept, stationary=held, moving=held)  # finds: memory-space, engine-dtype
    total = nl2.ndarray(kept.shape, dtype=nl2.bfloat16, buffer=nl2.shared_hbm)
    nisa2.dma_copy(dst=total, src=kept)
    return total


@older.jit
def statistics_of_wide_tile(a: Any) -> Any:
    """Take statistics of more elements than the instruction does."""
    total = nl.ndarray((a.shape[0], 2), dtype=a.dtype, buffer=nl.shared_hbm)
    stats = nisa.bn_stats(nl.load(a))  # finds: tile-limit
    nl.store(total, value=nisa.bn_aggr(stats))
    return total


@older.jit
def hold_too_many_sums(a: Any) -> Any:
    """Accumulate nine products at once; PSUM has eight banks."""
    total = nl.ndarray((64, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    held = nl.load(a)
    products = [nisa.nc_matmul(held[:, 0:64], held) for _ in range(9)]  # finds: psum-capacity
    added = products[0]
    for product in products[1:]:
        added = nl.add(added, product)
    nl.store(total, value=added)
    return total


@older.jit
def hold_too_many_tiles(a: Any) -> Any:
    """Hold more in SBUF at once than it has."""
    rows, columns = a.shape
    total = nl.ndarray((rows, columns), dtype=a.dtype, buffer=nl.shared_hbm)
    held = [nl.load(a) for _ in range(8)]  # finds: sbuf-capacity
    added = held[0]
    for tile in held[1:]:
        added = nl.add(added, tile)
    nl.store(total, value=added)
    return total


@newer.jit(platform_target="trn2")
def quantise_on_trn2(a: Any) -> Any:
    """Quantise to a microscaling format, which came with NeuronCore-v4."""
    rows, columns = a.shape
    held = nl2.ndarray((rows, columns), dtype=nl2.bfloat16, buffer=nl2.sbuf)
    nisa2.dma_copy(dst=held, src=a)
    packed = nl2.ndarray((rows, columns // 4), dtype=nl2.float8_e4m3fn_x4, buffer=nl2.sbuf)
    scales = nl2.ndarray((rows, columns // 4), dtype=nl2.uint8, buffer=nl2.sbuf)
    nisa2.quantize_mx(dst=packed, src=held, dst_scale=scales)  # finds: target-support
    total = nl2.ndarray((4, columns // 4), dtype=nl2.uint8, buffer=nl2.shared_hbm)
    nisa2.dma_copy(dst=total, src=scales[0:4, :])
    return total


@newer.jit
def transpose_by_scalar_engine(a: Any) -> Any:
    """Ask the scalar engine for a transpose, which it does not do."""
    rows, columns = a.shape
    held = nl2.ndarray((rows, columns), dtype=a.dtype, buffer=nl2.sbuf)
    nisa2.dma_copy(dst=held, src=a)
    turned = nl2.ndarray((columns, rows), dtype=a.dtype, buffer=nl2.psum)
    scalar = nisa2.scalar_engine
    nisa2.nc_transpose(dst=turned, data=held, engine=scalar)  # finds: instruction-argument
    copied = nl2.ndarray((columns, rows), dtype=a.dtype, buffer=nl2.sbuf)
    nisa2.tensor_copy(dst=copied, src=turned)
    total = nl2.ndarray((columns, rows), dtype=a.dtype, buffer=nl2.shared_hbm)
    nisa2.dma_copy(dst=total, src=copied)
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
    (load_too_many_rows, (1,), (_array(200, 32),)),
    (multiply_wide, (1,), (_array(128, 64), _array(128, 600))),
    (multiply_many_rows, (1,), (_array(128, 130), _array(128, 64))),
    (multiply_mixed, (1,), (_array(128, 64), _array(128, 64))),
    (add_in_device_memory, (1,), (_array(128, 32),)),
    (copy_psum_by_gpsimd, (1,), (_array(128, 32),)),
    (multiply_into_sbuf, (1,), (_array(128, 32),)),
    (statistics_of_wide_tile, (1,), (_array(128, 600),)),
    (hold_too_many_sums, (1,), (_array(128, 512),)),
    (hold_too_many_tiles, (1,), (_array(128, 8192),)),
    (quantise_on_trn2, (1,), (_array(128, 32),)),
    (transpose_by_scalar_engine, (1,), (_array(128, 32),)),
    (store_same_block, (2,), (np.arange(128 * 32, dtype=np.float32).reshape(128, 32),)),
)
