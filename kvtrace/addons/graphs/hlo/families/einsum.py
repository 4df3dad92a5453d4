"""Sums of products: einsum, two tensors at a time; products of matrices, and their diagonals.

Operands are combined from left to right. Example, "ij,jk,k->i": i and j of the first operand are
needed later; the product with the second operand sums over j and has labels [i, k]; the product
with the third sums over k and has labels [i].
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import Shape, axes_of, broadcast_shape, dtype_of
from kvtrace.addons.graphs.hlo.builders import implements, operation
from kvtrace.addons.graphs.hlo.dtypes import BOOL, FLOAT8, FLOAT32, INT32, Dtype
from kvtrace.addons.graphs.hlo.errors import BadArgument, ShapeMismatch
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    add,
    broadcast_to,
    compare,
    convert,
    dot_general,
    fresh,
    full,
    iota,
    lift,
    multiply,
    pad,
    reduce,
    reshape,
    scalar,
    select,
    slice_,
    together,
    transpose,
)
from kvtrace.addons.graphs.hlo.wrapper import Tensor, into

#: One label per axis; axes under an ellipsis have integers as labels.
Labels = list[Any]


@implements(np.einsum)
def einsum(
    *operands: Any,
    out: Any = None,
    dtype: Any = None,
    optimize: Any = None,  # noqa: ARG001 - NumPy's
    **_: Any,
) -> Tensor:
    """Return the products of all operands, summed over labels that the result does not have.

    Operands are combined from left to right, two at a time.
    """
    if not isinstance(operands[0], str):
        raise BadArgument.here(
            "einsum in a graph takes its subscripts as text first, as 'ij,jk->ik'"
        )
    subscripts, tensors = operands[0].replace(" ", ""), together(*operands[1:])
    if dtype is not None:
        tensors = [convert(tensor, dtype_of(dtype)) for tensor in tensors]
    labels, result = _parsed_labels(subscripts, tensors)
    product, product_labels = _summed(tensors[0], labels[0], _needed_labels(labels[1:], result))
    for position in range(1, len(tensors)):
        needed = _needed_labels(labels[position + 1 :], result)
        y, y_labels = _summed(tensors[position], labels[position], {*needed, *product_labels})
        product, product_labels = _product(product, product_labels, y, y_labels, needed)
    product, product_labels = _summed(product, product_labels, set(result))
    return into(
        out,
        fresh(transpose(product, tuple(product_labels.index(label) for label in result))),
    )


def _parsed_labels(subscripts: str, tensors: Sequence[Tensor]) -> tuple[list[Labels], Labels]:
    inputs, arrow, output = subscripts.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(tensors):
        raise BadArgument.here(
            f"einsum's {subscripts!r} has {len(terms)} terms, but {len(tensors)} operands are given"
        )
    labels = [_term_labels(term, len(t.shape)) for term, t in zip(terms, tensors, strict=True)]
    ellipsis_labels = sorted({label for term in labels for label in term if isinstance(label, int)})
    if arrow:
        before, dots, after = output.partition("...")
        result_labels: Labels = [*before, *(ellipsis_labels if dots else []), *after]
    else:
        letters = [label for term in labels for label in term if isinstance(label, str)]
        result_labels = [
            *ellipsis_labels,
            *sorted(label for label in set(letters) if letters.count(label) == 1),
        ]
    operand_labels = {label for term in labels for label in term}
    if not operand_labels.issuperset(result_labels) or len(set(result_labels)) != len(
        result_labels
    ):
        raise BadArgument.here(
            f"the result of einsum's {subscripts!r} has a label twice, or one that no operand has; "
            "name each label once, and only those on the left"
        )
    return labels, result_labels


def _term_labels(term: str, rank: int) -> Labels:
    """Return a label per axis of a term; axes under the ellipsis have negative integers."""
    before, dots, after = term.partition("...")
    ellipsis_rank = rank - len(before) - len(after)
    if ellipsis_rank < 0 or (ellipsis_rank and not dots):
        raise ShapeMismatch.here(f"einsum's term {term!r} does not fit a tensor of {rank} axes")
    if len({*before, *after}) < len(before) + len(after):
        raise BadArgument.here(
            f"einsum's term {term!r} has a label twice; take the np.diagonal of the operand first"
        )
    return [*before, *range(-ellipsis_rank, 0), *after]  # ellipses are aligned at their last axes


def _needed_labels(labels: Sequence[Labels], result: Labels) -> set[Any]:
    return {*result, *(label for term in labels for label in term)}


def _summed(x: Tensor, labels: Labels, needed: set[Any]) -> tuple[Tensor, Labels]:
    """Sum over axes whose labels are not needed; return the tensor and its labels."""
    axes = tuple(axis for axis, label in enumerate(labels) if label not in needed)
    if not axes:
        return x, labels
    total = reduce(x, scalar(0, x.dtype), axes, "or" if x.dtype == BOOL else "add")
    return total, [label for label in labels if label in needed]


def _product(
    x: Tensor, x_labels: Labels, y: Tensor, y_labels: Labels, needed: set[Any]
) -> tuple[Tensor, Labels]:
    """Return the product of two tensors, summed over shared unneeded labels, and its labels."""
    shared = [label for label in x_labels if label in y_labels]
    for label in shared:
        extents = x.shape[x_labels.index(label)], y.shape[y_labels.index(label)]
        if extents[0] != extents[1]:
            raise ShapeMismatch.here(
                f"einsum's label {label!r} has axes of both {extents[0]} and {extents[1]} elements"
            )
    batch = [label for label in shared if label in needed]
    summed = [label for label in shared if label not in needed]

    def axes(names: Labels, of: Labels) -> tuple[int, ...]:
        return tuple(of.index(label) for label in names)

    contracting = (axes(summed, x_labels), axes(summed, y_labels))
    product = contracted(x, y, contracting, (axes(batch, x_labels), axes(batch, y_labels)))
    unshared = [label for label in (*x_labels, *y_labels) if label not in shared]
    return product, [*batch, *unshared]


# -- products of vectors and matrices --------------------------------------------------------------


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


@implements(np.outer)
def outer(a: Operand, b: Operand, out: Any = None) -> Tensor:
    """Return the matrix of products of each element of `a` with each element of `b`."""
    x, y = together(a, b)
    shape = (x.size, y.size)
    left = broadcast_to(reshape(x, (x.size, 1)), shape)
    result = multiply(left, broadcast_to(reshape(y, (1, y.size)), shape))
    return into(out, result)


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
        return broadcast_to(x, (x.shape[0], x.shape[0]))
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
    return select(is_diagonal, broadcast_to(padded_vector, shape), full(0, shape, x.dtype))


@implements(np.trace, methods=("trace",))
def trace(
    a: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Tensor:
    """Return the sums of the diagonals that `diagonal` returns."""
    from kvtrace.addons.graphs.hlo.families.reductions import sum_

    return sum_(diagonal(a, offset, axis1, axis2), -1, dtype, out)
