"""Source stacks of IR ops, with their ids in the table `stacks`."""

from kvtrace.ir import Op
from kvtrace.ir.locations import FileLocation, Location, NameLocation
from kvtrace.ir.model import frames_in, function_name
from kvtrace.schema.content import Stack, stack_of


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
