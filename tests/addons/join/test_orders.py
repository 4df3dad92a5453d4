"""Launches that are found by the order on their stream."""

import numpy as np

from kvtrace.addons.join.matches import Grade, Matches, Reason
from kvtrace.addons.join.orders import join_by_order
from kvtrace.addons.join.sides import RecordedLaunches, TimedExecutions
from kvtrace.figures.causes import NONE
from tests.addons.join.arrays import executed, launched


def joined(own: RecordedLaunches, theirs: TimedExecutions) -> Matches:
    """Join all executions."""
    found = Matches.none(theirs.look.size)
    every = np.ones(theirs.look.size, bool)
    join_by_order(own, theirs, every, np.ones(own.look.size, bool), set(), found)
    return found


def in_order(looks: list[int], **more: list[int]) -> RecordedLaunches:
    """Return launches one after another."""
    times = range(0, 10 * len(looks), 10)
    return launched(looks, list(times), [time + 5 for time in times], **more)


def test_equal_streams_are_joined_one_for_one() -> None:
    found = joined(in_order([1, 2, 1]), executed([1, 2, 1]))
    assert found.seq.tolist() == [0, 1, 2]
    assert set(found.grade.tolist()) == {Grade.ORDERED}


def test_a_difference_leaves_what_can_be_aligned_in_one_way_alone() -> None:
    found = joined(in_order([7, 1, 1, 8, 1]), executed([7, 1, 8, 1]))
    assert found.seq.tolist() == [0, NONE, 3, 4]
    # Which launch it is is not known; all that look like it are of one call.
    assert found.call.tolist() == [7, 1, 8, 1]
    assert set(found.grade.tolist()) == {Grade.INFERRED}


def test_calls_that_differ_leave_an_execution_without_one() -> None:
    own = in_order([1, 1, 1], call=[0, 1, 0])
    found = joined(own, executed([1, 1]))
    assert found.call.tolist() == [NONE, NONE]
    assert found.reason.tolist() == [Reason.ORDER, Reason.ORDER]


def test_streams_find_each_other_by_what_runs_on_them() -> None:
    own = in_order([1, 2, 1, 3], place=[0, 1, 0, 1])
    theirs = executed([2, 1, 3, 1], place=[4, 9, 4, 9])
    assert joined(own, theirs).seq.tolist() == [1, 0, 3, 2]


def test_streams_that_are_alike_are_not_guessed() -> None:
    own = in_order([1, 1], place=[0, 1], call=[0, 1])
    found = joined(own, executed([1, 1], place=[4, 9]))
    assert found.seq.tolist() == [NONE, NONE]
    assert found.call.tolist() == [NONE, NONE]
