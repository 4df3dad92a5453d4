"""Softmax, norms that layers use, and norms of vectors and matrices.

Floats of 8 and 16 bits are computed in float32 and rounded once.
"""

import math
from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import axes_of
from kvtrace.addons.graphs.hlo.builders import implements, operation
from kvtrace.addons.graphs.hlo.dtypes import fractional, wide
from kvtrace.addons.graphs.hlo.errors import BadArgument
from kvtrace.addons.graphs.hlo.families.elementwise import like
from kvtrace.addons.graphs.hlo.families.reductions import max_, min_, reduced
from kvtrace.addons.graphs.hlo.families.statistics import mean
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    add,
    binary,
    broadcast,
    compare,
    convert,
    divide,
    lift,
    multiply,
    reshape,
    subtract,
    unary,
)
from kvtrace.addons.graphs.hlo.wrapper import Tensor


def _wide(x: Operand) -> tuple[Tensor, Any]:
    """Return the operand as floats of 32 bits at least, and the result's type."""
    tensor = lift(x)
    result = fractional(tensor.dtype)
    return convert(tensor, wide(result)), result


def _shifted(x: Tensor, axis: Any) -> Tensor:
    """Return the tensor less its maximum along axes, so that exponentials do not overflow."""
    return subtract(*broadcast(x, max_(x, axis, keepdims=True)))


@operation()
def softmax(x: Operand, axis: Any = -1) -> Tensor:
    """Return exp(x) divided by its sum along axes."""
    tensor, result = _wide(x)
    powers = unary("exponential", _shifted(tensor, axis))
    total = reduced(powers, axis, "add", 0, keepdims=True)
    return convert(divide(*broadcast(powers, total)), result)


@operation()
def log_softmax(x: Operand, axis: Any = -1) -> Tensor:
    """Return the logarithm of softmax."""
    tensor, result = _wide(x)
    shifted = _shifted(tensor, axis)
    total = reduced(unary("exponential", shifted), axis, "add", 0, keepdims=True)
    return convert(subtract(*broadcast(shifted, unary("log", total))), result)


@operation()
def layer_norm(
    x: Operand,
    weight: Operand = None,
    bias: Operand = None,
    eps: float = 1e-5,
    axis: Any = -1,
) -> Tensor:
    """Return (x - mean) / √(variance + eps) along axes, times `weight`, plus `bias`."""
    tensor, result = _wide(x)
    centered = subtract(*broadcast(tensor, mean(tensor, axis, keepdims=True)))
    spread = mean(multiply(centered, centered), axis, keepdims=True)
    return _scaled(centered, spread, eps, weight, bias, result)


@operation()
def rms_norm(x: Operand, weight: Operand = None, eps: float = 1e-6, axis: Any = -1) -> Tensor:
    """Return x / √(mean(x²) + eps) along axes, times `weight`."""
    tensor, result = _wide(x)
    spread = mean(multiply(tensor, tensor), axis, keepdims=True)
    return _scaled(tensor, spread, eps, weight, None, result)


def _scaled(
    x: Tensor, spread: Tensor, eps: float, weight: Operand, bias: Operand, result: Any
) -> Tensor:
    root = unary("rsqrt", add(spread, like(spread, eps)))
    normal = multiply(*broadcast(x, root))
    if weight is not None:
        normal = multiply(*broadcast(normal, convert(lift(weight), normal.dtype)))
    if bias is not None:
        normal = add(*broadcast(normal, convert(lift(bias), normal.dtype)))
    return convert(normal, result)


# -- norms of vectors and matrices -----------------------------------------------------------------


@implements(np.linalg.norm)
def norm(
    x: Operand,
    ord: Any = None,  # noqa: A002 - NumPy's
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """Return the norm of vectors along one axis, of matrices along two, or of all elements."""
    tensor = lift(x)
    if axis is None and ord is None:
        return vector_norm(tensor, keepdims=keepdims)
    axes = axes_of(axis, len(tensor.shape))
    if len(axes) == 1:
        return vector_norm(tensor, axis=axes, ord=2 if ord is None else ord, keepdims=keepdims)
    if len(axes) != 2:
        raise BadArgument.here(f"a norm of order {ord} is of vectors or matrices; name the axes")
    return _matrix_norm(tensor, axes, ord, keepdims)


@implements("linalg.vector_norm")
def vector_norm(
    x: Operand,
    /,
    *,
    axis: Any = None,
    keepdims: bool = False,
    ord: Any = 2,  # noqa: A002 - NumPy's
) -> Tensor:
    """Return (Σ|x|ᵖ)^(1/p) along axes; for p = 0 the count of non-zeros, for ±∞ the extreme."""
    tensor, result = _wide(x)
    size = unary("abs", tensor)
    if ord in (math.inf, -math.inf):
        extreme = (max_ if ord > 0 else min_)(size, axis, keepdims=keepdims)
        return convert(extreme, result)
    if not isinstance(ord, int | float):
        raise BadArgument.here(f"a vector has no norm of order {ord!r}")
    if ord == 0:
        powers = convert(compare("NE", size, like(size, 0.0)), size.dtype)
    elif ord == 1:
        powers = size
    elif ord == 2:
        powers = multiply(tensor, tensor)
    else:
        powers = binary("power", size, like(size, ord))
    total = reduced(powers, axis, "add", 0, keepdims)
    if ord == 2:
        total = unary("sqrt", total)
    elif ord not in (0, 1):
        total = binary("power", total, like(total, 1 / ord))
    return convert(total, result)


@implements("linalg.matrix_norm")
def matrix_norm(
    x: Operand,
    /,
    *,
    keepdims: bool = False,
    ord: Any = "fro",  # noqa: A002 - NumPy's
) -> Tensor:
    """Return the norm of the matrices in the last two axes."""
    tensor = lift(x)
    return _matrix_norm(tensor, axes_of((-2, -1), len(tensor.shape)), ord, keepdims)


def _matrix_norm(x: Tensor, axes: tuple[int, ...], order: Any, keepdims: bool) -> Tensor:
    if order in (None, "fro", "f"):
        return vector_norm(x, axis=axes, keepdims=keepdims)
    if order not in (1, -1, math.inf, -math.inf):
        raise BadArgument.here(
            f"a matrix's norm of order {order!r} needs its singular values, which have no form as "
            "graph ops; use 'fro', 1, -1, inf or -inf"
        )
    summed, other = axes if abs(order) == 1 else axes[::-1]
    sums = vector_norm(x, axis=summed, ord=1, keepdims=True)
    extreme = (max_ if order > 0 else min_)(sums, other, keepdims=True)
    result_shape = tuple(n for i, n in enumerate(extreme.shape) if i not in axes)
    return extreme if keepdims else reshape(extreme, result_shape)
