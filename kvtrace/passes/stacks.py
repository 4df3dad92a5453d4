"""Source stacks of IR ops as rows of `stacks`, each distinct one once."""

from collections.abc import Sequence
from typing import Any

from kvtrace.ir import Frame
from kvtrace.schema.trace import stack_id


class StackRows:
    """Collects distinct stacks; ids are hashes of the content, so capture's and ours agree."""

    def __init__(self) -> None:
        self._frames: dict[int, list[dict[str, Any]]] = {}

    def add(self, frames: Sequence[Frame]) -> int | None:
        """Give the id of `frames` (innermost first); None for an op without a location."""
        if not frames:
            return None
        rows = [
            {"file": f.file, "line": f.line, "column": f.column, "function": f.function}
            for f in frames
        ]
        identity = stack_id(rows)
        self._frames.setdefault(identity, rows)
        return identity

    def rows(self) -> list[dict[str, Any]]:
        """Give the rows of `stacks`."""
        return [{"stack_id": key, "frames": frames} for key, frames in self._frames.items()]
