"""Execution of generated code over the chunks of a region."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from kvtrace.evaluate.plan.code.cells import Cell, GeneratedCode
    from kvtrace.evaluate.values import Array

_ALIGNMENT = 64
_MOST_CACHED_CHUNKS = 8


class _Scratch(threading.local):
    """Memory for intermediate results: one block per thread, which only grows."""

    block: Array | None = None

    def of(self, size: int) -> Array:
        """Return this thread's block, replaced first if it has fewer than `size` bytes."""
        if self.block is None or self.block.nbytes < size:
            self.block = _new_block(size)
        return self.block


def _new_block(size: int) -> Array:
    """Return a new aligned block of memory."""
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    return memory[-memory.__array_interface__["data"][0] % _ALIGNMENT :]


_scratch = _Scratch()

Chunk = tuple[tuple[int, ...], tuple[int, ...]]
"""First value and count along each program axis."""


@dataclass(eq=False)
class Executable:
    """The code of a region, the chunks of its programs, and cached arrays by chunk extents."""

    code: GeneratedCode
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
        cached = self.arrays.get(extents)
        size = None if cached is None else cached[2]
        if size is None:
            size = sum([bytes_of(cell, extents) for cell in self.code.cells])
        block = _scratch.of(size)
        if cached is not None and cached[0] is block:
            return list(cached[1])
        if len(self.arrays) >= _MOST_CACHED_CHUNKS:
            self.arrays.clear()
        arrays = _cell_arrays(block, self.code.cells, extents)
        self.arrays[extents] = (block, arrays, size)
        return arrays


def bytes_of(cell: Cell, extents: Sequence[int]) -> int:
    """Return the bytes of a cell for a chunk, rounded up to the alignment."""
    size = math.prod(cell.shape(extents)) * cell.dtype.itemsize
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _cell_arrays(block: Array, cells: Sequence[Cell], extents: Sequence[int]) -> list[Array]:
    offset = 0
    arrays = []
    memory: Any = block
    for cell in cells:
        shape, layout = cell.shape(extents), cell.layout
        if layout == tuple(range(len(shape))):
            array = np.ndarray(shape, cell.dtype, memory, offset)
        else:
            memory_shape = tuple([shape[axis] for axis in layout])
            axis_order = tuple([layout.index(axis) for axis in range(len(shape))])
            array = np.ndarray(memory_shape, cell.dtype, memory, offset).transpose(axis_order)
        arrays.append(array)
        offset += bytes_of(cell, extents)
    return arrays
