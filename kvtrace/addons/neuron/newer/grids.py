"""`nl.tiles` and `nl.blocks`: a tensor viewed as a grid of tiles, or of blocks of tiles.

A grid is a view of a tensor: a range of selected elements in each dimension. The last
cell of a dimension may be smaller. Example: tiles of 2 × 4 elements of a 5 × 8 tensor are a grid of
3 × 2 cells, the last row of which has cells of 1 × 4.
"""

from collections.abc import Sequence
from typing import Any

from kvtrace.addons.neuron.buffers import buffer_of
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.newer.tensors import NkiTensor
from kvtrace.addons.neuron.ops.creation import ndarray
from kvtrace.addons.neuron.targets import PARTITIONS


class NkiGrid:
    """Cells of a tensor; `spans` are the ranges of elements selected in each dimension.

    Untiled dimensions, which precede the tiled ones, have cells of one element. Indexing with an
    integer removes a coordinate; a slice keeps it.
    """

    def __init__(
        self,
        source: NkiTensor,
        cell: tuple[int, ...],
        tile_shape: tuple[int, ...],
        spans: Sequence[tuple[int, int]],
        axes: tuple[int, ...],
    ) -> None:
        """`cell` is a cell's shape; `axes` lists the dimensions with a coordinate."""
        self._source = source
        self._cell = cell
        self._spans = tuple(spans)
        self._axes = axes
        self.tile_shape = tile_shape

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells along each dimension that has a coordinate."""
        return tuple(self._count(dimension) for dimension in self._axes)

    @property
    def element_shape(self) -> tuple[int, ...]:
        """Number of selected elements along each tiled dimension."""
        tiled = len(self._spans) - len(self.tile_shape)
        return tuple(end - begin for begin, end in self._spans[tiled:])

    @property
    def index_step_elements(self) -> tuple[int, ...]:
        """Number of elements from one cell to the next, along each coordinate."""
        return tuple(self._cell[dimension] for dimension in self._axes)

    @property
    def is_remainder(self) -> bool:
        """The selected elements include a cell that is smaller than the others."""
        spans_and_cells = zip(self._spans, self._cell, strict=True)
        return any((end - begin) % size for (begin, end), size in spans_and_cells)

    @property
    def is_data_representable(self) -> bool:
        """`data` can be a single view; always true here."""
        return True

    @property
    def dtype(self) -> Any:
        """Element type of the tensor."""
        return self._source.dtype

    @property
    def buffer(self) -> str:
        """Memory space of the tensor."""
        return self._source.buffer

    @property
    def data(self) -> NkiTensor:
        """The selected elements as a tensor, without untiled dimensions that have no coordinate."""
        tiled = len(self._spans) - len(self.tile_shape)
        keys: list[Any] = [slice(begin, end) for begin, end in self._spans]
        for dimension in range(tiled):
            if dimension not in self._axes:
                keys[dimension] = self._spans[dimension][0]
        return self._source[tuple(keys)]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if len(parts) > len(self._axes):
            raise NkiError(
                f"{len(parts)} indices are given for a grid of {len(self._axes)} coordinates"
            )
        spans, axes = list(self._spans), list(self._axes)
        for dimension, part in zip(self._axes, parts, strict=False):
            first_cell, count = self._cell_range(part, self._count(dimension))
            begin = self._spans[dimension][0] + first_cell * self._cell[dimension]
            end = min(begin + count * self._cell[dimension], self._spans[dimension][1])
            spans[dimension] = begin, end
            if not isinstance(part, slice):
                axes.remove(dimension)
        return type(self)(self._source, self._cell, self.tile_shape, spans, tuple(axes))

    def _count(self, dimension: int) -> int:
        begin, end = self._spans[dimension]
        return -(-(end - begin) // self._cell[dimension])

    @staticmethod
    def _cell_range(part: Any, count: int) -> tuple[int, int]:
        if isinstance(part, slice):
            first_cell, end_cell, step = part.indices(count)
            if step != 1:
                raise NkiError("a slice of a grid cannot have a step")
            return first_cell, max(end_cell - first_cell, 0)
        index = int(part)
        if not 0 <= index < count:
            raise NkiError(f"cell {index} is outside of a dimension of {count} cells")
        return index, 1


class NkiTileGrid(NkiGrid):
    """A tensor as a grid of tiles."""


class NkiBlockGrid(NkiGrid):
    """A tensor as a grid of blocks, each of `block_shape` tiles."""

    @property
    def block_shape(self) -> tuple[int, ...]:
        """Number of tiles of a block along each tiled dimension."""
        tiled = len(self._spans) - len(self.tile_shape)
        return tuple(
            cell // tile for cell, tile in zip(self._cell[tiled:], self.tile_shape, strict=True)
        )


def tiles(source: Any, *, tile_shape: Any = None) -> NkiTileGrid:
    """Return a tensor, or the elements of another grid, as a grid of tiles.

    `tile_shape` applies to the last dimensions; by default it is that of the other grid.

    Raises:
        NkiError: `tile_shape` is missing, or has more dimensions than the tensor.
    """
    if isinstance(source, NkiGrid):
        tile_sizes = source.tile_shape if tile_shape is None else _sizes(tile_shape)
        tensor = source.data
    else:
        tensor, tile_sizes = source, _sizes(tile_shape)
    return NkiTileGrid(tensor, *_cells(tensor, tile_sizes, (1,) * len(tile_sizes)))


def blocks(source: Any, *, tile_shape: Any = None, block_shape: Any) -> NkiBlockGrid:
    """Return a tensor, or the elements of another grid, as a grid of blocks of tiles.

    Raises:
        NkiError: `tile_shape` is missing, or has more dimensions than the tensor.
    """
    if isinstance(source, NkiGrid):
        tile_sizes = source.tile_shape if tile_shape is None else _sizes(tile_shape)
        tensor = source.data
    else:
        tensor, tile_sizes = source, _sizes(tile_shape)
    return NkiBlockGrid(tensor, *_cells(tensor, tile_sizes, _sizes(block_shape)))


def alloc_tiles(
    *,
    tile_shape: Any,
    element_shape: Any,
    buffer: Any,
    dtype: Any,
    address: Any = None,
    name: str = "",
) -> NkiTileGrid:
    """Allocate a tensor, and return it as a grid of tiles.

    Raises:
        NkiError: the tensor is on chip and has more rows than there are partitions.
    """
    del address
    return tiles(_allocated(element_shape, dtype, buffer, name), tile_shape=tile_shape)


def alloc_blocks(
    *,
    tile_shape: Any,
    block_shape: Any,
    element_shape: Any,
    buffer: Any,
    dtype: Any,
    address: Any = None,
    name: str = "",
) -> NkiBlockGrid:
    """Allocate a tensor, and return it as a grid of blocks of tiles.

    Raises:
        NkiError: the tensor is on chip and has more rows than there are partitions.
    """
    del address
    tensor = _allocated(element_shape, dtype, buffer, name)
    return blocks(tensor, tile_shape=tile_shape, block_shape=block_shape)


def _allocated(shape: Any, dtype: Any, buffer: Any, name: str) -> Any:
    """Return a new tensor for a grid; on chip, it has at most as many rows as partitions exist."""
    sizes = _sizes(shape)
    if buffer_of(buffer).space != "hbm" and sizes[0] > PARTITIONS:
        raise NkiError(
            f"a grid on chip cannot have {sizes[0]} rows: a tensor has {PARTITIONS} partitions; "
            "allocate a tensor for each row of tiles"
        )
    return ndarray(sizes, dtype, buffer=buffer, name=name)


def _sizes(shape: Any) -> tuple[int, ...]:
    if shape is None:
        raise NkiError("a grid of a tensor needs tile_shape, the shape of its tiles")
    return tuple(int(size) for size in shape)


def _cells(
    source: NkiTensor, tile: tuple[int, ...], block: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...], list[tuple[int, int]], tuple[int, ...]]:
    """Return a grid's cell shape, tile shape, spans and dimensions with a coordinate."""
    untiled = source.ndim - len(tile)
    if untiled < 0 or len(block) != len(tile) or min((*tile, *block)) < 1:
        raise NkiError(
            f"a tensor of {source.shape} cannot be divided into tiles of {tile} and blocks of "
            f"{block} tiles"
        )
    cell = (1,) * untiled + tuple(size * count for size, count in zip(tile, block, strict=True))
    spans = [(0, size) for size in source.shape]
    return cell, tile, spans, tuple(range(source.ndim))
