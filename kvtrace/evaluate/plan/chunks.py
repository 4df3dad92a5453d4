"""How many programs run at once: as many as leave the processor's caches of use."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from kvtrace.evaluate.plan.code.cells import Cell, Generated
from kvtrace.evaluate.plan.execute import Chunk, Executable, bytes_of
from kvtrace.evaluate.plan.instructions import Instruction, Load, Loop, Store

CHUNK_BYTES = 4 << 20
"""How much the intermediate results of the programs that run at once may take together."""

MOVED_BYTES = 10 << 20
"""The same with what they read and write, of which the second time is from the cache.

Not where matrices are multiplied: products of taller ones are worth more than the cache.
"""

_COPIES_MADE = 2
"""How many arrays functions hold on to while they make one."""


def executable(
    code: Generated,
    instructions: Sequence[Instruction],
    axes: Sequence[int],
    ranges: Sequence[tuple[int, int]],
) -> Executable:
    """Divide the programs of a region (first and last value along each axis) into chunks.

    `code` does the `instructions`; `axes` are the symbols of the program axes.
    """
    extents = [last - first + 1 for first, last in ranges]
    arrays = [*code.cells, *code.made * _COPIES_MADE]
    sizes = _cut(arrays, extents, extents, CHUNK_BYTES)
    if arrays and not code.has_products:
        sizes = _cut([*arrays, *moved(instructions, axes)], extents, sizes, MOVED_BYTES)
    starts = tuple(first for first, _ in ranges)
    return Executable(code, tuple(_chunks(starts, extents, sizes)))


def moved(instructions: Sequence[Instruction], axes: Sequence[int]) -> list[Cell]:
    """Return what is read and written as if it were cells; what is read twice counts once."""
    found: dict[tuple[object, ...], Cell] = {}
    _find_moved(instructions, axes, {}, found)
    return list(found.values())


def _find_moved(
    instructions: Sequence[Instruction],
    axes: Sequence[int],
    trips: dict[int, int],
    found: dict[tuple[object, ...], Cell],
) -> None:
    for instruction in instructions:
        if isinstance(instruction, Loop):
            first, last = instruction.trips
            inside = trips | {instruction.symbol: last - first + 1}
            _find_moved(instruction.body, axes, inside, found)
            continue
        if not isinstance(instruction, Load | Store):
            continue
        steps = dict(instruction.form.outer)
        over = tuple([steps[symbol] for symbol in trips if symbol in steps])
        times = math.prod([trips[symbol] for symbol in trips if symbol in steps])
        strides = tuple([steps.get(symbol, 0) for symbol in axes])
        lanes = _lanes_of(instruction)
        key = (instruction.argument, instruction.form.constant, strides, over, times, lanes)
        varying = tuple([stride != 0 for stride in strides])
        layout = tuple(range(len(axes) + 1))
        cell = Cell(varying, (times * math.prod(lanes),), instruction.dtype, layout)
        found.setdefault(key, cell)


def _lanes_of(instruction: Load | Store) -> tuple[int, ...]:
    if isinstance(instruction, Store):
        return instruction.lanes
    assert instruction.target is not None
    return instruction.target.lanes


def _cut(
    cells: Sequence[Cell], extents: Sequence[int], sizes: Sequence[int], limit: int
) -> tuple[int, ...]:
    """Cut the slowest axes of chunks into equal parts until all cells fit the limit."""
    cut = list(sizes)
    for axis, extent in enumerate(extents):
        total = sum([bytes_of(cell, cut) for cell in cells])
        if total <= limit:
            break
        parts = min(extent, -(-extent * total // (cut[axis] * limit)))
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
            min(size, end - place) for place, size, end in zip(corner, sizes, ends, strict=True)
        )
        yield corner, counts
