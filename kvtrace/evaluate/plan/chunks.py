"""Chunks: programs that run at once, as many as have intermediate results within a limit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from kvtrace.evaluate.plan.code.cells import Cell, GeneratedCode
from kvtrace.evaluate.plan.execute import Chunk, Executable, bytes_of

CHUNK_BYTES = 4 << 20
"""The size limit of all intermediate results of the programs that run at once."""

_TEMPORARIES = 2
"""The number of arrays that a function has in memory while it creates one."""


def executable(
    code: GeneratedCode,
    ranges: Sequence[tuple[int, int]],
) -> Executable:
    """Return a region's code, with the ranges of its program axes cut into chunks."""
    extents = [last - first + 1 for first, last in ranges]
    arrays = [*code.cells, *code.made * _TEMPORARIES]
    sizes = _chunk_extents(arrays, extents)
    starts = tuple(first for first, _ in ranges)
    return Executable(code, tuple(_chunks(starts, extents, sizes)))


def _chunk_extents(cells: Sequence[Cell], extents: Sequence[int]) -> tuple[int, ...]:
    """Return the extents of a chunk: the slowest axes are cut evenly until all cells fit."""
    chunk = list(extents)
    for axis, extent in enumerate(extents):
        total = sum([bytes_of(cell, chunk) for cell in cells])
        if total <= CHUNK_BYTES:
            break
        chunk_count = min(extent, -(-extent * total // (chunk[axis] * CHUNK_BYTES)))
        chunk[axis] = -(-extent // chunk_count)
    return tuple(chunk)


def _chunks(starts: Sequence[int], extents: Sequence[int], sizes: Sequence[int]) -> Iterator[Chunk]:
    """Yield the first value and the count along each axis of every chunk."""
    axes = [
        range(start, start + extent, size)
        for start, extent, size in zip(starts, extents, sizes, strict=True)
    ]
    ends = [start + extent for start, extent in zip(starts, extents, strict=True)]
    for corner in itertools.product(*axes):
        counts = tuple(
            min(size, end - begin) for begin, size, end in zip(corner, sizes, ends, strict=True)
        )
        yield corner, counts
