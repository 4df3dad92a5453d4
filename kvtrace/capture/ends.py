"""Ends of a process that Python's exit functions do not observe: `os._exit`, exec and SIGTERM.

And the very last moment of all others.

What the program and its system do stays what it is: the same exit code, the same signal, the same
new program. Each function may be called often, and in each process again.
"""

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, NoReturn

_at_finalization: Final[list[Callable[[], None]]] = []


def before_exit(seal: Callable[[], None]) -> None:
    """Call `seal` before `os._exit`, with which processes of `multiprocessing` end, too."""
    _wrap("_exit", seal)


def before_exec(flush: Callable[[], None]) -> None:
    """Call `flush` before another program takes this one's place, or fails to."""
    for name in ("execv", "execve"):  # all others call these
        _wrap(name, flush)


def before_sigterm(flush: Callable[[], None]) -> None:
    """Call `flush` before SIGTERM ends the process, where the program leaves that to the system.

    Workers of `multiprocessing.Pool` end so. Without the C extension SIGTERM is left alone.
    """
    hot = _native()
    if hot is None or not hot.watch_sigterm():
        return

    def wait() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        hot.await_sigterm()
        try:
            flush()
        finally:
            hot.sigterm_may_end()

    try:
        threading.Thread(target=wait, name="kvtrace-sigterm", daemon=True).start()
    except RuntimeError:
        hot.sigterm_may_end()  # the interpreter is ending, and starts no threads


def before_finalization(take_back: Callable[[], None]) -> None:
    """Call `take_back` once no thread of the program can run any more, daemon threads included.

    Exit functions are too early: daemon threads continue between them. Modules are still there:
    before it ends them, the interpreter collects garbage. Where the program has switched that off,
    `take_back` is not called.
    """
    if take_back not in _at_finalization:
        _at_finalization.append(take_back)
    if _collecting not in gc.callbacks:
        gc.callbacks.append(_collecting)


def _collecting(_phase: str, _facts: Mapping[str, int]) -> None:
    while _at_finalization and sys.is_finalizing():
        _at_finalization.pop()()


def sigterm_may_end() -> None:
    """Have SIGTERM act at once from now on: all is sealed."""
    hot = _native()
    if hot is not None:
        hot.sigterm_may_end()


def _native() -> Any:
    """Return the C extension; None where it was not built."""
    try:
        return import_module("kvtrace.capture._hot")
    except ImportError:
        return None


def _wrap(name: str, before: Callable[[], None]) -> None:
    leave = getattr(os, name, None)
    if leave is None or getattr(leave, "keeps", False):
        return

    def wrapper(*arguments: Any, **named: Any) -> NoReturn:
        try:
            before()
        finally:
            leave(*arguments, **named)
        raise AssertionError  # it does not return

    wrapper.keeps = True  # type: ignore[attr-defined]
    # pickle looks it up by these: a program may hand `os._exit` to another process.
    wrapper.__module__, wrapper.__name__, wrapper.__qualname__ = "os", name, name
    wrapper.__doc__ = leave.__doc__
    setattr(os, name, wrapper)
