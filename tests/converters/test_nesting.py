import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kvtrace.converters.nesting import lanes, points_in_order

#: Few distinct times, so that equal, touching, nested, empty and overlapping slices are common.
SLICES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 8)), max_size=25)


def columns(slices):
    begin = np.array([begin for begin, _ in slices], np.int64)
    return begin, begin + np.array([length for _, length in slices], np.int64)


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


@settings(max_examples=500)
@given(SLICES)
@example([(0, 10), (10, 0), (10, 5), (10, 0), (2, 3), (2, 3), (2, 0)])
def test_on_every_lane_a_viewer_sees_the_slices_as_they_were(slices):
    begin, end = columns(slices)
    lane = lanes(begin, end)

    for number in range(int(lane.max(initial=-1)) + 1):
        rows = np.flatnonzero(lane == number)
        points = points_in_order(begin[rows], end[rows])

        assert np.all(np.diff(points.times) >= 0)
        closed = closed_by_a_viewer(points)
        expected = {i: (begin[row], end[row]) for i, row in enumerate(rows)}
        assert closed == expected


@settings(max_examples=300)
@given(SLICES)
def test_slices_that_nest_need_one_lane(slices):
    begin, end = columns(slices)
    pairs = [(a, b) for a in range(len(slices)) for b in range(len(slices)) if a < b]
    crossing = any(
        begin[a] < begin[b] < end[a] < end[b] or begin[b] < begin[a] < end[b] < end[a]
        for a, b in pairs
    )

    assert lanes(begin, end).any() == crossing


def test_slices_that_follow_each_other_keep_their_order():
    begin = np.array([0, 10, 10, 30])
    end = np.array([10, 10, 20, 40])

    points = points_in_order(begin, end)

    assert points.times.tolist() == [0, 10, 10, 10, 10, 20, 30, 40]
    assert closed_by_a_viewer(points) == {0: (0, 10), 1: (10, 10), 2: (10, 20), 3: (30, 40)}
