"""Progress of long work: the work reports it, and a display shows it if the caller has set one.

    with progress("replay") as report:
        for done, call in enumerate(calls, start=1):
            evaluate(call)
            report(done, len(calls))

The command line sets a display (`kvtrace/cli/progress.py`); Python code that calls kvtrace has none
and sees nothing. Progress of a part of shown work is not shown.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Final

#: A function that is called with the amount of finished work and of all work, in any unit.
Report = Callable[[float, float], None]
#: A function that is asked for the percentage of finished work; below 0 if that is unknown.
Percent = Callable[[], float]
#: A function from the title of some work, and its percentage if that has to be asked for, to a
#: context of its report.
Display = Callable[[str, Percent | None], AbstractContextManager[Report]]

#: Seconds of work that are measured before the rest is predicted.
_MEASURED: Final = 1.0
_display: ContextVar[Display | None] = ContextVar("display", default=None)


@contextmanager
def progress(title: str, percent: Percent | None = None) -> Iterator[Report]:
    """Show the progress of work while the context is open; yield the function that reports it.

    Work that cannot report, as a query, has a function `percent`, which a thread calls.
    """
    display = _display.get()
    if display is None:
        yield _ignore
        return
    token = _display.set(None)
    try:
        with display(title, percent) as report:
            yield report
    finally:
        _display.reset(token)


@contextmanager
def shown_by(display: Display) -> Iterator[None]:
    """Show the progress of all work in the context by a display."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)


def _ignore(done: float, total: float) -> None:
    """Show nothing."""


class RemainingTime:
    """Prediction of how long the rest of some work takes, from the time of its finished parts.

    Amounts are reported in a unit that is close to time, as estimated costs. A part that takes
    longer than predicted is taken to be in its middle.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin to measure; `clock` returns the time in seconds."""
        self._clock = clock
        self._began = clock()
        #: When the last part was finished, and the amount then; set at once, since the thread of a
        #: display reads both.
        self._latest = (self._began, 0.0)

    def add(self, done: float) -> None:
        """Note that the amount `done` is finished."""
        if done > self._latest[1]:
            self._latest = (self._clock(), done)

    def seconds(self, total: float) -> float | None:
        """Return the predicted seconds for the rest of the amount `total`; None if unknown.

        It is unknown until parts that took a second are finished.
        """
        latest, done = self._latest
        measured = latest - self._began
        if total <= done:
            return 0.0
        if not done or measured < _MEASURED:
            return None
        since = self._clock() - latest
        return max(measured / done * (total - done) - since, since)
