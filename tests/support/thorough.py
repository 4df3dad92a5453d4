"""Extent of sweeps: a part at every change, and all of it with `KVTRACE_TEST_THOROUGH=1`.

The date chooses the part; `KVTRACE_TEST_DAY`, which all processes of a session share and which its
header names, chooses that of another day.
"""

import os
import time
from collections.abc import Iterable
from typing import Final, TypeVar

THOROUGH: Final = os.environ.get("KVTRACE_TEST_THOROUGH") == "1"
#: Days since 1970.
DAY: Final = int(os.environ.setdefault("KVTRACE_TEST_DAY", str(int(time.time()) // 86_400)))

T = TypeVar("T")


def in_turn(values: Iterable[T], each: int) -> list[T]:
    """Return one in so many values, another one each day; thoroughly, all of them."""
    return list(values) if THOROUGH else list(values)[DAY % each :: each]


def usually(part: int, thorough: int) -> int:
    """Return how many of something a test takes."""
    return thorough if THOROUGH else part
