"""Matrix multiplication, from one tile to blocks of all three dimensions.

The left factor comes transposed, (K, M), for the tensor engine contracts over partitions.
"""

from typing import Any

import ml_dtypes
import numpy as np

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.isa as nisa
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron import newer, older
from tests.addons.neuron.kernels.case import Case, arguments_of, normal

M_TILE, K_TILE, N_TILE = 128, 128, 512


@older.jit
def product_basic(left: Any, right: Any) -> Any:
    """Multiply one tile by one tile."""
    result = nl.ndarray((left.shape[1], right.shape[1]), dtype=left.dtype, buffer=nl.shared_hbm)
    product = nl.matmul(nl.load(left), nl.load(right), transpose_x=True)
    nl.store(result, value=nl.copy(product, dtype=result.dtype))
    return result


@older.jit
def product_tiled(left: Any, right: Any) -> Any:
    """Load both tiles for each product, and accumulate over K in PSUM."""
    (depth, rows), columns = left.shape, right.shape[1]
    result = nl.ndarray((rows, columns), dtype=left.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(rows // M_TILE):
        for n in nl.affine_range(columns // N_TILE):
            total = nl.zeros((M_TILE, N_TILE), nl.float32, buffer=nl.psum)
            for k in nl.affine_range(depth // K_TILE):
                a = nl.load(left[nl.ds(k * K_TILE, K_TILE), nl.ds(m * M_TILE, M_TILE)])
                b = nl.load(right[nl.ds(k * K_TILE, K_TILE), nl.ds(n * N_TILE, N_TILE)])
                total += nl.matmul(a, b, transpose_x=True)
            index = result[nl.ds(m * M_TILE, M_TILE), nl.ds(n * N_TILE, N_TILE)]
            nl.store(index, value=nl.copy(total, dtype=result.dtype))
    return result


@older.jit
def product_hoisted(left: Any, right: Any) -> Any:
    """Load a column of left tiles once for a row of results, and right tiles once for each."""
    (depth, rows), columns = left.shape, right.shape[1]
    steps = depth // K_TILE
    result = nl.ndarray((rows, columns), dtype=left.dtype, buffer=nl.shared_hbm)
    ap, af = nl.mgrid[0:K_TILE, 0:M_TILE]
    bp, bf = nl.mgrid[0:K_TILE, 0:N_TILE]
    rp, rf = nl.mgrid[0:M_TILE, 0:N_TILE]
    for m in nl.affine_range(rows // M_TILE):
        a = nl.ndarray((steps, nl.par_dim(K_TILE), M_TILE), dtype=left.dtype, buffer=nl.sbuf)
        for k in nl.affine_range(steps):
            a[k, ap, af] = nl.load(left[k * K_TILE + ap, m * M_TILE + af])
        for n in nl.affine_range(columns // N_TILE):
            b = nl.ndarray((steps, nl.par_dim(K_TILE), N_TILE), dtype=right.dtype, buffer=nl.sbuf)
            for k in nl.affine_range(steps):
                b[k, bp, bf] = nl.load(right[k * K_TILE + bp, n * N_TILE + bf])
            total = nl.zeros((M_TILE, N_TILE), nl.float32, buffer=nl.psum)
            for k in nl.affine_range(steps):
                total[...] += nisa.nc_matmul(a[k, ap, af], b[k, bp, bf])
            rounded = nl.copy(total, dtype=result.dtype)
            nl.store(result[m * M_TILE + rp, n * N_TILE + rf], value=rounded)
    return result


@older.jit
def product_blocked(
    left: Any, right: Any, m_tiles: int = 16, n_tiles: int = 2, k_tiles: int = 8
) -> Any:
    """Block all three dimensions; partial sums over K are kept in SBUF."""
    (depth, rows), columns = left.shape, right.shape[1]
    m_block, n_block, k_block = M_TILE * m_tiles, N_TILE * n_tiles, K_TILE * k_tiles
    m_blocks = rows // m_block
    result = nl.ndarray((rows, columns), dtype=left.dtype, buffer=nl.shared_hbm)
    ap, af = nl.mgrid[0:K_TILE, 0:m_block]
    bp, bf = nl.mgrid[0:K_TILE, 0:n_block]
    sp, sf = nl.mgrid[0:K_TILE, 0:M_TILE]
    rp, rf = nl.mgrid[0:M_TILE, 0:N_TILE]
    for n in nl.affine_range(columns // n_block):
        sums = nl.zeros(
            (m_blocks, m_tiles, n_tiles, nl.par_dim(M_TILE), N_TILE), left.dtype, buffer=nl.sbuf
        )
        for k in nl.sequential_range(depth // k_block):
            b = nl.ndarray((k_tiles, nl.par_dim(K_TILE), n_block), right.dtype, buffer=nl.sbuf)
            for i in nl.affine_range(k_tiles):
                b[i, bp, bf] = nl.load(right[k * k_block + i * K_TILE + bp, n * n_block + bf])
            for m in nl.affine_range(m_blocks):
                a = nl.ndarray((k_tiles, nl.par_dim(K_TILE), m_block), left.dtype, buffer=nl.sbuf)
                for i in nl.affine_range(k_tiles):
                    a[i, ap, af] = nl.load(left[k * k_block + i * K_TILE + ap, m * m_block + af])
                for j in nl.affine_range(n_tiles):
                    for i in nl.affine_range(m_tiles):
                        total = nl.zeros((M_TILE, N_TILE), nl.float32, buffer=nl.psum)
                        for step in nl.affine_range(k_tiles):
                            total[...] += nisa.nc_matmul(
                                a[step, sp, i * M_TILE + sf], b[step, sp, j * N_TILE + rf]
                            )
                        sums[m, i, j, rp, rf] += total[rp, rf]
        for m in nl.affine_range(m_blocks):
            for i in nl.affine_range(m_tiles):
                for j in nl.affine_range(n_tiles):
                    row, column = m * m_block + i * M_TILE, n * n_block + j * N_TILE
                    nl.store(result[row + rp, column + rf], value=sums[m, i, j, rp, rf])
    return result


@newer.jit
def product_into(left: Any, right: Any) -> Any:
    """Accumulate over K in a PSUM tile that the first product overwrites."""
    (depth, rows), columns = left.shape, right.shape[1]
    result = nl2.ndarray((rows, columns), dtype=left.dtype, buffer=nl2.shared_hbm)
    for m in nl2.affine_range(rows // M_TILE):
        for n in nl2.affine_range(columns // N_TILE):
            ms, ns = slice(m * M_TILE, (m + 1) * M_TILE), slice(n * N_TILE, (n + 1) * N_TILE)
            total = nl2.ndarray((M_TILE, N_TILE), nl2.float32, buffer=nl2.psum)
            for k in nl2.affine_range(depth // K_TILE):
                ks = slice(k * K_TILE, (k + 1) * K_TILE)
                a = nl2.ndarray((K_TILE, M_TILE), dtype=left.dtype, buffer=nl2.sbuf)
                b = nl2.ndarray((K_TILE, N_TILE), dtype=right.dtype, buffer=nl2.sbuf)
                nisa2.dma_copy(dst=a, src=left[ks, ms])
                nisa2.dma_copy(dst=b, src=right[ks, ns])
                nisa2.nc_matmul(dst=total, stationary=a, moving=b)
            rounded = nl2.ndarray((M_TILE, N_TILE), dtype=result.dtype, buffer=nl2.sbuf)
            nisa2.tensor_copy(dst=rounded, src=total)
            nisa2.dma_copy(dst=result[ms, ns], src=rounded)
    return result


@newer.jit(platform_target="trn3")
def product_quantized(left: Any, right: Any) -> Any:
    """Quantize both factors, of 4 × 128 contracted values, to MXFP8, and multiply them."""
    rows, columns = left.shape[1] // 4, right.shape[1] // 4
    result = nl2.ndarray((rows, columns), dtype=nl2.float32, buffer=nl2.shared_hbm)
    packed, scales = [], []
    for source in (left, right):
        partitions, free = source.shape
        tile = nl2.ndarray((partitions, free), dtype=source.dtype, buffer=nl2.sbuf)
        nisa2.dma_copy(dst=tile, src=source)
        values = nl2.ndarray((partitions, free // 4), nl2.float8_e4m3fn_x4, buffer=nl2.sbuf)
        scale = nl2.ndarray((partitions, free // 4), nl2.uint8, buffer=nl2.sbuf)
        nisa2.quantize_mx(dst=values, src=tile, dst_scale=scale)
        packed.append(values)
        scales.append(scale)
    total = nl2.ndarray((rows, columns), nl2.float32, buffer=nl2.psum)
    nisa2.nc_matmul_mx(
        dst=total,
        stationary=packed[0],
        moving=packed[1],
        stationary_scale=scales[0],
        moving_scale=scales[1],
    )
    copied = nl2.ndarray((rows, columns), nl2.float32, buffer=nl2.sbuf)
    nisa2.tensor_copy(dst=copied, src=total)
    nisa2.dma_copy(dst=result, src=copied)
    return result


def product(left: Any, right: Any) -> Any:
    """Multiply in float32."""
    return left.astype(np.float32).T @ right.astype(np.float32)


def _of_fours(left: Any, right: Any) -> Any:
    """Contract partitions and groups of four neighbors."""
    wide = [each_one.astype(np.float64).reshape(128, -1, 4) for each_one in (left, right)]
    return np.einsum("pmj,pnj->mn", *wide)


_BF16 = ml_dtypes.bfloat16

CASES = (
    Case(product_basic, arguments_of(normal(128, 64), normal(128, 512)), product),
    Case(
        product_tiled,
        arguments_of(normal(256, 256, dtype=_BF16), normal(256, 512, dtype=_BF16)),
        product,
        tolerance=1e-2,
    ),
    Case(product_hoisted, arguments_of(normal(384, 128), normal(384, 1024)), product),
    Case(
        product_blocked,
        arguments_of(normal(512, 512), normal(512, 1024)),
        product,
        settings={"m_tiles": 2, "n_tiles": 1, "k_tiles": 2},
    ),
    Case(
        product_quantized,
        arguments_of(normal(128, 4 * 64, dtype=_BF16), normal(128, 4 * 96, dtype=_BF16)),
        _of_fours,
        tolerance=5e-2,
    ),
    Case(product_into, arguments_of(normal(256, 256), normal(256, 512)), product),
)
