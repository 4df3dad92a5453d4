"""Columns of locations: Triton counts them from 0 before 3.8 and from 1 since; kvtrace from 1.

What is printed, compiled or read again keeps the numbers that its Triton wrote, so what counts is
the Triton that made the TTIR, whichever one reads it.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

_FROM_ONE: Final = (3, 8)
_NUMBERS: Final = re.compile(r"(\d+)\.(\d+)")


def column_shift(version: str | None) -> int:
    """Return what to add to the columns that a version of Triton wrote for them to count from 1.

    0 where the version is not known.
    """
    numbers = version_numbers(version)
    return 0 if numbers is None else int(numbers < _FROM_ONE)


def version_numbers(version: str | None) -> tuple[int, int] | None:
    """Return major and minor number of a version; None: it has none."""
    numbers = _NUMBERS.match(version or "")
    return None if numbers is None else (int(numbers[1]), int(numbers[2]))


def triton_of(kernel: Mapping[str, Any], versions: Mapping[str, str]) -> str | None:
    """Return the version of Triton that made the TTIR of a kernel.

    Args:
        kernel: its row of `kernels`, with `options`: Triton writes its version among them.
        versions: those of its run, for kernels whose options are not known.

    """
    found = dict(kernel["options"] or ()).get("triton_version")
    return versions.get("triton") if found is None else str(found)
