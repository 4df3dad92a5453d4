"""Stacks that the C modules copied without Python's lock (`_frames.h`), read as frames."""

from types import CodeType
from typing import Any, Final

from kvtrace.backends.cupti.frames import is_interpreters
from kvtrace.capture.records import Frame
from kvtrace.capture.stacks import is_hidden, line_and_column

#: Stands for names with non-ASCII letters, which the compiled part leaves out.
_UNREAD: Final = "(not ASCII)"


class ReadStacks:
    """The stacks that one C module has copied, by their numbers from 1."""

    def __init__(self) -> None:
        """Begin without stacks."""
        self._codes: list[_Code] = []
        self._stacks: list[tuple[tuple[int, int], ...]] = []

    @property
    def count(self) -> int:
        """Number of stacks, which is the last one's number."""
        return len(self._stacks)

    def frames(self, number: int) -> tuple[Frame, ...]:
        """Return the program's frames of the stack `number`, innermost first; () if unknown."""
        if not 0 < number <= len(self._stacks):
            return ()
        instructions = [
            (self._codes[code - 1], instruction)
            for code, instruction in self._stacks[number - 1]
            if code
        ]
        return tuple(
            code.frame(instruction)
            for code, instruction in instructions
            if not is_interpreters(code.file, code.function) and not is_hidden(code.file)
        )

    def add(self, news: bytes) -> None:
        """Store new stacks and code objects, in the format that `_frames.h` writes."""
        offset = 0

        def number() -> int:
            nonlocal offset
            offset += 4
            return int.from_bytes(news[offset - 4 : offset], "little")

        def sized() -> bytes:
            nonlocal offset
            size = number()
            offset += size
            return news[offset - size : offset]

        while offset < len(news):
            count = number()
            if count:
                self._stacks.append(tuple((number(), number()) for _ in range(count)))
            else:
                line, file, function = number(), sized().decode(), sized().decode()
                self._codes.append(_Code(file, function, line, sized()))


class _Code:
    """A copy of a code object's file, function and line table."""

    def __init__(self, file: str, function: str, line: int, table: bytes) -> None:
        self.file, self.function, self._line, self._table = file, function, line, table
        self._code: CodeType | None = None

    def frame(self, instruction: int) -> Frame:
        """Return the frame of the instruction at a byte offset."""
        if self._code is None:
            fields: dict[str, Any] = {"co_firstlineno": self._line, "co_linetable": self._table}
            self._code = _Code.frame.__code__.replace(**fields)
        line, column = line_and_column(self._code, instruction)
        return Frame(self.file or _UNREAD, line, column, self.function or _UNREAD)
