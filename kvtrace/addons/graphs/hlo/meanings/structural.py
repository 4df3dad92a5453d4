"""Semantics of ops that move elements, reduce them, and multiply matrices."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from kvtrace.addons.graphs.hlo.dtypes import FLOAT32, is_float
from kvtrace.addons.graphs.hlo.meanings import meaning
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


@meaning("copy")
def _copy(_op: Op, x: Array) -> Array:
    return x


@meaning("reshape")
def _reshape(op: Op, x: Array) -> Array:
    return x.reshape(op.shape)


@meaning("broadcast_in_dim")
def _broadcast_in_dim(op: Op, x: Array) -> Array:
    result_axes = op.attributes["broadcast_dimensions"]
    extents = [1] * len(op.shape)
    for axis, position in enumerate(result_axes):
        extents[position] = x.shape[axis]
    return np.broadcast_to(x.reshape(extents), op.shape)


@meaning("transpose")
def _transpose(op: Op, x: Array) -> Array:
    return x.transpose(op.attributes["permutation"])


@meaning("slice")
def _slice(op: Op, x: Array) -> Array:
    bounds = zip(
        op.attributes["start_indices"],
        op.attributes["limit_indices"],
        op.attributes["strides"],
        strict=True,
    )
    return x[tuple(slice(*bound) for bound in bounds)]


@meaning("concatenate")
def _concatenate(op: Op, *parts: Array) -> Array:
    return np.concatenate(parts, op.attributes["dimension"])


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


@meaning("reverse")
def _reverse(op: Op, x: Array) -> Array:
    return np.flip(x, op.attributes["dimensions"])


@meaning("dynamic_slice")
def _dynamic_slice(op: Op, x: Array, *starts: Array) -> Array:
    return x[window(x.shape, op.shape, starts)]


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


@meaning("reduce")
def _reduce(op: Op, x: Array, initial: Array) -> Array:
    axes, reducer = op.attributes["dimensions"], op.attributes["reducer"]
    return reduced(x, initial, axes, reducer)


def reduced(x: Array, initial: Array, axes: tuple[int, ...], reducer: str) -> Array:
    """Return the elements and `initial` combined along axes; small floats are computed wider."""
    function = REDUCERS[reducer]
    dtype = x.dtype
    if is_float(dtype) and dtype.itemsize < FLOAT32.itemsize:
        x, initial = x.astype(FLOAT32), initial.astype(FLOAT32)
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
    sum_type = FLOAT32 if is_float(op.dtype) and op.dtype.itemsize < FLOAT32.itemsize else op.dtype
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
