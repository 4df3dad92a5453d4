"""Text of the program around its launches: recorded, or on disk if it is that of the run.

A file on disk is that of the run if its content and its entry were last changed before the run
began, and the kernels that it defines are those that were recorded. The time of the content alone
proves nothing: `cp -p`, `rsync -t` and `touch -r` set it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kvtrace.converters.source_lines import SourceLines
from kvtrace.schema.cached_property import cached_property

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_MOST_BYTES: Final = 4 << 20


class ProgramText:
    """Reader of the files that are on the stacks of one run's launches."""

    def __init__(self, trace: Trace, run: Run) -> None:
        self._trace = trace
        self._run = run
        self._trees: dict[str, ast.Module | None] = {}
        self._ties: dict[object, dict[str, str]] = {}
        self._outputs: dict[object, frozenset[str]] = {}

    @cached_property
    def _stacks(self) -> dict[int, list[dict[str, Any]]]:
        table = self._trace.table("stacks", (self._run,), columns=["stack_id", "frames"])
        return {row["stack_id"]: row["frames"] for row in table.to_pylist()}

    @cached_property
    def _lines(self) -> SourceLines:
        return SourceLines(self._trace, (self._run,))

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
        frames: list[tuple[ast.Module, int]] = []
        for frame in self._stacks.get(stack or 0, ()):
            tree = self._tree(frame["file"], frame["line"])
            if tree is None:
                break
            frames.append((tree, frame["line"]))
        return frames

    def _tree(self, file: str | None, line: int | None) -> ast.Module | None:
        """Return the syntax tree of a file that has a line; None if the text is not known."""
        if file is None or line is None:
            return None
        if file not in self._trees:
            recorded = self._lines.text(file, line)
            if recorded and recorded.strip():
                text: str | None = "\n".join(self._lines.blocks(file)[0][1])
            else:
                text = self._unchanged(Path(file))
            try:
                self._trees[file] = None if text is None else ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._trees[file] = None
        return self._trees[file]

    def _unchanged(self, file: Path) -> str | None:
        """Return the text of a file on disk if it is that of the run, else None."""
        try:
            status = file.stat()
            changed = max(status.st_mtime_ns, status.st_ctime_ns)
            is_older = self._run.started is not None and changed <= self._run.started
            if not is_older or status.st_size > _MOST_BYTES or file.suffix != ".py":
                return None
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        return text if self._has_recorded_kernels(file, text) else None

    def _has_recorded_kernels(self, file: Path, text: str) -> bool:
        """Return whether the recorded kernels of a file are in its text, at the same lines."""
        lines = text.splitlines()
        return all(
            not line or line.strip() == (there or "").strip()
            for first, block in self._lines.blocks(str(file))
            for line, there in zip_longest(block, lines[first - 1 : first - 1 + len(block)])
        )
