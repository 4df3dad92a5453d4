"""Softmax, norms that layers use, means and variances, and norms of vectors.

Floats of 8 and 16 bits are computed in float32 and rounded once.
"""

from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import axes_of, dtype_of
from kvtrace.addons.graphs.hlo.builders import implements, operation
from kvtrace.addons.graphs.hlo.dtypes import float_dtype, wide_dtype
from kvtrace.addons.graphs.hlo.errors import BadArgument
from kvtrace.addons.graphs.hlo.families.elementwise import like
from kvtrace.addons.graphs.hlo.families.reductions import max_, reduced
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    add,
    broadcast,
    convert,
    divide,
    full,
    lift,
    multiply,
    subtract,
    unary,
)
from kvtrace.addons.graphs.hlo.wrapper import Tensor, into


def _in_wide_floats(x: Operand, dtype: Any = None) -> tuple[Tensor, Any]:
    tensor = lift(x)
    result_type = float_dtype(tensor.dtype) if dtype is None else dtype_of(dtype)
    return convert(tensor, wide_dtype(result_type)), result_type


def _minus_maximum(x: Tensor, axis: Any) -> Tensor:
    """Return the tensor less its maximum along axes, so that exponentials do not overflow."""
    return subtract(*broadcast(x, max_(x, axis, keepdims=True)))


@operation()
def softmax(x: Operand, axis: Any = -1) -> Tensor:
    """Return exp(x) divided by its sum along axes."""
    tensor, result_type = _in_wide_floats(x)
    powers = unary("exponential", _minus_maximum(tensor, axis))
    total = reduced(powers, axis, "add", 0, keepdims=True)
    return convert(divide(*broadcast(powers, total)), result_type)


@operation()
def log_softmax(x: Operand, axis: Any = -1) -> Tensor:
    """Return the logarithm of softmax."""
    tensor, result_type = _in_wide_floats(x)
    shifted = _minus_maximum(tensor, axis)
    total = reduced(unary("exponential", shifted), axis, "add", 0, keepdims=True)
    return convert(subtract(*broadcast(shifted, unary("log", total))), result_type)


@operation()
def layer_norm(
    x: Operand,
    weight: Operand = None,
    bias: Operand = None,
    eps: float = 1e-5,
    axis: Any = -1,
) -> Tensor:
    """Return (x - mean) / √(variance + eps) along axes, times `weight`, plus `bias`."""
    tensor, result_type = _in_wide_floats(x)
    centered = subtract(*broadcast(tensor, mean(tensor, axis, keepdims=True)))
    variance = mean(multiply(centered, centered), axis, keepdims=True)
    return _normalized(centered, variance, eps, weight, bias, result_type)


@operation()
def rms_norm(x: Operand, weight: Operand = None, eps: float = 1e-6, axis: Any = -1) -> Tensor:
    """Return x / √(mean(x²) + eps) along axes, times `weight`."""
    tensor, result_type = _in_wide_floats(x)
    mean_square = mean(multiply(tensor, tensor), axis, keepdims=True)
    return _normalized(tensor, mean_square, eps, weight, None, result_type)


def _normalized(
    x: Tensor, mean_square: Tensor, eps: float, weight: Operand, bias: Operand, result_type: Any
) -> Tensor:
    """Return x / √(mean_square + eps), times `weight`, plus `bias` (each unless None)."""
    reciprocal_root = unary("rsqrt", add(mean_square, like(mean_square, eps)))
    normalized = multiply(*broadcast(x, reciprocal_root))
    if weight is not None:
        normalized = multiply(*broadcast(normalized, convert(lift(weight), normalized.dtype)))
    if bias is not None:
        normalized = add(*broadcast(normalized, convert(lift(bias), normalized.dtype)))
    return convert(normalized, result_type)


@implements(np.linalg.norm)
def norm(
    x: Operand,
    ord: Any = None,  # noqa: A002 - NumPy's
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """Return the Euclidean norm of vectors along an axis, or of all elements."""
    tensor, result_type = _in_wide_floats(x)
    is_of_vectors = len(axes_of(axis, len(tensor.shape))) == 1
    if ord is not None and not (is_of_vectors and ord == 2):
        raise BadArgument.here(
            f"np.linalg.norm of order {ord} has no form as graph ops; "
            "write it with np.abs, np.sum and np.max"
        )
    squares = reduced(multiply(tensor, tensor), axis, "add", 0, keepdims)
    return convert(unary("sqrt", squares), result_type)


# -- means and variances ---------------------------------------------------------------------------


def _mean(x: Tensor, axis: Any, keepdims: bool, less: float = 0) -> Tensor:
    """Return the sum of elements along axes, over their number minus `less`."""
    total = reduced(x, axis, "add", 0, keepdims)
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
) -> Tensor:
    """Return the mean; float32 for integers, computed in float32 for smaller floats."""
    x, result_type = _in_wide_floats(a, dtype)
    average = _mean(x, axis, keepdims)
    return into(out, convert(average, result_type))


@implements(np.var, methods=("var",))
def var(
    a: Operand,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
) -> Tensor:
    """Return the mean squared distance from the mean; the divisor is the count less `ddof`."""
    x, result_type = _in_wide_floats(a, dtype)
    distance = subtract(*broadcast(x, _mean(x, axis, True)))
    variance = _mean(multiply(distance, distance), axis, keepdims, ddof)
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
