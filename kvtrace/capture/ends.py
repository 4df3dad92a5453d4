"""Hooks for ends of a process that `atexit` misses: `os._exit`, exec, signals and finalization.

The program ends as it would without the hooks. Calling a function repeatedly, or again in a forked
process, has no further effect.
"""

import gc
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, NoReturn

from kvtrace.capture.hot_choice import compiled_part
from kvtrace.capture.threads import RecordingThread

#: Called with each `kvtrace.capture.session.Session` when its first rows are about to be written;
#: entries of the registry's group `at_start` add to these.
watchers: Final[list[Callable[[Any], None]]] = []

_at_finalization: Final[list[Callable[[], None]]] = []


def before_exit(seal: Callable[[], None]) -> None:
    """Call `seal` before `os._exit`, which also ends processes of `multiprocessing`."""
    _wrap("_exit", seal)


def before_exec(flush: Callable[[], None]) -> None:
    """Call `flush` before `os.exec*` replaces the program, or fails to."""
    for name in ("execv", "execve"):  # all others call these
        _wrap(name, flush)


def before_sigterm(flush: Callable[[], None]) -> None:
    """Call `flush` before SIGTERM ends the process, unless the program handles SIGTERM itself.

    SIGTERM ends workers of `multiprocessing.Pool`.
    """
    hot = compiled_part()
    if hot.watch_sigterm():
        _in_thread(hot.await_sigterm, flush, hot.sigterm_may_end)


def before_abort(seal: Callable[[], None]) -> None:
    """Call `seal` before `abort()` ends the process, as CUDA's driver does after a GPU fault.

    A handler of SIGABRT that was set before acts afterwards.
    """
    hot = compiled_part()
    if hot.watch_abort():
        _in_thread(hot.await_abort, seal, hot.abort_may_end)


def _in_thread(
    wait: Callable[[], None], act: Callable[[], None], may_end: Callable[[], None]
) -> None:
    """Call in a thread, once `wait` has returned, `act` and then `may_end`."""

    def work() -> None:
        wait()
        try:
            act()
        finally:
            may_end()

    try:
        RecordingThread(work).start()
    except RuntimeError:
        may_end()  # the interpreter is ending, and starts no threads


def before_finalization(take_back: Callable[[], None]) -> None:
    """Call `take_back` once no thread of the program can run any more, daemon threads included.

    Exit functions are too early: daemon threads continue between them. The interpreter collects
    garbage before it clears modules, and a callback of that collection calls `take_back`; so if the
    program has switched garbage collection off, `take_back` is not called.
    """
    if take_back not in _at_finalization:
        _at_finalization.append(take_back)
    if _collecting not in gc.callbacks:
        gc.callbacks.append(_collecting)


def _collecting(_phase: str, _facts: Mapping[str, int]) -> None:
    while _at_finalization and sys.is_finalizing():
        with suppress(Exception):  # which Python would print
            _at_finalization.pop()()


def sigterm_may_end() -> None:
    """Make SIGTERM end the process without waiting for `flush`, since all files are sealed."""
    compiled_part().sigterm_may_end()


def _wrap(name: str, before: Callable[[], None]) -> None:
    """Replace a function of `os` by one that calls `before` first; nothing if done already."""
    leave = getattr(os, name, None)
    if leave is None or getattr(leave, "keeps", False):
        return

    def wrapper(*arguments: Any, **named: Any) -> NoReturn:
        try:
            before()
        finally:
            leave(*arguments, **named)
        raise AssertionError  # `leave` does not return

    wrapper.keeps = True  # type: ignore[attr-defined]
    # For pickle: a program may pass `os._exit` to another process.
    wrapper.__module__, wrapper.__name__, wrapper.__qualname__ = "os", name, name
    wrapper.__doc__ = leave.__doc__
    setattr(os, name, wrapper)
