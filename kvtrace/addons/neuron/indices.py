"""Index expressions: `arange`, `mgrid`, arithmetic on indices, slices, masks, and subscripts.

An `Index` is affine while possible: an offset and one step per axis, from which a tensor's view is
made without touching an element. Example: `2 * arange(4)[:, None] + arange(3)` is offset 0 with
steps (2, 1). Other expressions, such as products of indices, are arrays of integers.
"""

from collections.abc import Callable, Iterator
from functools import partialmethod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron.errors import NkiError


class Mask:
    """The lanes for which an op runs: comparisons of index expressions, combined by `&` and `|`."""

    __slots__ = ("values",)

    def __init__(self, values: NDArray[np.bool_]) -> None:
        """`values` must be broadcastable to the lanes."""
        self.values = values

    def __and__(self, other: Any) -> "Mask":
        return Mask(self.values & lanes_of(other))

    def __or__(self, other: Any) -> "Mask":
        return Mask(self.values | lanes_of(other))

    __rand__ = __and__
    __ror__ = __or__

    def __invert__(self) -> "Mask":
        return Mask(~self.values)

    def __bool__(self) -> bool:
        raise NkiError("a mask of lanes has no single truth value; pass it to an op as mask=")


def lanes_of(mask: Any) -> NDArray[np.bool_]:
    """Return the lanes of a mask, a bool, or an array of bools as an array of bools.

    Raises:
        NkiError: the value is not a mask.
    """
    if isinstance(mask, Mask):
        return mask.values
    if isinstance(mask, bool | np.bool_):
        return np.asarray(mask)
    if isinstance(mask, np.ndarray) and mask.dtype == bool:
        return mask
    raise NkiError(f"a mask is a comparison of index expressions, not a {type(mask).__name__}")


class Index:
    """Integers over lanes: `offset` plus, for each axis, a step times the lane's coordinate.

    `shape` has 1 for axes along which the index is constant. If the index is not affine, `array`
    has the integers instead of `offset` and `steps`.
    """

    __slots__ = ("array", "offset", "shape", "steps")

    def __init__(
        self,
        shape: tuple[int, ...],
        offset: int,
        steps: tuple[int, ...],
        array: NDArray[np.int64] | None = None,
    ) -> None:
        self.shape = shape
        self.offset = offset
        self.steps = steps
        self.array = array

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def values(self) -> NDArray[np.int64]:
        """Return the integers as an array of shape `shape`."""
        if self.array is not None:
            return self.array
        values = np.full((1,) * len(self.shape), self.offset, np.int64)
        for axis, (size, step) in enumerate(zip(self.shape, self.steps, strict=True)):
            if step and size > 1:
                axis_values = np.arange(size, dtype=np.int64) * step
                values = values + axis_values.reshape(
                    (1,) * axis + (size,) + (1,) * (self.ndim - axis - 1)
                )
        return np.broadcast_to(values, self.shape)

    def bounds(self) -> tuple[int, int]:
        """Return the smallest and the largest integer."""
        if self.array is not None:
            return int(self.array.min()), int(self.array.max())
        low = high = self.offset
        for size, step in zip(self.shape, self.steps, strict=True):
            span = step * (size - 1)
            if span > 0:
                high += span
            else:
                low += span
        return low, high

    def __getitem__(self, key: Any) -> "Index":
        """Return the index with new axes, as for `[:, None]`, or of selected lanes."""
        parts = key if isinstance(key, tuple) else (key,)
        if self.array is not None or any(p is not None and p != slice(None) for p in parts):
            return _from_array(self.values()[key])
        shape: list[int] = []
        steps: list[int] = []
        axes = iter(zip(self.shape, self.steps, strict=True))
        for part in parts:
            size, step = (1, 0) if part is None else next(axes)
            shape.append(size)
            steps.append(step)
        for size, step in axes:
            shape.append(size)
            steps.append(step)
        return Index(tuple(shape), self.offset, tuple(steps))

    # -- arithmetic -------------------------------------------------------------------------

    def __add__(self, other: Any) -> "Index":
        if isinstance(other, int | np.integer):
            array = None if self.array is None else self.array + int(other)
            return Index(self.shape, self.offset + int(other), self.steps, array)
        if isinstance(other, Index):
            return _sum(self, other)
        return NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __neg__(self) -> "Index":
        return self * -1

    def __mul__(self, other: Any) -> "Index":
        if isinstance(other, Index):
            return _from_array(np.multiply(*_values_of(self, other)))
        if not isinstance(other, int | np.integer):
            return NotImplemented
        factor = int(other)
        array = None if self.array is None else self.array * factor
        steps = tuple(step * factor for step in self.steps)
        return Index(self.shape, self.offset * factor, steps, array)

    __rmul__ = __mul__

    def _nonlinear(self, other: Any, function: Callable[..., Any]) -> "Index":
        if isinstance(other, Index):
            return _from_array(function(*_values_of(self, other)))
        return _from_array(function(self.values(), int(other)))

    __floordiv__ = partialmethod(_nonlinear, function=np.floor_divide)
    __mod__ = partialmethod(_nonlinear, function=np.remainder)

    # -- comparisons ------------------------------------------------------------------------

    def _compare(self, other: Any, function: Callable[..., Any]) -> Mask:
        if isinstance(other, Index):
            return Mask(function(*_values_of(self, other)))
        return Mask(function(self.values(), other))

    __lt__ = partialmethod(_compare, function=np.less)
    __le__ = partialmethod(_compare, function=np.less_equal)
    __gt__ = partialmethod(_compare, function=np.greater)
    __ge__ = partialmethod(_compare, function=np.greater_equal)
    __eq__ = partialmethod(_compare, function=np.equal)
    __ne__ = partialmethod(_compare, function=np.not_equal)
    __hash__ = None  # type: ignore[assignment]


