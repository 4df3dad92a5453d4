"""What differs between the versions of Triton that are recorded, in one place."""

import re
from typing import Any, Final

#: The oldest version whose hooks and launching function are as the backends need them.
OLDEST: Final = (3, 5)


def version_of(triton: Any) -> tuple[int, int]:
    """Major and minor version of the imported Triton; (0, 0) if it does not tell."""
    found = re.match(r"(\d+)\.(\d+)", str(getattr(triton, "__version__", "")))
    return (int(found[1]), int(found[2])) if found else (0, 0)


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
