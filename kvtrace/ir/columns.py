"""Columns of locations, which Triton counts from 0 before 3.8 and from 1 since; kvtrace from 1.

IR that is printed, compiled or parsed again keeps its column numbers, so the version of the Triton
that made the TTIR decides, not the version that reads the IR.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

_FROM_ONE: Final = (3, 8)
_NUMBERS: Final = re.compile(r"(\d+)\.(\d+)")


def column_shift(version: str | None) -> int:
    """Return the number that makes a Triton version's columns count from 1; 0 if unknown."""
    numbers = version_numbers(version)
    return 0 if numbers is None else int(numbers < _FROM_ONE)


def version_numbers(version: str | None) -> tuple[int, int] | None:
    """Return (major, minor) of a version string, or None if it does not start with two numbers."""
    numbers = _NUMBERS.match(version or "")
    return None if numbers is None else (int(numbers[1]), int(numbers[2]))


def triton_of(kernel: Mapping[str, Any], versions: Mapping[str, str]) -> str | None:
    """Return the version of the Triton that made a kernel's TTIR, or None if unknown.

    Args:
        kernel: the row of `kernels`, with `options`, in which Triton writes its version.
        versions: the run's versions, for kernels without that option.
    """
    version = dict(kernel["options"] or ()).get("triton_version")
    return versions.get("triton") if version is None else str(version)
