"""Whether CUPTI has reported nothing for so long that somebody else must have it."""

import time
from typing import Final

#: Seconds without one kernel that ended, after a launch. A recording's first rounds follow each
#: other within a fraction of one, so rounds say nothing of a program that ends early.
PATIENCE: Final = 5.0


class Silence:
    """Since when launches wait for the first record of a kernel."""

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
        """Return whether it has lasted too long; once each time."""
        if self._since is None or time.monotonic() - self._since < PATIENCE:
            return False
        self._since = None
        return True
