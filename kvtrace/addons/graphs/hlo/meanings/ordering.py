"""Semantics of sorting, and of reductions over windows."""

from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.dtypes import FLOAT32, is_float
from kvtrace.addons.graphs.hlo.meanings import meaning
from kvtrace.addons.graphs.hlo.meanings.structural import REDUCERS
from kvtrace.addons.graphs.hlo.op import Op

Array = np.ndarray[Any, Any]


@meaning("sort")
def _sort(op: Op, *operands: Array) -> tuple[Array, ...]:
    axis = op.attributes["dimension"]
    key = operands[0]
    if is_float(key.dtype) and key.dtype.itemsize < FLOAT32.itemsize:
        key = key.astype(FLOAT32)
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
    function = REDUCERS[op.attributes["reducer"]]
    window_sizes, padding = op.attributes["window_dimensions"], op.attributes["padding"]
    dtype = x.dtype
    if is_float(dtype) and dtype.itemsize < FLOAT32.itemsize:
        x, initial = x.astype(FLOAT32), initial.astype(FLOAT32)
    if not x.size:
        return np.full(op.shape, initial).astype(dtype)
    reduced_axes = [axis for axis, size in enumerate(window_sizes) if size > 1]
    if len(reduced_axes) == 1 and _is_cumulative(x.shape, window_sizes, padding, reduced_axes[0]):
        accumulated = function.accumulate(x, axis=reduced_axes[0], dtype=x.dtype)
        return np.asarray(function(initial, accumulated)).astype(dtype)
    padded = np.pad(x, padding, constant_values=initial)
    windows = np.lib.stride_tricks.sliding_window_view(padded, window_sizes)
    strides = op.attributes.get("window_strides", (1,) * x.ndim)
    windows = windows[tuple(slice(None, None, step) for step in strides)]
    axes = tuple(range(x.ndim, 2 * x.ndim))
    return np.asarray(function(initial, function.reduce(windows, axis=axes))).astype(dtype)


def _is_cumulative(shape: Any, sizes: Any, padding: Any, axis: int) -> bool:
    return sizes[axis] == shape[axis] and tuple(padding[axis]) == (shape[axis] - 1, 0)
