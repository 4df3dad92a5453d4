"""Semantics of convolutions: windows as a view, and one matrix product per group."""

from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.dtypes import wide_dtype
from kvtrace.addons.graphs.hlo.meanings import meaning
from kvtrace.addons.graphs.hlo.op import Op

Array = np.ndarray[Any, Any]


@meaning("convolution")
def _convolution(op: Op, x: Array, kernel: Array) -> Array:
    assert op.dtype is not None
    if (wide := wide_dtype(op.dtype)) != op.dtype:
        x, kernel = x.astype(wide), kernel.astype(wide)
    dilation, strides = op.attributes["rhs_dilation"], op.attributes["window_strides"]
    group_count = op.attributes["feature_group_count"]
    if 0 in op.shape:
        return np.zeros(op.shape, op.dtype)
    padded = np.pad(x, [(0, 0), (0, 0), *op.attributes["padding"]])
    rank = x.ndim - 2
    sizes = [(n - 1) * apart + 1 for n, apart in zip(kernel.shape[2:], dilation, strict=True)]
    axes = tuple(range(2, rank + 2))
    sliding_windows: Any = np.lib.stride_tricks.sliding_window_view
    windows: Array = sliding_windows(padded, sizes, axes)
    strided_slices = [slice(None, None, step) for step in (*strides, *dilation)]
    windows = windows[(slice(None), slice(None), *strided_slices)]
    group_channels = kernel.shape[1]
    products = []
    for group in range(group_count):
        group_windows = windows[:, group * group_channels : (group + 1) * group_channels]
        group_outputs = kernel.shape[0] // group_count
        weights = kernel[group * group_outputs : (group + 1) * group_outputs]
        window_axes = (1, *range(rank + 2, 2 * rank + 2))
        product = np.tensordot(group_windows, weights, (window_axes, (1, *axes)))
        products.append(np.moveaxis(product, -1, 1))
    result: Array = np.concatenate(products, 1).astype(op.dtype)
    return result
