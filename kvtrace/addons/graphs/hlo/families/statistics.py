"""Means, variances, standard deviations and weighted averages."""

from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import axes_of, dtype_of
from kvtrace.addons.graphs.hlo.builders import implements
from kvtrace.addons.graphs.hlo.dtypes import float_dtype, wide_dtype
from kvtrace.addons.graphs.hlo.families.comparisons import truth
from kvtrace.addons.graphs.hlo.families.elementwise import like
from kvtrace.addons.graphs.hlo.families.reductions import count_nonzero, reduced
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    broadcast,
    broadcast_to,
    convert,
    divide,
    full,
    lift,
    multiply,
    reshape,
    subtract,
    together,
    unary,
)
from kvtrace.addons.graphs.hlo.wrapper import Tensor, into


def _mean(x: Tensor, axis: Any, keepdims: bool, where: Operand, less: float = 0) -> Tensor:
    """Return the sum of elements under `where` along axes, over their number minus `less`."""
    total = reduced(x, axis, "add", 0, keepdims, where)
    if where is not None:
        condition = broadcast_to(truth(where), x.shape)
        count = convert(count_nonzero(condition, axis, keepdims=keepdims), x.dtype)
        return divide(total, subtract(count, like(count, less)))
    element_count = 1
    for position in axes_of(axis, len(x.shape)):
        element_count *= x.shape[position]
    return divide(total, full(max(element_count - less, 0), total.shape, total.dtype))


@implements(np.mean, methods=("mean",))
def mean(
    a: Operand,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Operand = None,
) -> Tensor:
    """Return the mean; float32 for integers, computed in float32 for smaller floats."""
    x = lift(a)
    result_type = float_dtype(x.dtype) if dtype is None else dtype_of(dtype)
    average = _mean(convert(x, wide_dtype(result_type)), axis, keepdims, where)
    return into(out, convert(average, result_type))


@implements(np.var, methods=("var",))
def var(
    a: Operand,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Operand = None,
    mean: Operand = None,
    correction: float | None = None,
) -> Tensor:
    """Return the mean squared distance from the mean; the divisor is the count less `ddof`."""
    x = lift(a)
    result_type = float_dtype(x.dtype) if dtype is None else dtype_of(dtype)
    x = convert(x, wide_dtype(result_type))
    center = _mean(x, axis, True, where) if mean is None else lift(mean, x.dtype)
    distance = subtract(*broadcast(x, center))
    correction_used = ddof if correction is None else correction
    variance = _mean(multiply(distance, distance), axis, keepdims, where, correction_used)
    return into(out, convert(variance, result_type))


@implements(np.std, methods=("std",))
def std(
    a: Operand, axis: Any = None, dtype: Any = None, out: Any = None, **settings: Any
) -> Tensor:
    """Return the square root of `var`, with the same arguments."""
    x = lift(a)
    result_type = float_dtype(x.dtype) if dtype is None else dtype_of(dtype)
    variance = var(x, axis, wide_dtype(result_type), None, **settings)
    return into(out, convert(unary("sqrt", variance), result_type))


@implements(np.average)
def average(
    a: Operand,
    axis: Any = None,
    weights: Operand = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """Return the mean, weighted by `weights`; with `returned`, also the sum of weights."""
    if weights is None:
        result = mean(a, axis, keepdims=keepdims)
        weight_sum = lift(a).size // max(1, result.size)
        return (result, like(result, weight_sum)) if returned else result
    x, weights_tensor = together(a, weights)
    dtype = wide_dtype(float_dtype(x.dtype))
    x, weights_tensor = convert(x, dtype), convert(weights_tensor, dtype)
    if x.shape != weights_tensor.shape:
        (position,) = axes_of(axis, len(x.shape))
        shape = tuple(n if i == position else 1 for i, n in enumerate(x.shape))
        weights_tensor = broadcast_to(reshape(weights_tensor, shape), x.shape)
    total_weight = reduced(weights_tensor, axis, "add", 0, keepdims)
    result = divide(reduced(multiply(x, weights_tensor), axis, "add", 0, keepdims), total_weight)
    return (result, total_weight) if returned else result
