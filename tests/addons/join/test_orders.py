"""Launches that are found by the order on their stream."""

import numpy as np

from kvtrace.addons.join.orders import Grade, Matches, Reason, join_by_order
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


def test_equal_streams_are_matched_launch_by_launch() -> None:
    found = joined(in_order([1, 2, 1]), executed([1, 2, 1]))
    assert found.seq.tolist() == [0, 1, 2]
    assert set(found.grade.tolist()) == {Grade.ORDERED}


def test_unequal_streams_match_only_uniquely_aligned_executions() -> None:
    found = joined(in_order([7, 1, 1, 8, 1]), executed([7, 1, 8, 1]))
    assert found.seq.tolist() == [0, NONE, 3, 4]
    # Which launch it is is not known; all that look like it are of one call.
    assert found.call.tolist() == [7, 1, 8, 1]
    assert set(found.grade.tolist()) == {Grade.INFERRED}


def test_execution_that_fits_several_calls_has_no_call() -> None:
    own = in_order([1, 1, 1], call=[0, 1, 0])
    found = joined(own, executed([1, 1]))
    assert found.call.tolist() == [NONE, NONE]
    assert found.reason.tolist() == [Reason.ORDER, Reason.ORDER]


def test_streams_are_paired_by_their_kernels() -> None:
    own = in_order([1, 2, 1, 3], place=[0, 1, 0, 1])
    theirs = executed([2, 1, 3, 1], place=[4, 9, 4, 9])
    assert joined(own, theirs).seq.tolist() == [1, 0, 3, 2]


def test_indistinguishable_streams_are_not_paired() -> None:
    own = in_order([1, 1], place=[0, 1], call=[0, 1])
    found = joined(own, executed([1, 1], place=[4, 9]))
    assert found.seq.tolist() == [NONE, NONE]
    assert found.call.tolist() == [NONE, NONE]
