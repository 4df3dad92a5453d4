"""Busy and idle time, compared with a count of every nanosecond."""

from itertools import chain

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.figures import busy
from kvtrace.figures.busy import Busy, _Spans

INTERVALS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda at: (at[0], at[0] + at[1])),
    min_size=1,
    max_size=12,
)


def covered(intervals):
    """Which of the first 80 ns some interval covers."""
    line = np.zeros(80, bool)
    for begin, end in intervals:
        line[begin:end] = True
    return line


def spans_of(pieces):
    spans = _Spans()
    for piece in pieces:
        begin, end = (np.array(each, np.int64) for each in zip(*piece, strict=True))
        spans.add(begin, end)
    return spans


@settings(deadline=None)
@given(st.lists(INTERVALS, min_size=1, max_size=4))
def test_the_union_of_intervals_covers_the_same_times(pieces):
    begin, end = spans_of(pieces).merged()

    assert (covered(zip(begin, end, strict=True)) == covered(chain(*pieces))).all()
    assert (begin[1:] > end[:-1]).all()


@settings(deadline=None)
@given(st.lists(INTERVALS, min_size=1, max_size=6))
def test_over_the_limit_the_shortest_gaps_count_as_busy_and_are_counted(pieces):
    most, busy._MOST_SPANS = busy._MOST_SPANS, 4
    try:
        spans = spans_of(pieces)
        begin, end = spans.merged()
    finally:
        busy._MOST_SPANS = most

    whole = covered(chain(*pieces))
    assert (covered(zip(begin, end, strict=True)) | ~whole).all()
    assert int((end - begin).sum()) - int(whole.sum()) <= spans.filled_ns


def test_busy_times_of_runs_are_summed():
    assert Busy(10, 4, 1, 6) + Busy(1, 1) == Busy(11, 5, 1, 6)
