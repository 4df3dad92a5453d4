"""Source lines of the program as recorded in the trace, since files on disk may have changed."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


class SourceLines:
    """Reader of recorded source lines; each file is read once.

    A kernel's artifact of a file has the lines that the kernel uses, and blank lines elsewhere, so
    the artifacts of all kernels are merged.
    """

    def __init__(self, trace: "Trace", runs: Sequence["Run"]) -> None:
        self._trace = trace
        self._artifacts: dict[str, dict[str, None]] = {}
        self._functions: list[tuple[str, int, str]] = []
        self._files: dict[str, list[str]] = {}
        self._lines: dict[str, list[str]] = {}
        kernels = trace.table("kernels", runs, ["file", "line", "source_artifact", "files"])
        for row in kernels.to_pylist():
            for file in row["files"] or ():
                if file["artifact"] is not None:
                    self._artifacts.setdefault(file["path"], {})[file["artifact"]] = None
            if row["file"] and row["line"] and row["source_artifact"]:
                self._functions.append((row["file"], row["line"], row["source_artifact"]))

    def text(self, file: str | None, line: int | None) -> str | None:
        """Return the line (counted from 1) without its newline; None if it was not recorded."""
        if file is None or line is None or line < 1:
            return None
        if file in self._artifacts:
            return _line_or_none(self._merged_lines(file), line)
        for path, definition, artifact in self._functions:
            content = self._artifact_lines(artifact) if path == file else []
            text = _line_or_none(content, line - definition + _decorator_lines(content) + 1)
            if text is not None:
                return text
        return None

    def blocks(self, file: str) -> list[tuple[int, list[str]]]:
        """Return the recorded blocks of a file: the file, or else each kernel defined in it.

        A block is the number of its first line (from 1) and its lines; blocks are sorted.
        """
        if file in self._artifacts:
            return [(1, self._merged_lines(file))]
        blocks = {}
        for path, definition, artifact in self._functions:
            content = self._artifact_lines(artifact) if path == file else []
            if content:
                blocks[definition - _decorator_lines(content)] = content
        return sorted(blocks.items())

    def definitions(self) -> list[tuple[str, int, int]]:
        """Return file, first and last line of each kernel whose source was recorded."""
        return [
            (file, first, first + len(content) - 1)
            for file, definition, artifact in self._functions
            if (content := self._artifact_lines(artifact))
            for first in (definition - _decorator_lines(content),)
        ]

    def _merged_lines(self, file: str) -> list[str]:
        """Return the lines of a file, merged from the artifacts of all kernels."""
        if file not in self._files:
            contents = [self._artifact_lines(artifact) for artifact in self._artifacts[file]]
            self._files[file] = [
                next((line for line in lines if line), "")
                for lines in zip_longest(*contents, fillvalue="")
            ]
        return self._files[file]

    def _artifact_lines(self, artifact: str) -> list[str]:
        if artifact not in self._lines:
            content = self._trace.artifact(artifact) or b""
            self._lines[artifact] = content.decode("utf-8", "replace").splitlines()
        return self._lines[artifact]


def _decorator_lines(content: list[str]) -> int:
    return next((i for i, line in enumerate(content) if line.lstrip().startswith("def ")), 0)


def _line_or_none(lines: list[str], line: int) -> str | None:
    return lines[line - 1] if 1 <= line <= len(lines) else None
