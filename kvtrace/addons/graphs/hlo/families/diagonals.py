"""Triangles and diagonals of matrices."""

from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import Shape, axes_of
from kvtrace.addons.graphs.hlo.builders import implements
from kvtrace.addons.graphs.hlo.dtypes import INT32
from kvtrace.addons.graphs.hlo.errors import ShapeMismatch
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    add,
    compare,
    fresh,
    full,
    iota,
    lift,
    pad,
    reshape,
    scalar,
    select,
    slice_,
    transpose,
)
from kvtrace.addons.graphs.hlo.primitives import broadcast_to as broadcast_tensor
from kvtrace.addons.graphs.hlo.wrapper import Tensor


def _lower_mask(shape: Shape, k: int) -> Tensor:
    rank = len(shape)
    shifted_rows = add(iota(shape, rank - 2), full(k, shape, INT32))
    return compare("GE", shifted_rows, iota(shape, rank - 1))


@implements(np.tril)
def tril(m: Operand, k: int = 0) -> Tensor:
    """Return the elements on and below diagonal `k`, and zeros above it."""
    x = _with_two_axes(m)
    return select(_lower_mask(x.shape, k), x, full(0, x.shape, x.dtype))


@implements(np.triu)
def triu(m: Operand, k: int = 0) -> Tensor:
    """Return the elements on and above diagonal `k`, and zeros below it."""
    x = _with_two_axes(m)
    return select(_lower_mask(x.shape, k - 1), full(0, x.shape, x.dtype), x)


def _with_two_axes(m: Operand) -> Tensor:
    x = lift(m)
    if len(x.shape) == 1:
        return broadcast_tensor(x, (x.shape[0], x.shape[0]))
    if not x.shape:
        raise ShapeMismatch.here("a scalar has no triangle; pass a tensor with axes")
    return x


@implements(np.diagonal, methods=("diagonal",))
def diagonal(a: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Return diagonals (`offset` > 0: above) of the matrices in two axes, along a new last axis."""
    x = lift(a)
    rank = len(x.shape)
    row, column = axes_of((axis1, axis2), rank)
    x = transpose(x, (*(i for i in range(rank) if i not in (row, column)), row, column))
    row_count, column_count = x.shape[-2:]
    above, below = max(0, offset), max(0, -offset)
    length = max(0, min(row_count - below, column_count - above))
    leading = x.shape[:-2]
    start = (*(0 for _ in leading), below if length else 0, above if length else 0)
    square = slice_(x, start, (*leading, start[-2] + length, start[-1] + length))
    # In row-major order, the diagonal of a square is every (length + 1)-th element.
    flattened = reshape(square, (*leading, length * length))
    strides = (*(1 for _ in leading), length + 1)
    elements = slice_(flattened, (0,) * (len(leading) + 1), flattened.shape, strides)
    return fresh(elements)


@implements(np.diag)
def diag(v: Operand, k: int = 0) -> Tensor:
    """Return a matrix's diagonal, or a matrix with a vector on its diagonal."""
    x = lift(v)
    if len(x.shape) == 2:
        return diagonal(x, k)
    if len(x.shape) != 1:
        raise ShapeMismatch.here("np.diag needs a vector or a matrix")
    size = x.shape[0] + abs(k)
    padded_vector = pad(x, scalar(0, x.dtype), (max(0, k),), (max(0, -k),))
    shape = (size, size)
    is_diagonal = compare("EQ", add(iota(shape, 0), full(k, shape, INT32)), iota(shape, 1))
    return select(is_diagonal, broadcast_tensor(padded_vector, shape), full(0, shape, x.dtype))


@implements(np.diagflat)
def diagflat(v: Operand, k: int = 0) -> Tensor:
    """Return a matrix with all elements of a tensor on its diagonal."""
    x = lift(v)
    return diag(reshape(x, (x.size,)), k)


@implements(np.trace, methods=("trace",))
def trace(
    a: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Tensor:
    """Return the sums of the diagonals that `diagonal` returns."""
    from kvtrace.addons.graphs.hlo.families.reductions import sum_

    return sum_(diagonal(a, offset, axis1, axis2), -1, dtype, out)
