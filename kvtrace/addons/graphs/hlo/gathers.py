"""Gather and scatter: elements taken from, and written to, positions that are data.

Both work on windows of a tensor. `indices` has the components of a position along its last axis,
one for each axis in `index_axes`; all its other axes are the batch. `sizes` is the window's extent
along each axis of the tensor; `dropped` are axes of extent 1 that the result does not have, and
`offsets` the places of the others in the result, whose remaining places are the batch's.
"""

from dataclasses import dataclass
from typing import Any, Literal

from kvtrace.addons.graphs.hlo.arguments import Shape
from kvtrace.addons.graphs.hlo.builder import current
from kvtrace.addons.graphs.hlo.dtypes import INT32
from kvtrace.addons.graphs.hlo.errors import BadIndex
from kvtrace.addons.graphs.hlo.primitives import (
    add,
    compare,
    concatenate,
    convert,
    full,
    reshape,
    select,
)
from kvtrace.addons.graphs.hlo.wrapper import Tensor

#: How a value is joined with what is there.
Update = Literal["assign", "add", "multiply", "maximum", "minimum", "and", "or"]


@dataclass(frozen=True, slots=True)
class Windows:
    """Which windows of a tensor, and how they lie in the result."""

    index_axes: tuple[int, ...]
    sizes: Shape
    dropped: tuple[int, ...]
    offsets: tuple[int, ...]

    def result_shape(self, batch: Shape) -> Shape:
        """The shape of what is gathered, or written, for a batch of positions."""
        kept = iter([size for axis, size in enumerate(self.sizes) if axis not in self.dropped])
        rest = iter(batch)
        rank = len(batch) + len(self.offsets)
        return tuple(next(kept) if i in self.offsets else next(rest) for i in range(rank))


def gather(x: Tensor, indices: Tensor, windows: Windows) -> Tensor:
    """The windows at positions; a position is moved so far that its window lies inside.

    Raises:
        BadIndex: the tensor has no elements, and the result would.

    """
    shape = windows.result_shape(indices.shape[:-1])
    if 0 in shape:
        return full(0, shape, x.dtype)
    if any(size > extent for size, extent in zip(windows.sizes, x.shape, strict=True)):
        raise BadIndex.here(f"nothing can be taken of an empty axis of shape {list(x.shape)}")
    attributes: dict[str, Any] = {
        "offset_dims": windows.offsets,
        "collapsed_slice_dims": windows.dropped,
        "start_index_map": windows.index_axes,
        "index_vector_dim": len(indices.shape) - 1,
        "slice_sizes": windows.sizes,
    }
    return current().emit("gather", (x, indices), shape, x.dtype, attributes)


def scatter(
    x: Tensor, indices: Tensor, updates: Tensor, windows: Windows, update: Update = "assign"
) -> Tensor:
    """The tensor with windows joined with `updates`, which has the shape that `gather` gives.

    Windows that do not lie inside are left out. Where two meet, the later one is written last.
    """
    if 0 in updates.shape:
        return x
    attributes: dict[str, Any] = {
        "update_window_dims": windows.offsets,
        "inserted_window_dims": windows.dropped,
        "scatter_dims_to_operand_dims": windows.index_axes,
        "index_vector_dim": len(indices.shape) - 1,
        "reducer": update,
    }
    return current().emit("scatter", (x, indices, updates), x.shape, x.dtype, attributes)


def wrapped(positions: Tensor, extent: int) -> Tensor:
    """Positions counted from the end where they are negative, as int32 or wider."""
    if positions.dtype.kind == "u":
        return positions
    wide = convert(positions, INT32) if positions.dtype.itemsize < INT32.itemsize else positions
    zero = full(0, wide.shape, wide.dtype)
    from_end = add(wide, full(extent, wide.shape, wide.dtype))
    return select(compare("LT", wide, zero), from_end, wide)


def components(positions: "list[Tensor]") -> Tensor:
    """Positions along several axes, of one shape, as one tensor with a last axis of components."""
    if len(positions) == 1:
        return reshape(positions[0], (*positions[0].shape, 1))
    parts = [reshape(convert(p, INT32), (*p.shape, 1)) for p in positions]
    return concatenate(parts, len(parts[0].shape) - 1)
