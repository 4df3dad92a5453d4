"""The distinct values of an array, without the imports of `numpy.unique`.

`numpy.unique` checks whether the array is masked, which imports `numpy.ma` in 5 ms.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


def distinct(array: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct values of an array, sorted and flat."""
    ordered: NDArray[Any] = np.sort(array, axis=None)
    is_first = np.ones(ordered.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    values: NDArray[np.int64] = ordered[is_first]
    return values


def distinct_counts(array: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the sorted distinct values of an array, each with its number of occurrences."""
    ordered: NDArray[Any] = np.sort(array, axis=None)
    starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    edges = [0, *starts.tolist(), ordered.size] if ordered.size else [0]
    return [(int(ordered[low]), high - low) for low, high in pairwise(edges)]
