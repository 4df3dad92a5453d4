"""Indices that are data: integer arrays, masks, traced integers; take and put.

NumPy checks these indices when it runs. A graph cannot: a read outside of an axis is clamped to the
nearest element, a write outside is dropped.
"""

from collections.abc import Sequence
from types import EllipsisType, NoneType
from typing import Any

import numpy as np
from msgspec import Struct

from kvtrace.addons.graphs.hlo.arguments import (
    Shape,
    broadcast_shape,
    dtype_of,
)
from kvtrace.addons.graphs.hlo.builders import AT, implements, operation
from kvtrace.addons.graphs.hlo.dtypes import BOOL, INT32, is_integer
from kvtrace.addons.graphs.hlo.errors import BadIndex, DataDependent, ShapeMismatch
from kvtrace.addons.graphs.hlo.families.indexing import (
    Window,
    axes_used,
    check_positions,
    checked_position,
    expanded_index,
    has_tensor,
    is_basic,
    value_for,
    window_of,
)
from kvtrace.addons.graphs.hlo.gathers import (
    Update,
    Windows,
    components,
    from_start,
    gather,
    scatter,
)
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    along_axis,
    broadcast,
    broadcast_to,
    compare,
    convert,
    fresh,
    full,
    iota,
    lift,
    reshape,
    scalar,
    select,
)
from kvtrace.addons.graphs.hlo.primitives import dynamic_slice as dynamic_slice_op
from kvtrace.addons.graphs.hlo.primitives import dynamic_update_slice as dynamic_update_slice_op
from kvtrace.addons.graphs.hlo.views import viewed
from kvtrace.addons.graphs.hlo.wrapper import Tensor, into


class DataIndex(Struct, frozen=True, eq=False):
    """A basic index, then positions (data) along axes of its result, as `gather` takes them."""

    window: Window
    along: dict[int, Tensor]
    indices: Tensor
    windows: Windows

    @property
    def is_element(self) -> bool:
        """Every index of data is a scalar, so that a slice suffices, as NumPy returns a view."""
        return len(self.indices.shape) == 1

    def read(self, x: Tensor) -> Tensor:
        """Return the elements of `x` that the index selects."""
        window = self.window.read(x)
        if not self.is_element:
            return gather(window, self.indices, self.windows)
        element = dynamic_slice_op(window, self._starts(window), self.windows.sizes)
        return reshape(element, self.windows.result_shape(()))

    def write(self, x: Tensor, value: Tensor, update: Update = "assign") -> Tensor:
        """Return `x` with the selected elements replaced by a value, or combined with it."""
        window = self.window.read(x)
        if self.is_element and update == "assign":
            block = reshape(value, self.windows.sizes)
            changed = dynamic_update_slice_op(window, block, self._starts(window))
        else:
            changed = scatter(window, self.indices, value, self.windows, update)
        return self.window.write(x, changed)

    def _starts(self, inner: Tensor) -> list[Tensor]:
        zero = scalar(0, INT32)
        return [convert(self.along.get(axis, zero), INT32) for axis in range(len(inner.shape))]


def index_tensor(part: Any) -> Tensor:
    """Return positions or a mask as a tensor."""
    if isinstance(part, list | tuple) and not len(part):
        part = np.zeros(0, np.int32)
    elif isinstance(part, list | tuple):
        part = part if has_tensor(part) else np.asarray(part)
    tensor = lift(part)
    if not is_integer(tensor.dtype) and tensor.dtype != BOOL:
        raise BadIndex.here(
            f"an index consists of integers or bools, not {tensor.dtype.name}; "
            "convert it with astype(np.int32)"
        )
    return tensor


def _index_parts(index: Any, shape: Shape) -> list[Any]:
    """Return an index's parts; constant masks become positions.

    Raises:
        DataDependent: A slice is between traced positions.

    """
    original_parts = index if isinstance(index, tuple) else (index,)
    arrays = [
        np.asarray(part) if isinstance(part, list | bool | np.bool_) else part
        for part in original_parts
    ]
    parts: list[Any] = []
    for number, (part, array) in enumerate(zip(original_parts, arrays, strict=True)):
        if isinstance(array, np.ndarray) and array.dtype == BOOL and not has_tensor(part):
            if not array.shape:
                raise BadIndex.here("a single bool is not an index in a graph; use np.where")
            _check_mask(array, shape, arrays, number)
            parts.extend(array.nonzero())
        elif isinstance(part, slice) and has_tensor([part.start, part.stop, part.step]):
            raise DataDependent.here(
                "the size of a slice between traced positions depends on data; "
                "use kvtrace.hlo.ops.dynamic_slice, whose sizes are fixed"
            )
        else:
            parts.append(part)
    return parts


