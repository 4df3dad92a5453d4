"""Columns of locations, which Triton counts from 0 before 3.8 and from 1 since; kvtrace from 1.

IR that is printed, compiled or parsed again keeps the numbers written by the Triton that made the
TTIR, so that version decides, not the one that reads the IR.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

_FROM_ONE: Final = (3, 8)
_NUMBERS: Final = re.compile(r"(\d+)\.(\d+)")


def column_shift(version: str | None) -> int:
    """Return the number to add to a Triton version's columns so that they count from 1.

    The number is 0 if the version is not known.
    """
    numbers = version_numbers(version)
    return 0 if numbers is None else int(numbers < _FROM_ONE)


def version_numbers(version: str | None) -> tuple[int, int] | None:
    """Return (major, minor) of a version string, or None if it does not start with two numbers."""
    numbers = _NUMBERS.match(version or "")
    return None if numbers is None else (int(numbers[1]), int(numbers[2]))


def triton_of(kernel: Mapping[str, Any], versions: Mapping[str, str]) -> str | None:
    """Return the version of the Triton that made the TTIR of a kernel, or None if unknown.

    Args:
        kernel: the row of `kernels`, with `options`, in which Triton writes its version.
        versions: the run's versions, for kernels without that option.

    """
    version = dict(kernel["options"] or ()).get("triton_version")
    return versions.get("triton") if version is None else str(version)
