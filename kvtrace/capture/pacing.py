"""Pace of the recording's thread: the share of the program's time that its work may take.

The work of a round is cut into slices. After each one the thread sleeps until its processor time is
at most `SHARE` of the time that has passed since the slice began: 1 ms of work is followed by 32 ms
of sleep. Work that somebody waits for is not paced: the end of the recording, a flush, and a fork,
which wait for the journal's lock.
"""

import time
from collections.abc import Iterable
from importlib import import_module
from typing import Final

from kvtrace.surroundings import Event, get_ident

#: Seconds from one round of writing to the next. A killed process loses at most this much, plus
#: the duration of a round.
INTERVAL: Final = 0.5
#: Period of the first round, in seconds; periods double from round to round up to `INTERVAL`.
_FIRST_PERIOD: Final = 0.0625
#: Least seconds between rounds, in which other threads get the lock.
_BREATH: Final = 0.01

#: Share of the elapsed time that the thread's processor time may be, while launches run.
SHARE: Final = 0.03
#: The same if so much work waits that memory would fill up.
BACKLOG_SHARE: Final = 0.5
#: So much work: submissions that wait, and bytes of launches.
_SUBMISSIONS: Final = 10_000
_BYTES: Final = 64 << 20
#: Processor time of a slice, in ns.
SLICE_NS: Final = 1_000_000

#: The paced threads, by the system's ident.
_paces: Final[dict[int, "Pace"]] = {}


class Pace:
    """The pace of one thread, which calls `begin`, and then `rest` between slices."""

    def __init__(self) -> None:
        self._hurried = Event()
        self.share = SHARE
        self._period = _FIRST_PERIOD
        self._wall_ns = self._used_ns = self._asked_ns = 0

    def begin(self) -> None:
        """Pace the calling thread from now on."""
        _paces[get_ident()] = self
        self._mark()

    def end(self) -> None:
        """Pace the calling thread no more."""
        _paces.pop(get_ident(), None)

    def hurry(self) -> None:
        """Let the thread go on without rests, as somebody waits for its work."""
        self._hurried.set()

    def calm(self) -> None:
        """Let the thread rest again."""
        if self._hurried.is_set():
            self._hurried = Event()

    def set_backlog(self, submissions: int, size_bytes: int) -> None:
        """Set the share by the work that waits: submissions, and bytes of launches."""
        is_large = submissions > _SUBMISSIONS or size_bytes > _BYTES
        self.share = BACKLOG_SHARE if is_large else SHARE

    def seconds_to_next(self, spent: float) -> float:
        """Return the seconds to the next round, after one that took `spent` seconds."""
        period, self._period = self._period, min(INTERVAL, 2 * self._period)
        return max(_BREATH, period - spent)

    def rest(self) -> None:
        """Sleep if a slice of work is over; in another thread than the paced one, do nothing."""
        now_ns = time.monotonic_ns()
        if now_ns - self._asked_ns < SLICE_NS or _paces.get(get_ident()) is not self:
            return  # a slice takes at least its processor time, which is slow to ask for
        self._asked_ns = now_ns
        used_ns = time.thread_time_ns() - self._used_ns
        if used_ns < SLICE_NS:
            return
        owed_ns = used_ns / self.share - (now_ns - self._wall_ns)
        if owed_ns > 0:
            self._hurried.wait(owed_ns / 1e9)
        self._mark()

    def _mark(self) -> None:
        self._wall_ns, self._used_ns = time.monotonic_ns(), time.thread_time_ns()
        self._asked_ns = self._wall_ns


def rest() -> None:
    """Sleep if the calling thread is paced and its slice of work is over."""
    pace = _paces.get(get_ident())
    if pace is not None:
        pace.rest()


def import_in_slices(modules: Iterable[str]) -> None:
    """Import modules, each of which comes after those it imports, with a rest after each.

    An import holds the interpreter's lock throughout, and dataclasses make it slow: on an H200's
    host a dozen modules at once made a step of 7 ms take 38.
    """
    for module in modules:
        import_module(module)
        rest()
