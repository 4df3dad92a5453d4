"""How far sweeps go: a part at every change, and all of it with `KVTRACE_TEST_THOROUGH=1`."""

import os
from typing import Final

THOROUGH: Final = os.environ.get("KVTRACE_TEST_THOROUGH") == "1"


def usually(part: int, thorough: int) -> int:
    """Return how many of something a test takes."""
    return thorough if THOROUGH else part
