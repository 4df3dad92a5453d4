"""Source stacks as MLIR locations, each distinct stack written once, at the end of the module."""

import json

from kvtrace.addons.graphs.rows import Frame


class Locations:
    """MLIR's locations of stacks: a name for each distinct stack, and the lines that define it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[str, str] = {}
        self._stacks: dict[tuple[Frame, ...], str] = {}

    def of(self, stack: tuple[Frame, ...]) -> str:
        """Return ` loc(#locN)` for a stack, whose innermost frame is first."""
        location = self._stacks.get(stack)
        if location is None:
            location = self._stacks[stack] = f" loc({self._stack(stack)})"
        return location

    def named(self, name: str, stack: tuple[Frame, ...]) -> str:
        """Return the location of an argument: its name with a stack."""
        return f" loc({self._defined_name(f'{json.dumps(name)}({self._stack(stack)})')})"

    def _stack(self, stack: tuple[Frame, ...]) -> str:
        if not stack:
            return self._defined_name("unknown")
        *callers, name = [self._frame(frame) for frame in reversed(stack)]
        for caller in reversed(callers):
            name = self._defined_name(f"callsite({name} at {caller})")
        return name

    def _frame(self, frame: Frame) -> str:
        file, line, column, function = frame
        location = self._defined_name(f"{json.dumps(file or '')}:{line or 0}:{column or 0}")
        return self._defined_name(f"{json.dumps(function)}({location})") if function else location

    def _defined_name(self, content: str) -> str:
        name = self._names.get(content)
        if name is None:
            name = self._names[content] = f"#loc{len(self._names)}"
            self.lines.append(f"{name} = loc({content})")
        return name
