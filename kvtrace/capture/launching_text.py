"""Text of the functions that launch a kernel, and of those that call them, as recorded.

Text is kept only if it is what ran: its function is compiled and compared with the running code.
Of a caller it is kept while its line names the function that it calls, which is how readers follow
numbers outwards. To be used in the journal's thread, since files are read.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Final

from kvtrace.capture.python_source import FILE_LIMIT, used_part
from kvtrace.capture.records import Frame
from kvtrace.settings import Source

#: Most frames of a stack of which text is kept, the innermost ones.
_MOST_FRAMES: Final = 6
#: Lines of a call in which the called function's name is looked for.
_CALL_LINES: Final = 8
#: Backslashes that Python may warn of, which would be printed in the program.
_UNUSUAL_ESCAPE: Final = re.compile(r"\\[^\n\\'\"abfnrtv0-7xNuU]")


def launching_files(frames: Sequence[Frame], keep: Source) -> Iterator[tuple[str, bytes]]:
    """Yield the path and kept text of a stack's innermost frames, up to one without known text.

    Args:
        frames: the stack of a launch, the innermost frame first.
        keep: the setting `source`.

    """
    called: str | None = None
    for frame in frames[:_MOST_FRAMES] if keep != "off" else ():
        code, line = frame.code, frame.line
        text = _file_text(frame.file)
        if code is None or line is None or text is None or not _names(text, line, called):
            return
        part, codes = _compiled_part(text, line, whole=frame.function == "<module>")
        if code not in codes:
            return
        yield frame.file, (text if keep == "files" else part).encode()
        called = code.co_name


def _file_text(path: str) -> str | None:
    """Return the text of a Python file, None if it is too large or cannot be read."""
    file = Path(path)
    try:
        status = file.stat()
        is_read = file.suffix == ".py" and status.st_size <= FILE_LIMIT
        return _content(file, status.st_mtime_ns) if is_read else None
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=8)
def _content(file: Path, _: int) -> str:
    """Return a file's text; cached by the time of its last change."""
    return file.read_text(encoding="utf-8")


@lru_cache(maxsize=1024)
def _names(text: str, line: int, called: str | None) -> bool:
    """Return whether a call in a line names the function that it calls; None is any."""
    if called is None:
        return True
    return called in "\n".join(text.splitlines()[line - 1 : line - 1 + _CALL_LINES])


@lru_cache(maxsize=64)
def _compiled_part(text: str, line: int, *, whole: bool) -> tuple[str, tuple[CodeType, ...]]:
    """Return the outermost function around a line, with what it uses, and the code in it; cached.

    `whole` compiles all of the text, as code of a file's top level is made of it. Nothing is
    compiled that does not compile, or that Python might warn of.
    """
    part = used_part(text, [line], outermost=True)
    compiled = text if whole else part
    if _UNUSUAL_ESCAPE.search(compiled):
        return part, ()
    try:
        code = compile(compiled, "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        return part, ()
    return part, tuple(_codes(code))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
