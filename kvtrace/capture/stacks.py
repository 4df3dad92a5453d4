"""Python call stacks of launches: the frames of the user's program."""

import sys
from array import array
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

from kvtrace.capture.records import Frame, Origin

#: Most frames that are kept of a stack, the innermost ones.
DEPTH_LIMIT: Final = 64

#: Functions, of backends whose library writes Python, from (file, line) to the origins of that
#: generated line; None for lines of other files.
LINE_ORIGINS: Final[list[Callable[[str, int | None], tuple[Origin, ...] | None]]] = []
#: Functions, of the same backends, that tell whether a library has written a file.
GENERATED: Final[list[Callable[[str], bool]]] = []

_OWN: Final = str(Path(__file__).parent.parent) + "/"
_hidden: list[str] = [_OWN, "<frozen "]

#: Frames by identity of the code and instruction; they hold the code, whose identity so stays.
#: Codes are no keys: equal ones may be of two files, and one that Dynamo made cannot be hashed.
_frames: Final[dict[tuple[int, int], Frame]] = {}
_FRAMES_LIMIT: Final = 1 << 14
#: Tables of positions by identity of the code, which they hold.
_positions: Final[dict[int, "_Positions"]] = {}
_POSITIONS_LIMIT: Final = 1 << 10
#: Instructions that are decoded at once; between two parts other threads may run.
_PART: Final = 1 << 12


def hide_frames_of(folder: str) -> None:
    """Leave frames of a file, or of all files in a folder, out of stacks from now on."""
    prefix = folder.rstrip("/\\") + "/"
    if prefix not in _hidden:
        _hidden.append(prefix)
        is_hidden.cache_clear()


def current_stack() -> tuple[Frame, ...]:
    """Return the calling thread's stack: `DEPTH_LIMIT` user frames at most, innermost first."""
    return user_frames(sys._getframe(1))


def user_frames(frame: FrameType | None) -> tuple[Frame, ...]:
    """Return the stack of a frame: `DEPTH_LIMIT` user frames at most, innermost first."""
    frames: list[Frame] = []
    while frame is not None and len(frames) < DEPTH_LIMIT:
        code = frame.f_code
        if not is_hidden(code.co_filename):
            frames.append(frame_of(code, frame.f_lasti))
        frame = frame.f_back
    return tuple(frames)


def forget_code() -> None:
    """Clear the caches, which keep the program's code objects alive.

    The program may wait for them to be freed, as Dynamo does.
    """
    _frames.clear()
    _positions.clear()


def generated_from(frames: Iterable[Frame]) -> tuple[Origin, ...] | None:
    """Return the origins of the innermost line of generated code; None without such a line."""
    candidates = (of_line(frame.file, frame.line) for frame in frames for of_line in LINE_ORIGINS)
    return next((origins for origins in candidates if origins), None)


def is_generated(file: str) -> bool:
    """Return whether a library has written a Python file."""
    return any(is_of_library(file) for is_of_library in GENERATED)


@lru_cache(maxsize=4096)
def is_hidden(file: str) -> bool:
    """Return whether frames of a file are left out: a file of kvtrace or of a hooked library."""
    return f"{file}/".replace("\\", "/").startswith(tuple(p.replace("\\", "/") for p in _hidden))


def frame_of(code: CodeType, instruction: int) -> Frame:
    """Return the frame of a function that executes the instruction at a byte offset."""
    frame = _frames.get((id(code), instruction))
    if frame is not None:
        return frame
    line, column = line_and_column(code, instruction)
    frame = Frame(code.co_filename, line, column, code.co_qualname, code)
    if len(_frames) >= _FRAMES_LIMIT:
        _frames.clear()
    _frames[id(code), instruction] = frame
    return frame


def line_and_column(code: CodeType, instruction: int) -> tuple[int, int | None]:
    """Return line and column, from 1, of the instruction at a byte offset."""
    # Taken out meanwhile, so that no two threads extend one table.
    positions = _positions.pop(id(code), None) or _Positions(code)
    line, column = positions.at(instruction // 2)
    if len(_positions) >= _POSITIONS_LIMIT:
        _positions.clear()
    _positions[id(code)] = positions
    return (
        code.co_firstlineno if line is None else line,
        None if column is None else column + 1,
    )


class _Positions:
    """Lines and columns of a code object's instructions, decoded once, as far as was asked for."""

    __slots__ = ("_code", "_columns", "_lines", "_rest")

    def __init__(self, code: CodeType) -> None:
        self._code = code  # held: its identity is a key
        self._rest = code.co_positions()
        self._lines = array("i")
        self._columns = array("i")

    def at(self, index: int) -> tuple[int | None, int | None]:
        """Return line, from 1, and column, from 0, of an instruction; None where not known."""
        while index >= len(self._lines) and (part := list(islice(self._rest, _PART))):
            self._lines.extend([-1 if line is None else line for line, _, _, _ in part])
            self._columns.extend([-1 if column is None else column for _, _, column, _ in part])
        if not 0 <= index < len(self._lines):
            return None, None
        line, column = self._lines[index], self._columns[index]
        return None if line < 0 else line, None if column < 0 else column
