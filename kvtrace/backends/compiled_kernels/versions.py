"""What differs between the versions of Triton that are recorded, in one place."""

import re
from typing import Any, Final

#: The oldest version whose hooks and launching function are as the backends need them.
OLDEST: Final = (3, 5)
#: The newest version that all tests are run with; `requirements/bounds.py` has them all.
NEWEST_TESTED: Final = (3, 9)
#: The oldest torch whose tensors the C extension reads.
OLDEST_TORCH: Final = (2, 10)


def version_of(library: Any) -> tuple[int, int]:
    """Return major and minor version of the imported Triton or torch; (0, 0) if unknown."""
    found = re.match(r"(\d+)\.(\d+)", str(getattr(library, "__version__", "")))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def untested(triton: Any) -> str:
    """Say that Triton is newer than any that the tests are run with; empty if it is not."""
    if version_of(triton) <= NEWEST_TESTED:
        return ""
    newest = ".".join(map(str, NEWEST_TESTED))
    return (
        f"Triton {triton.__version__} is newer than {newest}, the newest that this kvtrace is "
        "tested with; if anything is wrong, look for a newer kvtrace"
    )


def whole_kernel(kernel: Any) -> Any:
    """The compiled kernel behind what a launch returned; None while it is being compiled.

    Asynchronous compilation wraps kernels; only their launches wait for them.
    """
    if hasattr(kernel, "asm"):
        return kernel
    inner = getattr(kernel, "kernel", None)
    return inner if hasattr(inner, "asm") else None


def definition(function: Any) -> tuple[str, int]:
    """File and line of a jitted function's `def`, decorators left out.

    Triton 3.9 has it as `def_file_line_number`; before it is found as Triton does.
    """
    file = str(function.fn.__code__.co_filename)
    line = getattr(function, "def_file_line_number", None)
    if isinstance(line, int):
        return file, line
    for index, text in enumerate(function.raw_src):
        if text.strip().startswith("def "):
            return file, int(function.starting_line_number) + index
    return file, int(function.starting_line_number)
