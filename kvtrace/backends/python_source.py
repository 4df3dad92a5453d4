"""The Python source of what is recorded, as far as it can be read."""

import inspect
from pathlib import Path
from typing import Any, Final

__all__ = ["definition_line", "file_content", "function_source"]

#: Source files larger than this are left out, in bytes.
_FILE_LIMIT: Final = 4 << 20


def function_source(function: Any) -> str | None:
    """Give a function's text with its decorators; None where it was made in memory."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return None


def definition_line(function: Any) -> int:
    """Give the line of `def`, decorators left out."""
    first = int(function.__code__.co_firstlineno)
    for index, text in enumerate((function_source(function) or "").splitlines()):
        if text.strip().startswith(("def ", "async def ")):
            return first + index
    return first


def file_content(path: str) -> bytes | None:
    """Give what a file holds; None where it is too large, was made in memory, or is gone."""
    try:
        file = Path(path)
        return file.read_bytes() if file.stat().st_size <= _FILE_LIMIT else None
    except OSError:
        return None
