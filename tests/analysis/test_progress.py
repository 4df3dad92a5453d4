"""The rest of a pass is predicted from the times of its own calls."""

import pytest

from kvtrace.analysis.progress import RemainingTime


class Clock:
    """A clock that stands still until its time is set."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def timed(durations):
    """The prediction after calls of these durations."""
    clock = Clock()
    remaining = RemainingTime(clock)
    for done, seconds in enumerate(durations, start=1):
        clock.now += seconds
        remaining.add(done)
    return remaining


def test_the_slowest_call_counts_as_the_only_one_of_its_kind():
    assert timed([4.0, 1.0, 1.0]).seconds(13) == pytest.approx(10.0)
    assert timed([1.0, 4.0, 1.0]).seconds(13) == pytest.approx(10.0)


def test_nothing_is_predicted_from_one_call_or_less_than_a_second():
    assert timed([]).seconds(10) is None
    assert timed([5.0]).seconds(10) is None
    assert timed([0.1, 0.1]).seconds(10) is None
    assert timed([0.5, 0.5]).seconds(10) == pytest.approx(4.0)


def test_a_finished_pass_has_no_rest():
    assert timed([0.1]).seconds(1) == 0.0


def test_several_calls_may_be_finished_at_once():
    clock = Clock()
    remaining = RemainingTime(clock)
    for seconds, done in ((2.0, 10), (3.0, 40), (1.0, 40), (1.0, 60)):
        clock.now += seconds
        remaining.add(done)
    assert remaining.seconds(100) == pytest.approx(40 * 4.0 / 30)
