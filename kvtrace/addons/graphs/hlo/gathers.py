"""Gather and scatter: elements read from, and written to, positions that are data.

Both work on windows of a tensor. `indices` has the components of a position along its last axis,
one for each axis in `index_axes`; all its other axes are the batch. `sizes` is the window's extent
along each axis of the tensor; `dropped` are axes of extent 1 that the result does not have, and
`offsets` the positions of the other window axes in the result, whose remaining axes are the
batch's.

Example: rows 5 and 2 of a [9, 4] tensor have `indices` [[5], [2]], `index_axes` (0,), `sizes` (1,
4), `dropped` (0,), `offsets` (1,) and a result of [2, 4]. Semantics: "gather" and "scatter" of the
StableHLO specification.
"""

from typing import Any, Literal

from msgspec import Struct

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

#: How a written value is combined with the present element.
Update = Literal["assign", "add", "multiply", "maximum", "minimum", "and", "or"]


class Windows(Struct, frozen=True):
    """The windows of a gather or scatter, and their layout in the result; fields as above."""

    index_axes: tuple[int, ...]
    sizes: Shape
    dropped: tuple[int, ...]
    offsets: tuple[int, ...]

    def result_shape(self, batch: Shape) -> Shape:
        """Return the shape of the gathered or written elements for a batch of positions."""
        sizes = iter([size for axis, size in enumerate(self.sizes) if axis not in self.dropped])
        extents = iter(batch)
        rank = len(batch) + len(self.offsets)
        return tuple(next(sizes) if i in self.offsets else next(extents) for i in range(rank))


def gather(x: Tensor, indices: Tensor, windows: Windows) -> Tensor:
    """Return the windows of `x` at positions, which are clamped so that each window lies inside.

    Raises:
        BadIndex: The tensor has no elements, but the result has.

    """
    shape = windows.result_shape(indices.shape[:-1])
    if 0 in shape:
        return full(0, shape, x.dtype)
    if any(size > extent for size, extent in zip(windows.sizes, x.shape, strict=True)):
        raise BadIndex.here(
            f"an index selects elements along an empty axis of a tensor of shape {list(x.shape)}"
        )
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
    """Return `x` with `updates`, of the shape that `gather` returns, combined into its windows.

    Windows that do not lie inside are left out. Where two windows overlap, the later one is written
    last.
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


def from_start(positions: Tensor, extent: int) -> Tensor:
    """Return positions as int32 or wider, with the axis's extent added to negative ones."""
    if positions.dtype.kind == "u":
        return positions
    signed = convert(positions, INT32) if positions.dtype.itemsize < INT32.itemsize else positions
    zero = full(0, signed.shape, signed.dtype)
    from_end = add(signed, full(extent, signed.shape, signed.dtype))
    return select(compare("LT", signed, zero), from_end, signed)


def components(positions: "list[Tensor]") -> Tensor:
    """Return positions along several axes as one tensor, whose new last axis has one per axis."""
    if len(positions) == 1:
        return reshape(positions[0], (*positions[0].shape, 1))
    columns = [reshape(convert(p, INT32), (*p.shape, 1)) for p in positions]
    return concatenate(columns, len(columns[0].shape) - 1)
