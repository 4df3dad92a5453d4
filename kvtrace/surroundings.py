"""Threads, locks and standard error of the system, whatever a program makes of Python's.

A program may replace Python's own functions; gevent does so for threads and locks, which then
belong to its event loop. `kvtrace._boot` imports this module before the program runs. Where a
recording begins later, functions of `_thread` come from a copy of that module, whose functions
nobody has replaced.
"""

import sys
from _frozen_importlib import BuiltinImporter, ModuleSpec  # which importlib would be imported for

TYPE_CHECKING = False  # as type checkers read it; importing typing would cost 7 ms
if TYPE_CHECKING:
    import _thread as original
else:
    original = BuiltinImporter.create_module(ModuleSpec("_thread", BuiltinImporter))
    BuiltinImporter.exec_module(original)

start_new_thread = original.start_new_thread
get_ident = original.get_ident
get_native_id = original.get_native_id
RLock = original.RLock
Local = original._local
_new_lock = original.allocate_lock

#: Standard error when the process began to be recorded; None if it is closed.
_standard_error = sys.stderr
_prints_to_first_stream = False


def keep_standard_error() -> None:
    """Print later messages to `_standard_error`, even if the program replaces `sys.stderr`."""
    global _prints_to_first_stream
    _prints_to_first_stream = True


def print_error(text: str) -> None:
    """Print a line, with kvtrace's name, on standard error; do nothing if there is none.

    Python's `print` would print it on standard output, where a program writes its results.
    """
    stream = _standard_error if _prints_to_first_stream else sys.stderr
    if stream is None:
        return
    try:
        print(f"kvtrace: {text}", file=stream, flush=True)
    except Exception:  # noqa: BLE001 - closed, full, or the program's own object
        return


class Event:
    """A flag that threads wait for, as `threading.Event`, made of a lock of the system alone."""

    __slots__ = ("_is_set", "_lock")

    def __init__(self) -> None:
        self._is_set = False
        self._lock = _new_lock()
        self._lock.acquire()

    def is_set(self) -> bool:
        """Return whether `set` was called."""
        return self._is_set

    def set(self) -> None:
        """Set the flag, for good; all threads that wait return."""
        if not self._is_set:
            self._is_set = True
            self._release()

    def wait(self, seconds: float = -1) -> bool:
        """Return whether the flag is set, within a time; -1 waits forever."""
        if not self._is_set and self._lock.acquire(True, seconds):
            self._release()
        return self._is_set

    def _release(self) -> None:
        try:
            self._lock.release()
        except RuntimeError:
            return  # set twice at once: another thread has released it


def pause(seconds: float) -> None:
    """Wait, as `time.sleep` before a program replaces it."""
    Event().wait(seconds)


def in_subinterpreter() -> bool:
    """Return whether this is a sub-interpreter, in which nothing is recorded.

    NumPy and pyarrow, which writing needs, do not work in sub-interpreters and may end the process.
    """
    # Only the name of this version: Python would search every folder for a missing module.
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    try:
        interpreters = __import__(name)
    except ImportError:
        return False
    return bool(interpreters.get_current() != interpreters.get_main())
