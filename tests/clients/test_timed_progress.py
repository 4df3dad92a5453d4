"""A pass that would take too long is given up, once its own calls say so."""

import pytest

from kvtrace.clients.timed_progress import TimedProgress
from kvtrace.schema.errors import KvtraceError


def finish_calls(durations, deadline):
    """Report calls of these durations in seconds to a progress with a deadline; return it."""
    now = [0.0]
    work = f"analyzing {len(durations)} unique calls"
    progress = TimedProgress(lambda *_: None, deadline, work, clock=lambda: now[0])
    for done, seconds in enumerate(durations, start=1):
        now[0] += seconds
        progress(done, len(durations))
    return progress


def test_a_pass_is_given_up_once_its_own_calls_predict_that_it_is_late():
    with pytest.raises(KvtraceError, match="100 unique calls would take about 100 s"):
        finish_calls([1.0] * 100, deadline=50.0)


def test_a_pass_is_not_given_up_before_five_seconds_of_it_are_measured():
    finish_calls([1.0] * 4 + [0.01] * 96, deadline=50.0)


def test_a_pass_that_may_end_in_time_is_not_given_up():
    progress = finish_calls([4.0] * 10 + [1.0] * 10, deadline=66.0)  # 80 s, by the first ten
    assert progress.remaining_seconds == 0.0
