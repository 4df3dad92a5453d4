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
    index = _positions(x, indices, op.attributes["start_index_map"], sizes, clamp=True)
    windows = x[index]
    batch = indices.ndim - 1
    windows = windows.reshape(_without(windows.shape, batch, op.attributes["collapsed_slice_dims"]))
    return _arranged(windows, batch, op.attributes["offset_dims"])


@meaning("scatter")
def _scatter(op: Op, x: Array, indices: Array, updates: Array) -> Array:
    axes = op.attributes["scatter_dims_to_operand_dims"]
    inserted = op.attributes["inserted_window_dims"]
    batch = indices.ndim - 1
    offsets = op.attributes["update_window_dims"]
    others = [axis for axis in range(updates.ndim) if axis not in offsets]
    updates = updates.transpose([*others, *offsets])
    extents = iter(updates.shape[batch:])
    sizes = tuple(1 if axis in inserted else next(extents) for axis in range(x.ndim))
    count = int(np.prod(indices.shape[:-1], dtype=np.int64))
    flat = indices.reshape(count, indices.shape[-1])
    updates = updates.reshape(count, *sizes)
    inside = np.ones(count, bool)
    for component, axis in enumerate(axes):
        start = flat[:, component].astype(np.int64)
        inside &= (start >= 0) & (start <= x.shape[axis] - sizes[axis])
    index = _positions(x, flat[inside], axes, sizes, clamp=False)
    result = x.copy()
    reducer = op.attributes["reducer"]
    if reducer == "assign":
        result[index] = updates[inside]
        return result
    function = REDUCERS[reducer]
    function.at(result, index, updates[inside])
    return result


def _positions(
    x: Array, indices: Array, axes: Sequence[int], sizes: Sequence[int], *, clamp: bool
) -> tuple[Array, ...]:
    """Return an index array per axis, with the batch's axes before the window's."""
    batch = indices.shape[:-1]
    window = len(sizes)
    index_arrays = []
    for axis, size in enumerate(sizes):
        steps = np.arange(size).reshape([size if i == axis else 1 for i in range(window)])
        if axis not in axes:
            index_arrays.append(steps.reshape((1,) * len(batch) + steps.shape))
            continue
        start = indices[..., list(axes).index(axis)].astype(np.int64)
        if clamp:
            start = np.clip(start, 0, max(0, x.shape[axis] - size))
        index_arrays.append(start.reshape(batch + (1,) * window) + steps)
    shape = (*batch, *sizes)
    return tuple(np.broadcast_to(array, shape) for array in index_arrays)


def _without(shape: tuple[int, ...], batch: int, dropped: Sequence[int]) -> tuple[int, ...]:
    return tuple(n for axis, n in enumerate(shape) if axis - batch not in dropped or axis < batch)


def _arranged(windows: Array, batch: int, offsets: Sequence[int]) -> Array:
    """Move the window's axes from the end to their positions in the result."""
    return np.moveaxis(windows, range(batch, windows.ndim), offsets)
