"""Boxes: the lane range along each axis of masks such as `lanes < n`, equal in all programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from kvtrace.evaluate.sums import factors_of
from kvtrace.evaluate.values import Array, Sum

_Cuttable = TypeVar("_Cuttable", bound=Any)


@dataclass(frozen=True)
class Box:
    """Lane ranges per axis (first, one past the last), and factors that are not ranges."""

    ranges: tuple[tuple[int, int], ...]
    other_factors: tuple[Array, ...]

    @property
    def is_empty(self) -> bool:
        """The box has no lanes."""
        return any(low >= high for low, high in self.ranges)

    @property
    def extents(self) -> tuple[int, ...]:
        """The number of lanes along each axis."""
        return tuple(high - low for low, high in self.ranges)


def box_of(mask: Any, shape: tuple[int, ...]) -> Box | None:
    """Return the box of a mask over `shape`; None if no factor is one range of lanes."""
    if not shape:
        return None
    ranges = [(0, extent) for extent in shape]
    other_factors: list[Array] = []
    for factor in factors_of(mask):
        axis_range = _range_of(factor)
        if axis_range is None:
            other_factors.append(factor)
            continue
        axis, low, high = axis_range
        ranges[axis] = (max(low, ranges[axis][0]), min(high, ranges[axis][1]))
    if len(other_factors) == len(factors_of(mask)):
        return None
    return Box(tuple(ranges), tuple(other_factors))


def _range_of(factor: Array) -> tuple[int, int, int] | None:
    """Return (axis, first, one past last) of a factor that is one range of lanes, else None."""
    axes = [axis for axis, extent in enumerate(factor.shape) if extent != 1]
    if not axes:
        return None if factor.reshape(-1)[0] else (0, 0, 0)
    if len(axes) != 1 or axes[0] == 0:
        return None
    active = np.flatnonzero(factor.reshape(-1))
    if not len(active):
        return axes[0] - 1, 0, 0
    low, high = int(active[0]), int(active[-1]) + 1
    return (axes[0] - 1, low, high) if high - low == len(active) else None


def cropped(value: _Cuttable, box: Box) -> _Cuttable:
    """Return the part of an array or Sum inside a box; axes of extent 1 are not cut."""
    if isinstance(value, Sum):
        terms = tuple(cropped(term, box) for term in value.terms)
        return Sum(value.constant, terms, value.low, value.high)  # type: ignore[return-value]
    index = tuple(
        slice(None) if extent == 1 else slice(low, high)
        for extent, (low, high) in zip(value.shape[1:], box.ranges, strict=True)
    )
    return value[(slice(None), *index)]  # type: ignore[no-any-return]
