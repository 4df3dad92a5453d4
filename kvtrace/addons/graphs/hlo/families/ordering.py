"""Sorting, ranks, and cumulative sums and extremes along an axis.

One op sorts several operands by the first; the sort is stable, and NaN comes last in either
direction, as in NumPy.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import axis_of, dtype_of
from kvtrace.addons.graphs.hlo.builder import current
from kvtrace.addons.graphs.hlo.builders import ACCUMULATIONS, implements, operation
from kvtrace.addons.graphs.hlo.dtypes import (
    BOOL,
    INT32,
    UINT32,
    Dtype,
    highest,
    lowest,
    wide_dtype,
)
from kvtrace.addons.graphs.hlo.errors import BadArgument, ShapeMismatch
from kvtrace.addons.graphs.hlo.families.joining import slice_axis
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    Reducer,
    compare,
    convert,
    fresh,
    iota,
    lift,
    reshape,
    scalar,
    select,
)
from kvtrace.addons.graphs.hlo.wrapper import Tensor, into


def sorted_together(
    operands: Sequence[Tensor], axis: int, descending: bool = False
) -> tuple[Tensor, ...]:
    """Return the tensors, each in the order in which the first is sorted along an axis."""
    attributes = {"dimension": axis, "is_stable": True, "descending": descending}
    result_specs = [(tensor.shape, tensor.dtype) for tensor in operands]
    return current().emit_several("sort", operands, result_specs, attributes)


def _with_sort_axis(a: Operand, axis: int | None) -> tuple[Tensor, int]:
    x = lift(a)
    if axis is None:
        return reshape(x, (x.size,)), 0
    return x, axis_of(axis, len(x.shape))


def _refuse_order(order: Any) -> None:
    if order is not None:
        raise BadArgument.here("order names fields of records, which a graph lacks; leave it out")


@implements(np.sort)
def sort(
    a: Operand,
    axis: int | None = -1,
    kind: Any = None,  # noqa: ARG001 - NumPy's
    order: Any = None,
    *,
    stable: Any = None,  # noqa: ARG001 - NumPy's
) -> Tensor:
    """Return the elements in ascending order along an axis."""
    _refuse_order(order)
    x, position = _with_sort_axis(a, axis)
    return sorted_together([x], position)[0]


@implements(methods=("sort",))
def _sort_method(x: Tensor, axis: int = -1, **settings: Any) -> None:
    x._become(sort(x, axis, **settings))


@implements(np.argsort, methods=("argsort",))
def argsort(
    a: Operand,
    axis: int | None = -1,
    kind: Any = None,  # noqa: ARG001 - NumPy's
    order: Any = None,
    *,
    stable: Any = None,  # noqa: ARG001 - NumPy's
) -> Tensor:
    """Return, as int32, the positions of the elements in ascending order; the sort is stable."""
    _refuse_order(order)
    x, position = _with_sort_axis(a, axis)
    return sorted_together([x, iota(x.shape, position)], position)[1]


@operation()
def topk(
    x: Operand, k: int, axis: int = 0, is_ascend: bool = False, out: Any = None, dtype: Any = None
) -> tuple[Tensor, Tensor]:
    """Return the k greatest elements along an axis (`is_ascend`: smallest), and their positions.

    Both are in order, greatest first; the positions are uint32, or of `dtype`.
    """
    tensor, position = _with_sort_axis(x, axis)
    count = int(k)
    if not 0 <= count <= tensor.shape[position]:
        raise ShapeMismatch.here(
            f"topk of {count} elements along axis {position}, which has {tensor.shape[position]}; "
            "choose fewer, or another axis"
        )
    positions = iota(tensor.shape, position)
    values, order = sorted_together([tensor, positions], position, descending=not is_ascend)
    position_type = UINT32 if dtype is None else dtype_of(dtype)
    selected = fresh(slice_axis(values, position, 0, count))
    return into(out, selected), convert(slice_axis(order, position, 0, count), position_type)


# -- cumulative -----------------------------------------------------------------------------------


def cumulated(x: Tensor, axis: int, reducer: Reducer, start: Any) -> Tensor:
    """Return, at each position of an axis, the elements up to it combined, with neutral `start`."""
    rank, extent = len(x.shape), x.shape[axis]
    window = tuple(max(1, extent) if i == axis else 1 for i in range(rank))
    low = tuple(max(0, extent - 1) if i == axis else 0 for i in range(rank))
    attributes = {
        "window_dimensions": window,
        "padding": tuple((before, 0) for before in low),
        "reducer": reducer,
    }
    operands = (x, scalar(start, x.dtype))
    return current().emit("reduce_window", operands, x.shape, x.dtype, attributes)


def _cumulative(
    a: Operand, axis: int | None, dtype: Any, reducer: Reducer, start: Any, out: Any
) -> Tensor:
    x, position = _with_sort_axis(a, axis)
    result_type: Dtype = INT32 if x.dtype == BOOL and reducer in ("add", "multiply") else x.dtype
    if dtype is not None:
        result_type = dtype_of(dtype)
    wide_tensor = convert(convert(x, result_type), wide_dtype(result_type))
    return into(out, convert(cumulated(wide_tensor, position, reducer, start), result_type))


@implements(np.cumsum, methods=("cumsum",), accumulates=np.add)
def cumsum(a: Operand, axis: int | None = None, dtype: Any = None, out: Any = None) -> Tensor:
    """Return sums of elements up to each position of an axis (None: flattened); bools as int32."""
    return _cumulative(a, axis, dtype, "add", 0, out)


@implements(np.cumprod, methods=("cumprod",), accumulates=np.multiply)
def cumprod(a: Operand, axis: int | None = None, dtype: Any = None, out: Any = None) -> Tensor:
    """Return the products of the elements up to each position of an axis (None: flattened)."""
    return _cumulative(a, axis, dtype, "multiply", 1, out)


def _greatest_so_far(array: Operand, axis: int = 0, dtype: Any = None, out: Any = None) -> Tensor:
    x = lift(array)
    return _cumulative(x, axis, dtype, "maximum", lowest(x.dtype), out)


def _smallest_so_far(array: Operand, axis: int = 0, dtype: Any = None, out: Any = None) -> Tensor:
    x = lift(array)
    return _cumulative(x, axis, dtype, "minimum", highest(x.dtype), out)


ACCUMULATIONS[np.maximum] = _greatest_so_far
ACCUMULATIONS[np.minimum] = _smallest_so_far


@implements("cumulative_sum")
def cumulative_sum(
    x: Operand,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """Return `cumsum` along the named axis, by default the first."""
    if include_initial:
        raise BadArgument.here("include_initial has no form as graph ops; concatenate a zero")
    return cumsum(x, 0 if axis is None else axis, dtype, out)


# -- ranks ----------------------------------------------------------------------------------------


@implements(np.median)
def median(
    a: Operand, axis: int | None = None, out: Any = None, *, keepdims: bool = False
) -> Tensor:
    """Return the middle element in order, or the mean of the two; NaN if an element is NaN."""
    original = lift(a)
    x, position = _with_sort_axis(original, axis)
    if x.shape[position] == 0:
        raise ShapeMismatch.here("an axis without elements has no median")
    ordered = sorted_together([x], position)[0]
    middle = x.shape[position] // 2
    upper = slice_axis(ordered, position, middle, middle + 1)
    lower = (
        slice_axis(ordered, position, middle - 1, middle) if x.shape[position] % 2 == 0 else upper
    )
    greatest = slice_axis(ordered, position, x.shape[position] - 1, x.shape[position])
    mean: Tensor = lower / 2 + upper / 2
    # NaN is sorted last, so the last element tells whether there is a NaN.
    result = select(compare("NE", greatest, greatest), convert(greatest, mean.dtype), mean)
    shape = tuple(n for i, n in enumerate(x.shape) if i != position)
    if keepdims:
        ones = (1,) * len(original.shape)
        reduced_shape = tuple(1 if i == position else n for i, n in enumerate(x.shape))
        shape = ones if axis is None else reduced_shape
    return into(out, reshape(result, shape))
