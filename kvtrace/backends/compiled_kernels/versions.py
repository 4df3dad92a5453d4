"""Differences between the versions of Triton that can be recorded."""

import re
from typing import Any, Final

#: The oldest version with the hooks and the launching function that the backends need.
OLDEST: Final = (3, 5)
#: The newest version that all tests run with; `requirements/bounds.py` lists all versions.
NEWEST_TESTED: Final = (3, 9)
#: The oldest torch whose tensors the C extension reads.
OLDEST_TORCH: Final = (2, 10)


def version_of(library: Any) -> tuple[int, int]:
    """Return (major, minor) of the imported Triton or torch; (0, 0) if unknown."""
    match = re.match(r"(\d+)\.(\d+)", str(getattr(library, "__version__", "")))
    return (int(match[1]), int(match[2])) if match else (0, 0)


def untested(triton: Any) -> str:
    """Return a sentence if Triton is newer than the newest tested version, else ""."""
    if version_of(triton) <= NEWEST_TESTED:
        return ""
    newest = ".".join(map(str, NEWEST_TESTED))
    return (
        f"Triton {triton.__version__} is newer than {newest}, the newest that this kvtrace is "
        "tested with; if anything is wrong, look for a newer kvtrace"
    )


def finished_kernel(kernel: Any) -> Any:
    """Return the kernel that a launch returned; None while it is compiled asynchronously."""
    if hasattr(kernel, "asm"):
        return kernel
    inner = getattr(kernel, "kernel", None)
    return inner if hasattr(inner, "asm") else None


def definition(function: Any) -> tuple[str, int]:
    """Return file and line of a jitted function's `def`, without decorators.

    Triton 3.9 has the line as `def_file_line_number`; for older versions it is found as Triton
    does.
    """
    file = str(function.fn.__code__.co_filename)
    line = getattr(function, "def_file_line_number", None)
    if isinstance(line, int):
        return file, line
    for index, text in enumerate(function.raw_src):
        if text.strip().startswith("def "):
            return file, int(function.starting_line_number) + index
    return file, int(function.starting_line_number)
