"""Chunks: the programs that run at once, as many as their intermediate results leave room for."""

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
    """Return the code of a region with its programs (ranges of each axis) cut into chunks."""
    extents = [last - first + 1 for first, last in ranges]
    arrays = [*code.cells, *code.made * _TEMPORARIES]
    sizes = _cut(arrays, extents)
    starts = tuple(first for first, _ in ranges)
    return Executable(code, tuple(_chunks(starts, extents, sizes)))


def _cut(cells: Sequence[Cell], extents: Sequence[int]) -> tuple[int, ...]:
    """Return the extents of chunks: the slowest axes cut evenly until all cells fit the limit."""
    cut = list(extents)
    for axis, extent in enumerate(extents):
        total = sum([bytes_of(cell, cut) for cell in cells])
        if total <= CHUNK_BYTES:
            break
        parts = min(extent, -(-extent * total // (cut[axis] * CHUNK_BYTES)))
        cut[axis] = -(-extent // parts)
    return tuple(cut)


def _chunks(starts: Sequence[int], extents: Sequence[int], sizes: Sequence[int]) -> Iterator[Chunk]:
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
