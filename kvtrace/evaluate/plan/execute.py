"""Running generated code over the chunks of a region."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from kvtrace.schema.dataclass import dataclass

if TYPE_CHECKING:
    from kvtrace.evaluate.plan.code.cells import Cell, Generated
    from kvtrace.evaluate.values import Array

CHUNK_BYTES = 2 << 20
"""How much the intermediate results of the programs that run at once may take together."""

CHUNK_BYTES_OF_PRODUCTS = 4 << 20
"""The same where matrices are multiplied: products of taller ones are worth more than the cache."""

_COPIES_MADE = 2
"""How many arrays functions hold on to while they make one."""

_ALIGNMENT = 64
_KEPT_CHUNKS = 8


class _Scratch(threading.local):
    """Memory for intermediate results, one block per thread, as large as the largest chunk yet."""

    block: Array | None = None

    def of(self, size: int) -> Array:
        """Give a block that holds so many bytes from its first aligned address on."""
        needed = size + _ALIGNMENT
        if self.block is None or self.block.nbytes < needed:
            self.block = np.empty(needed, np.uint8)
        return self.block


_scratch = _Scratch()

Chunk = tuple[tuple[int, ...], tuple[int, ...]]
"""First value and count along each program axis."""


@dataclass(eq=False)
class Executable:
    """The code of a region and how its programs are divided."""

    code: Generated
    chunks: tuple[Chunk, ...]
    arrays: dict[tuple[int, ...], tuple[Array, list[Array], int]] = field(default_factory=dict)

    def run(self, buffers: Sequence[Any], numbers: Sequence[Any]) -> None:
        """Run all chunks. `buffers`: storages as bytes by argument; `numbers`: float arguments."""
        run = self.code.run
        for starts, extents in self.chunks:
            run(buffers, numbers, self._cells(extents), starts, extents)

    def _cells(self, extents: tuple[int, ...]) -> list[Array]:
        if not self.code.cells:
            return []
        known = self.arrays.get(extents)
        size = None if known is None else known[2]
        if size is None:
            size = sum([_bytes_of(cell, extents) for cell in self.code.cells])
        block = _scratch.of(size)
        if known is not None and known[0] is block:
            return list(known[1])
        if len(self.arrays) >= _KEPT_CHUNKS:
            self.arrays.clear()
        made = _carved(block, self.code.cells, extents)
        self.arrays[extents] = (block, made, size)
        return made


def executable(code: Generated, ranges: Sequence[tuple[int, int]]) -> Executable:
    """Divide the programs of a region (first and last value along each axis) into chunks."""
    extents = [last - first + 1 for first, last in ranges]
    limit = CHUNK_BYTES_OF_PRODUCTS if code.has_products else CHUNK_BYTES
    arrays = (*code.cells, *code.made * _COPIES_MADE)
    sizes = _chunk_extents(arrays, extents, limit)
    starts = tuple(first for first, _ in ranges)
    return Executable(code, tuple(_chunks(starts, extents, sizes)))


def _bytes_of(cell: Cell, extents: Sequence[int]) -> int:
    size = math.prod(cell.shape(extents)) * cell.dtype.itemsize
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _chunk_extents(cells: Sequence[Cell], extents: Sequence[int], limit: int) -> tuple[int, ...]:
    """Cut the slowest axes until intermediate results fit the limit."""
    sizes = list(extents)
    for axis, extent in enumerate(extents):
        total = sum([_bytes_of(cell, sizes) for cell in cells])
        if total <= limit:
            break
        parts = min(extent, -(-total // limit))
        sizes[axis] = -(-extent // parts)
    return tuple(sizes)


def _chunks(starts: Sequence[int], extents: Sequence[int], sizes: Sequence[int]) -> Iterator[Chunk]:
    axes = [
        range(start, start + extent, size)
        for start, extent, size in zip(starts, extents, sizes, strict=True)
    ]
    ends = [start + extent for start, extent in zip(starts, extents, strict=True)]
    for corner in itertools.product(*axes):
        counts = tuple(
            min(size, end - place) for place, size, end in zip(corner, sizes, ends, strict=True)
        )
        yield corner, counts


def _carved(block: Array, cells: Sequence[Cell], extents: Sequence[int]) -> list[Array]:
    """Place the cells of a chunk in a block, one behind the other."""
    offset = -block.__array_interface__["data"][0] % _ALIGNMENT
    made = []
    memory: Any = block
    for cell in cells:
        shape, layout = cell.shape(extents), cell.layout
        if layout == tuple(range(len(shape))):
            array = np.ndarray(shape, cell.dtype, memory, offset)
        else:
            stored = tuple([shape[axis] for axis in layout])
            back = tuple([layout.index(axis) for axis in range(len(shape))])
            array = np.ndarray(stored, cell.dtype, memory, offset).transpose(back)
        made.append(array)
        offset += _bytes_of(cell, extents)
    return made
