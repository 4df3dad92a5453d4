"""Functions that change shapes and move elements without computing."""

from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import Shape, axes_of, axis_of, shape_of
from kvtrace.addons.graphs.hlo.builders import implements
from kvtrace.addons.graphs.hlo.errors import BadArgument, ShapeMismatch
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    fresh,
    lift,
    reshape,
    reverse,
    row_by_row,
    transpose,
)
from kvtrace.addons.graphs.hlo.primitives import broadcast_to as broadcast_tensor
from kvtrace.addons.graphs.hlo.views import is_contiguous, viewed
from kvtrace.addons.graphs.hlo.wrapper import Tensor

_UNKNOWN_COPY = (
    "this tensor was reshaped from a view, and memory layout decides whether NumPy copies, so "
    "an assignment cannot be followed; reshape a copy(), or assign to the tensor itself"
)
_READ_ONLY = "the result of broadcast_to is read-only, as in NumPy; write to a copy()"


def _reshaped_view(x: Tensor, shape: Shape) -> Tensor:
    original = x.shape
    if is_contiguous(x):
        return viewed(x, lambda b: reshape(b, shape), lambda _, v: reshape(v, original))
    return viewed(x, lambda b: reshape(b, shape), None, _UNKNOWN_COPY)


def _same_elements(x: Tensor, shape: Shape) -> Tensor:
    """Return a view with axes of extent 1 added or dropped, which NumPy never copies."""
    original = x.shape
    return viewed(x, lambda b: reshape(b, shape), lambda _, v: reshape(v, original))


def permuted(x: Tensor, permutation: tuple[int, ...]) -> Tensor:
    """Return the view of `x` with axis `permutation[i]` at position i."""
    inverse = tuple(int(axis) for axis in np.argsort(permutation))
    view = viewed(x, lambda b: transpose(b, permutation), lambda _, v: transpose(v, inverse))
    view._permuted = view._permuted or inverse != tuple(range(len(inverse)))
    return view


@implements(np.reshape)
def reshape_(
    a: Operand, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None
) -> Tensor:
    """Return the elements in row-major order in another shape, one extent of which may be -1."""
    x = lift(a)
    if order not in ("C", "A"):
        raise BadArgument.here("a graph can reshape in row-major order only; use order='C'")
    result = _reshaped_view(x, _completed_shape(shape if newshape is None else newshape, x))
    return fresh(result) if copy else result


def _completed_shape(shape: Any, x: Tensor) -> Shape:
    extents_given = shape if isinstance(shape, tuple | list) else (shape,)
    extents = [int(axis.__index__()) for axis in extents_given]
    if extents.count(-1) == 1:
        known_size = int(np.prod([extent for extent in extents if extent != -1], dtype=np.int64))
        if known_size and x.size % known_size == 0:
            extents[extents.index(-1)] = x.size // known_size
    size = int(np.prod(extents, dtype=np.int64))
    if size != x.size or any(extent < 0 for extent in extents):
        raise ShapeMismatch.here(
            f"cannot reshape array of size {x.size} into shape "
            f"{str(tuple(extents_given)).replace(' ', '')}; give a shape of as many elements, or "
            "one extent as -1"
        )
    return tuple(extents)


@implements(methods=("reshape",))
def _reshape_method(x: Tensor, *shape: Any, order: str = "C", copy: Any = None) -> Tensor:
    new_shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    return reshape_(x, new_shape, order, copy=copy)


@implements(np.ravel, methods=("ravel",))
def ravel(a: Operand, order: str = "C") -> Tensor:
    """Return the elements, in row-major order, along one axis."""
    return reshape_(a, (-1,) if lift(a).size else (0,), order)


@implements(methods=("flatten",))
def _flatten_method(x: Tensor, order: str = "C") -> Tensor:
    return row_by_row(ravel(x, order))


