"""Source stacks as MLIR locations: each distinct one is written once, at the end of the module."""

import json

from kvtrace.addons.graphs.rows import Frame


class Locations:
    """Returns each stack a name, and collects the lines that define the names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[str, str] = {}
        self._stacks: dict[tuple[Frame, ...], str] = {}

    def of(self, stack: tuple[Frame, ...]) -> str:
        """Return ` loc(#locN)` for a stack, innermost frame first."""
        known = self._stacks.get(stack)
        if known is None:
            known = self._stacks[stack] = f" loc({self._stack(stack)})"
        return known

    def named(self, name: str, stack: tuple[Frame, ...]) -> str:
        """Return the location of a stack under a name, as an argument's."""
        return f" loc({self._named(f'{json.dumps(name)}({self._stack(stack)})')})"

    def _stack(self, stack: tuple[Frame, ...]) -> str:
        if not stack:
            return self._named("unknown")
        *outer, name = [self._frame(frame) for frame in reversed(stack)]
        for caller in reversed(outer):
            name = self._named(f"callsite({name} at {caller})")
        return name

    def _frame(self, frame: Frame) -> str:
        file, line, column, function = frame
        place = self._named(f"{json.dumps(file or '')}:{line or 0}:{column or 0}")
        return self._named(f"{json.dumps(function)}({place})") if function else place

    def _named(self, content: str) -> str:
        name = self._names.get(content)
        if name is None:
            name = self._names[content] = f"#loc{len(self._names)}"
            self.lines.append(f"{name} = loc({content})")
        return name
