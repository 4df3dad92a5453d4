from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kvtrace.converters.timeline import nesting
from kvtrace.converters.timeline.nesting import Points, lanes, points_in_pieces
from tests.support.thorough import usually

#: Few distinct times, so that equal, touching, nested, empty and overlapping slices are common.
SLICES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 8)), max_size=25)


def columns(slices):
    begin = np.array([begin for begin, _ in slices], np.int64)
    return begin, np.array([length for _, length in slices], np.int64)


def points_of(begin, duration):
    """All points, whatever independent_rows they come in."""
    found = list(points_in_pieces(begin, duration))
    return Points(*map(np.concatenate, zip(*map(astuple, found), strict=True)))


def closed_by_a_viewer(points):
    """What a viewer makes of the points: each end closes what was begun last."""
    stack, closed = [], {}
    for time, row, is_end in zip(points.times, points.rows, points.ends, strict=True):
        if not is_end:
            stack.append((row, time))
            continue
        begun, since = stack.pop()
        closed[begun] = (since, time)
    assert stack == []
    return closed


@settings(max_examples=usually(37, thorough=1000))
@given(SLICES)
@example([(0, 10), (10, 0), (10, 5), (10, 0), (2, 3), (2, 3), (2, 0)])
def test_nested_slices_on_every_lane_keep_their_times(slices):
    begin, duration = columns(slices)
    lane = lanes(begin, duration)
    lane = np.zeros(begin.size, np.int64) if lane is None else lane

    for number in range(int(lane.max(initial=-1)) + 1):
        rows = np.flatnonzero(lane == number)
        points = points_of(begin[rows], duration[rows])

        assert np.all(np.diff(points.times) >= 0)
        closed = closed_by_a_viewer(points)
        expected = {i: (begin[row], begin[row] + duration[row]) for i, row in enumerate(rows)}
        assert closed == expected


@settings(max_examples=usually(20, thorough=500))
@given(SLICES)
def test_nested_slices_share_one_lane(slices):
    begin, duration = columns(slices)
    end = begin + duration
    pairs = [(a, b) for a in range(len(slices)) for b in range(len(slices)) if a < b]
    crossing = any(
        begin[a] < begin[b] < end[a] < end[b] or begin[b] < begin[a] < end[b] < end[a]
        for a, b in pairs
    )

    assert (lanes(begin, duration) is not None) == crossing


@pytest.mark.parametrize("size", [1, 2, 5])
@settings(max_examples=usually(25, thorough=300))
@given(slices=SLICES)
def test_independent_rows_do_not_change_lanes(size, slices):
    begin, duration = columns(slices)
    once = lanes(begin, duration)
    points = [] if not slices else points_of(begin, duration)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nesting, "_PIECE_ROWS", size)
        assert np.array_equal(lanes(begin, duration), once)
        if slices and once is None:
            by_pieces = points_of(begin, duration)
            assert np.array_equal(by_pieces.rows, points.rows)
            assert np.array_equal(by_pieces.ends, points.ends)
            assert np.array_equal(by_pieces.times, points.times)


def test_isolated_slices_are_processed_in_batches():
    begin = np.arange(3_000_000) * 10

    sizes = [
        rows.size for rows in nesting.independent_rows(begin, np.full(begin.size, 10, np.int32))
    ]

    assert sum(sizes) == begin.size
    assert max(sizes) <= 1 << 20


def test_slice_that_follows_another_is_on_its_lane_again():
    lane = lanes(np.array([0, 5, 10]), np.array([10, 10, 10]))

    assert lane is not None
    assert lane.tolist() == [0, 1, 0]


def test_slices_that_follow_each_other_keep_their_order():
    begin = np.array([0, 10, 10, 30])
    duration = np.array([10, 0, 10, 10])

    points = points_of(begin, duration)

    assert points.times.tolist() == [0, 10, 10, 10, 10, 20, 30, 40]
    assert closed_by_a_viewer(points) == {0: (0, 10), 1: (10, 10), 2: (10, 20), 3: (30, 40)}
