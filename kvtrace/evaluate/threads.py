"""The processor's settings during an evaluation: products on one thread, denormals that are kept.

The products of a launch are many and small. OpenBLAS would split each over all cores, and if
another process uses one of the cores, every product waits for a time slice: 16 ms, not 0.2 ms.
PyTorch, if it is imported, would, too.

A program may have denormals flushed to zero, by `torch.set_flush_denormal(True)` or by loading a
library that was compiled with -ffast-math. That is a setting of each thread, and a GPU has it not.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final, Protocol

import numpy as np

from kvtrace.forks import Lock

#: Names, with `set` or `get` in the middle, of the functions of the OpenBLAS that NumPy's wheels
#: bring, and of others that NumPy may have been built with (some count in 64 bits and say so).
_OPENBLAS = (
    "scipy_openblas_{}_num_threads64_",
    "scipy_openblas_{}_num_threads",
    "openblas_{}_num_threads64_",
    "openblas_{}_num_threads",
)


class Library(Protocol):
    """A BLAS whose number of threads can be read and set, with the interface of threadpoolctl."""

    @property
    def num_threads(self) -> int:
        """The number of threads that compute a product."""

    def set_num_threads(self, num_threads: int) -> None:
        """Set the number of threads that compute a product."""


#: The default floating-point environment, as glibc's and musl's fenv.h name it.
_DEFAULT: Final = ctypes.c_void_p(-1)
#: Bytes that hold a floating-point environment: 32 on x86-64, 8 on ARM.
_ENVIRONMENT_BYTES: Final = 64
_DENORMAL: Final = np.float32(1e-40)


class _ThreadSettings(threading.local):
    """Settings for calls from this thread: denormals are kept; PyTorch, if imported, on one thread.

    `_environment` is the thread's floating-point environment where it flushes denormals.
    """

    inside = 0
    _before = 1
    _environment: ctypes.Array[ctypes.c_char] | None = None

    def enter(self) -> None:
        self.inside += 1
        if self.inside > 1:
            return
        if _DENORMAL * 1 == 0 and sys.platform == "linux":
            self._environment = ctypes.create_string_buffer(_ENVIRONMENT_BYTES)
            mathematics = ctypes.CDLL(None)
            mathematics.fegetenv(self._environment)
            mathematics.fesetenv(_DEFAULT)
        get_threads = getattr(sys.modules.get("torch"), "get_num_threads", None)
        self._before = 1 if get_threads is None else get_threads()
        if self._before != 1:
            sys.modules["torch"].set_num_threads(1)

    def leave(self) -> None:
        self.inside -= 1
        if self.inside:
            return
        if self._before != 1:
            sys.modules["torch"].set_num_threads(self._before)
        if self._environment is not None:
            ctypes.CDLL(None).fesetenv(self._environment)
            self._environment = None


class OneThread:
    """A context: NumPy's BLAS runs on one thread while any thread is inside it.

    The setting belongs to the whole process; the last thread to leave restores it. Nothing happens
    with a BLAS that threadpoolctl does not know. PyTorch has a separate setting for each thread, as
    has the processor for denormals, which stay flushed on systems other than Linux.
    """

    def __init__(self) -> None:
        self._thread = _ThreadSettings()
        self._lock = Lock(taken=True, renewed=self._renewed)
        self._inside = 0
        self._libraries: Sequence[Library] | None = None
        self._before: list[int] = []

    def _renewed(self) -> None:
        """After a fork, count only the forking thread as inside: the child has no other threads."""
        before, self._inside = self._inside, self._thread.inside
        if before and not self._inside:
            self._restore()

    def _restore(self) -> None:
        for library, threads in zip(self._libraries or (), self._before, strict=True):
            library.set_num_threads(threads)

    def __enter__(self) -> None:
        self._thread.enter()
        with self._lock:
            self._inside += 1
            if self._inside > 1:
                return
            if self._libraries is None:
                self._libraries = _numpy_libraries()
            self._before = [library.num_threads for library in self._libraries]
            for library in self._libraries:
                library.set_num_threads(1)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._thread.leave()
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._restore()


class _OpenBLAS:
    """The OpenBLAS that NumPy itself is linked with."""

    def __init__(self, get_threads: Callable[[], int], set_threads: Callable[[int], None]) -> None:
        self._get_threads = get_threads
        self.set_num_threads = set_threads

    @property
    def num_threads(self) -> int:
        return self._get_threads()


def _numpy_libraries() -> Sequence[Library]:
    """Return NumPy's BLAS, found by the names of its functions, or else among all libraries.

    To search all libraries takes 8 ms or more if PyTorch is loaded, to try names 0.1 ms. A symbol
    is looked up in a library and in the libraries linked with it, except on Windows.
    """
    module: Any = np._core._multiarray_umath  # type: ignore[attr-defined]
    try:
        library = ctypes.CDLL(module.__file__)
    except OSError:
        return _libraries_loaded()
    for name in _OPENBLAS:
        get_threads = getattr(library, name.format("get"), None)
        set_threads = getattr(library, name.format("set"), None)
        if get_threads is not None and set_threads is not None:
            set_threads.restype = None
            return [_OpenBLAS(get_threads, set_threads)]
    return _libraries_loaded()


def _libraries_loaded() -> Sequence[Library]:
    from threadpoolctl import ThreadpoolController

    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    return [library for library in libraries if "numpy" in library.filepath]


ONE_THREAD = OneThread()
