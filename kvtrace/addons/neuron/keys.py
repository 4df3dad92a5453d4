"""What is between the brackets of `tensor[…]`: slices and integers as index expressions."""

from typing import Any

import numpy as np

from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.indices import Index


def slice_of(part: slice, size: int, axis: int) -> tuple[int, int, int]:
    """Return start, number of elements and step of a slice, which may leave the dimension."""
    start = 0 if part.start is None else part.start
    stop = size if part.stop is None else part.stop
    step = 1 if part.step is None else part.step
    if not all(isinstance(number, int | np.integer) for number in (start, stop, step)):
        raise NkiError(f"the slice {start}:{stop} of dimension {axis} is not made of integers")
    if start < 0 or stop < 0 or step <= 0:
        raise NkiError(
            f"the slice {start}:{stop}:{step} of dimension {axis} counts from the end or "
            "backwards, which NKI does not have"
        )
    return int(start), max(0, -(-(int(stop) - int(start)) // int(step))), int(step)


def as_indices(parts: list[Any], shape: tuple[int, ...]) -> list[Index]:
    """Return an index per dimension; slices get new axes, in order."""
    slices = [at for at, part in enumerate(parts) if isinstance(part, slice)]
    if slices and any(not isinstance(part, slice | int | np.integer) for part in parts):
        raise NkiError(
            "slices and index expressions cannot be mixed in one index; use nl.arange for all"
        )
    rank = len(slices)
    found = []
    for at, part in enumerate(parts):
        if isinstance(part, Index):
            found.append(part)
        elif isinstance(part, slice):
            start, count, step = slice_of(part, shape[at], at)
            place = slices.index(at)
            sizes = tuple(count if axis == place else 1 for axis in range(rank))
            steps = tuple(step if axis == place else 0 for axis in range(rank))
            found.append(Index(sizes, start, steps))
        elif isinstance(part, int | np.integer):
            found.append(Index((), int(part), ()))
        else:
            found.append(index_of_data(part))
    return found


def index_of_data(part: Any) -> Index:
    """Return the contents of a tensor, or an array, as an index."""
    held = part.array() if callable(getattr(part, "array", None)) else part
    values = np.asarray(
        held.__index__() if hasattr(held, "__index__") and not hasattr(held, "shape") else held
    )
    if values.dtype.kind not in "iu":
        raise NkiError(f"a tensor is indexed with integers, not with {values.dtype}")
    return Index(values.shape, 0, (0,) * values.ndim, values.astype(np.int64))


def padded(index: Index, rank: int) -> Index:
    """Return an index with leading axes of one element, as broadcasting would."""
    missing = rank - index.ndim
    if not missing:
        return index
    array = None if index.array is None else index.array.reshape((1,) * missing + index.shape)
    return Index((1,) * missing + index.shape, index.offset, (0,) * missing + index.steps, array)


def inside(index: Index, size: int) -> bool:
    """Whether every lane is inside a dimension."""
    low, high = index.bounds()
    return low >= 0 and high < size
