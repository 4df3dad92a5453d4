"""Launches that are found by the time of the request."""

import numpy as np

from kvtrace.addons.join.joining import join_by_time, requesting_launches
from kvtrace.addons.join.orders import Grade, Matches, Reason
from kvtrace.addons.join.sides import RecordedLaunches, TimedExecutions
from kvtrace.figures.causes import NONE
from tests.addons.join.arrays import executed, launched


def rows(own: RecordedLaunches, theirs: TimedExecutions) -> list[int]:
    """Return the row of the launch of each execution."""
    return requesting_launches(own, theirs, np.ones(theirs.look.size, bool)).tolist()


def test_execution_is_matched_to_the_innermost_of_nested_launches() -> None:
    # An autotuner's launch, 0, tries two configurations and then launches itself.
    own = launched([5, 5, 5], enter=[0, 10, 30], leave=[100, 20, 40])
    theirs = executed([5, 5, 5, 5], requested=[15, 35, 90, 101])
    assert rows(own, theirs) == [1, 2, 0, NONE]


def test_execution_of_another_kernel_during_a_launch_is_not_matched() -> None:
    own = launched([5, 5], enter=[0, 10], leave=[100, 20])
    assert rows(own, executed([6], requested=[15])) == [NONE]


def test_launches_are_matched_by_thread_or_if_no_other_thread_launches() -> None:
    own = launched([5, 5], enter=[0, 5], leave=[100, 50], thread=[1, 2])
    assert rows(own, executed([5, 5], requested=[20, 20], thread=[1, 2])) == [0, 1]
    assert rows(own, executed([5, 5], requested=[20, 70])) == [NONE, 0]


def test_captured_launches_are_not_matched_by_time() -> None:
    own = launched([5], enter=[0], leave=[100], graph=[3])
    assert rows(own, executed([5], requested=[20])) == [NONE]


def test_two_executions_of_one_launch_are_both_uncertain() -> None:
    own = launched([5, 5], enter=[0, 200], leave=[100, 300])
    theirs = executed([5, 5, 5, 5], requested=[20, 30, 250, 400])
    found = Matches.none(4)
    join_by_time(own, theirs, np.ones(4, bool), found)
    assert found.seq.tolist() == [NONE, NONE, 1, NONE]
    assert found.grade.tolist() == [NONE, NONE, Grade.EXACT, NONE]
    shared, none = Reason.SHARED_LAUNCH, Reason.NOT_LAUNCHED
    assert found.reason.tolist() == [shared, shared, NONE, none]
