"""NumPy's matrix products on one thread while a launch is evaluated.

The products of a launch are many and small. OpenBLAS would share each among all cores, and where
another process wants one of them, every product waits for a time slice: 16 ms instead of 0.2 ms.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any


class OneThread:
    """A context: NumPy's BLAS runs on one thread while any thread is inside it.

    The setting belongs to the whole process; the last to leave puts it back. Where NumPy has a BLAS
    that cannot be asked, nothing happens.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._libraries: list[Any] | None = None
        self._before: list[int] = []

    def __enter__(self) -> None:
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
        with self._lock:
            self._inside -= 1
            if self._inside or self._libraries is None:
                return
            for library, threads in zip(self._libraries, self._before, strict=True):
                library.set_num_threads(threads)


def _numpy_libraries() -> list[Any]:
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return [library for library in found if "numpy" in library.filepath]


ONE_THREAD = OneThread()
