"""Basic indexing: integers, slices, Ellipsis and None. Other indices are in `gathering`.

A basic index returns a view; an assignment through it is a `dynamic_update_slice` if the elements
are adjacent, else a `select` between the padded value and the old elements.
"""

from typing import Any

import numpy as np
from msgspec import Struct

from kvtrace.addons.graphs.hlo.arguments import Shape
from kvtrace.addons.graphs.hlo.builders import METHODS, implements
from kvtrace.addons.graphs.hlo.dtypes import BOOL, INT32, Dtype
from kvtrace.addons.graphs.hlo.errors import BadIndex, UnsupportedFunction
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    broadcast_to,
    convert,
    dynamic_update_slice,
    fresh,
    full,
    lift,
    pad,
    reshape,
    reverse,
    scalar,
    select,
    slice_,
)
from kvtrace.addons.graphs.hlo.views import viewed
from kvtrace.addons.graphs.hlo.wrapper import Tensor, into


class Window(Struct, frozen=True):
    """A basic index of a tensor of one shape: the elements, and the result's shape.

    Attributes:
        start, limit, strides: The slice, with positive strides.
        reversed_axes: Axes with a negative step.
        sliced_shape: The slice's shape.
        shape: The result's shape: without axes of integers, with new axes for None.

    """

    start: Shape
    limit: Shape
    strides: Shape
    reversed_axes: tuple[int, ...]
    sliced_shape: Shape
    shape: Shape

    def read(self, x: Tensor) -> Tensor:
        """Return the elements of `x` that the index selects."""
        elements = slice_(x, self.start, self.limit, self.strides)
        return reshape(reverse(elements, self.reversed_axes), self.shape)

    def write(self, x: Tensor, value: Tensor) -> Tensor:
        """Return `x` with the selected elements replaced by `value`, of this window's shape."""
        update = reverse(reshape(value, self.sliced_shape), self.reversed_axes)
        if self.sliced_shape == x.shape:
            return update
        if 0 in self.sliced_shape:
            return x
        if all(step == 1 for step in self.strides):
            return dynamic_update_slice(x, update, [scalar(begin, INT32) for begin in self.start])
        gaps = tuple(step - 1 for step in self.strides)
        high_padding = tuple(
            extent - begin - 1 - (count - 1) * step
            for extent, begin, count, step in zip(
                x.shape, self.start, self.sliced_shape, self.strides, strict=True
            )
        )
        padded_update = pad(update, scalar(0, x.dtype), self.start, high_padding, gaps)
        mask = pad(
            full(True, self.sliced_shape, BOOL), scalar(False, BOOL), self.start, high_padding, gaps
        )
        return select(mask, padded_update, x)


