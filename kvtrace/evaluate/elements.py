"""Elements of an access in a storage: where they lie, and reading them under a mask."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate.rounding import from_memory
from kvtrace.evaluate.types import ElementType, ValueType
from kvtrace.evaluate.values import Array
from kvtrace.evaluate.windows import (
    Box,
    Window,
    cropped,
    divided,
    leading_full,
    read_masked,
    read_window,
)


class Reach(Struct, frozen=True, eq=False):
    """The elements of an access: a window of its lanes, or of those in a box, if it has one.

    `active` are the lanes of the window that take part, None for all.
    """

    window: Window
    box: Box | None
    active: Array | None

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        arrays = (self.window.base, self.active, *(self.box.other_factors if self.box else ()))
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


def read_lanes(flat: Array, window: Window, type_: ValueType, active: Array, other: Any) -> Array:
    """Return the elements of active lanes; other lanes have `other`, or zero if None."""
    element, rank = type_.element, len(type_.shape) + 1
    fill: Any = element.value.type(0) if other is None else other
    full = leading_full(window, active) if np.shape(fill)[:1] in ((), (1,)) else 0
    if full:
        head, rest = divided(window, full)
        first = read_window(flat, head, rank, copy=False)
        if full == len(active):
            return from_memory(first, element)
        last = _masked(read_masked(flat, rest, rank, active[full:]), element, active[full:], fill)
        result = np.empty((len(active), *last.shape[1:]), element.value)
        result[:full] = from_memory(first, element)
        result[full:] = last
        return result
    return _masked(read_masked(flat, window, rank, active), element, active, fill)


def _masked(stored: Array, element: ElementType, active: Array, fill: Any) -> Array:
    values = from_memory(stored, element)
    return np.where(active, values, fill).astype(element.value, copy=False)


def read_box(flat: Array, reach: Reach, box: Box, type_: ValueType, other: Any) -> Array:
    """Return the elements inside a box and its other factors; `other` or zero elsewhere."""
    element, rank = type_.element, len(type_.shape) + 1
    fill: Any = element.value.type(0) if other is None else other
    if box.is_empty:
        return np.broadcast_to(fill, (1,) * rank) if np.ndim(fill) == 0 else fill
    if reach.active is not None:
        inner_fill = cropped(fill, box) if isinstance(fill, np.ndarray) else fill
        inner_type = replace(type_, shape=box.extents)
        values = read_lanes(flat, reach.window, inner_type, reach.active, inner_fill)
    else:
        values = from_memory(read_window(flat, reach.window, rank, copy=False), element)
    fill_shape = np.shape(fill) or (1,) * rank
    shape = [max(values.shape[0], fill_shape[0])]
    for axis, (low, high) in enumerate(box.ranges, start=1):
        extent = type_.shape[axis - 1]
        varies = high - low != extent or values.shape[axis] != 1 or fill_shape[axis] != 1
        shape.append(extent if varies else 1)
    result = np.empty(shape, element.value)
    ranges = [(0, 1) if extent == 1 else x for x, extent in zip(box.ranges, shape[1:], strict=True)]
    cut = [axis for axis, (low, high) in enumerate(ranges, start=1) if high - low != shape[axis]]
    if len(cut) == 1 and np.ndim(fill) == 0:
        lanes = np.moveaxis(result, cut[0], -1)
        low, high = ranges[cut[0] - 1]
        lanes[..., :low] = lanes[..., high:] = fill
    else:
        result[...] = fill
    result[(slice(None), *(slice(low, high) for low, high in ranges))] = values
    return result
