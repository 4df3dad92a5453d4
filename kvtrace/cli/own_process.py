"""The process of a command that runs no program of the user's: its signals, garbage, and end."""

import atexit
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Final

_IS_OWN: Final = ContextVar("is_own", default=False)
_ENDS: Final = ContextVar("ends", default=False)
#: Signals that ended the command: DuckDB raises an error of its own where one interrupts a query.
ENDED_BY: Final[list[int]] = []
#: Variable with the number of threads that NumPy's OpenBLAS starts as it is loaded.
BLAS_THREADS: Final = "OPENBLAS_NUM_THREADS"


def expect_end() -> None:
    """Have the garbage collector of later commands left as they set it, as their process ends."""
    _ENDS.set(True)


@contextmanager
def as_own_process() -> Iterator[None]:
    """End the context by SIGTERM and SIGHUP as by Ctrl-C; run the garbage collector less often.

    So temporary folders are removed. Most objects of a command live until it ends, and collections
    took a seventh of the time of `profile` of 128,000 calls.
    """
    _IS_OWN.set(True)
    if _ENDS.get():
        _import_numpy()
    previous_threshold = gc.get_threshold()
    gc.set_threshold(100_000, 50, 1_000)
    ENDED_BY.clear()
    is_main = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM))
    default = (signal.SIG_DFL, signal.default_int_handler)
    handlers = {n: h for n in numbers if is_main and (h := signal.getsignal(n)) in default}
    for number in handlers:
        signal.signal(number, partial(_interrupt, os.getpid()))
    try:
        yield
    finally:
        if not _ENDS.get():  # else all objects are visited once more, 22 ms of `kvtrace info`
            gc.set_threshold(*previous_threshold)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _import_numpy() -> None:
    """Import NumPy without threads for products: each is busy for 30 ms before it first sleeps."""
    if BLAS_THREADS in os.environ:
        return
    os.environ[BLAS_THREADS] = "1"
    with suppress(ImportError):
        import numpy  # noqa: F401
    del os.environ[BLAS_THREADS]  # of programs that the command starts


def _interrupt(process: int, number: int, _: object) -> None:
    """Interrupt a command; a process that it forked ends at once, since it cleans up nothing."""
    if os.getpid() == process:
        ENDED_BY.append(number)
        raise KeyboardInterrupt(number)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def end_own_process(code: int) -> None:
    """Have a process that has run such a command end with this code, without freeing its objects.

    Python would free each object and module, a sixth of the time of `kvtrace info`. The process
    ends after the functions that others registered, and after what called the command line, as a
    profiler that writes its file.
    """
    if _IS_OWN.get():
        atexit.register(_end, code)


def _end(code: int) -> None:
    atexit.unregister(_end)
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return  # Python says so where it flushes them
    os._exit(code)
