"""CUPTI has one user at a time in a process: leaves it to other profilers, and takes it back.

torch's profiler and Proton register callbacks for themselves, are refused while somebody else has
some, and switch kernel records off when they end. So kvtrace stops when they prepare, and begins
again some time after they have stopped. They are noticed by functions that they call: two of
`torch.autograd.profiler` (torch 2.5 to 2.13), and those of Proton's native part (Triton 3.6).

A profiler that is not noticed so leaves nothing but a silence: launches, and no record of one.

A second copy of CUPTI gets no callbacks in a process in which one was ever used. Proton would load
Triton's copy, so it is given the one that kvtrace has used.
"""

import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from kvtrace.backends.cupti.library import CuptiUnavailable
from kvtrace.backends.replacements import Replacements

#: Library, module, and its functions that are called before a profiler begins, and as it ends.
_OTHERS: Final = (
    ("torch", "torch.autograd.profiler", "_prepare_profiler", ("_run_on_profiler_stop",)),
    ("triton", "triton._C.libproton:proton", "start", ("finalize", "finalize_all")),
)

#: Names the folder from which Proton loads CUPTI, by the name of the library without a version.
_PROTON_FOLDER: Final = "TRITON_CUPTI_LIB_PATH"

#: Seconds that the other one gets for reading its records after it was stopped.
_RETURN_AFTER: Final = 1.0

#: Seconds without one kernel that ended, after a launch. A recording's first rounds follow each
#: other within a fraction of one, so rounds say nothing of a program that ends early.
PATIENCE: Final = 5.0

#: Set by profilers that are loaded into the process from outside (Nsight Systems and its like).
_INJECTED: Final = ("NSYS_PROFILING_SESSION_ID", "CUDA_INJECTION64_PATH")


class Sharing:
    """Whether CUPTI is lent to another profiler at the moment.

    Raises:
        CuptiUnavailable: a profiler that was loaded from outside has it.
    """

    def __init__(
        self, leave: Callable[[], None], problem: Callable[[Exception], None], library: str
    ) -> None:
        """`leave` stops kvtrace's use; it is called when another profiler is about to begin.

        `library` is the path of the copy of CUPTI that kvtrace uses.
        """
        outside = next((name for name in _INJECTED if os.environ.get(name)), None)
        if outside is not None:
            raise CuptiUnavailable(
                f"another profiler holds CUPTI in this process ({outside} is set); launches are "
                "recorded without the device timeline"
            )
        self._leave = leave
        self._library = None if _PROTON_FOLDER in os.environ else library
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._problem = problem
        self._replaced = Replacements()
        self.lent = False
        self._stopped_at: float | None = None
        for library, module, prepares, stops in _OTHERS:
            if library not in sys.modules:
                continue
            profiler = _found(module)
            self.lent |= bool(getattr(profiler, "_is_profiler_enabled", False))
            lend = self._lend_library if library == "triton" else self._prepare
            self._wrap(profiler, prepares, lend)
            for name in stops:
                self._wrap(profiler, name, self._stop)

    def over(self) -> bool:
        """Whether what was lent is free again; then it counts as ours."""
        stopped = self._stopped_at
        if stopped is None or time.monotonic() - stopped < _RETURN_AFTER:
            return False
        self.lent = False
        self._stopped_at = None
        return True

    def end(self) -> None:
        """Take notice no more."""
        self._replaced.undo()
        if self._folder is not None:
            self._folder.cleanup()

    def _wrap(self, profiler: Any, name: str, notice: Callable[[], None]) -> None:
        original = getattr(profiler, name, None)
        if original is None:
            return

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            try:
                notice()
            except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                self._problem(error)
            return original(*args, **kwargs)

        self._replaced.put(profiler, name, wrapped)

    def _prepare(self) -> None:
        self._stopped_at = None
        if not self.lent:
            self.lent = True
            self._leave()

    def _lend_library(self) -> None:
        self._prepare()
        if self._library is not None and self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="kvtrace-cupti-")
            (Path(self._folder.name) / "libcupti.so").symlink_to(self._library)
            os.environ[_PROTON_FOLDER] = self._folder.name

    def _stop(self) -> None:
        self._stopped_at = time.monotonic()


class Silence:
    """The time since which launches wait for the first record of a kernel."""

    def __init__(self) -> None:
        self._since: float | None = None

    def expect(self) -> None:
        """Note that a kernel was launched."""
        if self._since is None:
            self._since = time.monotonic()

    def end(self) -> None:
        """Note that records came, or that none can come."""
        self._since = None

    def lasts(self) -> bool:
        """Return whether the silence has lasted too long; True once, until the next launch."""
        if self._since is None or time.monotonic() - self._since < PATIENCE:
            return False
        self._since = None
        return True


def _found(place: str) -> Any:
    """Return a module, or what it holds under a name; None where this build has none."""
    module, _, name = place.partition(":")
    try:
        found = importlib.import_module(module)
    except ImportError:
        return None
    return getattr(found, name, None) if name else found