def _check_mask(mask: Any, shape: Shape, parts: list[Any], number: int) -> None:
    """Raise BadIndex if a mask, the part `number` of an index, has not the shape of its axes."""
    first = sum(map(axes_used, parts[:number]))
    if any(part is Ellipsis for part in parts[:number]):
        first = len(shape) - sum(map(axes_used, parts[number:]))
    for axis, extent in enumerate(mask.shape, first):
        if 0 <= axis < len(shape) and shape[axis] != extent:
            raise BadIndex.here(
                f"boolean index did not match indexed array along axis {axis}; size of axis is "
                f"{shape[axis]} but size of corresponding boolean axis is {extent}"
            )


def _data_index(x: Tensor, index: Any) -> DataIndex:
    """Return an index of `x` with at least one part that is data.

    Raises:
        BadIndex: The index does not fit the tensor.
        DataDependent: The result's number of elements would depend on a mask.

    """
    index_parts = _index_parts(index, x.shape)
    parts = expanded_index(tuple(index_parts), len(x.shape))
    basic: list[Any] = []
    positions_by_axis: dict[int, Tensor] = {}
    to_check: list[tuple[Any, int, int]] = []
    for part in parts:
        if part is None or isinstance(part, slice):
            basic.append(part)
            continue
        axis = sum(index_parts is not None for index_parts in basic)
        extent = x.shape[axis]
        if isinstance(part, int | np.integer):
            positions = full(checked_position(int(part), extent, axis), (), INT32)
        else:
            positions = index_tensor(part)
            if positions.dtype == BOOL:
                raise DataDependent.here(
                    "the number of elements that a traced mask selects depends on data; "
                    "use np.where, or assign through the mask"
                )
            positions = from_start(positions, extent)
            to_check.append((None if has_tensor(part) else np.asarray(part), extent, axis))
        # The axis of the basic index's result, in which new axes count.
        positions_by_axis[len(basic)] = positions
        basic.append(slice(None))
    window = window_of(tuple(basic), x.shape)
    broadcasted = broadcast(*positions_by_axis.values())
    batch = broadcasted[0].shape
    check_positions(to_check, batch)
    window_sizes = tuple(
        1 if axis in positions_by_axis else n for axis, n in enumerate(window.shape)
    )
    along = dict(zip(positions_by_axis, broadcasted, strict=True))
    return DataIndex(
        window,
        along,
        components(broadcasted),
        _gather_windows([*along], window_sizes, len(batch), _are_adjacent(index_parts)),
    )


def _are_adjacent(parts: list[Any]) -> bool:
    """Return whether an index's data parts are adjacent; an empty Ellipsis separates them, too."""
    spans = (slice, EllipsisType, NoneType)
    data_parts = [i for i, part in enumerate(parts) if not isinstance(part, spans)]
    return not data_parts or data_parts[-1] - data_parts[0] == len(data_parts) - 1


def _gather_windows(
    data_axes: Sequence[int], sizes: tuple[int, ...], batch_rank: int, are_adjacent: bool = True
) -> Windows:
    """Return windows whose batch axes replace adjacent data axes, or are first: NumPy's rule."""
    start = data_axes[0] if are_adjacent else 0
    other_axes = [axis for axis in range(len(sizes)) if axis not in data_axes]
    offsets = [
        position + (batch_rank if position >= start else 0) for position in range(len(other_axes))
    ]
    return Windows(tuple(data_axes), sizes, tuple(data_axes), tuple(offsets))


@implements(methods=("take_advanced",))
def take_advanced(x: Tensor, index: Any) -> Any:
    """Return the elements of an index with parts that are data; a single element is a view."""
    data_index = _data_index(x, index)
    if data_index.is_element:
        return viewed(x, data_index.read, data_index.write, window=data_index)
    return data_index.read(x)


@implements(methods=("put_advanced",))
def put_advanced(x: Tensor, index: Any, value: Operand) -> None:
    """Write a value into the elements of an index with parts that are data."""
    mask = _whole_mask(x, index)
    if mask is not None:
        x._become(select(mask, value_for(value, _masked_shape(value, x, mask), x.dtype), x))
        return
    x._become(_updated(x, index, value, "assign"))


def _updated(x: Tensor, index: Any, value: Operand, update: Update) -> Tensor:
    """Return `x` with the elements of a data index replaced by a value, or combined with it."""
    if is_basic(index):
        window = window_of(index, x.shape)
        raise BadIndex.here(f"{window.shape} is not an index of arrays; assign to the slice itself")
    data_index = _data_index(x, index)
    shape = data_index.windows.result_shape(data_index.indices.shape[:-1])
    return data_index.write(fresh(x), value_for(value, shape, x.dtype), update)


def _whole_mask(x: Tensor, index: Any) -> Tensor | None:
    """Return a traced mask over leading axes as a mask of all elements; None for other indices."""
    if not isinstance(index, Tensor) or index.dtype != BOOL or not index.shape:
        return None
    rank = len(index.shape)
    if x.shape[:rank] != index.shape:
        raise BadIndex.here(
            f"a mask of shape {list(index.shape)} does not fit a tensor of shape {list(x.shape)}"
        )
    ones = (1,) * (len(x.shape) - rank)
    return broadcast_to(reshape(index, index.shape + ones), x.shape)


