"""Python call stacks: the frames of the user's program that led to a launch."""

import sys
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

from kvtrace.capture.records import Frame

#: Most frames that are kept of a stack, the innermost ones.
DEPTH_LIMIT: Final = 64

_OWN: Final = str(Path(__file__).parent.parent) + "/"
_hidden: list[str] = [_OWN, "<frozen "]


def hide_frames_of(folder: str) -> None:
    """Leave frames of files under `folder`, or of that file, out of stacks: the library's own."""
    prefix = folder.rstrip("/\\") + "/"
    if prefix not in _hidden:
        _hidden.append(prefix)
        _is_hidden.cache_clear()


def current_stack() -> tuple[Frame, ...]:
    """The calling thread's stack, innermost user frame first, at most `DEPTH_LIMIT` frames."""
    frame: FrameType | None = sys._getframe(1)
    found: list[Frame] = []
    while frame is not None and len(found) < DEPTH_LIMIT:
        code = frame.f_code
        if not _is_hidden(code.co_filename):
            found.append(_frame(code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


@lru_cache(maxsize=4096)
def _is_hidden(file: str) -> bool:
    return f"{file}/".replace("\\", "/").startswith(tuple(p.replace("\\", "/") for p in _hidden))


@lru_cache(maxsize=4096)
def _frame(code: CodeType, instruction: int) -> Frame:
    position = next(islice(code.co_positions(), instruction // 2, None), None)
    line, column = (position[0], position[2]) if position else (None, None)
    return Frame(
        file=code.co_filename,
        line=code.co_firstlineno if line is None else line,
        column=None if column is None else column + 1,
        function=code.co_qualname,
    )
