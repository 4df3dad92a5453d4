"""The bytes of a tensor's elements in its storage."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from kvtrace.addons.memory.byte_ranges import MOST_RANGES, NOTHING, ByteRanges
from kvtrace.metrics.unique_bytes import TooManyRanges, merged


def tensor_bytes(
    offset_bytes: int, shape: Sequence[int], strides: Sequence[int], element_bytes: int
) -> ByteRanges:
    """Return the bytes of a tensor's elements; shape and strides are in elements.

    Raises:
        TooManyRanges: they are in more than MOST_RANGES ranges.
    """
    if 0 in shape:
        return NOTHING
    length = element_bytes
    outer: list[tuple[int, int]] = []  # sizes and steps in bytes of axes with gaps
    axes = zip(shape, strides, strict=True)
    for size, stride in sorted(axes, key=lambda axis: (axis[1], axis[0])):
        step = stride * element_bytes
        if size == 1 or step == 0:
            continue
        if not outer and step <= length:
            length += (size - 1) * step
        else:
            outer.append((size, step))
    if not outer:
        return ByteRanges.of(offset_bytes, offset_bytes + length)
    if prod(size for size, _ in outer) > MOST_RANGES:
        raise TooManyRanges
    begins = np.full(1, offset_bytes, np.int64)
    for size, step in outer:
        begins = (begins[:, None] + np.arange(size, dtype=np.int64) * step).ravel()
    begins.sort()
    return ByteRanges(merged(begins, begins + length))
