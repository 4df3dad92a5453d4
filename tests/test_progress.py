"""Progress of long work: who is told, and how long the rest takes."""

from contextlib import contextmanager

import pytest

from kvtrace.progress import RemainingTime, progress, shown_by


class Clock:
    """A clock that stands still until its time is set."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def timed(*parts):
    """The prediction after parts of (seconds, amount), and its clock."""
    clock = Clock()
    remaining, done = RemainingTime(clock), 0.0
    for seconds, amount in parts:
        clock.now += seconds
        done += amount
        remaining.add(done)
    return remaining, clock


def test_the_rest_takes_as_long_for_its_amount_as_what_is_done():
    remaining, _ = timed((1.0, 10), (3.0, 30))
    assert remaining.seconds(100) == pytest.approx(6.0)


def test_nothing_is_predicted_from_less_than_a_second():
    assert timed()[0].seconds(10) is None
    assert timed((0.3, 1), (0.3, 1))[0].seconds(10) is None


def test_finished_work_has_no_rest():
    assert timed((0.1, 1))[0].seconds(1) == 0.0


def test_a_part_that_takes_longer_than_predicted_takes_as_long_again():
    remaining, clock = timed((2.0, 10))
    assert remaining.seconds(20) == pytest.approx(2.0)
    clock.now += 0.5
    assert remaining.seconds(20) == pytest.approx(1.5)  # it moves within a part, too
    clock.now += 9.5
    assert remaining.seconds(20) == pytest.approx(10.0)


def test_a_display_is_told_of_the_work_that_it_shows_and_not_of_its_parts():
    told = []

    @contextmanager
    def display(title, percent):
        told.append((title, percent))
        yield lambda *place: told.append(place)

    with progress("unseen") as report:
        report(1, 2)
    with shown_by(display):
        with progress("whole") as report:
            report(1, 2)
            with progress("part") as inner:
                inner(1, 5)
        with pytest.raises(OSError), progress("failing"):
            raise OSError
        with progress("after", float) as report:
            report(2, 2)
    assert told == [("whole", None), (1, 2), ("failing", None), ("after", float), (2, 2)]
