"""Tensors: lazily bound views of memories.

A view is an offset, a shape and strides over a memory; making a view touches no element. If an
index is not an affine expression, or is outside of the tensor, the view keeps the indices
(`Selection`) until an op, which knows the mask, reads or writes the elements.
"""

from typing import Any, Final, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.indices import Index, as_indices, slice_of
from kvtrace.addons.neuron.memory import Memory, contiguous, reshaped_strides, size_of

_Self = TypeVar("_Self", bound="Tensor")

_FULL: Final = slice(None)


class Selection(Struct, eq=False):
    """Indices into a tensor, one array per dimension, applied when ops access the elements."""

    #: For each dimension of the tensor, its indices, broadcastable to the lanes.
    indices: tuple[NDArray[np.int64], ...]
    #: The indices are slices, which must be inside the tensor unless a mask is given.
    strict: bool
    #: Some indices are the contents of a tensor.
    from_data: bool


class Tensor(Struct, eq=False):
    """A view of a memory. `strides` and `offset` count elements of `dtype`.

    `partition` is the partition dimension, -1 in device memory. With a `selection`, `shape` is the
    shape of the selection; `strides` and `sizes` are those of the dimensions that are indexed.
    """

    memory: Memory
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    partition: int
    dtype: np.dtype[Any]
    selection: Selection | None = None
    sizes: tuple[int, ...] = ()

    # -- properties -------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return size_of(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def buffer(self) -> str:
        """The memory space of the tensor: hbm, sbuf or psum."""
        return self.memory.space

    @property
    def on_chip(self) -> bool:
        """The tensor is in SBUF or PSUM."""
        return self.memory.space != "hbm"

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        sizes = "×".join(str(size) for size in self.shape)
        return f"{type(self).__name__}({sizes} {self.dtype} in {self.memory.space})"

    def __bool__(self) -> bool:
        raise NkiError("a tensor has no truth value while a kernel is written; use a mask")

    def __iter__(self) -> Any:
        raise NkiError("a tensor cannot be iterated over; index it with a loop's number")

    # -- elements ---------------------------------------------------------------------------

    def array(self) -> NDArray[Any]:
        """Return a NumPy view of the elements in the memory; not for selections."""
        width = self.dtype.itemsize
        return np.ndarray(
            self.shape,
            self.dtype,
            self.memory.raw,
            self.offset * width,
            tuple([step * width for step in self.strides]),
        )

    def put(self, values: NDArray[Any], where: NDArray[np.bool_] | bool = True) -> None:
        """Write values where `where` holds, rounded to the tensor's type; not for selections."""
        np.copyto(self.array(), dtypes.rounded(values, self.dtype), where=where)
        self.memory.written = True

    def per_element(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the view's part of an array that has one entry per element of the memory.

        A tensor whose type was reinterpreted with another width gets the whole array.
        """
        width = values.itemsize
        if self.dtype.itemsize != self.memory.dtype.itemsize:
            return values
        return np.ndarray(
            self.shape,
            values.dtype,
            values,
            self.offset * width,
            tuple([step * width for step in self.strides]),
        )

    def same_elements(self, other: "Tensor") -> bool:
        """Return whether two views have the same elements of a memory in the same order."""
        return (
            self.memory is other.memory
            and self.selection is None
            and other.selection is None
            and self.offset == other.offset
            and size_of(self.shape) == size_of(other.shape)
            and _nontrivial_strides(self) == _nontrivial_strides(other)
        )

    # -- views ------------------------------------------------------------------------------

    def __getitem__(self: _Self, key: Any) -> _Self:
        if self.selection is not None:
            raise NkiError("a view made with index expressions cannot be indexed again")
        adds_axis = isinstance(key, tuple) and len(key) == 2 and key[1] is None
        if adds_axis and self.memory.has_added_axis:  # `x[i, None]`: the axis is there already
            key = key[0]
        parts = self._full_key(key)
        if any(isinstance(part, Index | Tensor | np.ndarray) for part in parts):
            return self._by_indices(parts)
        return self._by_slices(parts)

    def _view(
        self: _Self,
        offset: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        partition: int,
    ) -> _Self:
        return type(self)(self.memory, offset, shape, strides, partition, self.dtype)

    def _full_key(self, key: Any) -> list[Any]:
        """Return a subscript as one part per dimension, and None for each new dimension."""
        parts = list(key) if isinstance(key, tuple) else [key]
        used = sum(part is not None and part is not Ellipsis for part in parts)
        if used > len(self.shape):
            raise NkiError(f"{used} indices are given for a tensor of {len(self.shape)} dimensions")
        whole_slices = [_FULL] * (len(self.shape) - used)
        for position, part in enumerate(parts):
            if part is Ellipsis:
                return parts[:position] + whole_slices + parts[position + 1 :]
        return parts + whole_slices

    def _by_slices(self: _Self, parts: list[Any]) -> _Self:
        offset, partition = self.offset, -1
        shape: list[int] = []
        strides: list[int] = []
        axis = 0
        for part in parts:
            if part is None:
                shape.append(1)
                strides.append(0)
                continue
            size, stride = self.shape[axis], self.strides[axis]
            if isinstance(part, slice):
                start, count, step = slice_of(part, size, axis)
                if count and not (0 <= start < size and 0 <= start + (count - 1) * step < size):
                    return self._by_indices(list(as_indices(parts, self.shape)), strict=True)
                if axis == self.partition:
                    partition = len(shape)
                shape.append(count)
                strides.append(stride * step)
                offset += start * stride
            else:
                offset += self._checked_index(part, axis) * stride
                if axis == self.partition:
                    partition = len(shape)
                    shape.append(1)
                    strides.append(stride)
            axis += 1
        if self.partition >= 0 and len(shape) == 1:
            shape.append(1)
            strides.append(1)
        return self._view(offset, tuple(shape), tuple(strides), partition)

    def _checked_index(self, part: Any, axis: int) -> int:
        if not isinstance(part, int | np.integer):
            raise NkiError(f"a tensor cannot be indexed with {type(part).__name__} {part!r}")
        index = int(part)
        if not 0 <= index < self.shape[axis]:
            raise NkiError(
                f"index {index} is outside dimension {axis}, which has {self.shape[axis]} elements"
            )
        return index

    def _by_indices(self: _Self, parts: list[Any], strict: bool = False) -> _Self:
        """Return the view, or the selection, of index expressions; slices get new axes."""
        if any(part is None for part in parts):
            raise NkiError(
                "an index expression and None are mixed in one index; index in two steps"
            )
        indices = as_indices(parts, self.shape)
        shape = np.broadcast_shapes(*(index.values.shape for index in indices))
        rank = len(shape)
        if self.on_chip and rank < 2 and not strict:
            raise NkiError(
                "indexing a tile with a one-dimensional index is not supported; write "
                "nl.arange(n)[:, None] for partitions and nl.arange(n)[None, :] for the free axis"
            )
        partition = 0 if self.partition >= 0 else -1
        if all(
            index.is_affine and index.is_inside(size)
            for index, size in zip(indices, self.shape, strict=True)
        ):
            offset = self.offset
            strides = [0] * rank
            for index, stride in zip(indices, self.strides, strict=True):
                first, steps = index.offset_and_steps()
                offset += first * stride
                for axis, step in enumerate(steps, rank - len(steps)):
                    strides[axis] += step * stride
            return self._view(offset, shape, tuple(strides), partition)
        from_data = any(isinstance(part, Tensor | np.ndarray) for part in parts)
        selection = Selection(tuple(index.values for index in indices), strict, from_data)
        return type(self)(
            self.memory,
            self.offset,
            shape,
            self.strides,
            partition,
            self.dtype,
            selection,
            self.shape,
        )

    def reshape(self: _Self, *sizes: Any, shape: Any = None) -> _Self:
        """Return a view with the same elements, in their order, in another shape.

        Raises:
            NkiError: the numbers of elements differ, or the new shape would need a copy.
        """
        new_shape = _shape_argument(sizes if shape is None else (*sizes, shape))
        if size_of(new_shape) != self.size:
            raise NkiError(f"{self.shape} cannot be reshaped to {new_shape}: the sizes differ")
        strides = reshaped_strides(self.shape, self.strides, new_shape)
        if self.selection is not None or strides is None:
            raise NkiError(f"a view that is not contiguous cannot be reshaped to {new_shape}")
        partition = 0 if self.partition >= 0 else -1
        return self._view(self.offset, new_shape, strides, partition)

    def broadcast_to(self: _Self, *shape: Any) -> _Self:
        """Return a view that repeats dimensions of size 1."""
        new_shape = _shape_argument(shape)
        self._require_no_selection()
        if len(new_shape) < len(self.shape):
            raise NkiError(f"{self.shape} cannot be broadcast to {new_shape}")
        missing = len(new_shape) - len(self.shape)
        sizes = (1,) * missing + self.shape
        steps = (0,) * missing + self.strides
        strides = []
        for size, step, new_size in zip(sizes, steps, new_shape, strict=True):
            if size != new_size and size != 1:
                raise NkiError(f"{self.shape} cannot be broadcast to {new_shape}")
            strides.append(step if size == new_size else 0)
        return self._view(self.offset, new_shape, tuple(strides), self.partition)

    def expand_dims(self: _Self, axis: int) -> _Self:
        """Return a view with a new dimension of size 1 at `axis` of the view."""
        self._require_no_selection()
        position = axis if axis >= 0 else axis + len(self.shape) + 1
        shape = self.shape[:position] + (1,) + self.shape[position:]
        strides = self.strides[:position] + (0,) + self.strides[position:]
        partition = self.partition + (0 <= position <= self.partition)
        return self._view(self.offset, shape, strides, partition)

    def permute(self: _Self, *order: Any) -> _Self:
        """Return a view with dimension `order[i]` at position i; on chip, partitions stay."""
        self._require_no_selection()
        axes = _shape_argument(order)
        if sorted(axes) != list(range(len(self.shape))):
            raise NkiError(f"{axes} does not name each of {len(self.shape)} dimensions once")
        if self.on_chip and axes[self.partition] != self.partition:
            raise NkiError("a view cannot move the partition dimension; use nisa.nc_transpose")
        shape = tuple(self.shape[axis] for axis in axes)
        strides = tuple(self.strides[axis] for axis in axes)
        return self._view(self.offset, shape, strides, self.partition)

    def view(self: _Self, dtype: Any) -> _Self:
        """Return a view of the same bytes as elements of another type; adapts the last dimension.

        Element states are not tracked between types of different widths.
        """
        self._require_no_selection()
        new_type = dtypes.as_dtype(dtype)
        old, new = self.dtype.itemsize, new_type.itemsize
        if old == new:
            return type(self)(
                self.memory, self.offset, self.shape, self.strides, self.partition, new_type
            )
        row_bytes = self.shape[-1] * old
        are_aligned = all(step * old % new == 0 for step in self.strides[:-1])
        if self.strides[-1] != 1 or row_bytes % new or self.offset * old % new or not are_aligned:
            raise NkiError(f"{self!r} cannot be viewed as {new_type}: the widths do not fit")
        strides = (*(step * old // new for step in self.strides[:-1]), 1)
        shape = (*self.shape[:-1], row_bytes // new)
        offset = self.offset * old // new
        return type(self)(self.memory, offset, shape, strides, self.partition, new_type)

    def ap(self: _Self, pattern: Any, offset: int | None = None, dtype: Any = None) -> _Self:
        """Return the view of an access pattern: `[step, count]` for each dimension.

        Steps and offset count elements of `dtype` (by default the tensor's) of the whole tensor, as
        if it were contiguous; on chip the first pair is that of the partitions. An element outside
        of the tensor is reported when an op accesses it.
        """
        self._require_no_selection()
        element_type = self.dtype if dtype is None else dtypes.as_dtype(dtype)
        width = element_type.itemsize
        steps = tuple(int(step) for step, _ in pattern)
        shape = tuple(int(count) for _, count in pattern)
        start_offset = int(offset or 0) + _in_width(self.offset, self.dtype.itemsize, width)
        total = self.memory.raw.size // width
        partition = 0 if self.partition >= 0 else -1
        spans = [step * (count - 1) for step, count in zip(steps, shape, strict=True)]
        first = start_offset + sum(span for span in spans if span < 0)
        if first >= 0 and start_offset + sum(span for span in spans if span > 0) < total:
            return type(self)(self.memory, start_offset, shape, steps, partition, element_type)
        numbers = [step * np.arange(count) for step, count in zip(steps, shape, strict=True)]
        positions = np.asarray(sum(np.ix_(*numbers), start_offset), np.int64)
        selection = Selection((positions,), strict=False, from_data=False)
        return type(self)(self.memory, 0, shape, (1,), partition, element_type, selection, (total,))

    def _require_no_selection(self) -> None:
        if self.selection is not None:
            raise NkiError(
                "a view made with index expressions cannot be viewed or reshaped further"
            )


def _in_width(elements: int, old_width: int, new_width: int) -> int:
    """Return a number of elements of `old_width` bytes as one of elements of `new_width` bytes.

    Raises:
        NkiError: the result is not an integer.
    """
    if elements * old_width % new_width:
        raise NkiError(
            f"{elements} elements of {old_width} bytes are not whole elements of {new_width} bytes"
        )
    return elements * old_width // new_width


def whole(kind: type[_Self], memory: Memory) -> _Self:
    """Return a tensor of class `kind` that views all elements of a memory."""
    shape = memory.shape
    return kind(memory, 0, shape, contiguous(shape), memory.partition, memory.dtype)


def _nontrivial_strides(tensor: Tensor) -> list[tuple[int, int]]:
    sizes_and_strides = zip(tensor.shape, tensor.strides, strict=True)
    return [(size, step) for size, step in sizes_and_strides if size != 1]


def _shape_argument(shape: tuple[Any, ...]) -> tuple[int, ...]:
    if len(shape) == 1 and isinstance(shape[0], tuple | list):
        shape = tuple(shape[0])
    return tuple(int(size) for size in shape)
