"""Nesting order of begins and ends on a track, and lanes for slices that overlap.

A viewer closes the slice that began last, so slices on one track must nest or follow one another.
Points of equal times are ordered: ends of earlier slices, the last begun first; then begins, the
longest first; then zero-length slices, each with begin and end. Slices that overlap without nesting
are on different lanes: of 0..10, 5..15 and 10..20, the second is on lane 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]

#: Approximate number of slices that are processed together.
_PIECE_ROWS: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class Points:
    """Begins and ends of slices in nesting order: times (ns), row numbers, and true for ends."""

    times: Times
    rows: Rows
    ends: npt.NDArray[np.bool_]


def independent_rows(begin: Times, duration: Times) -> Iterator[Rows]:
    """Yield row numbers ordered by begin (the longest first at equal begins), in pieces.

    No slice of one piece overlaps a slice of another, so pieces can be processed independently, in
    memory that does not grow with the number of slices.
    """
    order = None if _is_sorted(begin, duration) else np.lexsort((-duration.astype(np.int64), begin))
    start, latest_end = 0, np.iinfo(np.int64).min
    for block in range(0, begin.size, _PIECE_ROWS):
        rows = _row_range(order, block, min(block + _PIECE_ROWS, begin.size))
        begins = begin[rows]
        ends = np.maximum.accumulate(np.append(latest_end, begins + duration[rows]))
        starts_of_pieces = np.flatnonzero(begins >= ends[:-1])
        piece_end = block + int(starts_of_pieces[-1]) if starts_of_pieces.size else start
        if piece_end > start:
            yield _row_range(order, start, piece_end)
            start = piece_end
        latest_end = ends[-1]
    if start < begin.size:
        yield _row_range(order, start, begin.size)


def _row_range(order: Rows | None, start: int, stop: int) -> Rows:
    return np.arange(start, stop) if order is None else order[start:stop]


def _is_sorted(begin: Times, duration: Times) -> bool:
    for block in range(0, begin.size, _PIECE_ROWS):
        begins, durations = (
            column[block : block + _PIECE_ROWS + 1] for column in (begin, duration)
        )
        later, equal = begins[1:] > begins[:-1], begins[1:] == begins[:-1]
        if not np.all(later | (equal & (durations[1:] <= durations[:-1]))):
            return False
    return True


def points_in_pieces(begin: Times, duration: Times) -> Iterator[Points]:
    """Yield begins and ends in nesting order, in pieces; the slices must nest (one lane)."""
    for rows in independent_rows(begin, duration):
        begins = begin[rows]
        points = _points_in_order(begins, begins + duration[rows])
        yield Points(points.times, rows[points.rows], points.ends)


def lanes(begin: Times, duration: Times) -> npt.NDArray[np.int64] | None:
    """Return the lane of each slice, the lowest on which it nests; None if all are on lane 0."""
    lane = None
    for rows in independent_rows(begin, duration):
        begins = begin[rows]
        lanes_of_rows = _lanes_in_order(begins, begins + duration[rows])
        if lanes_of_rows is not None:
            lane = np.zeros(begin.size, np.int64) if lane is None else lane
            lane[rows] = lanes_of_rows
    return lane


def _points_in_order(begin: Times, end: Times) -> Points:
    """Return begins and ends in nesting order; slices are ordered as by `independent_rows`."""
    rows = np.repeat(np.arange(begin.size), 2)
    ends = np.zeros(rows.size, np.bool_)
    ends[1::2] = True
    cluster = _clusters(begin, end)
    if cluster.size and cluster[-1] + 1 < cluster.size:  # some cluster has more than one slice
        _order_inside_clusters(rows, ends, np.repeat(cluster, 2), begin, end)
    return Points(np.where(ends, end[rows], begin[rows]), rows, ends)


def _lanes_in_order(begin: Times, end: Times) -> npt.NDArray[np.int64] | None:
    cluster = _clusters(begin, end)
    if cluster[-1] + 1 == cluster.size:
        return None
    overlapping = np.flatnonzero(np.bincount(cluster)[cluster] > 1)
    if _nests(begin[overlapping], end[overlapping]):
        return None
    lane = np.zeros(begin.size, np.int64)
    lane[overlapping] = _first_fit(begin[overlapping].tolist(), end[overlapping].tolist())
    return lane


def _clusters(begin: Times, end: Times) -> Rows:
    """Return a number for each slice, equal for slices connected by overlaps.

    Slices are ordered by begin.
    """
    if not begin.size:
        return np.zeros(0, np.int64)
    new = begin[1:] >= np.maximum.accumulate(end)[:-1]
    return np.concatenate([[0], np.cumsum(new)]).astype(np.int64)


def _order_inside_clusters(
    rows: Rows, ends: npt.NDArray[np.bool_], cluster: Rows, begin: Times, end: Times
) -> None:
    """Sort the points of clusters with several slices into nesting order, in `rows` and `ends`."""
    points = np.flatnonzero(np.bincount(cluster)[cluster] > 2)
    row, is_end = rows[points], ends[points]
    time = np.where(is_end, end[row], begin[row])
    is_empty = begin[row] == end[row]
    kind = np.where(is_empty, 2, np.where(is_end, 0, 1))
    opposite_time = np.where(is_end, begin[row], end[row])
    rank = np.arange(row.size)  # in begin order; an end follows its begin
    nesting = np.where(kind == 0, -rank, rank)
    order = np.lexsort((nesting, -opposite_time, kind, time, cluster[points]))
    rows[points], ends[points] = row[order], is_end[order]


def _nests(begin: Times, end: Times) -> bool:
    """Return whether each end closes the slice that began last, so that all slices nest."""
    points = _points_in_order(begin, end)
    steps = np.where(points.ends, -1, 1)
    depth = np.cumsum(steps) + points.ends
    by_depth = points.rows[np.argsort(depth, kind="stable")]
    return bool(np.array_equal(by_depth[0::2], by_depth[1::2]))


def _first_fit(begins: list[int], ends: list[int]) -> list[int]:
    """Return for each slice, in begin order, the lowest lane on which it nests or follows."""
    open_ends: list[list[int]] = []
    lane_of = []
    for begin, end in zip(begins, ends, strict=True):
        for lane, stack in enumerate(open_ends):
            while stack and stack[-1] <= begin:
                stack.pop()
            if not stack or stack[-1] >= end:
                stack.append(end)
                lane_of.append(lane)
                break
        else:
            open_ends.append([end])
            lane_of.append(len(open_ends) - 1)
    return lane_of
