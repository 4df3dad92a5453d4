"""Sorting, and cumulative sums along an axis.

One op sorts several operands by the first; the sort is stable, and NaN comes last in either
direction, as in NumPy.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import dtype_of
from kvtrace.addons.graphs.hlo.builder import current
from kvtrace.addons.graphs.hlo.builders import implements, operation
from kvtrace.addons.graphs.hlo.dtypes import (
    UINT32,
)
from kvtrace.addons.graphs.hlo.errors import BadArgument, ShapeMismatch
from kvtrace.addons.graphs.hlo.families.joining import slice_axis
from kvtrace.addons.graphs.hlo.families.reductions import in_sum_type
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    along_axis,
    convert,
    fresh,
    iota,
    scalar,
)
from kvtrace.addons.graphs.hlo.wrapper import Tensor, into


def sorted_together(
    operands: Sequence[Tensor], axis: int, descending: bool = False
) -> tuple[Tensor, ...]:
    """Return the tensors, each in the order in which the first is sorted along an axis."""
    attributes = {"dimension": axis, "is_stable": True, "descending": descending}
    result_specs = [(tensor.shape, tensor.dtype) for tensor in operands]
    return current().emit_several("sort", operands, result_specs, attributes)


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
    x, position = along_axis(a, axis)
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
    x, position = along_axis(a, axis)
    return sorted_together([x, iota(x.shape, position)], position)[1]


@operation()
def topk(
    x: Operand, k: int, axis: int = 0, is_ascend: bool = False, out: Any = None, dtype: Any = None
) -> tuple[Tensor, Tensor]:
    """Return the k greatest elements along an axis (`is_ascend`: smallest), and their positions.

    Both are in order, greatest first; the positions are uint32, or of `dtype`.
    """
    tensor, position = along_axis(x, axis)
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


@implements(np.cumsum, methods=("cumsum",))
def cumsum(a: Operand, axis: int | None = None, dtype: Any = None, out: Any = None) -> Tensor:
    """Return sums of elements up to each position of an axis (None: flattened); bools as int32."""
    x, position = along_axis(a, axis)
    x, result_type = in_sum_type(x, dtype)
    rank, extent = len(x.shape), x.shape[position]
    low = tuple(max(0, extent - 1) if i == position else 0 for i in range(rank))
    attributes = {
        "window_dimensions": tuple(max(1, extent) if i == position else 1 for i in range(rank)),
        "padding": tuple((before, 0) for before in low),
        "reducer": "add",
    }
    operands = (x, scalar(0, x.dtype))
    sums = current().emit("reduce_window", operands, x.shape, x.dtype, attributes)
    return into(out, convert(sums, result_type))
