"""Source lines of the program as recorded in the trace; files on disk may have changed."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


class SourceLines:
    """Source lines from the artifacts of the runs' kernels; each file is read once.

    A kernel's artifact of a file has the lines that the kernel uses; all other lines are blank.
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
            return _nth(self._file(file), line)
        for path, definition, artifact in self._functions:
            content = self._content(artifact) if path == file else []
            text = _nth(content, line - definition + _decorators(content) + 1)
            if text is not None:
                return text
        return None

    def blocks(self, file: str) -> list[tuple[int, list[str]]]:
        """Return the recorded blocks of a file: the whole file, or each kernel defined in the file.

        A block is the number of its first line, counted from 1, and its lines.
        """
        if file in self._artifacts:
            return [(1, self._file(file))]
        blocks = {}
        for path, definition, artifact in self._functions:
            content = self._content(artifact) if path == file else []
            if content:
                blocks[definition - _decorators(content)] = content
        return sorted(blocks.items())

    def definitions(self) -> list[tuple[str, int, int]]:
        """Return file, first and last line of each kernel whose source was recorded."""
        return [
            (file, first, first + len(content) - 1)
            for file, definition, artifact in self._functions
            if (content := self._content(artifact))
            for first in (definition - _decorators(content),)
        ]

    def _file(self, file: str) -> list[str]:
        """Return the lines of a file, united from the artifacts of all kernels."""
        if file not in self._files:
            contents = [self._content(artifact) for artifact in self._artifacts[file]]
            self._files[file] = [
                next((line for line in lines if line), "")
                for lines in zip_longest(*contents, fillvalue="")
            ]
        return self._files[file]

    def _content(self, artifact: str) -> list[str]:
        if artifact not in self._lines:
            content = self._trace.artifact(artifact) or b""
            self._lines[artifact] = content.decode("utf-8", "replace").splitlines()
        return self._lines[artifact]


def _decorators(content: list[str]) -> int:
    """Return the number of lines above the `def`, whose line is recorded as the kernel's."""
    return next((i for i, line in enumerate(content) if line.lstrip().startswith("def ")), 0)


def _nth(lines: list[str], line: int) -> str | None:
    return lines[line - 1] if 1 <= line <= len(lines) else None
