"""Sums, extremes and questions over axes."""

from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import axes_of, axis_of, dtype_of
from kvtrace.addons.graphs.hlo.builders import implements
from kvtrace.addons.graphs.hlo.dtypes import BOOL, INT32, Dtype, highest, is_float, lowest, wide
from kvtrace.addons.graphs.hlo.errors import ShapeMismatch
from kvtrace.addons.graphs.hlo.families.comparisons import truth
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    Reducer,
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
    where: Operand = None,
    initial: Operand = None,
    out: Any = None,
) -> Tensor:
    """Join the elements along axes; `start` is what changes nothing."""
    axes = axes_of(axis, len(x.shape))
    neutral = scalar(start, x.dtype)
    if where is not None:
        condition = broadcast_to(truth(where), x.shape)
        x = select(condition, x, full(start, x.shape, x.dtype))
    result = reduce(x, neutral, axes, reducer)
    if initial is not None:
        given = broadcast_to(lift(initial, x.dtype), result.shape)
        result = binary(reducer, given, result)
    if keepdims:
        kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(x.shape))
        result = reshape(result, kept)
    return into(out, result)


def _summands(a: Operand, dtype: Any) -> tuple[Tensor, Dtype]:
    """The tensor in the type that it is summed in, and the type of the result."""
    x = lift(a)
    result = dtype_of(dtype) if dtype is not None else INT32 if x.dtype == BOOL else x.dtype
    return convert(convert(x, result), wide(result)), result


@implements(np.sum, methods=("sum",), reduces=np.add)
def sum_(
    a: Operand,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Operand = None,
    where: Operand = None,
) -> Tensor:
    """The sum; bools are counted in int32, small floats summed in float32 and rounded once."""
    x, result = _summands(a, dtype)
    total = reduced(x, axis, "add", 0, keepdims, where, initial)
    return into(out, convert(total, result))


@implements(np.prod, methods=("prod",), reduces=np.multiply)
def prod(
    a: Operand,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Operand = None,
    where: Operand = None,
) -> Tensor:
    """The product."""
    x, result = _summands(a, dtype)
    total = reduced(x, axis, "multiply", 1, keepdims, where, initial)
    return into(out, convert(total, result))


@implements(np.max, np.amax, methods=("max",), reduces=np.maximum)
def max_(
    a: Operand,
    axis: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Operand = None,
    where: Operand = None,
) -> Tensor:
    """The greatest element; NaN where there is one."""
    x = _with_elements(lift(a), axis, initial, "greatest")
    opcode: Reducer = "or" if x.dtype == BOOL else "maximum"
    return reduced(x, axis, opcode, lowest(x.dtype), keepdims, where, initial, out)


@implements(np.min, np.amin, methods=("min",), reduces=np.minimum)
def min_(
    a: Operand,
    axis: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Operand = None,
    where: Operand = None,
) -> Tensor:
    """The smallest element; NaN where there is one."""
    x = _with_elements(lift(a), axis, initial, "smallest")
    opcode: Reducer = "and" if x.dtype == BOOL else "minimum"
    return reduced(x, axis, opcode, highest(x.dtype), keepdims, where, initial, out)


def _with_elements(x: Tensor, axis: Any, initial: Any, what: str) -> Tensor:
    empty = any(x.shape[number] == 0 for number in axes_of(axis, len(x.shape)))
    if empty and initial is None:
        raise ShapeMismatch.here(f"no element is the {what} of none; give initial as well")
    return x


@implements(np.any, methods=("any",), reduces=np.logical_or)
def any_(
    a: Operand, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Operand = None
) -> Tensor:
    """Whether any element is not zero."""
    return reduced(truth(a), axis, "or", False, keepdims, where, None, out)


@implements(np.all, methods=("all",), reduces=np.logical_and)
def all_(
    a: Operand, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Operand = None
) -> Tensor:
    """Whether no element is zero."""
    return reduced(truth(a), axis, "and", True, keepdims, where, None, out)


@implements(np.count_nonzero)
def count_nonzero(a: Operand, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """How many elements are not zero, as int32."""
    return reduced(convert(truth(a), INT32), axis, "add", 0, keepdims)


@implements(np.argmax, methods=("argmax",))
def argmax(a: Operand, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Tensor:
    """The position of the first greatest element, as int32; of the first NaN, if there is one."""
    return into(out, _first_extreme(lift(a), axis, keepdims, greatest=True))


@implements(np.argmin, methods=("argmin",))
def argmin(a: Operand, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Tensor:
    """The position of the first smallest element, as int32; of the first NaN, if there is one."""
    return into(out, _first_extreme(lift(a), axis, keepdims, greatest=False))


def _first_extreme(x: Tensor, axis: Any, keepdims: bool, *, greatest: bool) -> Tensor:
    shape = x.shape
    if axis is None:
        x, position = reshape(x, (x.size,)), 0
    else:
        position = axis_of(axis, len(x.shape))
    if x.shape[position] == 0:
        raise ShapeMismatch.here("there is no position of an extreme in an axis of no elements")
    extreme = (max_ if greatest else min_)(x, position, keepdims=True)
    held = compare("EQ", *broadcast(x, extreme))
    if is_float(x.dtype):
        held = binary("or", held, compare("NE", x, x))
    nowhere = full(x.shape[position], x.shape, INT32)
    positions = select(held, iota(x.shape, position), nowhere)
    found = reduced(positions, position, "minimum", highest(INT32), keepdims=False)
    if not keepdims:
        return found
    ones = (1,) * len(shape)
    kept = ones if axis is None else (*shape[:position], 1, *shape[position + 1 :])
    return reshape(found, kept)


@implements(np.ptp)
def ptp(a: Operand, axis: Any = None, out: Any = None, keepdims: bool = False) -> Tensor:
    """The greatest element minus the smallest."""
    x = lift(a)
    span = binary("subtract", max_(x, axis, keepdims=keepdims), min_(x, axis, keepdims=keepdims))
    return into(out, span)
