"""Semantics of gather and scatter, by NumPy's index arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.meanings import meaning
from kvtrace.addons.graphs.hlo.meanings.structural import REDUCERS
from kvtrace.addons.graphs.hlo.op import Op

Array = np.ndarray[Any, Any]


@meaning("gather")
def _gather(op: Op, x: Array, indices: Array) -> Array:
    sizes = op.attributes["slice_sizes"]
    index = _index_arrays(x, indices, op.attributes["start_index_map"], sizes, clamp=True)
    windows = x[index]
    batch_rank = indices.ndim - 1
    windows = windows.reshape(
        _shape_without(windows.shape, batch_rank, op.attributes["collapsed_slice_dims"])
    )
    return _arranged(windows, batch_rank, op.attributes["offset_dims"])


@meaning("scatter")
def _scatter(op: Op, x: Array, indices: Array, updates: Array) -> Array:
    axes = op.attributes["scatter_dims_to_operand_dims"]
    inserted = op.attributes["inserted_window_dims"]
    batch_rank = indices.ndim - 1
    offsets = op.attributes["update_window_dims"]
    batch_axes = [axis for axis in range(updates.ndim) if axis not in offsets]
    updates = updates.transpose([*batch_axes, *offsets])
    extents = iter(updates.shape[batch_rank:])
    window_sizes = tuple(1 if axis in inserted else next(extents) for axis in range(x.ndim))
    window_count = int(np.prod(indices.shape[:-1], dtype=np.int64))
    starts = indices.reshape(window_count, indices.shape[-1])
    updates = updates.reshape(window_count, *window_sizes)
    is_inside = np.ones(window_count, bool)
    for component, axis in enumerate(axes):
        start = starts[:, component].astype(np.int64)
        is_inside &= (start >= 0) & (start <= x.shape[axis] - window_sizes[axis])
    index = _index_arrays(x, starts[is_inside], axes, window_sizes, clamp=False)
    result = x.copy()
    reducer = op.attributes["reducer"]
    if reducer == "assign":
        result[index] = updates[is_inside]
        return result
    function = REDUCERS[reducer]
    function.at(result, index, updates[is_inside])
    return result


def _index_arrays(
    x: Array, indices: Array, axes: Sequence[int], sizes: Sequence[int], *, clamp: bool
) -> tuple[Array, ...]:
    """Return NumPy's index array per axis, [*batch, *window]; `clamp` moves windows inside."""
    batch = indices.shape[:-1]
    rank = len(sizes)
    index_arrays = []
    for axis, size in enumerate(sizes):
        steps = np.arange(size).reshape([size if i == axis else 1 for i in range(rank)])
        if axis not in axes:
            index_arrays.append(steps.reshape((1,) * len(batch) + steps.shape))
            continue
        start = indices[..., list(axes).index(axis)].astype(np.int64)
        if clamp:
            start = np.clip(start, 0, max(0, x.shape[axis] - size))
        index_arrays.append(start.reshape(batch + (1,) * rank) + steps)
    shape = (*batch, *sizes)
    return tuple(np.broadcast_to(array, shape) for array in index_arrays)


def _shape_without(shape: tuple[int, ...], rank: int, dropped: Sequence[int]) -> tuple[int, ...]:
    return tuple(n for axis, n in enumerate(shape) if axis - rank not in dropped or axis < rank)


def _arranged(windows: Array, batch_rank: int, offsets: Sequence[int]) -> Array:
    """Move the window's axes from the end to their positions in the result."""
    return np.moveaxis(windows, range(batch_rank, windows.ndim), offsets)
