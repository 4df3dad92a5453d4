"""Source stacks of IR ops as rows of `stacks`, without duplicates."""

from collections.abc import Sequence
from typing import Any

from kvtrace.ir import Frame, Op
from kvtrace.ir.locations import FileLocation, Location, NameLocation
from kvtrace.ir.model import frames_in, function_name
from kvtrace.schema.content import stack_id

Stack = tuple[int | None, tuple[Frame, ...]]
"""The id of a stack, and its frames, innermost first."""


class StackRows:
    """Distinct stacks with ids, which are hashes of the content and so equal capture's ids."""

    def __init__(self) -> None:
        self._frames: dict[int, tuple[Frame, ...]] = {}

    def add(self, frames: Sequence[Frame]) -> int | None:
        """Add frames (innermost first) and return the stack's id, None without frames."""
        return self.add_stack(stack_of(frames))

    def add_stack(self, stack: Stack) -> int | None:
        """Add a stack, and return its id."""
        identity, frames = stack
        if identity is not None and identity not in self._frames:
            self._frames[identity] = frames
        return identity

    def add_all(self, other: "StackRows") -> None:
        """Add the stacks of other rows."""
        self._frames.update(other._frames)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of `stacks`."""
        return [
            {
                "stack_id": key,
                "frames": [
                    {"file": f.file, "line": f.line, "column": f.column, "function": f.function}
                    for f in frames
                ],
            }
            for key, frames in self._frames.items()
        ]


def stack_of(frames: Sequence[Frame]) -> Stack:
    """Return a stack with its id, which is None without frames."""
    frames_ = tuple(frames)
    return (stack_id(frames_) if frames_ else None), frames_


class OpStacks:
    """The stacks of one module's ops, computed once per location in a block."""

    def __init__(self) -> None:
        self._functions: dict[int, str | None] = {}
        self._stacks: dict[tuple[int, int], Stack] = {}

    def of(self, op: Op) -> Stack:
        """Return an op's stack with its id, as `source_stack` lists it."""
        # Blocks and locations live as long as their module.
        block = id(op.block)
        key = block, id(op.location)
        stack = self._stacks.get(key)
        if stack is None:
            if block not in self._functions:
                self._functions[block] = function_name(op)
            stack = self._stacks[key] = _stack_at(op.location, self._functions[block])
        return stack


_MAX_CACHED = 4096
_CACHE: dict[tuple[str, int, int, str | None], Stack] = {}
"""Stacks of a single frame, as nearly all are: a lookup is faster than computing the id."""


def _stack_at(location: Location, function: str | None) -> Stack:
    file_location = location.child if isinstance(location, NameLocation) else location
    if not isinstance(file_location, FileLocation):
        return stack_of(frames_in(location, function))
    key = (file_location.file, file_location.line, file_location.column, function)
    stack = _CACHE.get(key)
    if stack is None:
        if len(_CACHE) >= _MAX_CACHED:
            _CACHE.clear()
        stack = _CACHE[key] = stack_of(frames_in(file_location, function))
    return stack
