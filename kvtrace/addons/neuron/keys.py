"""Subscripts of tensors: slices and integers between `[` and `]` as index expressions."""

from typing import Any

import numpy as np

from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.indices import Index


def slice_of(part: slice, size: int, axis: int) -> tuple[int, int, int]:
    """Return (start, number of elements, step) of a slice, which may end past the dimension."""
    start = 0 if part.start is None else part.start
    stop = size if part.stop is None else part.stop
    step = 1 if part.step is None else part.step
    if not all(isinstance(bound, int | np.integer) for bound in (start, stop, step)):
        raise NkiError(
            f"the slice {start}:{stop} of dimension {axis} has bounds or a step that are "
            "not integers"
        )
    if start < 0 or stop < 0 or step <= 0:
        raise NkiError(
            f"the slice {start}:{stop}:{step} of dimension {axis} counts from the end or "
            "backwards, which NKI does not have"
        )
    return int(start), max(0, -(-(int(stop) - int(start)) // int(step))), int(step)


def as_indices(parts: list[Any], shape: tuple[int, ...]) -> list[Index]:
    """Return an index per dimension of a subscript; each slice has a new axis, in order."""
    sliced = [dimension for dimension, part in enumerate(parts) if isinstance(part, slice)]
    if sliced and any(not isinstance(part, slice | int | np.integer) for part in parts):
        raise NkiError(
            "slices and index expressions cannot be mixed in one index; use nl.arange for all"
        )
    rank = len(sliced)
    indices = []
    for dimension, part in enumerate(parts):
        if isinstance(part, Index):
            indices.append(part)
        elif isinstance(part, slice):
            start, count, step = slice_of(part, shape[dimension], dimension)
            slice_axis = sliced.index(dimension)
            sizes = tuple(count if axis == slice_axis else 1 for axis in range(rank))
            steps = tuple(step if axis == slice_axis else 0 for axis in range(rank))
            indices.append(Index(sizes, start, steps))
        elif isinstance(part, int | np.integer):
            indices.append(Index((), int(part), ()))
        else:
            indices.append(index_of_data(part))
    return indices


def index_of_data(data: Any) -> Index:
    """Return the integers in a tensor, an array or a register as an index."""
    contents = data.array() if callable(getattr(data, "array", None)) else data
    values = np.asarray(
        contents.__index__()
        if hasattr(contents, "__index__") and not hasattr(contents, "shape")
        else contents
    )
    if values.dtype.kind not in "iu":
        raise NkiError(f"a tensor can be indexed with integers, not with {values.dtype}")
    return Index(values.shape, 0, (0,) * values.ndim, values.astype(np.int64))


def padded(index: Index, rank: int) -> Index:
    """Return an index with leading axes of size 1 added, so that it has `rank` axes."""
    missing = rank - index.ndim
    if not missing:
        return index
    array = None if index.array is None else index.array.reshape((1,) * missing + index.shape)
    return Index((1,) * missing + index.shape, index.offset, (0,) * missing + index.steps, array)


def is_inside(index: Index, size: int) -> bool:
    """Return whether all integers of an index are from 0 to `size - 1`."""
    low, high = index.bounds()
    return low >= 0 and high < size