def is_basic(index: Any) -> bool:
    """Return whether an index consists of integers, slices of integers, Ellipsis and None only."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(_is_basic_part(part) for part in parts)


def _is_basic_part(part: Any) -> bool:
    if part is None or part is Ellipsis:
        return True
    if isinstance(part, slice):
        bounds = (part.start, part.stop, part.step)
        return not any(isinstance(bound, Tensor) for bound in bounds)
    return isinstance(part, int | np.integer) and not isinstance(part, bool | np.bool_)


def expanded_index(index: Any, rank: int) -> list[Any]:
    """Return an index as a list, with slices in place of the Ellipsis and of unnamed axes.

    Raises:
        BadIndex: The index has two Ellipses, or more parts than the tensor has axes.

    """
    parts = list(index) if isinstance(index, tuple) else [index]
    used = sum(axes_used(part) for part in parts)
    if sum(part is Ellipsis for part in parts) > 1:
        raise BadIndex.here("an index can only have a single ellipsis ('...')")
    if used > rank:
        raise BadIndex.here(
            f"too many indices for array: array is {rank}-dimensional, but {used} were indexed; "
            "give fewer"
        )
    missing = [slice(None)] * (rank - used)
    for position, part in enumerate(parts):
        if part is Ellipsis:
            return [*parts[:position], *missing, *parts[position + 1 :]]
    return [*parts, *missing]


def axes_used(part: Any) -> int:
    """Return how many axes a part of an index names; a mask as many as it has."""
    if part is None or part is Ellipsis:
        return 0
    dtype = getattr(part, "dtype", None)
    if dtype == BOOL:
        return len(part.shape)
    return 1


def window_of(index: Any, shape: Shape) -> Window:
    """Return the window of a basic index of a tensor of `shape`.

    Raises:
        BadIndex: The index is outside, or has too many parts.

    """
    start: list[int] = []
    limit: list[int] = []
    strides: list[int] = []
    reversed_axes: list[int] = []
    result_shape: list[int] = []
    for part in expanded_index(index, len(shape)):
        axis = len(start)
        if part is None:
            result_shape.append(1)
            continue
        if isinstance(part, slice):
            positions = range(*_slice_bounds(part, shape[axis]))
            if positions.step < 0:
                reversed_axes.append(axis)
                positions = positions[::-1]
            begin = positions.start if len(positions) else 0
            start.append(begin)
            limit.append(positions[-1] + 1 if len(positions) else 0)
            strides.append(positions.step if len(positions) > 1 else 1)
            result_shape.append(len(positions))
            continue
        position = checked_position(int(part), shape[axis], axis)
        start.append(position)
        limit.append(position + 1)
        strides.append(1)
    sliced_shape = tuple(
        -(-(end - begin) // step) for begin, end, step in zip(start, limit, strides, strict=True)
    )
    reversed_axes = [axis for axis in reversed_axes if sliced_shape[axis] > 1]
    return Window(
        tuple(start),
        tuple(limit),
        tuple(strides),
        tuple(reversed_axes),
        sliced_shape,
        tuple(result_shape),
    )


def _slice_bounds(part: slice, extent: int) -> tuple[int, int, int]:
    try:
        return part.indices(extent)
    except (TypeError, ValueError) as error:
        raise BadIndex.here(f"{part} cannot slice an axis ({error})") from error


def checked_position(position: int, extent: int, axis: int) -> int:
    """Return a position counted from the start of an axis; negative ones count from the end.

    Raises:
        BadIndex: The position is outside of the axis.

    """
    if not -extent <= position < extent:
        raise BadIndex.here(
            f"index {position} is out of bounds for axis {axis} with size {extent}; "
            f"{f'choose one from {-extent} to {extent - 1}' if extent else 'take a slice of it'}"
        )
    return position % extent


def check_positions(parts: list[tuple[Any, int, int]], batch: tuple[int, ...]) -> None:
    """Raise an error for constant positions outside of their axes, and for empty axes.

    Each part is the positions (None: traced), with the axis's extent and number. As in NumPy,
    nothing is checked if the index selects no element.

    Raises:
        BadIndex: A position is outside of its axis.

    """
    for positions, extent, axis in parts:
        if 0 in batch and (positions is None or positions.ndim):
            continue
        if positions is None and not extent:
            raise BadIndex.here(f"axis {axis} has no elements, but the index names one")
        for position in () if positions is None else (positions.min(), positions.max()):
            checked_position(int(position), extent, axis)


def has_tensor(part: Any) -> bool:
    """Return whether a part of an index, or an item of it, is traced."""
    if isinstance(part, list | tuple):
        return any(has_tensor(item) for item in part)
    return isinstance(part, Tensor)


@implements(methods=("__getitem__",))
def getitem(x: Tensor, index: Any) -> Any:
    """Return the elements that an index selects; a basic index returns a view."""
    if not is_basic(index):
        return _advanced_method("take_advanced")(x, index)
    window = window_of(index, x.shape)
    return viewed(x, window.read, window.write, window=window)


@implements(methods=("__setitem__",))
def setitem(x: Tensor, index: Any, value: Operand) -> None:
    """Write a value into the elements that an index selects."""
    if not is_basic(index):
        _advanced_method("put_advanced")(x, index, value)
        return
    window = window_of(index, x.shape)
    if _is_view_of(value, x, window):
        return  # `x[i] += y` has written through the view already
    x._become(window.write(fresh(x), value_for(value, window.shape, x.dtype)))


def _is_view_of(value: Any, x: Tensor, window: Window) -> bool:
    view = value._view if isinstance(value, Tensor) else None
    return (
        view is not None and view.base is x and view.window == window and view.version == x._version
    )


def value_for(value: Operand, shape: Shape, dtype: Dtype) -> Tensor:
    """Return a value converted to `dtype` and broadcast to the shape that it is assigned to."""
    tensor = convert(lift(value), dtype) if isinstance(value, Tensor) else lift(value, dtype)
    extra = len(tensor.shape) - len(shape)
    if extra > 0 and all(extent == 1 for extent in tensor.shape[:extra]):
        tensor = reshape(tensor, tensor.shape[extra:])  # as NumPy's assignment allows
    return broadcast_to(tensor, shape)


def _advanced_method(name: str) -> Any:
    method = METHODS.get(name)
    if method is None:
        raise UnsupportedFunction.here("an index of tensors or arrays cannot be traced")
    return method


@implements(methods=("fill",))
def _fill_method(x: Tensor, value: Operand) -> None:
    setitem(x, Ellipsis, value)


@implements(np.copyto)
def copyto(dst: Any, src: Operand, casting: str = "same_kind", where: Operand = True) -> None:  # noqa: ARG001 - NumPy's
    """Write `src` into the tensor `dst`, at all elements or where `where` holds."""
    if not isinstance(dst, Tensor):
        into(dst, lift(src))
        return
    value = value_for(src, dst.shape, dst.dtype)
    if where is not True:
        value = select(broadcast_to(convert(lift(where), BOOL), dst.shape), value, dst)
    dst.assign(value)
