"""Tensor addition: one tile, tiles with masks, and programs of a grid."""

from typing import Any

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron import newer, older
from tests.addons.neuron.kernels.case import Case, arguments_of, normal


@older.jit
def add_tile(a: Any, b: Any) -> Any:
    """Add tensors of at most 128 rows."""
    total = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(total, value=nl.load(a) + nl.load(b))
    return total


@older.jit
def add_masked(a: Any, b: Any) -> Any:
    """Add tensors of any number of rows, tile by tile; the last tile is masked."""
    rows, columns = a.shape
    total = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    p = nl.arange(128)[:, None]
    f = nl.arange(columns)[None, :]
    for tile in nl.affine_range((rows + 127) // 128):
        row = tile * 128 + p
        inside = row < rows
        left = nl.load(a[row, f], mask=inside)
        right = nl.load(b[row, f], mask=inside)
        nl.store(total[row, f], value=nl.add(left, right), mask=inside)
    return total


@older.jit
def add_spmd(a: Any, b: Any) -> Any:
    """Add tensors on a grid: each program has a block of 128 rows and 512 columns."""
    total = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    row = nl.program_id(0) * 128
    column = nl.program_id(1) * 512
    grid = nl.mgrid[0:128, 0:512]
    left = nl.load(a[row + grid.p, column + grid.x])
    right = nl.load(b[row + grid.p, column + grid.x])
    nl.store(total[row + grid.p, column + grid.x], value=left + right)
    return total


@newer.jit
def add_into(a: Any, b: Any) -> Any:
    """Add tensors of at most 128 rows, with destinations."""
    left = nl2.ndarray(a.shape, dtype=a.dtype, buffer=nl2.sbuf)
    right = nl2.ndarray(b.shape, dtype=b.dtype, buffer=nl2.sbuf)
    nisa2.dma_copy(dst=left, src=a)
    nisa2.dma_copy(dst=right, src=b)
    added = nl2.ndarray(a.shape, dtype=a.dtype, buffer=nl2.sbuf)
    nisa2.tensor_tensor(dst=added, data1=left, data2=right, op=nl2.add)
    total = nl2.ndarray(a.shape, dtype=a.dtype, buffer=nl2.shared_hbm)
    nisa2.dma_copy(dst=total, src=added)
    return total


def _sum(a: Any, b: Any) -> Any:
    return a + b


CASES = (
    Case(add_tile, arguments_of(normal(128, 512), normal(128, 512)), _sum),
    Case(add_masked, arguments_of(normal(300, 96), normal(300, 96)), _sum),
    Case(add_spmd, arguments_of(normal(256, 1536), normal(256, 1536)), _sum, grid=(2, 3)),
    Case(add_into, arguments_of(normal(100, 64), normal(100, 64)), _sum),
)