def _from_array(values: NDArray[Any]) -> Index:
    return Index(values.shape, 0, (0,) * values.ndim, np.asarray(values, np.int64))


def _values_of(left: Index, right: Index) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return left.values(), right.values()


def _sum(left: Index, right: Index) -> Index:
    if left.array is not None or right.array is not None:
        return _from_array(np.add(*_values_of(left, right)))
    rank = max(left.ndim, right.ndim)
    shapes, steps = zip(*(_padded(index, rank) for index in (left, right)), strict=True)
    shape = np.broadcast_shapes(*shapes)
    summed_steps = tuple(
        sum(step for size, step in zip(sizes, axis_steps, strict=True) if size > 1)
        for sizes, axis_steps in zip(
            zip(*shapes, strict=True), zip(*steps, strict=True), strict=True
        )
    )
    return Index(shape, left.offset + right.offset, summed_steps)


def _padded(index: Index, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    missing = rank - index.ndim
    return (1,) * missing + index.shape, (0,) * missing + index.steps


def arange(*bounds: int) -> Index:
    """Return the index of `nl.arange(stop)` or `nl.arange(start, stop[, step])`, over one axis."""
    positions = range(*(int(bound) for bound in bounds))
    return Index((len(positions),), positions.start, (positions.step,))


class Grid(tuple[Index, ...]):
    """The result of `nl.mgrid[0:128, 0:512]`: an index per axis, also as `.p`, `.x`, `.y`, `.z`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Index:
        axis = "pxyzw".find(name) if len(name) == 1 else -1
        if not 0 <= axis < len(self):
            raise AttributeError(f"this grid of {len(self)} axes has no axis {name!r}")
        return self[axis]


class _GridMaker:
    """The object `nl.mgrid`, whose subscript `[0:128, 0:512]` returns a `Grid`."""

    def __getitem__(self, key: Any) -> Grid:
        parts = key if isinstance(key, tuple) else (key,)
        indices = []
        for axis, part in enumerate(parts):
            if not isinstance(part, slice) or part.stop is None:
                raise NkiError("nl.mgrid needs slices with an end, as nl.mgrid[0:128, 0:512]")
            numbers = range(int(part.start or 0), int(part.stop), int(part.step or 1))
            shape = (1,) * axis + (len(numbers),) + (1,) * (len(parts) - axis - 1)
            steps = tuple(numbers.step if other == axis else 0 for other in range(len(parts)))
            indices.append(Index(shape, numbers.start, steps))
        return Grid(indices)

    def __iter__(self) -> Iterator[Any]:
        raise NkiError("nl.mgrid must be indexed with slices, as nl.mgrid[0:128, 0:512]")


mgrid: Final = _GridMaker()


def ds(start: Any, size: int) -> slice:
    """Return a slice of `size` elements from `start` on.

    If `start` is a tile or a register, its number is read when the slice indexes a tensor.
    """
    if isinstance(start, int | np.integer):
        return slice(int(start), int(start) + int(size))
    return slice(start, int(size), _DYNAMIC)


class _Dynamic:
    """The step of a slice that starts at a number in a tile or a register."""


_DYNAMIC: Final = _Dynamic()


def is_dynamic(part: slice) -> bool:
    """Return whether a slice starts at a number in a tile or register; `stop` is then the size."""
    return part.step is _DYNAMIC


class PartitionSize(int):
    """The result of `nl.par_dim(128)`: a size that marks the partition dimension."""

    __slots__ = ()


def par_dim(size: int) -> PartitionSize:
    """Return a size that marks its dimension of a shape as the partition dimension."""
    return PartitionSize(size)


# Subscripts of tensors: slices and integers between `[` and `]` as index expressions.


def slice_of(part: slice, size: int, axis: int) -> tuple[int, int, int]:
    """Return (start, number of elements, step) of a slice, which may end past the dimension."""
    start = 0 if part.start is None else part.start
    stop = size if part.stop is None else part.stop
    step = 1 if part.step is None else part.step
    if not all(isinstance(bound, int | np.integer) for bound in (start, stop, step)):
        raise NkiError(
            f"the slice {start}:{stop} of dimension {axis} has bounds or a step that are "
            "not integers"
        )
    if start < 0 or stop < 0 or step <= 0:
        raise NkiError(
            f"the slice {start}:{stop}:{step} of dimension {axis} counts from the end or "
            "backwards, which NKI does not have"
        )
    return int(start), max(0, -(-(int(stop) - int(start)) // int(step))), int(step)


def as_indices(parts: list[Any], shape: tuple[int, ...]) -> list[Index]:
    """Return an index per dimension of a subscript; each slice has a new axis, in order."""
    sliced = [dimension for dimension, part in enumerate(parts) if isinstance(part, slice)]
    if sliced and any(not isinstance(part, slice | int | np.integer) for part in parts):
        raise NkiError(
            "slices and index expressions cannot be mixed in one index; use nl.arange for all"
        )
    rank = len(sliced)
    indices = []
    for dimension, part in enumerate(parts):
        if isinstance(part, Index):
            indices.append(part)
        elif isinstance(part, slice):
            start, count, step = slice_of(part, shape[dimension], dimension)
            slice_axis = sliced.index(dimension)
            sizes = tuple(count if axis == slice_axis else 1 for axis in range(rank))
            steps = tuple(step if axis == slice_axis else 0 for axis in range(rank))
            indices.append(Index(sizes, start, steps))
        elif isinstance(part, int | np.integer):
            indices.append(Index((), int(part), ()))
        else:
            indices.append(index_of_data(part))
    return indices


def index_of_data(data: Any) -> Index:
    """Return the integers in a tensor, an array or a register as an index."""
    contents = data.array() if callable(getattr(data, "array", None)) else data
    values = np.asarray(
        contents.__index__()
        if hasattr(contents, "__index__") and not hasattr(contents, "shape")
        else contents
    )
    if values.dtype.kind not in "iu":
        raise NkiError(f"a tensor can be indexed with integers, not with {values.dtype}")
    return Index(values.shape, 0, (0,) * values.ndim, values.astype(np.int64))


def padded(index: Index, rank: int) -> Index:
    """Return an index with leading axes of size 1 added, so that it has `rank` axes."""
    missing = rank - index.ndim
    if not missing:
        return index
    array = None if index.array is None else index.array.reshape((1,) * missing + index.shape)
    return Index((1,) * missing + index.shape, index.offset, (0,) * missing + index.steps, array)


def is_inside(index: Index, size: int) -> bool:
    """Return whether all integers of an index are from 0 to `size - 1`."""
    low, high = index.bounds()
    return low >= 0 and high < size
