"""CuptiLoan of CUPTI, which has one user at a time in a process, with other profilers.

torch's profiler and Proton register callbacks of their own, fail while another user has callbacks,
and switch kernel records off when they end. So kvtrace stops when one of them prepares, and resumes
`_RETURN_AFTER` seconds after it has stopped. kvtrace notices them by wrapping functions that they
call: two of `torch.autograd.profiler` (torch 2.5 to 2.13), and those of Proton's native part
(Triton 3.6). An unnoticed profiler only shows as silence: launches without records of executions.

A second copy of CUPTI gets no callbacks in a process in which another copy was ever used. Proton
would load Triton's copy, so kvtrace points Proton to the copy in use.
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

#: Library, module, function called before a profiler begins, and functions called as it ends.
_OTHERS: Final = (
    ("torch", "torch.autograd.profiler", "_prepare_profiler", ("_run_on_profiler_stop",)),
    ("triton", "triton._C.libproton:proton", "start", ("finalize", "finalize_all")),
)

#: Variable with the folder from which Proton loads CUPTI, as `libcupti.so`.
_PROTON_FOLDER: Final = "TRITON_CUPTI_LIB_PATH"

#: Seconds that the other profiler gets for reading its records after it was stopped.
_RETURN_AFTER: Final = 1.0

#: Seconds without a record after a launch that count as silence. Rounds do not measure this: the
#: first rounds follow each other within a fraction of a second.
PATIENCE: Final = 5.0

#: Set by profilers that are loaded into the process from outside (Nsight Systems and its like).
_INJECTED: Final = ("NSYS_PROFILING_SESSION_ID", "CUDA_INJECTION64_PATH")


class CuptiLoan:
    """The loan of CUPTI to other profilers; `lent` is True while another profiler uses CUPTI.

    Raises:
        CuptiUnavailable: a profiler that was loaded from outside uses CUPTI.
    """

    def __init__(
        self, leave: Callable[[], None], problem: Callable[[Exception], None], library: str
    ) -> None:
        """Wrap functions of other profilers; `leave` is called before one of them begins.

        `leave` has to stop kvtrace's use of CUPTI. `library` is the path of the copy of CUPTI that
        kvtrace uses.
        """
        outside = next((name for name in _INJECTED if os.environ.get(name)), None)
        if outside is not None:
            raise CuptiUnavailable(
                f"another profiler uses CUPTI in this process ({outside} is set); launches are "
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
            profiler = _imported(module)
            self.lent |= bool(getattr(profiler, "_is_profiler_enabled", False))
            lend = self._lend_library if library == "triton" else self._prepare
            self._wrap(profiler, prepares, lend)
            for name in stops:
                self._wrap(profiler, name, self._stop)

    def over(self) -> bool:
        """Return whether a loan has ended since the last call, and set `lent` to False."""
        stopped = self._stopped_at
        if stopped is None or time.monotonic() - stopped < _RETURN_AFTER:
            return False
        self.lent = False
        self._stopped_at = None
        return True

    def end(self) -> None:
        """Remove the wrappers from other profilers."""
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


class SilenceTimer:
    """A timer of the wait between a launch and the next record of a kernel from CUPTI."""

    def __init__(self) -> None:
        self._since: float | None = None

    def expect(self) -> None:
        """Start the timer, unless it runs: a kernel was launched."""
        if self._since is None:
            self._since = time.monotonic()

    def end(self) -> None:
        """Stop the timer: records came, or cannot come."""
        self._since = None

    def lasts(self) -> bool:
        """Return whether the timer has run for `PATIENCE` seconds; it is then stopped."""
        if self._since is None or time.monotonic() - self._since < PATIENCE:
            return False
        self._since = None
        return True


def _imported(path: str) -> Any:
    """Return a module, or its attribute for `module:name`; None where this build has none."""
    module_name, _, name = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError:
        return None
    return getattr(module, name, None) if name else module
