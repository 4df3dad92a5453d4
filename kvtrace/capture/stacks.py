"""Python call stacks: the frames of the user's program that led to a launch."""

import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

from kvtrace.capture.records import Frame, Origin

#: Most frames that are kept of a stack, the innermost ones.
DEPTH_LIMIT: Final = 64

#: Say what a line was generated from, given its file and number; None where they do not know it.
#: Of backends whose library writes Python.
LINE_ORIGINS: Final[list[Callable[[str, int | None], tuple[Origin, ...] | None]]] = []

_OWN: Final = str(Path(__file__).parent.parent) + "/"
_hidden: list[str] = [_OWN, "<frozen "]


def hide_frames_of(folder: str) -> None:
    """Leave frames of files under `folder`, or of that file, out of stacks: the library's own."""
    prefix = folder.rstrip("/\\") + "/"
    if prefix not in _hidden:
        _hidden.append(prefix)
        is_hidden.cache_clear()


def current_stack() -> tuple[Frame, ...]:
    """The calling thread's stack, innermost user frame first, at most `DEPTH_LIMIT` frames."""
    frame: FrameType | None = sys._getframe(1)
    found: list[Frame] = []
    while frame is not None and len(found) < DEPTH_LIMIT:
        code = frame.f_code
        if not is_hidden(code.co_filename):
            found.append(_frame(code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


def forget_code() -> None:
    """Release the program's code objects: it may follow when they die, as Dynamo does."""
    _frame.cache_clear()


def generated_from(frames: Iterable[Frame]) -> tuple[Origin, ...] | None:
    """Return what the innermost generated line was generated from; None where none was."""
    found = (known(frame.file, frame.line) for frame in frames for known in LINE_ORIGINS)
    return next((origins for origins in found if origins), None)


@lru_cache(maxsize=4096)
def is_hidden(file: str) -> bool:
    """Tell whether frames of a file are left out: kvtrace's, and those of a hooked library."""
    return f"{file}/".replace("\\", "/").startswith(tuple(p.replace("\\", "/") for p in _hidden))


@lru_cache(maxsize=4096)
def _frame(code: CodeType, instruction: int) -> Frame:
    line, column = line_and_column(code, instruction)
    return Frame(file=code.co_filename, line=line, column=column, function=code.co_qualname)


def line_and_column(code: CodeType, instruction: int) -> tuple[int, int | None]:
    """Return the place of an instruction, given in bytes from the first; both count from 1."""
    position = next(islice(code.co_positions(), instruction // 2, None), None)
    line, column = (position[0], position[2]) if position else (None, None)
    return (
        code.co_firstlineno if line is None else line,
        None if column is None else column + 1,
    )
