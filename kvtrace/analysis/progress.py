"""Progress of passes over calls: types of displays, and the prediction of the remaining time."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final

#: A function called after each call with the numbers of finished and of all calls.
Progress = Callable[[int, int], None]
#: A function from a pass's title to a context of its progress function, or of None.
Shown = Callable[[str], AbstractContextManager[Progress | None]]

#: Seconds of a pass that are measured before the rest is predicted.
_MEASURED: Final = 1.0


def unshown(title: str) -> AbstractContextManager[Progress | None]:  # noqa: ARG001 - as Shown
    """Return a context of no progress function, so that nothing is shown."""
    return nullcontext()


class RemainingTime:
    """Prediction of how long the rest of a pass takes, from the times of its own finished calls.

    The slowest call so far is taken to be the only one of its kind: few calls take most of the
    time, and the first one also loads modules. After calls of 4 s, 1 s and 1 s, ten more are
    predicted to take 10 s.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin to measure; `clock` returns the time in seconds."""
        self._clock = clock
        self._began = self._latest = clock()
        self._done = 0
        self._slowest = (0.0, 0)  # seconds, calls

    def add(self, done: int) -> None:
        """Note that `done` calls are finished."""
        if done <= self._done:
            return
        now = self._clock()
        self._slowest = max(self._slowest, (now - self._latest, done - self._done))
        self._latest, self._done = now, done

    def seconds(self, total: int) -> float | None:
        """Return the predicted seconds for the rest of `total` calls; None if too little is known.

        That is within the first second, and before the second call.
        """
        seconds, calls = self._slowest
        others = self._done - calls
        measured = self._latest - self._began
        if total <= self._done:
            return 0.0
        if not others or measured < _MEASURED:
            return None
        return (measured - seconds) / others * (total - self._done)
