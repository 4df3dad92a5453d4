"""Choice of the memory to read of a tensor: all of a small one, else pieces spread over it.

A tensor's elements lie in runs: a slice `x[:, :8]` of a matrix with 4096 columns has runs of 8
elements. Where runs are long, or most elements between them belong to the tensor too, pieces of the
memory between its first and last element are read, and elements of others are dropped afterwards.
Else runs are read. The distance of pieces is constant, so that one 2D copy reads them, and is no
multiple of a row: pieces of a matrix at distances of whole rows would all be of the same columns.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

#: Most bytes that are read of a tensor, and bytes of a piece.
SAMPLE_BYTES: Final = 64 << 10
_PIECE_BYTES: Final = 2 << 10
#: Most runs that are read of a tensor with short ones.
_RUNS: Final = 512
#: Tensors with at least this share of the memory between first and last element are read in pieces.
_DENSE: Final = 0.25
#: So many pieces of a row cover it, wherever they are.
_FEW_PIECES: Final = 8
#: The fractional part of the golden ratio: its multiples are spread over a row most evenly.
_GOLDEN: Final = 0.6180339887

#: Dimensions in memory: pairs of stride and size, in elements, the largest stride first.
Steps = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class SampledRanges:
    """Ranges of a tensor's memory, in elements from its first one.

    Attributes:
        elements: the tensor's distinct elements.
        offsets: where the ranges begin, in the order in which they are read.
        length: of each range.
        steps: those of the tensor if the ranges have elements of others, too; else ().
    """

    elements: int
    offsets: tuple[int, ...]
    length: int
    steps: Steps = ()


def sampled_ranges(
    shape: Sequence[int], strides: Sequence[int], element_bytes: int
) -> SampledRanges | None:
    """Return the memory to read of a tensor, or None if it has no element.

    Args:
        shape: of the tensor.
        strides: in elements, none below zero.
        element_bytes: bytes of an element.

    """
    if 0 in shape:
        return None
    steps = _merged(shape, strides)
    span = 1 + sum((size - 1) * stride for stride, size in steps)
    elements = math.prod(size for _, size in steps)
    if elements >= span or _overlap(steps):
        elements, steps = span, ()
    if span * element_bytes <= SAMPLE_BYTES:
        return SampledRanges(elements, (0,), span, steps)
    if elements >= _DENSE * span:
        rows = [stride for stride in strides if stride > 1]
        length = _PIECE_BYTES // element_bytes
        offsets = _spread(span - length + 1, SAMPLE_BYTES // _PIECE_BYTES, rows)
        return SampledRanges(elements, offsets, length, steps)
    return _sampled_runs(elements, steps, element_bytes)


def _sampled_runs(elements: int, steps: Steps, element_bytes: int) -> SampledRanges:
    run = steps[-1][1] if steps[-1][0] == 1 else 1
    outer = steps[:-1] if steps[-1][0] == 1 else steps
    length = min(run, _PIECE_BYTES // element_bytes)
    pieces = run // length  # of each run; the rest of a run is not read
    count = min(_RUNS, SAMPLE_BYTES // (length * element_bytes))
    rows = [pieces * math.prod(size for _, size in outer[n:]) for n in range(1, len(outer) + 1)]
    numbers = _spread(elements // run * pieces, count, rows)
    offsets = tuple(_offset(number, outer, pieces, length) for number in numbers)
    return SampledRanges(elements, offsets, length)


def _offset(number: int, outer: Steps, pieces: int, length: int) -> int:
    """Return where a piece of a run begins; pieces are numbered in the order of memory."""
    number, piece = divmod(number, pieces)
    offset = piece * length
    for stride, size in reversed(outer):
        number, index = divmod(number, size)
        offset += index * stride
    return offset


def _spread(total: int, count: int, rows: Sequence[int]) -> tuple[int, ...]:
    """Return up to `count` of the numbers below `total`, at a constant distance, modulo `total`.

    The distance is, modulo the largest of `rows` with few numbers, the golden ratio's fractional
    part of that row.
    """
    if total <= count:
        return tuple(range(total))
    distance = total // count
    row = max((row for row in rows if row <= _FEW_PIECES * distance), default=1)
    distance += (round(_GOLDEN * row) - distance) % row
    return tuple(number * distance % total for number in range(count))


def _merged(shape: Sequence[int], strides: Sequence[int]) -> Steps:
    """Return the steps of a tensor; dimensions that continue each other in memory are one."""
    merged: list[tuple[int, int]] = []
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size == 1 or stride == 0:
            continue
        if merged and stride == merged[-1][0] * merged[-1][1]:
            merged[-1] = (merged[-1][0], merged[-1][1] * size)
        else:
            merged.append((stride, size))
    return tuple(reversed(merged))


def _overlap(steps: Steps) -> bool:
    """Return whether a tensor may have several elements in one place."""
    covered = 1
    for stride, size in reversed(steps):
        if stride < covered:
            return True
        covered += (size - 1) * stride
    return False
