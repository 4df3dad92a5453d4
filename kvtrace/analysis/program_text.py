"""Text of the functions around a run's launches, as recorded: what it says of their numbers."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kvtrace.schema.cached_property import cached_property

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


class ProgramText:
    """Reader of the recorded functions that are on the stacks of one run's launches."""

    def __init__(self, trace: Trace, run: Run) -> None:
        self._trace = trace
        self._run = run
        self._trees: dict[str, ast.Module | None] = {}
        self._ties: dict[object, dict[str, str]] = {}
        self._outputs: dict[object, frozenset[str]] = {}

    @cached_property
    def _stacks(self) -> dict[int, dict[str, Any]]:
        columns = ["stack_id", "frames", "files"]
        table = self._trace.table("stacks", (self._run,), columns=columns)
        return {row["stack_id"]: row for row in table.to_pylist()}

    def ties(
        self, stack: int | None, arguments: Sequence[Mapping[str, Any]], numbers: Sequence[str]
    ) -> dict[str, str]:
        """Return the formulas that the text at a launch's stack gives for its numbers; cached.

        Args:
            stack: id of the launch's stack, None if it was not recorded.
            arguments: the launch's row of arguments, with constants.
            numbers: names of the launch's numbers.

        """
        from kvtrace.verdicts.sizes.program_ties import ties_of_program

        constants = {
            str(one["name"]): int(str(one["scalar"]))
            for one in arguments
            if one["kind"] == "constexpr" and str(one["scalar"]).isdecimal()
        }
        key = stack, tuple(constants.items()), tuple(numbers)
        if key not in self._ties:
            names = [str(one["name"]) for one in arguments]
            self._ties[key] = ties_of_program(self._frames(stack), names, constants, numbers)
        return self._ties[key]

    def sole_outputs(
        self, stack: int | None, arguments: Sequence[Mapping[str, Any]]
    ) -> frozenset[str]:
        """Return the arguments that only this launch writes, by the launching function; cached.

        Args:
            stack: id of the launch's stack, None if it was not recorded.
            arguments: the launch's row of arguments, with constants.

        """
        from kvtrace.verdicts.sizes.program_scopes import sole_outputs

        names = tuple(str(one["name"]) for one in arguments)
        if (stack, names) not in self._outputs:
            self._outputs[stack, names] = sole_outputs(self._frames(stack), names)
        return self._outputs[stack, names]

    def _frames(self, stack: int | None) -> list[tuple[ast.Module, int]]:
        """Return the frames of a stack, the innermost first, up to one whose text is not known."""
        row = self._stacks.get(stack or 0, {})
        frames: list[tuple[ast.Module, int]] = []
        for frame, file in zip(row.get("frames", ()), row.get("files") or (), strict=False):
            tree = None if file["artifact"] is None else self._tree(file["artifact"])
            if tree is None or frame["line"] is None:
                break
            frames.append((tree, frame["line"]))
        return frames

    def _tree(self, artifact: str) -> ast.Module | None:
        """Return the syntax tree of a recorded text, None if it has none; cached."""
        if artifact not in self._trees:
            text = (self._trace.artifact(artifact) or b"").decode("utf-8", "replace")
            try:
                self._trees[artifact] = ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._trees[artifact] = None
        return self._trees[artifact]
