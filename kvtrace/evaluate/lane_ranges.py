"""Offset ranges of an access's active lanes, program by program, without computing all addresses.

Terms of the offset and factors of the mask that share a lane axis form a group; groups share no
axis, so they vary independently. Extremes add up, and counts multiply, over the groups, exactly:
`1000 * row + column` with row < 3 and column < 5 lies in 0 to 2004, in 15 lanes.
"""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import Any, Final

import numpy as np
from msgspec import Struct

from kvtrace.evaluate.observe import LaneRanges
from kvtrace.evaluate.sums import factors_of
from kvtrace.evaluate.values import Array, Sum

_HUGE = np.int64(1 << 62)

_PART: Final = 1 << 15
"""Elements of an array that are compared at a time: 256 kB."""


class _Group(Struct):
    axes: set[int]
    terms: list[Array]
    factors: list[Array]


def ranges_of(offset: Sum, mask: Any, shape: tuple[int, ...]) -> LaneRanges:
    """Return each program's lowest and highest offset of active lanes, and their count."""
    groups: list[_Group] = []
    for term in offset.terms:
        _add_to_groups(groups, term, term, None)
    for factor in factors_of(mask):
        _add_to_groups(groups, factor, None, factor)
    lowest: Any = np.full(1, offset.constant, np.int64)
    highest: Any = lowest
    covered: set[int] = set()
    active: Any = np.ones(1, np.int64)
    for group in groups:
        low, high, count = _group_extremes(group, shape)
        lowest, highest, active = lowest + low, highest + high, active * count
        covered |= group.axes
    for axis, extent in enumerate(shape, start=1):
        if axis not in covered:
            active = active * extent
    return LaneRanges(lowest, highest, active)


def loose_extremes(offset: Sum) -> tuple[Array, Array]:
    """Return bounds of each program's offsets over all lanes; exact unless terms share axes."""
    lowest: Any = np.full(1, offset.constant, np.int64)
    highest: Any = lowest
    for term in offset.terms:
        axes = tuple(range(1, term.ndim))
        if term.size == term.shape[0]:
            flat = term.reshape(-1)
            lowest, highest = lowest + flat, highest + flat
        else:
            lowest, highest = lowest + term.min(axis=axes), highest + term.max(axis=axes)
    return lowest, highest


def _add_to_groups(
    groups: list[_Group], array: Array, term: Array | None, factor: Array | None
) -> None:
    """Add a term or factor to `groups` in place; groups that share its lane axes are merged."""
    axes = {axis for axis in range(1, array.ndim) if array.shape[axis] != 1}
    merged = _Group(axes, [] if term is None else [term], [] if factor is None else [factor])
    for group in [group for group in groups if group.axes & axes]:
        merged.axes |= group.axes
        merged.terms += group.terms
        merged.factors += group.factors
        groups.remove(group)
    groups.append(merged)


def _group_extremes(group: _Group, shape: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """Return lowest and highest sum of a group's terms under its factors, and the lane count."""
    total: Any = reduce(np.add, group.terms) if group.terms else 0
    if not group.factors:
        if not group.axes:
            flat = total.reshape(-1)
            return flat, flat, 1
        axes = tuple(range(1, total.ndim))
        return total.min(axis=axes), total.max(axis=axes), _lane_count(group.axes, shape)
    factor = reduce(np.logical_and, group.factors)
    axes = tuple(range(1, factor.ndim))
    # Lanes of the group's axes along which the factors do not vary count as often as they repeat.
    repeated = [axis for axis in group.axes if factor.shape[axis] == 1]
    active = np.count_nonzero(factor, axis=axes)
    count = active * _lane_count(set(repeated), shape)
    if not group.terms:
        return 0, 0, count
    low, high = _extremes_where(factor, active == factor[:1].size, total, axes)
    return np.where(count > 0, low, 0), np.where(count > 0, high, 0), count


def _extremes_where(
    factor: Array, is_whole: Array, total: Array, axes: tuple[int, ...]
) -> tuple[Any, Any]:
    """Return each program's lowest and highest total where a factor is true.

    Most programs have all lanes, as `is_whole` says. If totals are the same in all programs, their
    extremes are computed once, and others for the rest of the programs.
    """
    if len(total) > 1 or len(factor) == 1 or not is_whole.any():
        return _extremes_in_parts(factor, total, axes)
    low = np.where(is_whole, total.min(axis=axes), np.int64(0))
    high = np.where(is_whole, total.max(axis=axes), np.int64(0))
    rest = np.flatnonzero(~is_whole)
    if rest.size:
        low[rest], high[rest] = _extremes_in_parts(factor[rest], total, axes)
    return low, high


def _extremes_in_parts(factor: Array, total: Array, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """Return each program's lowest and highest total where a factor is true, in parts of programs.

    Arrays of a part stay in the processor's caches.
    """
    lows, highs = [], []
    programs = max(len(factor), len(total))
    step = max(1, _PART * programs // max(factor.size, total.size, 1))
    for begin in range(0, max(programs, 1), step):
        part_of_factor, part_of_total = (
            array if len(array) == 1 else array[begin : begin + step] for array in (factor, total)
        )
        lows.append(np.where(part_of_factor, part_of_total, _HUGE).min(axis=axes))
        highs.append(np.where(part_of_factor, part_of_total, -_HUGE).max(axis=axes))
    return np.concatenate(lows), np.concatenate(highs)


def _lane_count(axes: set[int], shape: tuple[int, ...]) -> int:
    return prod(shape[axis - 1] for axis in axes)
