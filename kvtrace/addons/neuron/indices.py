"""Index expressions: `arange`, `mgrid`, arithmetic on indices, slices, masks, and subscripts.

An `Index` is affine while possible: an offset and one step per axis, from which a tensor's view is
made without touching an element. Example: `2 * arange(4)[:, None] + arange(3)` is offset 0 with
steps (2, 1). Other expressions, such as products of indices, are not.
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
    """Integers over lanes; an axis along which they are constant has size 1.

    If `is_affine`, they are an offset plus, for each axis, a step times the lane's coordinate.
    """

    __slots__ = ("is_affine", "values")

    def __init__(self, values: NDArray[np.int64], is_affine: bool = True) -> None:
        self.values = values
        self.is_affine = is_affine

    def is_inside(self, size: int) -> bool:
        """Return whether all integers are from 0 to `size - 1`; without integers, False."""
        values = self.values
        return bool(values.size) and int(values.min()) >= 0 and int(values.max()) < size

    def offset_and_steps(self) -> tuple[int, list[int]]:
        """Return the offset, and the step of each axis, of an affine index with integers."""
        offset = int(self.values.flat[0])
        steps = [
            int(self.values[(0,) * axis + (1,)].flat[0]) - offset if size > 1 else 0
            for axis, size in enumerate(self.values.shape)
        ]
        return offset, steps

    def __getitem__(self, key: Any) -> "Index":
        """Return the index with new axes, as for `[:, None]`, or of selected lanes."""
        parts = key if isinstance(key, tuple) else (key,)
        only_adds_axes = all(part is None or part == slice(None) for part in parts)
        return Index(np.asarray(self.values[key]), self.is_affine and only_adds_axes)

    # -- arithmetic -------------------------------------------------------------------------

    def _combined(self, other: Any, function: Callable[..., Any], stays_affine: bool) -> "Index":
        if isinstance(other, Index):
            is_affine = stays_affine and self.is_affine and other.is_affine
            return Index(function(self.values, other.values), is_affine)
        if not isinstance(other, int | np.integer):
            return NotImplemented  # type: ignore[no-any-return]  # Python tries `other` then
        return Index(function(self.values, int(other)), stays_affine and self.is_affine)

    def __add__(self, other: Any) -> "Index":
        return self._combined(other, np.add, stays_affine=True)

    def __mul__(self, other: Any) -> "Index":
        return self._combined(other, np.multiply, stays_affine=not isinstance(other, Index))

    __radd__ = __add__
    __rmul__ = __mul__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __neg__(self) -> "Index":
        return self * -1

    def _nonlinear(self, other: Any, function: Callable[..., Any]) -> "Index":
        number_or_index = other if isinstance(other, Index) else int(other)
        return self._combined(number_or_index, function, stays_affine=False)

    __floordiv__ = partialmethod(_nonlinear, function=np.floor_divide)
    __mod__ = partialmethod(_nonlinear, function=np.remainder)

    # -- comparisons ------------------------------------------------------------------------

    def _compare(self, other: Any, function: Callable[..., Any]) -> Mask:
        return Mask(function(self.values, other.values if isinstance(other, Index) else other))

    __lt__ = partialmethod(_compare, function=np.less)
    __le__ = partialmethod(_compare, function=np.less_equal)
    __gt__ = partialmethod(_compare, function=np.greater)
    __ge__ = partialmethod(_compare, function=np.greater_equal)
    __eq__ = partialmethod(_compare, function=np.equal)
    __ne__ = partialmethod(_compare, function=np.not_equal)
    __hash__ = None  # type: ignore[assignment]


def _along(axis: int, rank: int, start: int, stop: int, step: int) -> Index:
    """Return the index of a range of numbers along one of `rank` axes."""
    numbers = np.arange(start, stop, step, dtype=np.int64)
    return Index(numbers.reshape((1,) * axis + (-1,) + (1,) * (rank - axis - 1)))


def arange(*bounds: int) -> Index:
    """Return the index of `nl.arange(stop)` or `nl.arange(start, stop[, step])`, over one axis."""
    numbers = range(*(int(bound) for bound in bounds))
    return _along(0, 1, numbers.start, numbers.stop, numbers.step)


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
            numbers = int(part.start or 0), int(part.stop), int(part.step or 1)
            indices.append(_along(axis, len(parts), *numbers))
        return Grid(indices)

    def __iter__(self) -> Iterator[Any]:
        raise NkiError("nl.mgrid must be indexed with slices, as nl.mgrid[0:128, 0:512]")


mgrid: Final = _GridMaker()


def ds(start: int, size: int) -> slice:
    """Return a slice of `size` elements from `start` on."""
    return slice(int(start), int(start) + int(size))


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
    indices = []
    for dimension, part in enumerate(parts):
        if isinstance(part, Index):
            indices.append(part)
        elif isinstance(part, slice):
            start, count, step = slice_of(part, shape[dimension], dimension)
            axis, stop = sliced.index(dimension), start + count * step
            indices.append(_along(axis, len(sliced), start, stop, step))
        elif isinstance(part, int | np.integer):
            indices.append(Index(np.asarray(int(part))))
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
    return Index(values.astype(np.int64), is_affine=False)
