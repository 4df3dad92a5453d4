"""The user's stack while tracing, and errors of traced programs, each of which names a line of it.

An op has a `Stack`: the frames from the op's own line up to the traced function, without frames of
NumPy and kvtrace. While tracing, that is a tuple of (code object, instruction) and one look-up;
lines and columns are read from the code objects' tables when the graph is written.
"""

import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import ClassVar, Final, Self

import numpy as np
from numpy.exceptions import AxisError

from kvtrace.capture.stacks import frame_of
from kvtrace.schema.errors import KvtraceError

#: Maximum number of frames in a stack; outer frames beyond are dropped.
DEPTH_LIMIT: Final = 64

#: One frame as (file, line, column, function); lines and columns count from 1.
UserLocation = tuple[str, int | None, int | None, str]

#: Innermost frame first, each as (code object, instruction offset).
Stack = tuple[tuple[CodeType, int], ...]

_HIDDEN: Final = tuple(
    str(folder).replace("\\", "/") + "/"
    for folder in (Path(__file__).parent, Path(np.__file__).parent)
)


# Keyed by identity: hashing a code object hashes all its constants, which may raise
# (findings/unhashable_code.sh), and equal code may be of two files (findings/equal_code.sh).
_hidden: dict[int, tuple[CodeType, bool]] = {}
_interned: dict[tuple[int, ...], Stack] = {}
_INTERNED_LIMIT: Final = 1 << 18


def current_stack(root: FrameType | None = None) -> Stack:
    """Return the running thread's user frames, innermost first, up to `root` (excluded)."""
    frame: FrameType | None = sys._getframe(1)
    frames: list[FrameType] = []
    identities: list[int] = []
    while frame is not None and frame is not root and len(frames) < DEPTH_LIMIT:
        code = frame.f_code
        hidden_entry = _hidden.get(id(code))
        if hidden_entry is None:
            hidden_entry = _hidden[id(code)] = (code, _is_hidden(code))
        if not hidden_entry[1]:
            frames.append(frame)
            identities.append(id(code))
            identities.append(frame.f_lasti)
        frame = frame.f_back
    identity = tuple(identities)
    stack = _interned.get(identity)
    if stack is None:
        stack = tuple((frame.f_code, frame.f_lasti) for frame in frames)
        if len(_interned) >= _INTERNED_LIMIT:
            _interned.clear()
        _interned[identity] = stack  # keeps code objects alive, so that ids stay valid
    return stack


def _is_hidden(code: CodeType) -> bool:
    file = code.co_filename.replace("\\", "/")
    return file.startswith((*_HIDDEN, "<frozen ", "<__array_function__"))


def user_locations(stack: Stack) -> tuple[UserLocation, ...]:
    """Return (file, line, column, function) of each frame of a stack, innermost first."""
    return tuple(_user_location(code, instruction) for code, instruction in stack)


def _user_location(code: CodeType, instruction: int) -> UserLocation:
    frame = frame_of(code, instruction)
    return frame.file, frame.line, frame.column, frame.function


def user_location() -> str:
    """Return `FILE:LINE` of the user's innermost frame, or "" without a user frame."""
    stack = current_stack()
    if not stack:
        return ""
    file, line, _, _ = _user_location(*stack[0])
    return f"{file}:{line}"


class GraphError(KvtraceError):
    """A program cannot be traced, or a graph does not support the requested use."""

    slug: ClassVar[str] = "graph"

    @classmethod
    def here(cls, text: str) -> Self:
        """Return the error with the running line of the user's program: `text at FILE:LINE`.

        `text` says what was found; a part after a semicolon says what to do.
        """
        finding, semicolon, advice = text.partition("; ")
        user_line = user_location()
        location = f" at {user_line}" if user_line else ""
        return cls(f"{finding}{location}{semicolon}{advice}.")


class UnsupportedFunction(GraphError):
    """A function has no form as graph ops."""

    slug = "graph-unsupported"


class UnsupportedMethod(UnsupportedFunction, AttributeError):
    """A method or attribute of NumPy's arrays that tensors do not have."""


class DataDependent(GraphError):
    """The program needs a value while tracing that is known only when the graph runs."""

    slug = "graph-data-dependent"


class DtypeNotOnTarget(GraphError):
    """An element type that the target does not have."""

    slug = "graph-dtype"


class ShapeMismatch(GraphError, ValueError):
    """Shapes that do not fit each other, or an axis named twice; also a ValueError, as in NumPy."""

    slug = "graph-shape"


class BadAxis(ShapeMismatch, AxisError):
    """An axis that the tensor does not have; also an AxisError, as in NumPy."""


class BadIndex(GraphError, IndexError):
    """An index that does not fit its tensor; also an IndexError, as in NumPy."""

    slug = "graph-index"


class BadArgument(GraphError, ValueError):
    """An argument whose value or type a function does not support in a graph."""

    slug = "graph-argument"


class SignatureMismatch(GraphError):
    """Arguments that do not fit a traced function's annotations, or a graph's inputs."""

    slug = "graph-signature"


class RefusedMutation(GraphError):
    """An assignment in place that a graph cannot express, or that an annotation forbids."""

    slug = "graph-mutation"


class ForeignTensor(GraphError):
    """A tensor of one trace is used in another, or after its trace has ended."""

    slug = "graph-foreign-tensor"
