"""Structure of tensors: zero rows, columns and tiles, one number a row, rows far apart.

Kernels skip tiles that they take for empty, and carry numbers from one row to the next. Tensors of
one case are drawn one after the other, so that their zeros fall on independent places.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

ROWS: Final = "rows far apart"
STRUCTURES: Final = ("zero rows", "zero columns", "zero tiles", "one hot", ROWS)
#: Extent of a tile along both of the last axes.
_TILE: Final = 16
#: Distance of rows: exponentials of numbers that far below others are 0.
_APART: Final = 150.0


def structured(
    kind: str, numbers: NDArray[np.float64], random: np.random.Generator
) -> NDArray[np.float64]:
    """Return an array of numbers with one of `STRUCTURES`; a vector is one column of rows."""
    matrix: NDArray[Any] = numbers.reshape(-1, numbers.shape[-1] if numbers.ndim > 1 else 1)
    rows, columns = matrix.shape
    if kind == ROWS:
        shifts = random.choice([-_APART, 0.0, _APART], (rows, 1))
        shifts[: rows // 2 : 2] = _APART  # large rows lie before smaller ones
        return np.asarray(matrix + shifts).reshape(numbers.shape)
    if kind == "zero rows":
        kept = np.broadcast_to(random.random((rows, 1)) < 1 / 2, matrix.shape)
    elif kind == "zero columns":
        kept = np.broadcast_to(random.random((1, columns)) < 1 / 2, matrix.shape)
    elif kind == "one hot":
        kept = np.arange(columns) == random.integers(columns, size=(rows, 1))
    else:
        tiles = random.random((-(-rows // _TILE), -(-columns // _TILE))) < 1 / 2
        kept = np.repeat(np.repeat(tiles, _TILE, 0), _TILE, 1)[:rows, :columns]
    return np.where(kept, matrix, 0.0).reshape(numbers.shape)
