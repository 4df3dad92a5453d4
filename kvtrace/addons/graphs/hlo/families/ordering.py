"""Sorting, and what runs along an axis: cumulative sums and extremes.

Everything is sorted with one op of several operands, the first of which orders them all; it is
stable, and NaN comes last in either direction, as in NumPy's.
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
    wide,
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
    """Tensors of one shape, all in the order of the first along an axis."""
    attributes = {"dimension": axis, "is_stable": True, "descending": descending}
    results = [(tensor.shape, tensor.dtype) for tensor in operands]
    return current().emit_several("sort", operands, results, attributes)


def _placed(a: Operand, axis: int | None) -> tuple[Tensor, int]:
    """The tensor and the axis to sort along; without one, all elements along one axis."""
    x = lift(a)
    if axis is None:
        return reshape(x, (x.size,)), 0
    return x, axis_of(axis, len(x.shape))


def _refuse_order(order: Any) -> None:
    if order is not None:
        raise BadArgument.here("order names fields of records, and a graph has none; leave it out")


@implements(np.sort)
def sort(
    a: Operand,
    axis: int | None = -1,
    kind: Any = None,  # noqa: ARG001 - NumPy's
    order: Any = None,
    *,
    stable: Any = None,  # noqa: ARG001 - NumPy's
) -> Tensor:
    """The elements in ascending order along an axis."""
    _refuse_order(order)
    x, place = _placed(a, axis)
    return sorted_together([x], place)[0]


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
    """The positions, as int32, of the elements in ascending order; equal ones stay in order."""
    _refuse_order(order)
    x, place = _placed(a, axis)
    return sorted_together([x, iota(x.shape, place)], place)[1]


@operation()
def topk(
    x: Operand, k: int, axis: int = 0, is_ascend: bool = False, out: Any = None, dtype: Any = None
) -> tuple[Tensor, Tensor]:
    """The k greatest elements along an axis (with `is_ascend`, the smallest), and their positions.

    Both in order, greatest first; the positions are uint32, or of another type, where one is given.
    """
    tensor, place = _placed(x, axis)
    count = int(k)
    if not 0 <= count <= tensor.shape[place]:
        raise ShapeMismatch.here(
            f"{count} elements cannot be taken of an axis of {tensor.shape[place]} "
            f"(axis {place}); choose fewer, or another axis"
        )
    positions = iota(tensor.shape, place)
    values, order = sorted_together([tensor, positions], place, descending=not is_ascend)
    kind = UINT32 if dtype is None else dtype_of(dtype)
    best = fresh(slice_axis(values, place, 0, count))
    return into(out, best), convert(slice_axis(order, place, 0, count), kind)


# -- cumulative -----------------------------------------------------------------------------------


def cumulated(x: Tensor, axis: int, reducer: Reducer, start: Any) -> Tensor:
    """Each element joined with all before it along an axis; `start` is what changes nothing."""
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
    x, place = _placed(a, axis)
    kind: Dtype = INT32 if x.dtype == BOOL and reducer in ("add", "multiply") else x.dtype
    if dtype is not None:
        kind = dtype_of(dtype)
    inner = convert(convert(x, kind), wide(kind))
    return into(out, convert(cumulated(inner, place, reducer, start), kind))


@implements(np.cumsum, methods=("cumsum",), accumulates=np.add)
def cumsum(a: Operand, axis: int | None = None, dtype: Any = None, out: Any = None) -> Tensor:
    """The sum of each element and all before it; bools are counted in int32."""
    return _cumulative(a, axis, dtype, "add", 0, out)


@implements(np.cumprod, methods=("cumprod",), accumulates=np.multiply)
def cumprod(a: Operand, axis: int | None = None, dtype: Any = None, out: Any = None) -> Tensor:
    """The product of each element and all before it."""
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
    """`cumsum` of a tensor of one axis, or along the axis that is named."""
    if include_initial:
        raise BadArgument.here("include_initial has no form as graph ops; concatenate a zero")
    return cumsum(x, 0 if axis is None else axis, dtype, out)


# -- ranks ----------------------------------------------------------------------------------------


@implements(np.median)
def median(
    a: Operand, axis: int | None = None, out: Any = None, *, keepdims: bool = False
) -> Tensor:
    """The middle element in order, or the mean of both; NaN where there is one."""
    original = lift(a)
    x, place = _placed(original, axis)
    if x.shape[place] == 0:
        raise ShapeMismatch.here("there is no median of no elements")
    ordered = sorted_together([x], place)[0]
    middle = x.shape[place] // 2
    upper = slice_axis(ordered, place, middle, middle + 1)
    lower = slice_axis(ordered, place, middle - 1, middle) if x.shape[place] % 2 == 0 else upper
    last = slice_axis(ordered, place, x.shape[place] - 1, x.shape[place])
    mean: Tensor = lower / 2 + upper / 2
    # NaN is sorted last, so that the last element says whether there is one.
    value = select(compare("NE", last, last), convert(last, mean.dtype), mean)
    shape = tuple(n for i, n in enumerate(x.shape) if i != place)
    if keepdims:
        ones = (1,) * len(original.shape)
        kept = tuple(1 if i == place else n for i, n in enumerate(x.shape))
        shape = ones if axis is None else kept
    return into(out, reshape(value, shape))
