"""CUPTI has one user at a time in a process: leaves it to torch.profiler, and takes it back.

torch's profiler registers callbacks and, when it ends, switches kernel records off; it would get
kvtrace's buffers, and we none. So we stop when it prepares, and begin again some time after it has
stopped. It is noticed by two functions of `torch.autograd.profiler` (torch 2.5 to 2.13).
"""

import os
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from kvtrace.backends.cupti.library import CuptiUnavailable
from kvtrace.backends.replacements import Replacements

_PREPARES: Final = "_prepare_profiler"
_STOPS: Final = "_run_on_profiler_stop"

#: Seconds that the other one gets for reading its records after it was stopped.
_PATIENCE: Final = 1.0

#: Set by profilers that are loaded into the process from outside (Nsight Systems and its like).
_INJECTED: Final = ("NSYS_PROFILING_SESSION_ID", "CUDA_INJECTION64_PATH")


class Sharing:
    """Whether CUPTI is lent to torch.profiler at the moment.

    Raises:
        CuptiUnavailable: a profiler that was loaded from outside has it.
    """

    def __init__(self, leave: Callable[[], None], problem: Callable[[Exception], None]) -> None:
        """`leave` stops our use; it is called when torch.profiler is about to begin."""
        outside = next((name for name in _INJECTED if os.environ.get(name)), None)
        if outside is not None:
            raise CuptiUnavailable(
                f"another profiler holds CUPTI in this process ({outside} is set); launches are "
                "recorded without the device timeline"
            )
        self._leave = leave
        self._problem = problem
        self._replaced = Replacements()
        torch = sys.modules.get("torch")
        self._profiler: Any = getattr(getattr(torch, "autograd", None), "profiler", None)
        self.lent = bool(getattr(self._profiler, "_is_profiler_enabled", False))
        self._stopped_at: float | None = None
        self._wrap(_PREPARES, self._prepare)
        self._wrap(_STOPS, self._stop)

    def over(self) -> bool:
        """Whether what was lent is free again; then it counts as ours."""
        stopped = self._stopped_at
        if stopped is None or time.monotonic() - stopped < _PATIENCE:
            return False
        self.lent = False
        self._stopped_at = None
        return True

    def end(self) -> None:
        """Take notice no more."""
        self._replaced.undo()

    def _wrap(self, name: str, notice: Callable[[], None]) -> None:
        original = getattr(self._profiler, name, None)
        if original is None:
            return

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            try:
                notice()
            except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                self._problem(error)
            return original(*args, **kwargs)

        self._replaced.put(self._profiler, name, wrapped)

    def _prepare(self) -> None:
        self._stopped_at = None
        if not self.lent:
            self.lent = True
            self._leave()

    def _stop(self) -> None:
        self._stopped_at = time.monotonic()
