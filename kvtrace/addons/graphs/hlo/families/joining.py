"""Functions that join, cut, repeat and pad tensors, and functions of neighboring elements."""

from itertools import pairwise
from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import axis_of, dtype_of, shape_of
from kvtrace.addons.graphs.hlo.builders import implements
from kvtrace.addons.graphs.hlo.dtypes import is_weak
from kvtrace.addons.graphs.hlo.errors import BadArgument, ShapeMismatch
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    along_axis,
    broadcast_in_dim,
    compare,
    concatenate,
    convert,
    fresh,
    lift,
    pad,
    reshape,
    slice_,
    subtract,
    together,
)
from kvtrace.addons.graphs.hlo.primitives import broadcast_to as broadcast_tensor
from kvtrace.addons.graphs.hlo.wrapper import Tensor, into


@implements(np.concatenate, "concat")
def concatenate_(
    arrays: Any,
    axis: int | None = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = None,  # noqa: ARG001 - NumPy's
) -> Tensor:
    """Return the tensors joined along an axis (None: all flattened), converted to one type."""
    tensors = together(*_lifted_items(arrays))
    if dtype is not None:
        tensors = [convert(tensor, dtype_of(dtype)) for tensor in tensors]
    if axis is None:
        tensors, axis = [reshape(t, (t.size,)) for t in tensors], 0
    if len({len(tensor.shape) for tensor in tensors}) != 1:
        raise ShapeMismatch.here(
            "all the input arrays must have same number of dimensions; use np.stack or np.reshape"
        )
    result = fresh(concatenate(tensors, axis_of(axis, len(tensors[0].shape))))
    return into(out, result)


def _lifted_items(arrays: Any) -> list[Any]:
    items = list(arrays)
    if not items:
        raise BadArgument.here("need at least one array to concatenate")
    # A scalar counts as an array without axes, whose type is not weak.
    return [lift(item) for item in items]


@implements(np.stack)
def stack(
    arrays: Any,
    axis: int = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = None,  # noqa: ARG001 - NumPy's
) -> Tensor:
    """Return tensors of one shape joined along a new axis."""
    tensors = _lifted_items(arrays)
    position = axis_of(axis, len(tensors[0].shape) + 1)
    shape = tensors[0].shape
    for tensor in tensors:
        if tensor.shape != shape:
            raise ShapeMismatch.here(
                f"all input arrays must have the same shape, not {list(shape)} and "
                f"{list(tensor.shape)}"
            )
    expanded = [reshape(t, (*shape[:position], 1, *shape[position:])) for t in tensors]
    return concatenate_(expanded, position, out, dtype=dtype)


def window(x: Tensor, axis: int, start: int, limit: int) -> Tensor:
    """Return the view of positions `start` up to `limit` (not included) along one axis."""
    from kvtrace.addons.graphs.hlo.families.indexing import getitem

    index = (slice(None),) * axis + (slice(start, limit),)
    result: Tensor = getitem(x, index)
    return result


