"""Kernel that loads its stationary tile once, or in each iteration."""

from typing import Any

import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron import older


@older.jit
def products(a: Any, b: Any, hoist: bool) -> Any:
    """Multiply tile by tile; the stationary tile is loaded once, or each time."""
    out = nl.ndarray((128, b.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.load(a)
    for j in nl.affine_range(b.shape[1] // 512):
        tile = left if hoist else nl.load(a)
        right = nl.load(b[:, j * 512 : (j + 1) * 512])
        product = nl.matmul(tile, right, transpose_x=True)
        nl.store(out[:, j * 512 : (j + 1) * 512], value=nl.exp(product))
    return out
