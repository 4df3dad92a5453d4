"""The user's place in the program, cheaply: code objects and instructions, resolved when asked for.

An op keeps a `Stack`: the frames from the op's own line up to the function that is traced, without
NumPy's frames and ours. While tracing, that is a tuple of (code object, instruction) and one
look-up; lines and columns are read from the code objects' tables when the graph is written.
"""

import sys
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

import numpy as np

#: Most frames that are kept of a stack, the innermost ones.
DEPTH_LIMIT: Final = 64

#: One frame as (file, line, column, function); lines and columns count from 1.
Place = tuple[str, int | None, int | None, str]

#: Innermost frame first, each as (code object, instruction offset).
Stack = tuple[tuple[CodeType, int], ...]

_HIDDEN: Final = tuple(
    str(folder).replace("\\", "/") + "/"
    for folder in (Path(__file__).parent, Path(np.__file__).parent)
)


# Keyed by identity: hashing a code object hashes all its constants.
_hidden: dict[int, tuple[CodeType, bool]] = {}
_interned: dict[tuple[int, ...], Stack] = {}
_INTERNED_LIMIT: Final = 1 << 18


def current_stack(root: FrameType | None = None) -> Stack:
    """The running thread's user frames, innermost first, up to but without the frame `root`."""
    frame: FrameType | None = sys._getframe(1)
    found: list[FrameType] = []
    key: list[int] = []
    while frame is not None and frame is not root and len(found) < DEPTH_LIMIT:
        code = frame.f_code
        known = _hidden.get(id(code))
        if known is None:
            known = _hidden[id(code)] = (code, _is_hidden(code))
        if not known[1]:
            found.append(frame)
            key.append(id(code))
            key.append(frame.f_lasti)
        frame = frame.f_back
    identity = tuple(key)
    stack = _interned.get(identity)
    if stack is None:
        stack = tuple((frame.f_code, frame.f_lasti) for frame in found)
        if len(_interned) >= _INTERNED_LIMIT:
            _interned.clear()
        _interned[identity] = stack  # keeps the code objects alive, so that ids stay theirs
    return stack


def _is_hidden(code: CodeType) -> bool:
    file = code.co_filename.replace("\\", "/")
    return file.startswith((*_HIDDEN, "<frozen ", "<__array_function__"))


def places(stack: Stack) -> tuple[Place, ...]:
    """Lines and columns of a stack, innermost first."""
    return tuple(_place(code, instruction) for code, instruction in stack)


@lru_cache(maxsize=1 << 16)
def _place(code: CodeType, instruction: int) -> Place:
    position = next(islice(code.co_positions(), instruction // 2, None), None)
    line, column = (position[0], position[2]) if position else (None, None)
    return (
        code.co_filename,
        code.co_firstlineno if line is None else line,
        None if column is None else column + 1,
        code.co_qualname,
    )


def user_place() -> str:
    """`FILE:LINE` of the innermost frame of the user's, for errors; empty where there is none."""
    stack = current_stack()
    if not stack:
        return ""
    file, line, _, _ = _place(*stack[0])
    return f"{file}:{line}"
