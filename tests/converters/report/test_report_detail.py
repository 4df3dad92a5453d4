"""Rows of the page where there are too many for all: parts of the timeline that are complete."""

from itertools import pairwise

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kvtrace.converters.report.detail import (
    MOST_ROWS,
    detail_plan,
    detailed,
    in_ranges,
    nearby,
)
from kvtrace.converters.report.slices import Slices
from kvtrace.figures.columns import narrow
from kvtrace.figures.gaps import Gaps, StepTimes
from tests.support.thorough import usually

LENGTH = 14_000
ROWS = st.lists(
    st.tuples(
        st.integers(0, 10_000), st.integers(0, 3_000), st.sampled_from((-1, 0, 1, 2, 200))
    ),
    min_size=1, max_size=60,
)  # fmt: skip
RANGES = st.lists(
    st.tuples(st.integers(0, LENGTH), st.integers(0, 2_000)).map(lambda at: (at[0], sum(at))),
    max_size=4,
)


def slices(rows: list[tuple[int, int, int]]) -> Slices:
    """Slices from (begin, duration, call), in columns as narrow as the page's."""
    columns = np.array(sorted(rows), np.int64).reshape(-1, 3).T
    begin, duration, call = map(narrow, columns)
    zeros = np.zeros(len(rows), np.int64)
    return Slices(begin, duration, zeros, call, zeros, zeros, np.arange(len(rows)))


def overlap(row: tuple[int, int], low: int, high: int) -> bool:
    begin, duration = row
    return low < high and begin < high and max(begin + duration, begin + 1) > low


@settings(max_examples=usually(50, thorough=200))
@given(ROWS, RANGES, st.integers(20, 70))
def test_ranges_on_the_page_have_all_their_rows(rows, ranges, keep):
    every = slices(rows)
    complete, kept = detailed(every, [*ranges, (0, LENGTH)], keep, all_read=True)
    assert all(high < low for (_, high), (low, _) in pairwise(complete))
    on_page = set(kept.seq.tolist())
    for seq, row in enumerate(zip(every.begin.tolist(), every.duration.tolist(), strict=True)):
        if any(overlap(row, *part) for part in complete):
            assert seq in on_page


@given(ROWS, RANGES, st.integers(20, 70))
def test_first_and_longest_row_of_each_call_are_on_the_page(rows, ranges, keep):
    every = slices(rows)
    _, kept = detailed(every, [*ranges, (0, LENGTH)], keep, all_read=True)
    for call in set(every.call.tolist()) - {-1}:
        mine, chosen = every.call == call, kept.call == call
        assert every.duration[mine].max() == kept.duration[chosen].max()
        assert every.begin[mine].min() == kept.begin[chosen].min()


def test_ranges_are_taken_in_their_order_while_there_is_room():
    ten = slices([(begin, 1, -1) for begin in range(10)])
    plan = ((4, 6), (8, 9), (0, 10))
    assert detailed(ten, plan, 3, all_read=True)[1].seq.tolist() == [4, 5, 8]
    assert detailed(ten, plan, 3, all_read=True)[0] == ((4, 6), (8, 9))
    assert detailed(ten, plan, 7, all_read=True)[1].seq.tolist() == [3, 4, 5, 6, 8]
    assert detailed(ten, plan, 13, all_read=True)[0] == ((0, 10),)


@given(ROWS, RANGES)
@example([(2, 127, -1)], [(3, 4)])  # its end is beyond the type of its column
def test_rows_are_selected_by_ranges(rows, ranges):
    every = slices(rows)
    selected = in_ranges(every.begin, every.duration, [*ranges, (0, 0)])
    assert selected.tolist() == [
        any(overlap(row, *part) for part in ranges)
        for row in zip(every.begin.tolist(), every.duration.tolist(), strict=True)
    ]


def test_of_rows_of_ranges_none_is_kept_as_the_longest_of_its_call():
    few = slices([(begin, 1 + 50 * (begin == 9), 1) for begin in range(10)])
    assert detailed(few, ((4, 6), (4, 6)), 20, all_read=False)[1].seq.tolist() == [4, 5]
    assert detailed(few, ((4, 6), (4, 6)), 20, all_read=True)[1].seq.tolist() == [0, 4, 5, 9]


def test_plan_begins_with_the_steps_that_are_shown_first_and_the_slowest():
    times = StepTimes("run", 5, (0, 100, 200, 300, 450), (100, 100, 100, 150, 100), {})
    plan = detail_plan(Gaps(0, {}, (), steps=(times,)), 1_000, 9_000)
    assert plan[0] == (1_071, 1_479)  # steps 1 to 3 and a quarter of a step around them
    assert plan[1] == (1_300, 1_450)
    assert plan[-1] == (0, 9_001)
    assert len(plan) == 7
    whole = (1_275 - 451, 1_275 + 451)
    assert nearby(plan, 0.1, 1, lambda _: MOST_ROWS) == (*plan[:-1], whole)
    assert nearby(plan, 0.1, 8, lambda _: MOST_ROWS) == (*plan[:3], whole)
    assert detail_plan(None, 0, 50) == ((0, 51),)


def test_ranges_with_too_many_rows_for_a_page_are_not_read():
    plan = ((10, 30), (40, 44), (0, 100))
    rows = {(10, 30): MOST_ROWS + 1, (40, 44): MOST_ROWS}
    assert nearby(plan, 0.1, 1, rows.__getitem__) == ((20, 20), (40, 44), (14, 26))


def test_launches_that_caused_executions_come_before_ranges():
    ten = slices([(begin, 1, -1) for begin in range(10)])
    plan = ((4, 7), (0, 10))
    causes = np.array([1, 4, 5, 9])
    ranges, kept = detailed(ten, plan, 5, all_read=False, causes=causes)
    assert (ranges, kept.seq.tolist()) == (((4, 7),), [1, 4, 5, 6, 9])
    ranges, kept = detailed(ten, plan, 4, all_read=False, causes=causes)
    assert (ranges, kept.seq.tolist()) == ((), [1, 4, 5, 9])
    assert detailed(ten, plan, 2, all_read=False, causes=causes)[1].seq.tolist() == [4, 5]
