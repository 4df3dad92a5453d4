"""Tensors of the newer interface: views by slices and access patterns, without operators.

A grid (`nl.tiles`, `nl.blocks`) is a view of a tensor as tiles, or as blocks of tiles: a range of
selected elements in each dimension. The last cell of a dimension may be smaller. Example: tiles of
2 × 4 elements of a 5 × 8 tensor are a grid of 3 × 2 cells, the last row of which has cells of
1 × 4.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any, NoReturn

import numpy as np

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.buffers import buffer_of
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.indices import Index, ds, index_of_data
from kvtrace.addons.neuron.memory import contiguous, size_of
from kvtrace.addons.neuron.ops import moves
from kvtrace.addons.neuron.ops.creation import ndarray
from kvtrace.addons.neuron.targets import PARTITIONS
from kvtrace.addons.neuron.tensors import Selection, Tensor


class NkiTensor(Tensor):
    """A tensor of the newer interface, `nki`."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> "NkiTensor":
        parts = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, Index) for part in parts):
            raise NkiError("tensors of nki cannot be indexed by index expressions; use slices")
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        target = self[key]
        if target.on_chip:
            moves.put(target, value)
        else:
            moves.store.older(target, value)

    def _no_operator(self, *others: Any) -> NoReturn:
        del others
        raise NkiError(
            "tensors of nki have no operators; use an instruction such as nisa.tensor_tensor"
        )

    __add__ = __radd__ = __iadd__ = _no_operator
    __sub__ = __rsub__ = __isub__ = _no_operator
    __mul__ = __rmul__ = __imul__ = _no_operator
    __truediv__ = __rtruediv__ = __itruediv__ = _no_operator
    __pow__ = __rpow__ = __mod__ = __neg__ = __abs__ = _no_operator
    __and__ = __or__ = __xor__ = __invert__ = _no_operator
    __lt__ = __le__ = __gt__ = __ge__ = _no_operator
    __hash__ = Tensor.__hash__

    def __eq__(self, other: object) -> bool:
        return False if other is None else self._no_operator(other)

    def __ne__(self, other: object) -> bool:
        return True if other is None else self._no_operator(other)

    # -- views by name ----------------------------------------------------------------------

    def slice(self, dim: int, start: int, end: int, step: int = 1) -> "NkiTensor":
        """Return a view of elements `start` to `end` (not included) of one dimension."""
        parts: list[Any] = [slice(None)] * self.ndim
        parts[dim] = slice(start, end, step)
        return self[tuple(parts)]

    def select(self, dim: int, index: Any) -> "NkiTensor":
        """Return a view at an index, maybe in a tensor, of `dim`, which the view lacks."""
        parts: list[Any] = [slice(None)] * self.ndim
        if isinstance(index, int):
            parts[dim] = index
            return self[tuple(parts)]
        parts[dim] = ds(index, 1)
        selected = self[tuple(parts)]
        return selected.reshape(*self.shape[:dim], *self.shape[dim + 1 :])

    def vector_select(self, dim: int, vector_offset: Any) -> "NkiTensor":
        """Return a view of the rows of a tensor in device memory whose indices are in a tensor."""
        if dim != 0 or self.on_chip:
            raise NkiError("vector_select needs dim=0, and a tensor in device memory")
        self._require_no_selection()
        rows = index_of_data(vector_offset).values.reshape(-1)
        shape = (rows.size, *self.shape[1:])
        indices = [
            (rows if axis == 0 else np.arange(size)).reshape(
                (1,) * axis + (-1,) + (1,) * (self.ndim - axis - 1)
            )
            for axis, size in enumerate(shape)
        ]
        selection = Selection(tuple(indices), strict=False, from_data=True)
        return NkiTensor(
            self.memory, self.offset, shape, self.strides, -1, self.dtype, selection, self.shape
        )

    def reinterpret_cast(self, dtype: Any) -> "NkiTensor":
        """Return a view of the bytes as elements of another type of the same width.

        Raises:
            NkiError: an element of the type has another number of bytes.
        """
        new_type = dtypes.as_dtype(dtype)
        if new_type.itemsize != self.itemsize:
            raise NkiError(
                f"reinterpret_cast needs a type of {self.itemsize} bytes like {self.dtype}, "
                f"not {new_type}; use view"
            )
        return self.view(new_type)

    @property
    def name(self) -> str:
        """The program's name of the viewed buffer, or ""."""
        return self.memory.argument or self.memory.life.name

    @property
    def data(self) -> "NkiTensor":
        """The tensor itself; for a grid of tiles, `data` is the grid's tensor."""
        return self

    def broadcast(self, dim: int, size: int) -> "NkiTensor":
        """Return a view that repeats a dimension of size 1."""
        return self.broadcast_to(*self.shape[:dim], size, *self.shape[dim + 1 :])

    def expand_dim(self, dim: int) -> "NkiTensor":
        """Return a view with a new dimension of size 1."""
        return self.expand_dims(dim)

    def squeeze_dim(self, dim: int) -> "NkiTensor":
        """Return a view without a dimension of size 1."""
        if self.shape[dim] != 1:
            raise NkiError(f"dimension {dim} has {self.shape[dim]} elements, not one")
        return self.reshape(*self.shape[:dim], *self.shape[dim + 1 :])

    def reshape_dim(self, dim: int, shape: Any) -> "NkiTensor":
        """Return a view with one dimension split into the sizes of `shape`; one may be -1."""
        sizes = [int(size) for size in shape]
        if -1 in sizes:
            known_sizes = tuple(size for size in sizes if size > 0)
            sizes[sizes.index(-1)] = self.shape[dim] // size_of(known_sizes)
        return self.reshape(*self.shape[:dim], *sizes, *self.shape[dim + 1 :])

    def flatten_dims(self, start_dim: int, end_dim: int) -> "NkiTensor":
        """Return a view with the dimensions `start_dim` to `end_dim` joined into one."""
        joined_size = size_of(self.shape[start_dim : end_dim + 1])
        return self.reshape(*self.shape[:start_dim], joined_size, *self.shape[end_dim + 1 :])

    def rearrange(self, src_pattern: Any, dst_pattern: Any, fixed_sizes: Any = None) -> "NkiTensor":
        """Return a view with dimensions split, reordered and joined by name.

        A pattern has a name, or a tuple of names, for each dimension of this tensor, and of the
        result. `fixed_sizes` has the sizes of names; one name of each tuple may be missing.

        Raises:
            NkiError: the patterns do not name the same dimensions, or do not fit the shape.
        """
        source = [part if isinstance(part, tuple | list) else (part,) for part in src_pattern]
        target = [part if isinstance(part, tuple | list) else (part,) for part in dst_pattern]
        source_names = [name for part in source for name in part]
        target_names = [name for part in target for name in part]
        if (
            len(source) != self.ndim
            or sorted(source_names) != sorted(target_names)
            or len({*source_names}) < len(source_names)
        ):
            raise NkiError(
                f"{src_pattern} and {dst_pattern} do not name dimensions of {self.shape}"
            )
        sizes = dict(fixed_sizes or {})
        for part, size in zip(source, self.shape, strict=True):
            unsized = [name for name in part if name not in sizes]
            product = size_of(tuple(int(sizes[name]) for name in part if name in sizes))
            if len(unsized) > 1 or size % product or (not unsized and product != size):
                raise NkiError(f"dimensions {tuple(part)} do not multiply to {size} elements")
            sizes |= dict.fromkeys(unsized, size // product)
        split = self.reshape(*(int(sizes[name]) for name in source_names))
        permuted = split.permute(*(source_names.index(name) for name in target_names))
        target_sizes = (size_of(tuple(int(sizes[name]) for name in part)) for part in target)
        return permuted.reshape(*target_sizes)

    def is_contiguous(self) -> bool:
        """Return whether the elements are contiguous, on chip within each partition."""
        expected = zip(self.shape, self.strides, contiguous(self.shape), strict=True)
        within = islice(expected, int(self.on_chip), None)
        return all(size == 1 or stride == step for size, stride, step in within)

    def is_indirect(self) -> bool:
        """Return whether indices in a tensor select the elements."""
        return self.selection is not None and self.selection.from_data

    def get_pattern(self) -> list[list[int]]:
        """Return the view's access pattern: `[step, count]` for each dimension."""
        return [[step, size] for step, size in zip(self.strides, self.shape, strict=True)]


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


def _tiled(source: Any, tile_shape: Any) -> tuple[Any, tuple[int, ...]]:
    """Return a tensor, or that of a grid, with the sizes of tiles, which a grid has already."""
    if isinstance(source, NkiGrid):
        return source.data, source.tile_shape if tile_shape is None else _sizes(tile_shape)
    return source, _sizes(tile_shape)


def tiles(source: Any, *, tile_shape: Any = None) -> NkiTileGrid:
    """Return a tensor, or the elements of another grid, as a grid of tiles.

    `tile_shape` applies to the last dimensions; by default it is that of the other grid.

    Raises:
        NkiError: `tile_shape` is missing, or has more dimensions than the tensor.
    """
    tensor, tile_sizes = _tiled(source, tile_shape)
    return NkiTileGrid(tensor, *_cells(tensor, tile_sizes, (1,) * len(tile_sizes)))


def blocks(source: Any, *, tile_shape: Any = None, block_shape: Any) -> NkiBlockGrid:
    """Return a tensor, or the elements of another grid, as a grid of blocks of tiles.

    Raises:
        NkiError: `tile_shape` is missing, or has more dimensions than the tensor.
    """
    tensor, tile_sizes = _tiled(source, tile_shape)
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
