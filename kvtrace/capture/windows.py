"""The part of a program in which launches are recorded: the setting `window`.

Outside of the window the hot path is switched off: a launch costs the test of one flag. A kernel
and its call are recorded at their first launch within the window, whenever they were compiled.
"""

import math
import signal
import threading
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from kvtrace.capture.threads import RecordingThread
from kvtrace.forks import Lock
from kvtrace.settings import RecordedPart
from kvtrace.surroundings import Event

#: Stands for the end of a span that is still open; ns since 1970.
_OPEN: Final = (1 << 63) - 1


class Window:
    """The window of one session, in one process; a fork calls `renew`.

    `changed` is called when the window opens or closes; it may run in a signal handler.
    """

    def __init__(self, text: str, part: RecordedPart, changed: Callable[[], None]) -> None:
        """Make a window that is closed, unless it begins at once."""
        self._text = text
        self._part = part
        self._changed = changed
        self._lock = Lock()
        self._is_open = False
        #: Begin and end of each time for which the window was open, in ns since 1970.
        self._begins, self._ends = array("q"), array("q")
        self._steps = 0  # number of the counted marks so far
        self._depth = 0  # number of open marks of the name
        self._ended = Event()
        self._began, self._began_ns = time.monotonic(), time.time_ns()

    def renew(self) -> None:
        """Begin again in a forked process: times count from now, and an open window stays open."""
        self._ended = Event()
        self._began, self._began_ns = time.monotonic(), time.time_ns()
        self._begins, self._ends = array("q"), array("q")
        if self._is_open:
            self._begins.append(self._began_ns)

    def end(self) -> None:
        """Stop changing the session's state. A handler of a signal stays, and does nothing."""
        self._changed = _do_nothing
        self._ended.set()

    # -- state ------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Launches are recorded now."""
        if self._part.kind == "time":
            return self._part.begin <= time.monotonic() - self._began < self._part.end
        return self._is_open

    def spans(self) -> tuple["array[int]", "array[int]"]:
        """Return when the window opened and closed, in ns since 1970, each sorted."""
        if self._part.kind == "time":
            begin, end = (self._moment(s) for s in (self._part.begin, self._part.end))
            return array("q", [begin]), array("q", [end])
        begins, ends = self._begins[:], self._ends[:]
        return begins, ends + array("q", [_OPEN] * (len(begins) - len(ends)))

    def _moment(self, seconds: float) -> int:
        return _OPEN if seconds == math.inf else self._began_ns + round(seconds * 1e9)

    def _set(self, is_open: bool) -> None:
        if is_open == self._is_open:
            return
        (self._begins if is_open else self._ends).append(time.time_ns())
        self._is_open = is_open
        self._changed()

    # -- marks ------------------------------------------------------------------------------

    def mark(self, name: str) -> None:
        """Count a mark of the program, an instant or the begin of a range."""
        part = self._part
        if part.kind == "steps" and name == part.name:
            with self._lock:
                number, self._steps = self._steps, self._steps + 1
                self._set(part.begin <= number <= part.end)

    def enter(self, name: str) -> None:
        """Open the window if the range that begins is the one of the setting."""
        if self._part.kind == "mark" and name == self._part.name:
            with self._lock:
                self._depth += 1
                self._set(True)

    def leave(self, name: str) -> None:
        """Close the window at the end of the last open range, or of the last step."""
        part = self._part
        if name != part.name:
            return
        with self._lock:
            if part.kind == "mark":
                self._depth -= 1
                self._set(self._depth > 0)
            elif part.kind == "steps" and self._steps > part.end:
                self._set(False)

    # -- time -------------------------------------------------------------------------------

    def watch_clock(self) -> None:
        """Start a thread that opens and closes a window of time."""
        part, ended, passed = self._part, self._ended, time.monotonic() - self._began
        moments = [s for s in (part.begin, part.end) if passed < s < math.inf]
        if part.kind != "time" or not moments:
            return

        def work() -> None:
            for moment in moments:
                while (seconds := self._began + moment - time.monotonic()) > 0:
                    if ended.wait(min(seconds, threading.TIMEOUT_MAX)):
                        return
                self._changed()

        try:
            RecordingThread(work).start()
        except RuntimeError:
            return  # the interpreter is ending and starts no threads

    # -- signals ----------------------------------------------------------------------------

    def watch_signal(self) -> str | None:
        """Make the signal open and close the window; return a sentence if that is not possible.

        A handler that the program has set is left in place, also one of C (`faulthandler`).
        """
        if self._part.kind != "signal":
            return None
        number = signal.Signals[f"SIG{self._part.name}"]
        found = signal.getsignal(number)
        is_ours = getattr(found, "__func__", None) is Window._toggle
        if not is_ours and (found != signal.SIG_DFL or _is_handled(number)):
            return self._unwatched("the program handles this signal itself")
        try:
            signal.signal(number, self._toggle)
            signal.siginterrupt(number, False)  # system calls of libraries go on
        except ValueError:  # Python sets handlers in the main thread only
            return self._unwatched("recording began in a thread that cannot handle signals")
        return None

    def _unwatched(self, reason: str) -> str:
        return (
            f"KVTRACE_WINDOW={self._text} records nothing: {reason}; time:60s-90s needs no signal"
        )

    def _toggle(self, _number: int, _frame: Any) -> None:
        self._set(not self._is_open)

    # -- the end ----------------------------------------------------------------------------

    def why_empty(self) -> str:
        """Return a sentence on why nothing was recorded in a program that launched kernels."""
        part = self._part
        begin = f"KVTRACE_WINDOW={self._text}: nothing was recorded"
        if self.is_open or self._begins:
            return f"{begin}, since no kernel was launched within the window"
        if part.kind == "time":
            seconds = time.monotonic() - self._began
            if seconds >= part.end:
                return f"{begin}, since no kernel was launched within the window"
            return f"{begin}, since the program ended after {seconds:.1f} s"
        if part.kind == "signal":
            return f"{begin}, since no signal {part.name} arrived (kill -{part.name} PID)"
        if part.kind == "mark":
            return (
                f"{begin}, since the program never entered kvtrace.mark({part.name!r}); {_OTHERS}"
            )
        return (
            f"{begin}, since the program set kvtrace.mark({part.name!r}) {self._steps:,} times, "
            f"and step {part.begin:.0f}, counted from 0, was to be the first; {_OTHERS}"
        )


_OTHERS: Final = "time:60s-90s and signal:USR2 need no mark"


def _do_nothing() -> None:
    return


def _is_handled(number: int) -> bool:
    """Return whether the process handles or ignores a signal, in C too (proc_pid_status(5)).

    True if that is not known, as without /proc.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        status = dict(line.split(":", 1) for line in lines)
        masks = int(status["SigCgt"], 16) | int(status["SigIgn"], 16)
    except (OSError, ValueError, KeyError):
        return True
    return bool(masks >> number - 1 & 1)
