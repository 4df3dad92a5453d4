"""Syntax errors of the parser."""

from typing import ClassVar

from kvtrace.schema.errors import KvtraceError

_EXCERPT = 60


class IRSyntaxError(KvtraceError):
    """The text is not MLIR in generic form; the message has line, column (from 1) and excerpt.

    Args:
        problem: the problem, without a full stop.
        text: the whole text.
        offset: position of the problem in ``text``.

    """

    slug: ClassVar[str] = "ir-syntax"

    def __init__(self, problem: str, text: str, offset: int) -> None:
        offset = min(offset, len(text))
        line_start = text.rfind("\n", 0, offset) + 1
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - line_start + 1
        line_end = text.find("\n", offset)
        line_rest = text[offset : len(text) if line_end < 0 else line_end]
        excerpt = line_rest[:_EXCERPT] + ("…" if len(line_rest) > _EXCERPT else "")
        where = f"before {excerpt!r}" if excerpt else "at the end of the line or text"
        super().__init__(f"IR line {self.line}, column {self.column}: {problem}, {where}.")