def _masked_shape(value: Operand, x: Tensor, mask: Tensor) -> tuple[int, ...]:
    """Return the shape of all elements, for a value of one element assigned through a mask."""
    extents = value.shape if isinstance(value, Tensor) else np.shape(value)
    if len(extents) and np.prod(extents, dtype=np.int64) != 1:
        raise DataDependent.here(
            "the number of elements written through a traced mask depends on data; "
            "give one value for all, or use np.where with values for all elements"
        )
    return mask.shape if extents else x.shape


# -- along an axis --------------------------------------------------------------------------------


@implements(np.take, methods=("take",))
def take(a: Operand, indices: Operand, axis: int | None = None, out: Any = None) -> Tensor:
    """Return the elements at indices of an axis, or of the flattened tensor."""
    x, indexed_axis = along_axis(a, axis)
    if not has_tensor(indices):
        for position in np.ravel(indices).tolist():
            checked_position(position, x.shape[indexed_axis], indexed_axis)
    positions = from_start(index_tensor(indices), x.shape[indexed_axis])
    window_sizes = tuple(1 if i == indexed_axis else n for i, n in enumerate(x.shape))
    windows = _gather_windows([indexed_axis], window_sizes, len(positions.shape))
    return into(out, gather(x, components([positions]), windows))


def _element_positions(x: Tensor, indices: Operand, indexed_axis: int) -> tuple[Tensor, Windows]:
    """Return positions along all axes, `indices` along one, and windows of one element."""
    positions = index_tensor(indices)
    if len(positions.shape) != len(x.shape):
        raise ShapeMismatch.here(
            f"indices along an axis need as many axes as the tensor, {len(x.shape)}, "
            f"not {len(positions.shape)}"
        )
    other_extents = tuple(1 if i == indexed_axis else n for i, n in enumerate(x.shape))
    shape = broadcast_shape(other_extents, positions.shape)
    positions_by_axis = [
        from_start(broadcast_to(positions, shape), x.shape[indexed_axis])
        if i == indexed_axis
        else _axis_positions(shape, i, x.shape[i])
        for i in range(len(shape))
    ]
    axes = tuple(range(len(shape)))
    return components(positions_by_axis), Windows(axes, (1,) * len(axes), axes, ())


def _axis_positions(shape: tuple[int, ...], axis: int, extent: int) -> Tensor:
    return iota(shape, axis) if extent != 1 else full(0, shape, INT32)


@implements(np.take_along_axis)
def take_along_axis(arr: Operand, indices: Operand, axis: int | None = -1) -> Tensor:
    """Return the elements of `arr` at indices along an axis (None: of the flattened tensor)."""
    x, indexed_axis = along_axis(arr, axis)
    positions, windows = _element_positions(x, indices, indexed_axis)
    return gather(x, positions, windows)


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Operand, values: Operand, axis: int | None) -> None:
    """Write values into `arr` at indices along an axis (None: of the flattened tensor)."""
    into(arr, scatter_along_axis(arr, indices, values, axis))


@operation()
def scatter_along_axis(
    x: Operand, indices: Operand, values: Operand, axis: int | None = -1
) -> Tensor:
    """Return a copy of `x` with values written at indices along an axis."""
    x = lift(x)
    shape = x.shape
    x, indexed_axis = along_axis(x, axis)
    positions, windows = _element_positions(x, indices, indexed_axis)
    updates = value_for(values, positions.shape[:-1], x.dtype)
    return reshape(scatter(x, positions, updates, windows), shape)


@operation("scatter")
def scatter_(x: Operand, index: Any, values: Operand, update: Update = "assign") -> Tensor:
    """Return a copy of `x` with values combined with the elements of an index.

    `update` is assign, add, multiply, maximum or minimum; all values for the same element are
    combined.
    """
    return _updated(lift(x), index, values, update)


# -- windows at traced positions ------------------------------------------------------------------


def _at_builder(update: Update) -> Any:
    def build(x: Any, index: Any, value: Operand) -> None:
        if not isinstance(x, Tensor):
            into(x, lift(value))  # raises the error
        if is_basic(index):
            index = tuple(
                np.arange(n)[part] if isinstance(part, slice) else part
                for n, part in zip(x.shape, expanded_index(index, len(x.shape)), strict=True)
            )
        into(x, _updated(x, index, value, update))

    return build


for _ufunc, _update in ((np.add, "add"), (np.multiply, "multiply"), (np.maximum, "maximum")):
    AT[_ufunc] = _at_builder(_update)  # type: ignore[arg-type]


@operation()
def one_hot(indices: Operand, count: int, dtype: Any = np.float32) -> Tensor:
    """Return ones at indices along a new last axis of `count` elements, zeros elsewhere."""
    positions = convert(index_tensor(indices), INT32)
    shape = (*positions.shape, int(count))
    repeated_positions = broadcast_to(reshape(positions, (*positions.shape, 1)), shape)
    return convert(compare("EQ", repeated_positions, iota(shape, len(shape) - 1)), dtype_of(dtype))
