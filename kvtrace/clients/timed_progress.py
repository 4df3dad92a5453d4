"""Progress of a pass over calls that is given up if it would take too long."""

import time
from collections.abc import Callable
from typing import Final

from kvtrace.progress import RemainingTime, Report
from kvtrace.schema.errors import KvtraceError

#: Seconds that are measured before a pass that must reach all calls is given up.
_GIVEN_UP_AFTER: Final = 5.0
#: Predictions after `_GIVEN_UP_AFTER` were at most so many times too long.
_OFF: Final = 1.6


class _TakesLong(KvtraceError):
    """Raised when a pass that the user did not request would take too long."""

    slug = "takes-long"


class TimedProgress:
    """A progress function that predicts the rest of a pass, and raises if it would take too long.

    The error is raised when the deadline has passed, or once `_GIVEN_UP_AFTER` seconds are
    measured and the predicted end is so late that the deadline is missed even if the prediction is
    `_OFF` times too long.
    """

    def __init__(
        self, report: Report, deadline: float | None, work: str,
        clock: Callable[[], float] = time.process_time,
    ) -> None:  # fmt: skip
        """Begin to measure.

        Args:
            report: A function to report to, too.
            deadline: The time, by the clock, at which the pass has to end; None: any.
            work: The beginning of the error, as "analyzing 13 unique calls".
            clock: Returns the time in seconds.

        """
        self._report = report
        self._deadline = deadline
        self._work = work
        self._clock = clock
        self._began = clock()
        self._remaining = RemainingTime(clock)
        self.remaining_seconds: float | None = None

    def __call__(self, done: float, total: float) -> None:
        """Note that `done` of `total` is finished."""
        self._report(done, total)
        self._remaining.add(done)
        seconds = self.remaining_seconds = self._remaining.seconds(total)
        if self._deadline is None or done >= total:
            return
        now = self._clock()
        is_late = (
            seconds is not None
            and now - self._began >= _GIVEN_UP_AFTER
            and now + seconds / _OFF > self._deadline
        )
        if not is_late and now <= self._deadline:
            return
        if seconds is None:
            duration = f"takes more than {now - self._began:,.1f} s"
        else:
            duration = f"would take about {now - self._began + seconds:,.0f} s"
        raise _TakesLong(f"{self._work} {duration}, so it was skipped")