@implements(np.split)
def split(ary: Operand, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Return views of the parts of an axis between positions, or of a number of equal parts."""
    x = lift(ary)
    split_axis = axis_of(axis, len(x.shape))
    extent = x.shape[split_axis]
    if isinstance(indices_or_sections, int | np.integer):
        count = int(indices_or_sections)
        if count < 1 or extent % count:
            raise ShapeMismatch.here(
                f"array split does not result in an equal division: {extent} elements into "
                f"{count} parts; split at positions"
            )
        bounds = [part * extent // count for part in range(count + 1)]
    else:
        bounds = [0, *(int(position) for position in indices_or_sections), extent]
    return [window(x, split_axis, a, b) for a, b in pairwise(bounds)]


@implements(np.tile)
def tile(A: Operand, reps: Any) -> Tensor:  # noqa: N803 - NumPy's name
    """Return the whole tensor repeated along its last axes; missing leading axes are added."""
    x = lift(A)
    counts = shape_of(reps)
    rank = max(len(counts), len(x.shape))
    counts = (1,) * (rank - len(counts)) + counts
    shape = (1,) * (rank - len(x.shape)) + x.shape
    repeated_shape = tuple(n for pair in zip(counts, shape, strict=True) for n in pair)
    repeated_axes = tuple(range(1, 2 * rank, 2))
    repeated = broadcast_in_dim(reshape(x, shape), repeated_shape, repeated_axes)
    return fresh(reshape(repeated, tuple(c * n for c, n in zip(counts, shape, strict=True))))


@implements(np.repeat, methods=("repeat",))
def repeat(a: Operand, repeats: Any, axis: int | None = None) -> Tensor:
    """Return each element repeated along an axis (None: flattened)."""
    x, position = along_axis(a, axis)
    if isinstance(repeats, Tensor):
        repeats.__index__()  # raises: the number of elements cannot depend on data
    counts = np.asarray(repeats)
    if counts.size != 1:
        raise BadArgument.here(
            f"np.repeat in a graph has one count for all elements, not {counts.size}"
        )
    return fresh(_repeated(x, position, int(counts.flat[0])))


def slice_axis(x: Tensor, axis: int, start: int, limit: int) -> Tensor:
    """Return positions `start` up to `limit` (not included) along one axis; not a view."""
    begin = tuple(start if i == axis else 0 for i in range(len(x.shape)))
    end = tuple(limit if i == axis else n for i, n in enumerate(x.shape))
    return slice_(x, begin, end)


def _repeated(x: Tensor, position: int, count: int) -> Tensor:
    shape = (*x.shape[: position + 1], count, *x.shape[position + 1 :])
    input_axes = tuple(i for i in range(len(shape)) if i != position + 1)
    repeated = broadcast_in_dim(x, shape, input_axes)
    return reshape(
        repeated, (*x.shape[:position], x.shape[position] * count, *x.shape[position + 1 :])
    )


@implements(np.roll)
def roll(a: Operand, shift: Any, axis: Any = None) -> Tensor:
    """Return the elements shifted along axes (None: flattened); those beyond the end come first."""
    x = lift(a)
    if axis is None:
        return reshape(roll(reshape(x, (x.size,)), shift, 0), x.shape)
    distances, axes_given = np.asarray(shift), np.asarray(axis)
    if distances.ndim > 1 or axes_given.ndim > 1:
        raise BadArgument.here(
            "np.roll has shifts or axes in nested lists; give one shift, or one for each axis"
        )
    try:
        distances_and_axes = np.broadcast(distances, axes_given)
    except ValueError:
        raise BadArgument.here(
            f"shape mismatch: {distances.size} shifts for {axes_given.size} axes; give one per axis"
        ) from None
    result = x
    for distance, axis_number in distances_and_axes:
        position = axis_of(int(axis_number), len(x.shape))
        extent = result.shape[position]
        cut = -int(distance) % extent if extent else 0
        if cut:
            behind = slice_axis(result, position, cut, extent)
            result = concatenate([behind, slice_axis(result, position, 0, cut)], position)
    return fresh(result)


@implements(np.pad)
def pad_(array: Operand, pad_width: Any, mode: Any = "constant", **settings: Any) -> Tensor:
    """Return the tensor with elements around it: a constant, or those at the edge."""
    x = lift(array)
    rank = len(x.shape)
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(i, pad_width.get(i - rank, 0)) for i in range(rank)]
        pad_width = [(width, width) if isinstance(width, int) else width for width in pad_width]
    widths = np.broadcast_to(np.asarray(pad_width, dtype=np.int64), (rank, 2)).tolist()
    if mode == "constant":
        value = settings.get("constant_values", 0)
        if np.ndim(value) and not isinstance(value, Tensor):
            raise BadArgument.here(
                "np.pad in a graph has one constant value for all sides; pad twice"
            )
        fill = lift(value, x.dtype)
        low, high = (tuple(pair[side] for pair in widths) for side in (0, 1))
        return fresh(pad(x, reshape(fill, ()), low, high))
    if mode != "edge" or 0 in x.shape:
        raise BadArgument.here(f"np.pad in mode {mode!r} has no form as graph ops; use constant")
    for axis, (before, after) in enumerate(widths):
        first = _repeated(slice_axis(x, axis, 0, 1), axis, before)
        last = _repeated(slice_axis(x, axis, x.shape[axis] - 1, x.shape[axis]), axis, after)
        x = concatenate([first, x, last], axis)
    return fresh(x)


@implements(np.diff)
def diff(
    a: Operand, n: int = 1, axis: int = -1, prepend: Operand = None, append: Operand = None
) -> Tensor:
    """Return the differences of neighboring elements, `n` times over."""
    x = lift(a)
    position = axis_of(axis, len(x.shape))
    edges = [_edge(value, x, position) for value in (prepend, append)]
    pieces = [edges[0], x, edges[1]]
    x = (
        concatenate_([part for part in pieces if part is not None], position)
        if any(part is not None for part in edges)
        else x
    )
    for _ in range(n):
        extent = x.shape[position]
        after, before = (
            slice_axis(x, position, min(1, extent), extent),
            slice_axis(x, position, 0, max(0, extent - 1)),
        )
        x = compare("NE", after, before) if x.dtype == np.bool_ else subtract(after, before)
    return fresh(x)


def _edge(value: Operand, x: Tensor, position: int) -> Tensor | None:
    if value is None:
        return None
    edge = lift(value, x.dtype if is_weak(value) else None)
    if edge.shape:
        return edge
    return broadcast_tensor(edge, tuple(1 if i == position else n for i, n in enumerate(x.shape)))
