"""Slices at positions that may be data, clamped so that they lie inside; slices by numbers."""

from collections.abc import Sequence
from typing import Any

from kvtrace.addons.graphs.hlo.arguments import axis_of, shape_of
from kvtrace.addons.graphs.hlo.builders import operation
from kvtrace.addons.graphs.hlo.dtypes import INT32
from kvtrace.addons.graphs.hlo.errors import BadIndex, ShapeMismatch
from kvtrace.addons.graphs.hlo.families.gathering import index_tensor
from kvtrace.addons.graphs.hlo.families.indexing import value_for
from kvtrace.addons.graphs.hlo.gathers import from_start
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    convert,
    lift,
    reshape,
    scalar,
    slice_,
)
from kvtrace.addons.graphs.hlo.primitives import dynamic_slice as dynamic_slice_op
from kvtrace.addons.graphs.hlo.primitives import dynamic_update_slice as dynamic_update_slice_op
from kvtrace.addons.graphs.hlo.wrapper import Tensor


def _starts(x: Tensor, start_indices: Any) -> list[Tensor]:
    if isinstance(start_indices, Tensor):
        starts: list[Any] = [start_indices] if not start_indices.shape else list(start_indices)
    else:
        starts = list(start_indices) if isinstance(start_indices, Sequence) else [start_indices]
    if len(starts) != len(x.shape):
        raise BadIndex.here(
            f"{len(starts)} starts are given for a tensor of {len(x.shape)} axes; give one for each"
        )
    positions = []
    for extent, start in zip(x.shape, starts, strict=True):
        position = scalar(start, INT32) if isinstance(start, int) else index_tensor(start)
        if position.shape:
            position = reshape(position, ())
        positions.append(convert(from_start(position, extent), INT32))
    return positions


@operation()
def dynamic_slice(x: Operand, start_indices: Any, slice_sizes: Any) -> Tensor:
    """Return a block of `slice_sizes` elements at traced starts, moved to lie inside."""
    x = lift(x)
    sizes = shape_of(slice_sizes)
    if len(sizes) != len(x.shape) or any(
        n > extent for n, extent in zip(sizes, x.shape, strict=False)
    ):
        raise ShapeMismatch.here(f"sizes {list(sizes)} do not fit a tensor of {list(x.shape)}")
    return dynamic_slice_op(x, _starts(x, start_indices), sizes)


@operation()
def dynamic_update_slice(
    x: Operand, update: Operand, start_indices: Any, update_shape: Any = None
) -> Tensor:
    """Return a copy of `x` with `update` written at traced starts, moved to lie inside.

    `update_shape` is the shape that a scalar is broadcast to.
    """
    x = lift(x)
    shape = lift(update).shape if update_shape is None else shape_of(update_shape)
    value = value_for(update, shape, x.dtype)
    if len(shape) != len(x.shape) or any(
        n > extent for n, extent in zip(shape, x.shape, strict=False)
    ):
        raise ShapeMismatch.here(
            f"an update of {list(shape)} does not fit into a tensor of {list(x.shape)}"
        )
    return dynamic_update_slice_op(x, value, _starts(x, start_indices))


@operation()
def static_slice(
    x: Operand,
    start_indices: Any,
    limit_indices: Any,
    strides: Any = None,
    squeeze_dims: Sequence[int] = (),
) -> Tensor:
    """Return the elements from start to limit, every `strides`-th, without `squeeze_dims`."""
    x = lift(x)
    start, limit = shape_of(start_indices), shape_of(limit_indices)
    steps = (1,) * len(start) if strides is None else shape_of(strides)
    fits_tensor = len(start) == len(limit) == len(steps) == len(x.shape) and all(
        begin <= end <= extent for begin, end, extent in zip(start, limit, x.shape, strict=True)
    )
    if not fits_tensor or 0 in steps:
        raise BadIndex.here(
            f"a slice from {list(start)} to {list(limit)} by {list(steps)} does not fit a tensor "
            f"of shape {list(x.shape)}"
        )
    result = slice_(x, start, limit, steps)
    dropped = [axis_of(axis, len(result.shape)) for axis in squeeze_dims]
    return reshape(result, tuple(n for i, n in enumerate(result.shape) if i not in dropped))
