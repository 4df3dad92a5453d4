"""The time that sealing a run may take: a line says that it is under way, and then that it ends."""

import time
from typing import Final

from kvtrace.surroundings import print_error

#: Seconds that the end of a run waits for a flush that is in progress, and that sealing takes.
PATIENCE: Final = 30.0
#: Seconds of sealing after which a line says that it is under way.
_QUIET: Final = 3.0


class SealingTime:
    """Time since `begin` (monotonic, in ns), when the end of the run recorded in `out` began."""

    def __init__(self, out: str) -> None:
        self.begin = time.monotonic_ns()
        self._out = out
        self._said_slow = False

    def goes_on(self) -> bool:
        """Return whether sealing goes on; if it takes long, say so."""
        seconds = (time.monotonic_ns() - self.begin) / 1e9
        if seconds > PATIENCE:
            text = "the rest stays in the journal: run kvtrace trace recover"
            print_error(f"sealing the trace has taken {seconds:.0f} s; {text} {self._out}")
            return False
        if seconds > _QUIET and not self._said_slow:
            self._said_slow = True
            print_error(f"the trace in {self._out} is being sealed, for {PATIENCE:g} s at most")
        return True
