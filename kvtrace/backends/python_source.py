"""The Python source of recorded functions and files, if it can be read."""

import inspect
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from kvtrace.schema.sources import used_part
from kvtrace.settings import Source

__all__ = ["definition_line", "function_source", "recorded_file_content"]

#: Source files larger than this are left out, in bytes.
_FILE_LIMIT: Final = 4 << 20


def function_source(function: Any) -> str | None:
    """Return a function's source with its decorators; None for a function made in memory."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return None


def definition_line(function: Any) -> int:
    """Return the line number of a function's `def`, after its decorators."""
    first_line = int(function.__code__.co_firstlineno)
    for index, text in enumerate((function_source(function) or "").splitlines()):
        if text.strip().startswith(("def ", "async def ")):
            return first_line + index
    return first_line


def recorded_file_content(path: str, lines: Collection[int], keep: Source) -> bytes | None:
    """Return the content of a file to record; None if it is too large or cannot be read.

    Args:
        path: the file.
        lines: numbers of the lines that a kernel's code comes from, counted from 1.
        keep: the setting `source`.

    """
    if keep == "off":
        return None
    try:
        file = Path(path)
        content = file.read_bytes() if file.stat().st_size <= _FILE_LIMIT else None
    except OSError:
        return None
    if content is None or keep == "files":
        return content
    return used_part(content.decode("utf-8", "replace"), lines).encode()
