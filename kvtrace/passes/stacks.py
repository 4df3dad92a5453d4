"""Source stacks of IR ops as rows of `stacks`, each distinct one once."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from kvtrace.ir import Frame, Op, source_stack
from kvtrace.schema.content import stack_id


class StackRows:
    """Collects distinct stacks; ids are hashes of the content, so capture's and ours agree."""

    def __init__(self) -> None:
        self._frames: dict[int, Sequence[Frame]] = {}

    def add(self, frames: Sequence[Frame]) -> int | None:
        """Give the id of `frames` (innermost first); None for an op without a location."""
        if not frames:
            return None
        identity = _identity(tuple(frames))
        if identity not in self._frames:
            self._frames[identity] = frames
        return identity

    def rows(self) -> list[dict[str, Any]]:
        """Give the rows of `stacks`."""
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


class StackIds:
    """Ids of the stacks of one module's ops, which are added to rows of `stacks`."""

    def __init__(self, rows: StackRows) -> None:
        self._rows = rows
        self._known: dict[tuple[int, int], int | None] = {}

    def of(self, op: Op) -> int | None:
        """Give the id of an op's stack; ops of one place in one block share it."""
        key = id(op.location), id(op.block)
        if key not in self._known:
            self._known[key] = self._rows.add(source_stack(op))
        return self._known[key]


@lru_cache(maxsize=4096)
def _identity(frames: tuple[Frame, ...]) -> int:
    return stack_id(frames)
