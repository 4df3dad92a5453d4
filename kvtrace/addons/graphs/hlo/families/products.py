"""Products of vectors and matrices."""

from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import broadcast_shape
from kvtrace.addons.graphs.hlo.builders import implements, operation
from kvtrace.addons.graphs.hlo.dtypes import BOOL, FLOAT8, FLOAT32, Dtype
from kvtrace.addons.graphs.hlo.errors import ShapeMismatch
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    broadcast_to,
    compare,
    convert,
    dot_general,
    full,
    lift,
    multiply,
    reshape,
    together,
    transpose,
)
from kvtrace.addons.graphs.hlo.wrapper import Tensor, into


def contracted(
    x: Tensor,
    y: Tensor,
    contracting: tuple[tuple[int, ...], tuple[int, ...]],
    batching: tuple[tuple[int, ...], tuple[int, ...]] = ((), ()),
) -> Tensor:
    """Return `dot_general` in the operands' type: float8 is summed in float32, bools by `or`."""
    if x.dtype == BOOL:
        counts = contracted(convert(x, FLOAT32), convert(y, FLOAT32), contracting, batching)
        return compare("NE", counts, full(0, counts.shape, FLOAT32))
    sum_type: Dtype = FLOAT32 if x.dtype in FLOAT8 else x.dtype
    return convert(dot_general(x, y, contracting, batching, sum_type), x.dtype)


@implements(np.matmul)
@operation("matmul")
def matmul(x1: Operand, x2: Operand) -> Tensor:
    """Return the matrix product; leading axes broadcast; a vector is a row left, a column right."""
    x, y = together(x1, x2)
    if not x.shape or not y.shape:
        raise ShapeMismatch.here("matmul cannot multiply scalars; use * instead")
    x_is_vector, y_is_vector = len(x.shape) == 1, len(y.shape) == 1
    if x_is_vector and y_is_vector:
        return contracted(x, y, ((0,), (0,)))
    if len(y.shape) <= 2:
        return contracted(x, y, ((len(x.shape) - 1,), (0,)))
    if x_is_vector:
        x = reshape(x, (1, *x.shape))
    batch = broadcast_shape(x.shape[:-2], y.shape[:-2])
    x = broadcast_to(x, batch + x.shape[-2:])
    y = broadcast_to(y, batch + y.shape[-2:])
    rank = len(batch)
    leading = tuple(range(rank))
    product = contracted(x, y, ((rank + 1,), (rank,)), (leading, leading))
    return reshape(product, batch + product.shape[-1:]) if x_is_vector else product


@implements(np.dot, methods=("dot",))
def dot(a: Operand, b: Operand, out: Any = None) -> Tensor:
    """Return sums over the last axis of `a` and the last but one of `b`; scalars multiply."""
    x, y = together(a, b)
    if not x.shape or not y.shape:
        shape = x.shape or y.shape
        result = multiply(broadcast_to(x, shape), broadcast_to(y, shape))
    else:
        summed_of_b = max(0, len(y.shape) - 2)
        result = contracted(x, y, ((len(x.shape) - 1,), (summed_of_b,)))
    return into(out, result)


@implements(np.vdot)
def vdot(a: Operand, b: Operand) -> Tensor:
    """Return the sum of products of all elements of `a` and `b`, as a scalar tensor."""
    x, y = together(a, b)
    return contracted(reshape(x, (x.size,)), reshape(y, (y.size,)), ((0,), (0,)))


@implements(np.inner)
def inner(a: Operand, b: Operand) -> Tensor:
    """Return the sums of products over the last axes of `a` and `b`."""
    x, y = together(a, b)
    if not x.shape or not y.shape:
        return dot(x, y)
    return contracted(x, y, ((len(x.shape) - 1,), (len(y.shape) - 1,)))


@implements(np.outer)
def outer(a: Operand, b: Operand, out: Any = None) -> Tensor:
    """Return the matrix of products of each element of `a` with each element of `b`."""
    x, y = together(a, b)
    shape = (x.size, y.size)
    left = broadcast_to(reshape(x, (x.size, 1)), shape)
    result = multiply(left, broadcast_to(reshape(y, (1, y.size)), shape))
    return into(out, result)


@implements("linalg.matrix_transpose", "matrix_transpose")
def matrix_transpose(x: Operand) -> Tensor:
    """Return the tensor with its last two axes swapped."""
    x = lift(x)
    rank = len(x.shape)
    return transpose(x, (*range(rank - 2), rank - 1, rank - 2))
