"""Reductions over axes: sums, products, extremes, predicates, positions of extremes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import axes_of, dtype_of
from kvtrace.addons.graphs.hlo.builders import implements
from kvtrace.addons.graphs.hlo.dtypes import (
    BOOL,
    INT32,
    Dtype,
    highest,
    is_float,
    lowest,
    wide_dtype,
)
from kvtrace.addons.graphs.hlo.errors import ShapeMismatch
from kvtrace.addons.graphs.hlo.families.comparisons import truth
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    Reducer,
    along_axis,
    binary,
    broadcast,
    broadcast_to,
    compare,
    convert,
    full,
    iota,
    lift,
    reduce,
    reshape,
    scalar,
    select,
)
from kvtrace.addons.graphs.hlo.wrapper import Tensor, into


def reduced(
    x: Tensor,
    axis: Any,
    reducer: Reducer,
    start: Any,
    keepdims: bool,
    initial: Operand = None,
    out: Any = None,
) -> Tensor:
    """Return the elements, and `initial`, reduced along axes; `start` is neutral."""
    axes = axes_of(axis, len(x.shape))
    neutral = scalar(start, x.dtype)
    result = reduce(x, neutral, axes, reducer)
    if initial is not None:
        initial_value = broadcast_to(lift(initial, x.dtype), result.shape)
        result = binary(reducer, initial_value, result)
    if keepdims:
        kept_shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(x.shape))
        result = reshape(result, kept_shape)
    return into(out, result)


def in_sum_type(a: Operand, dtype: Any) -> tuple[Tensor, Dtype]:
    """Return elements in the type in which they are added, and the type of their sums."""
    x = lift(a)
    result_type = dtype_of(dtype) if dtype is not None else INT32 if x.dtype == BOOL else x.dtype
    return convert(convert(x, result_type), wide_dtype(result_type)), result_type


def _total(reducer: Reducer, start: int) -> Callable[..., Tensor]:
    def total(
        a: Operand,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Operand = None,
    ) -> Tensor:
        """Return elements combined along axes; bools as int32, floats below 32 bits in float32."""
        x, result_type = in_sum_type(a, dtype)
        return into(out, convert(reduced(x, axis, reducer, start, keepdims, initial), result_type))

    return total


sum_ = implements(np.sum, methods=("sum",))(_total("add", 0))
implements(np.prod, methods=("prod",))(_total("multiply", 1))


def _extreme(
    reducer: Reducer, of_bools: Reducer, beyond: Callable[[Dtype], Any]
) -> Callable[..., Tensor]:
    def extreme(
        a: Operand,
        axis: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Operand = None,
    ) -> Tensor:
        """Return the greatest or smallest element along axes; NaN if an element is NaN."""
        x = lift(a)
        has_empty_axis = any(x.shape[position] == 0 for position in axes_of(axis, len(x.shape)))
        if has_empty_axis and initial is None:
            which = "greatest" if reducer == "maximum" else "smallest"
            raise ShapeMismatch.here(f"an empty axis has no {which} element; give initial as well")
        opcode = of_bools if x.dtype == BOOL else reducer
        return reduced(x, axis, opcode, beyond(x.dtype), keepdims, initial, out)

    return extreme


max_ = implements(np.max, np.amax, methods=("max",))(_extreme("maximum", "or", lowest))
min_ = implements(np.min, np.amin, methods=("min",))(_extreme("minimum", "and", highest))


@implements(np.any, methods=("any",))
def any_(a: Operand, axis: Any = None, out: Any = None, keepdims: bool = False) -> Tensor:
    """Return whether any element along the axes is not zero."""
    return reduced(truth(a), axis, "or", False, keepdims, out=out)


@implements(np.all, methods=("all",))
def all_(a: Operand, axis: Any = None, out: Any = None, keepdims: bool = False) -> Tensor:
    """Return whether no element along the axes is zero."""
    return reduced(truth(a), axis, "and", True, keepdims, out=out)


@implements(np.count_nonzero)
def count_nonzero(a: Operand, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """Return the number of non-zero elements along the axes, as int32."""
    return reduced(convert(truth(a), INT32), axis, "add", 0, keepdims)


@implements(np.argmax, methods=("argmax",))
def argmax(a: Operand, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Tensor:
    """Return, as int32, the position of the first maximum or NaN, along an axis or flattened."""
    return into(out, _first_extreme_position(lift(a), axis, keepdims, greatest=True))


@implements(np.argmin, methods=("argmin",))
def argmin(a: Operand, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Tensor:
    """Return, as int32, the position of the first minimum or NaN, along an axis or flattened."""
    return into(out, _first_extreme_position(lift(a), axis, keepdims, greatest=False))


def _first_extreme_position(x: Tensor, axis: Any, keepdims: bool, *, greatest: bool) -> Tensor:
    shape = x.shape
    x, position = along_axis(x, axis)
    if x.shape[position] == 0:
        raise ShapeMismatch.here("an axis without elements has no position of an extreme")
    extreme = (max_ if greatest else min_)(x, position, keepdims=True)
    is_extreme = compare("EQ", *broadcast(x, extreme))
    if is_float(x.dtype):
        is_extreme = binary("or", is_extreme, compare("NE", x, x))
    beyond = full(x.shape[position], x.shape, INT32)
    positions = select(is_extreme, iota(x.shape, position), beyond)
    first_position = reduced(positions, position, "minimum", highest(INT32), keepdims=False)
    if not keepdims:
        return first_position
    ones = (1,) * len(shape)
    kept_shape = ones if axis is None else (*shape[:position], 1, *shape[position + 1 :])
    return reshape(first_position, kept_shape)
