"""Modules of torch in Python stacks, and frames of autograd's backward.

A module's frame is that of a `forward` that torch calls. Frames outside of a backward that runs in
the same thread are left out: its nodes were not made there. This module runs in recorded programs,
and so imports only Python's library.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, Protocol, TypeVar

#: The callers of a module's `forward`, of modules without and with hooks. They distinguish it from
#: an autograd function's `forward`.
_CALL_FORWARD: Final = ("Module._call_impl", "Module._call_impl.<locals>.inner")
#: Frames of torch that run a backward: of the thread that asks for one, and of Python's functions.
_ENGINE: Final = "_engine_run_backward"
_FUNCTION: Final = "BackwardCFunction.apply"
#: Frame of torch that makes the node of an autograd function, and then calls its forward.
_MAKES_NODE: Final = "Function.apply"


class _Frame(Protocol):
    @property
    def file(self) -> Any: ...
    @property
    def function(self) -> Any: ...


FrameType = TypeVar("FrameType", bound=_Frame)


def module_rows(functions: Sequence[str]) -> list[int]:
    """Return the indices of modules' frames in a stack, given its functions, innermost first."""
    return [
        row
        for row, (function, caller) in enumerate(pairwise(functions[: _engine_row(functions)]))
        if function.endswith(".forward") and caller in _CALL_FORWARD
    ]


def function_frames(frames: Sequence[FrameType]) -> Sequence[FrameType]:
    """Return the frames inside of the innermost backward of a stack, innermost first."""
    return frames[: _engine_row([frame.function for frame in frames])]


def node_frames(frames: Sequence[FrameType]) -> Sequence[FrameType]:
    """Return the frames that made a node, of the stack of its first launch, innermost first.

    An autograd function's node is made before its forward, in which modules may launch kernels.
    """
    functions = [frame.function for frame in frames]
    rows = [
        row for row, name in enumerate(functions[: _engine_row(functions)]) if name == _MAKES_NODE
    ]
    return frames[rows[-1] + 1 :] if rows else frames


def _engine_row(functions: Sequence[str]) -> int:
    return functions.index(_ENGINE) if _ENGINE in functions else len(functions)


def runs_backward(functions: Sequence[str]) -> bool:
    """Return whether a stack, given its functions, is inside a backward that autograd runs."""
    return _ENGINE in functions or _FUNCTION in functions


def common_frames(first: Sequence[FrameType], second: Sequence[FrameType]) -> tuple[FrameType, ...]:
    """Return the frames that two stacks share, innermost first.

    The innermost may be at two lines of its function: then it has the line of the first.
    """
    common: list[FrameType] = []
    for a, b in zip(reversed(first), reversed(second), strict=False):
        if (a.file, a.function) != (b.file, b.function):
            break
        common.append(a)
        if a != b:
            break
    return tuple(reversed(common))
