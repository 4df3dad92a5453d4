"""Busy and idle time, compared with a count of every nanosecond."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.figures.busy import Busy, Timeline
from kvtrace.schema.window import RunWindow

INTERVALS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda at: (at[0], at[0] + at[1])),
    min_size=1,
    max_size=30,
).map(sorted)


def covered(intervals):
    """Which of the first 80 ns some interval covers."""
    line = np.zeros(80, bool)
    for begin, end in intervals:
        line[begin:end] = True
    return line


@settings(deadline=None)
@given(INTERVALS, st.integers(1, 12), st.booleans())
def test_gaps_are_the_times_without_an_execution(intervals, rows_of_block, is_window):
    window = RunWindow(0, 0, 0, 70) if is_window else None
    timeline = Timeline(window)
    gaps, ends_before, latest = [], [], None
    for first in range(0, len(intervals), rows_of_block):
        block = np.array(intervals[first : first + rows_of_block], np.int64)
        of_block = timeline.add(block[:, 0], block[:, 1])
        gaps += zip(of_block.begin.tolist(), of_block.end.tolist(), strict=True)
        assert (block[of_block.after, 0] == of_block.end).all()
        ends_before += [latest if row < 0 else block[row, 1] for row in of_block.before.tolist()]
        latest = latest if of_block.latest < 0 else block[of_block.latest, 1]
    # each gap begins where the execution before it ended, or with the window
    begins = [begin for begin, _ in gaps]
    assert begins == [0 if end is None else end for end in ends_before]
    gaps += [timeline.last_gap] if timeline.last_gap else []

    first, last = (0, 70) if is_window else (intervals[0][0], 0)
    last = max(last, *(end for _, end in intervals))
    line = covered(intervals)
    assert (covered(gaps)[first:last] == ~line[first:last]).all()
    busy_ns = int(line[first:last].sum())
    executions_ns = sum(end - begin for begin, end in intervals)
    idle_ns = last - first - busy_ns
    assert timeline.busy == Busy(last - first, busy_ns, executions_ns - busy_ns, idle_ns)


def test_without_an_execution_nothing_is_busy_or_idle():
    assert Timeline(RunWindow(0, 5, 0, 5)).busy is None
    assert Timeline(None).last_gap is None


def test_busy_times_of_runs_are_summed():
    assert Busy(10, 4, 1, 6) + Busy(1, 1) == Busy(11, 5, 1, 6)
