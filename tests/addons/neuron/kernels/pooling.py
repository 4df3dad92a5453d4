"""Average pooling: windows of a tile as dimensions of their own, summed and scaled."""

from typing import Any

import numpy as np

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron import newer, older
from tests.addons.neuron.kernels.case import Case, arguments_of, normal


@older.jit
def pool_average(source: Any, window: int = 2) -> Any:
    """Pool (channels, rows, columns) by index expressions; channels are partitions."""
    channels, rows, columns = source.shape
    shape = (channels, rows // window, columns // window)
    pooled = nl.ndarray(shape, dtype=source.dtype, buffer=nl.shared_hbm)
    tile = nl.load(source)
    c, i, j, di, dj = nl.mgrid[0:channels, 0 : shape[1], 0 : shape[2], 0:window, 0:window]
    windows = tile[c, i * window + di, j * window + dj]
    nl.store(pooled, value=nl.sum(windows, axis=[3, 4]) * (1.0 / window**2))
    return pooled


@newer.jit
def pool_average_pattern(source: Any, window: int = 3) -> Any:
    """The same by an access pattern: five steps and counts over the tile."""
    channels, rows, columns = source.shape
    high, wide = rows // window, columns // window
    tile = nl2.ndarray(source.shape, dtype=source.dtype, buffer=nl2.sbuf)
    nisa2.dma_copy(dst=tile, src=source)
    windows = tile.ap(
        [
            [rows * columns, channels],
            [window * columns, high],
            [window, wide],
            [columns, window],
            [1, window],
        ]
    )
    total = nl2.ndarray((channels, high, wide), dtype=source.dtype, buffer=nl2.sbuf)
    nisa2.tensor_reduce(dst=total, op=nl2.add, data=windows, axis=(3, 4))
    nisa2.tensor_scalar(dst=total, data=total, op0=nl2.multiply, operand0=1.0 / window**2)
    pooled = nl2.ndarray((channels, high, wide), dtype=source.dtype, buffer=nl2.shared_hbm)
    nisa2.dma_copy(dst=pooled, src=total)
    return pooled


def _pooled(window: int) -> Any:
    def reference(source: Any) -> Any:
        channels, rows, columns = source.shape
        split = source.reshape(channels, rows // window, window, columns // window, window)
        return split.astype(np.float64).mean(axis=(2, 4))

    return reference


CASES = (
    Case(pool_average, arguments_of(normal(16, 12, 8)), _pooled(2)),
    Case(pool_average_pattern, arguments_of(normal(32, 9, 12)), _pooled(3)),
)