@implements(np.transpose, "permute_dims")
def transpose_(a: Operand, axes: Any = None) -> Tensor:
    """Return the tensor with its axes in the given order, by default reversed."""
    x = lift(a)
    rank = len(x.shape)
    named = tuple(reversed(range(rank))) if axes is None else tuple(axes)
    if len(named) != rank:
        raise ShapeMismatch.here(
            f"axes don't match array: {len(named)} axes for an array of dimension {rank}"
        )
    order = tuple(axis_of(axis, rank) for axis in named)
    if len(set(order)) != rank:
        raise ShapeMismatch.here(f"repeated axis in transpose: {named}; name each axis once")
    return permuted(x, order)


@implements(methods=("transpose",))
def _transpose_method(x: Tensor, *axes: Any) -> Tensor:
    if not axes or axes == (None,):
        return transpose_(x)
    return transpose_(x, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)


@implements(np.swapaxes, methods=("swapaxes",))
def swapaxes(a: Operand, axis1: int, axis2: int) -> Tensor:
    """Return the tensor with two axes exchanged."""
    x = lift(a)
    order = list(range(len(x.shape)))
    left, right = axis_of(axis1, len(order)), axis_of(axis2, len(order))
    order[left], order[right] = order[right], order[left]
    return permuted(x, tuple(order))


@implements(np.moveaxis)
def moveaxis(a: Operand, source: Any, destination: Any) -> Tensor:
    """Return the tensor with axes moved to positions; other axes stay in their order."""
    x = lift(a)
    rank = len(x.shape)
    sources, destinations = axes_of(source, rank), axes_of(destination, rank)
    if len(sources) != len(destinations):
        raise ShapeMismatch.here(
            f"moveaxis has {len(sources)} sources and {len(destinations)} destinations; "
            "name as many"
        )
    order = [axis for axis in range(rank) if axis not in sources]
    for position, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(position, axis)
    return permuted(x, tuple(order))


@implements(np.expand_dims)
def expand_dims(a: Operand, axis: Any) -> Tensor:
    """Return the tensor with new axes of extent 1 at the given positions of the result."""
    x = lift(a)
    new_axes = axis if isinstance(axis, tuple | list) else (axis,)
    added = axes_of(tuple(new_axes), len(x.shape) + len(new_axes))
    extents = iter(x.shape)
    shape = tuple(1 if i in added else next(extents) for i in range(len(x.shape) + len(new_axes)))
    return _same_elements(x, shape)


@implements(np.squeeze, methods=("squeeze",))
def squeeze(a: Operand, axis: Any = None) -> Tensor:
    """Return the tensor without axes of extent 1: all of them, or the named axes."""
    x = lift(a)
    if axis is None:
        dropped = tuple(i for i, extent in enumerate(x.shape) if extent == 1)
    else:
        dropped = axes_of(axis, len(x.shape))
    for position in dropped:
        if x.shape[position] != 1:
            raise ShapeMismatch.here(
                "cannot select an axis to squeeze out which has size not equal to one: axis "
                f"{position} of shape {list(x.shape)}"
            )
    return _same_elements(x, tuple(n for i, n in enumerate(x.shape) if i not in dropped))


@implements(np.flip)
def flip(m: Operand, axis: Any = None) -> Tensor:
    """Return the tensor with the elements along axes (None: along all) in reverse order."""
    x = lift(m)
    axes = axes_of(axis, len(x.shape))
    return viewed(x, lambda b: reverse(b, axes), lambda _, v: reverse(v, axes))


@implements(np.broadcast_to)
def broadcast_to(array: Operand, shape: Any, subok: bool = False) -> Tensor:  # noqa: ARG001 - NumPy's
    """Return the tensor repeated along new leading axes and along axes of extent 1."""
    x, extents = lift(array), shape_of(shape)
    return viewed(x, lambda b: broadcast_tensor(b, extents), None, _READ_ONLY)


@implements(np.copy)
def copy(a: Operand, *_: Any, **__: Any) -> Tensor:
    """Return a copy of the operand."""
    return fresh(lift(a))


@implements(methods=("copy", "__copy__", "__deepcopy__"))
def _copy_method(x: Tensor, *_: Any, **__: Any) -> Tensor:
    return row_by_row(x)
