"""Semantics of ops that move, gather, sort and reduce elements, and of products."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from kvtrace.addons.graphs.hlo.dtypes import is_float, wide_dtype
from kvtrace.addons.graphs.hlo.meanings import MEANINGS, meaning
from kvtrace.addons.graphs.hlo.op import Op

Array = np.ndarray[Any, Any]

#: Functions of two elements, by the name in the attribute `reducer`.
REDUCERS: Final[dict[str, Any]] = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and": np.logical_and,
    "or": np.logical_or,
}


@meaning("constant")
def _constant(op: Op) -> Array:
    value = op.attributes["value"]
    if isinstance(value, np.ndarray):
        return value
    return np.full(op.shape, value).astype(op.dtype)


@meaning("iota")
def _iota(op: Op) -> Array:
    axis = op.attributes["iota_dimension"]
    extents = tuple(n if i == axis else 1 for i, n in enumerate(op.shape))
    positions = np.arange(op.shape[axis]).reshape(extents).astype(op.dtype)
    return np.broadcast_to(positions, op.shape)


MEANINGS.update(
    copy=lambda _op, x: x,
    reshape=lambda op, x: x.reshape(op.shape),
    transpose=lambda op, x: x.transpose(op.attributes["permutation"]),
    concatenate=lambda op, *parts: np.concatenate(parts, op.attributes["dimension"]),
    reverse=lambda op, x: np.flip(x, op.attributes["dimensions"]),
    dynamic_slice=lambda op, x, *starts: x[window(x.shape, op.shape, starts)],
    reduce=lambda op, x, initial: reduced(
        x, initial, op.attributes["dimensions"], op.attributes["reducer"]
    ),
)


@meaning("broadcast_in_dim")
def _broadcast_in_dim(op: Op, x: Array) -> Array:
    result_axes = op.attributes["broadcast_dimensions"]
    extents = [1] * len(op.shape)
    for axis, position in enumerate(result_axes):
        extents[position] = x.shape[axis]
    return np.broadcast_to(x.reshape(extents), op.shape)


@meaning("slice")
def _slice(op: Op, x: Array) -> Array:
    bounds = zip(
        op.attributes["start_indices"],
        op.attributes["limit_indices"],
        op.attributes["strides"],
        strict=True,
    )
    return x[tuple(slice(*bound) for bound in bounds)]


@meaning("pad")
def _pad(op: Op, x: Array, value: Array) -> Array:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    result = np.full(op.shape, value, dtype=op.dtype)
    target_slices: list[slice] = []
    source_slices: list[slice] = []
    for extent, low, _, gap in zip(x.shape, *(op.attributes[name] for name in names), strict=True):
        size, step = op.shape[len(target_slices)], gap + 1
        first_kept = max(0, -(low // step))  # the first element that is not cut off
        end = min(extent, (size - low + step - 1) // step) if size > low else 0
        end = max(first_kept, end)
        source_slices.append(slice(first_kept, end))
        start = low + first_kept * step
        target_slices.append(slice(start, start + (end - first_kept) * step, step))
    result[tuple(target_slices)] = x[tuple(source_slices)]
    return result


@meaning("dynamic_update_slice")
def _dynamic_update_slice(_op: Op, x: Array, update: Array, *starts: Array) -> Array:
    result = x.copy()
    result[window(x.shape, update.shape, starts)] = update
    return result


def window(
    shape: tuple[int, ...], sizes: tuple[int, ...], starts: tuple[Array, ...]
) -> tuple[slice, ...]:
    """Return the slices of a window of `sizes` at `starts`, moved to lie inside of `shape`."""
    return tuple(
        slice(begin := min(max(int(start), 0), extent - size), begin + size)
        for extent, size, start in zip(shape, sizes, starts, strict=True)
    )


def reduced(x: Array, initial: Array, axes: tuple[int, ...], reducer: str) -> Array:
    """Return the elements and `initial` combined along axes; small floats are computed wider."""
    function = REDUCERS[reducer]
    dtype, sum_type = x.dtype, wide_dtype(x.dtype)
    x, initial = x.astype(sum_type, copy=False), initial.astype(sum_type, copy=False)
    joined = function.reduce(x, axis=axes, dtype=x.dtype if reducer not in ("and", "or") else bool)
    result: Array = np.asarray(function(initial, joined)).astype(dtype)
    return result


@meaning("dot_general")
def _dot_general(op: Op, x: Array, y: Array) -> Array:
    assert op.dtype is not None
    names = ("lhs_batching", "rhs_batching", "lhs_contracting", "rhs_contracting")
    left_batch, right_batch, left_sum, right_sum = (
        op.attributes[f"{name}_dimensions"] for name in names
    )
    sum_type = wide_dtype(op.dtype)
    left = _as_matrices(x.astype(sum_type, copy=False), left_batch, left_sum, summed_last=True)
    right = _as_matrices(y.astype(sum_type, copy=False), right_batch, right_sum, summed_last=False)
    product: Array = np.matmul(left, right).reshape(op.shape).astype(op.dtype, copy=False)
    return product


def _as_matrices(
    x: Array, batch: tuple[int, ...], summed: tuple[int, ...], *, summed_last: bool
) -> Array:
    """Return `x` as matrices [*batch, rows, columns]; its summed axes are columns, or rows."""
    other_axes = tuple(axis for axis in range(x.ndim) if axis not in (*batch, *summed))
    permutation = (*batch, *other_axes, *summed) if summed_last else (*batch, *summed, *other_axes)
    extent: Callable[[tuple[int, ...]], int] = lambda axes: int(  # noqa: E731
        np.prod([x.shape[axis] for axis in axes], dtype=np.int64)
    )
    pair = (other_axes, summed) if summed_last else (summed, other_axes)
    batch_extents = tuple(x.shape[axis] for axis in batch)
    return x.transpose(permutation).reshape(*batch_extents, extent(pair[0]), extent(pair[1]))


@meaning("custom_call")
def _call(op: Op, *operands: Any) -> tuple[Any, ...]:
    assert op.calls is not None
    return tuple(np.asarray(result) for result in op.calls(*operands))


@meaning("sort")
def _sort(op: Op, *operands: Array) -> tuple[Array, ...]:
    axis = op.attributes["dimension"]
    key = operands[0].astype(wide_dtype(operands[0].dtype), copy=False)
    if not op.attributes["descending"]:
        order = np.argsort(key, axis=axis, kind="stable")
    elif is_float(key.dtype):
        order = np.argsort(-key, axis=axis, kind="stable")
    else:
        # Reverse, sort ascending, reverse again: equal elements keep their order.
        reversed_order = np.argsort(np.flip(key, axis), axis=axis, kind="stable")
        order = key.shape[axis] - 1 - np.flip(reversed_order, axis)
    return tuple(np.take_along_axis(operand, order, axis) for operand in operands)


@meaning("reduce_window")
def _reduce_window(op: Op, x: Array, initial: Array) -> Array:
    """Return sums of the elements of an axis up to each position, the windows of `np.cumsum`."""
    axes = [axis for axis, size in enumerate(op.attributes["window_dimensions"]) if size > 1]
    sums = np.add.accumulate(x, axis=axes[0], dtype=x.dtype) if axes else x
    return np.asarray(initial + sums, x.dtype)


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
