"""Transposes: of the free dimensions of a tile, and of partitions against free ones."""

from typing import Any

import numpy as np

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.isa as nisa
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron import newer, older
from tests.addons.neuron.kernels.case import Case, arguments_of, normal


@older.jit
def transpose_free(source: Any, rows: int = 3, columns: int = 4) -> Any:
    """Transpose the (rows, columns) matrix that each partition holds, by index expressions."""
    partitions, size = source.shape
    target = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.shared_hbm)
    p = nl.arange(partitions)[:, None, None]
    row = nl.arange(rows)[None, :, None]
    column = nl.arange(columns)[None, None, :]
    tile = nl.load(source[0:partitions, 0:size])
    turned = nl.ndarray((nl.par_dim(partitions), size), dtype=source.dtype)
    turned[p, column * rows + row] = nl.copy(tile[p, row * columns + column])
    nl.store(target, value=turned)
    return target


@older.jit
def transpose_tiles(source: Any) -> Any:
    """Transpose a matrix, tile by tile, on the tensor engine."""
    rows, columns = source.shape
    target = nl.ndarray((columns, rows), dtype=source.dtype, buffer=nl.shared_hbm)
    p, f = nl.mgrid[0:128, 0:128]
    for i in nl.affine_range(rows // 128):
        for j in nl.affine_range(columns // 128):
            tile = nl.load(source[i * 128 + p, j * 128 + f])
            turned = nl.copy(nisa.nc_transpose(tile), dtype=source.dtype)
            nl.store(target[j * 128 + p, i * 128 + f], value=turned)
    return target


@newer.jit
def transpose_into(source: Any) -> Any:
    """Transpose a matrix of at most 128 by 128 elements, with destinations."""
    rows, columns = source.shape
    tile = nl2.ndarray((rows, columns), dtype=source.dtype, buffer=nl2.sbuf)
    nisa2.dma_copy(dst=tile, src=source)
    turned = nl2.ndarray((columns, rows), dtype=source.dtype, buffer=nl2.psum)
    nisa2.nc_transpose(dst=turned, data=tile)
    copied = nl2.ndarray((columns, rows), dtype=source.dtype, buffer=nl2.sbuf)
    nisa2.tensor_copy(dst=copied, src=turned)
    target = nl2.ndarray((columns, rows), dtype=source.dtype, buffer=nl2.shared_hbm)
    nisa2.dma_copy(dst=target, src=copied)
    return target


def _free(source: Any) -> Any:
    return source.reshape(-1, 3, 4).transpose(0, 2, 1).reshape(source.shape)


CASES = (
    Case(transpose_free, arguments_of(normal(64, 12)), _free, tolerance=0.0),
    Case(transpose_tiles, arguments_of(normal(256, 384)), np.transpose, tolerance=0.0),
    Case(transpose_into, arguments_of(normal(96, 128)), np.transpose, tolerance=0.0),
)
