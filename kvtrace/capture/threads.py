"""Threads of the recording, which the program neither lists nor joins."""

import _thread
import threading
from collections.abc import Callable
from typing import Final

#: Running threads of the recording, by `threading.get_ident()`.
running: Final[set[int]] = set()


class RecordingThread:
    """A daemon thread that is not in `threading.enumerate()`.

    A program that joins all threads, or waits until it has one only, does not wait for it.

    Args:
        work: called in the thread. It must not ask for the current thread, as logging does, since
            Python lists a thread that asks.

    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._ident: int | None = None
        self._has_started = False
        self._ended = threading.Event()

    def start(self) -> None:
        """Start the thread.

        Raises:
            RuntimeError: the interpreter is ending, or no more threads can be started

        """
        _thread.start_new_thread(self._run, ())
        self._has_started = True

    def is_current(self) -> bool:
        """Return whether this is called in the thread."""
        return self._ident == threading.get_ident()

    def join(self, seconds: float) -> None:
        """Return once the thread has ended, or after that time; at once if it never started."""
        if self._has_started:
            self._ended.wait(seconds)

    def _run(self) -> None:
        ident = self._ident = threading.get_ident()
        running.add(ident)
        try:
            self._work()
        finally:
            self._ident = None  # a later thread of the program may have the same number
            running.discard(ident)
            self._ended.set()
