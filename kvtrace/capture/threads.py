"""Threads of the recording, which the program neither lists nor joins.

From Python 3.12 on, a fork warns where the process has several threads, and those of the recording
must not be the reason. They have a name of the system by which they are told from the program's,
and so have those that they start, as libraries do.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from kvtrace.surroundings import Event, get_ident, start_new_thread

#: Running threads of the recording, by the system's ident.
running: Final[set[int]] = set()

#: Name of the system of the recording's threads; `_hot_signal.h` gives it to those of C.
NAME: Final = b"kvtrace-thread"
#: What pyarrow's allocator calls its thread.
_ALLOCATOR: Final = b"jemalloc_bg_thd"
#: SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS: of an error in the thread itself.
_OF_THREAD: Final = {4, 5, 7, 8, 11, 31}
#: Threads that have no name yet.
_starting: "Final[set[RecordingThread]]" = set()


class RecordingThread:
    """A daemon thread that is not in `threading.enumerate()` and gets no signal of the program.

    A program that joins all threads, or waits until it has one only, does not wait for it.

    Args:
        work: called in the thread. It must not ask for the current thread, as logging does, since
            Python lists a thread that asks.

    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._ident: int | None = None
        self._has_started = False
        self._ended = Event()

    def start(self) -> None:
        """Start the thread.

        Raises:
            RuntimeError: the interpreter is ending, or no more threads can be started

        """
        if get_ident() not in running:  # else it has the name from the start
            _starting.add(self)
        try:
            start_new_thread(self._run, ())
        except BaseException:
            _starting.discard(self)
            raise
        self._has_started = True

    def is_current(self) -> bool:
        """Return whether this is called in the thread."""
        return self._ident == get_ident()

    def show_name(self) -> None:
        """Give this thread its name in Python, too, if something made Python list the thread.

        Nothing of `threading` is called, whose locks may be a program's own.
        """
        listed = getattr(sys.modules.get("threading"), "_active", {}).get(self._ident)
        if listed is not None:
            listed.name = NAME.decode()

    def join(self, seconds: float = -1) -> None:
        """Return once the thread has ended, or after that time; at once if it never started."""
        if self._has_started:
            self._ended.wait(seconds)

    def _run(self) -> None:
        ident = self._ident = get_ident()
        running.add(ident)
        if hasattr(signal, "pthread_sigmask"):  # not on Windows
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - _OF_THREAD)
        name_thread("thread-self")
        _starting.discard(self)
        try:
            self._work()
        finally:
            self._ident = None  # a later thread of the program may have the same number
            running.discard(ident)
            self._ended.set()


@contextmanager
def without_size_signal() -> Iterator[None]:
    """Let writes that reach the limit of a file's size fail without SIGXFSZ in this thread.

    Python ignores it, but from a first compilation on libtriton has a handler, which prints what
    other threads are compiling at that moment, and can crash. The program may have one, too.
    """
    if not hasattr(signal, "sigtimedwait"):  # another system than Linux
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGXFSZ})
    try:
        yield
    finally:
        if signal.SIGXFSZ not in before:
            signal.sigtimedwait({signal.SIGXFSZ}, 0)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGXFSZ})


def name_thread(task: str) -> None:
    """Give a thread of this process, as /proc calls it, the name of the recording's threads."""
    with suppress(OSError):
        file = os.open(f"/proc/{task}/comm", os.O_WRONLY)
        try:
            os.write(file, NAME)
        finally:
            os.close(file)


@contextmanager
def library_threads() -> Iterator[None]:
    """Give the threads that start within the context, as of imported libraries, the name."""
    before = _tasks()
    try:
        yield
    finally:
        for task in _tasks() - before:
            name_thread(f"self/task/{task}")


def _has_program_one_thread() -> bool:
    """Return whether the program alone has one thread; False if that is not known."""
    others = sum(_name_of(task) not in (NAME, _ALLOCATOR) for task in _tasks())
    return others - len(_starting) <= 1 <= others


def _tasks() -> set[str]:
    try:
        return set(os.listdir("/proc/self/task"))  # noqa: PTH208 - names
    except OSError:
        return set()


def _name_of(task: str) -> bytes:
    try:
        file = os.open(f"/proc/self/task/{task}/comm", os.O_RDONLY)
    except OSError:
        return NAME  # it has ended
    try:
        return os.read(file, 64).rstrip()
    except OSError:
        return NAME
    finally:
        os.close(file)


class _ForkWarning:
    """A filter of warnings that ignores the one of a fork in progress, and removes itself.

    `warnings` asks the second element of each filter whether a text matches. That is the time to
    count: libraries, as OpenBLAS, end their threads before a fork. The registries of what was
    warned of before stay as they are: `warnings.simplefilter` would renew them.
    """

    def match(self, text: object) -> bool:
        """Return whether a text is the warning of a fork by a program with one thread."""
        is_needless = "is multi-threaded, use of" in str(text) and _has_program_one_thread()
        if is_needless:
            _take_fork_filter_back()
        return is_needless


_fork_filter: Final = ("ignore", _ForkWarning(), DeprecationWarning, None, 0)


def _filters() -> list[Any]:
    module: Any = sys.modules.get("warnings") or sys.modules.get("_warnings")
    inner = getattr(module, "_get_filters", None)  # of the context, from Python 3.14 on
    found: list[Any] = getattr(module, "filters", []) if inner is None else inner()
    return found


def _before_fork() -> None:
    _take_fork_filter_back()
    if running or _starting:
        _filters().insert(0, _fork_filter)


def _take_fork_filter_back() -> None:
    with suppress(ValueError):
        _filters().remove(_fork_filter)


if sys.version_info >= (3, 12):
    os.register_at_fork(before=_before_fork, after_in_child=_take_fork_filter_back)
