"""Matrix products on one thread while a launch is evaluated: NumPy's, and PyTorch's if it is there.

The products of a launch are many and small. OpenBLAS would share each among all cores, and where
another process wants one of them, every product waits for a time slice: 16 ms instead of 0.2 ms.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Protocol

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
    """A BLAS that can be asked, as threadpoolctl shows it."""

    @property
    def num_threads(self) -> int:
        """Threads that a product is shared among."""

    def set_num_threads(self, num_threads: int) -> None:
        """Share products among so many threads from now on."""


class _TorchOnOneThread(threading.local):
    """Has PyTorch, if the program imported it, use one thread for what this thread asks of it."""

    inside = 0
    _before = 1

    def enter(self) -> None:
        self.inside += 1
        if self.inside > 1:
            return
        ask = getattr(sys.modules.get("torch"), "get_num_threads", None)
        self._before = 1 if ask is None else ask()
        if self._before != 1:
            sys.modules["torch"].set_num_threads(1)

    def leave(self) -> None:
        self.inside -= 1
        if not self.inside and self._before != 1:
            sys.modules["torch"].set_num_threads(self._before)


class OneThread:
    """A context: NumPy's BLAS runs on one thread while any thread is inside it.

    The setting belongs to the whole process; the last to leave puts it back. Where NumPy has a BLAS
    that cannot be asked, nothing happens. PyTorch's own setting is one of each thread.
    """

    def __init__(self) -> None:
        self._torch = _TorchOnOneThread()
        self._lock = Lock(taken=True, renewed=self._renewed)
        self._inside = 0
        self._libraries: Sequence[Library] | None = None
        self._before: list[int] = []

    def _renewed(self) -> None:
        """Count the thread that forked alone: no other is there to leave."""
        before, self._inside = self._inside, self._torch.inside
        if before and not self._inside:
            self._restore()

    def _restore(self) -> None:
        for library, threads in zip(self._libraries or (), self._before, strict=True):
            library.set_num_threads(threads)

    def __enter__(self) -> None:
        self._torch.enter()
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
        self._torch.leave()
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._restore()


class _OpenBLAS:
    """The OpenBLAS that NumPy itself is linked with."""

    def __init__(self, ask: Callable[[], int], tell: Callable[[int], None]) -> None:
        self._ask = ask
        self.set_num_threads = tell

    @property
    def num_threads(self) -> int:
        return self._ask()


def _numpy_libraries() -> Sequence[Library]:
    """Find NumPy's BLAS: by the names of its functions, or else among all libraries loaded.

    The second takes 8 ms or more where PyTorch is loaded too, the first 0.1 ms. A symbol is looked
    for in a library and what it is linked with, except on Windows.
    """
    module: Any = np._core._multiarray_umath  # type: ignore[attr-defined]
    try:
        library = ctypes.CDLL(module.__file__)
    except OSError:
        return _libraries_loaded()
    for name in _OPENBLAS:
        ask = getattr(library, name.format("get"), None)
        tell = getattr(library, name.format("set"), None)
        if ask is not None and tell is not None:
            tell.restype = None
            return [_OpenBLAS(ask, tell)]
    return _libraries_loaded()


def _libraries_loaded() -> Sequence[Library]:
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return [library for library in found if "numpy" in library.filepath]


ONE_THREAD = OneThread()
