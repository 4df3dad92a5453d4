"""Scanner of a text, the base of the readers of the grammar.

There is no separate list of tokens: each reader matches a regular expression at the position. That
makes 25 microseconds per op possible in Python.
"""

import re
from typing import ClassVar, Final, Never

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


#: White space and comments, possessive (without backtracking, so that no input is slow to match).
SPACE: Final = r"(?:\s|//[^\n]*)*+"
#: A string literal with its quotes.
STRING: Final = r'"(?:[^"\\\n]|\\.)*+"'
#: A number as MLIR prints it; a dot makes it a float.
NUMBER: Final = r"-?(?:0x[0-9A-Fa-f]++|[0-9]{1,400}+(?:\.[0-9]{0,400}+(?:[eE][-+]?[0-9]{1,9}+)?)?)"

_SPACE = re.compile(SPACE)
_SPACE_STARTS = frozenset(" \t\n\r\f\v/")
_STRING = re.compile(STRING)
_WORD = re.compile(r"[A-Za-z_][\w$.]*+", re.ASCII)
_INTEGER = re.compile(r"-?[0-9]{1,18}+")
_ESCAPE = re.compile(rb'\\([0-9A-Fa-f]{2}|[\\"nt])')
_PLAIN_ESCAPES = {b"\\": b"\\", b'"': b'"', b"n": b"\n", b"t": b"\t"}
# Text between two brackets of an opaque attribute or type.
_FILLER = re.compile(r'(?:[^"\[\](){}<>\-=]|->|>=|=>|-|=)++')
_CLOSERS = {"<": ">", "(": ")", "[": "]", "{": "}"}
_MOST_NESTED: Final = 48
"""Maximum depth of nested types, attributes, locations and regions. Compilers print about ten; code
that walks a module may take a few calls per level, and Python allows a thousand."""


class Scanner:
    """A text with a current position."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._nested = 0

    def fail(self, problem: str, offset: int | None = None) -> Never:
        """Raise the syntax error at an offset, by default at the position after white space."""
        if offset is None:
            self.skip_space()
            offset = self.position
        raise IRSyntaxError(problem, self.text, offset)

    def enter(self) -> None:
        """Count one more level of nesting; fail if the nesting is too deep."""
        self._nested += 1
        if self._nested > _MOST_NESTED:
            self.fail("nested too deeply")

    def leave(self) -> None:
        """Count one level of nesting less."""
        self._nested -= 1

    def skip_space(self) -> None:
        """Move past white space and comments."""
        if self.text[self.position : self.position + 1] not in _SPACE_STARTS:
            return
        match = _SPACE.match(self.text, self.position)
        assert match
        self.position = match.end()

    def sees(self, literal: str) -> bool:
        """Skip white space, and return whether a literal comes next, which is not skipped."""
        if self.text.startswith(literal, self.position):
            return True
        self.skip_space()
        return self.text.startswith(literal, self.position)

    def accept(self, literal: str) -> bool:
        """Skip white space and a literal, if the literal comes next; return whether it did."""
        if not self.text.startswith(literal, self.position) and not self.sees(literal):
            return False
        self.position += len(literal)
        return True

    def expect(self, literal: str) -> None:
        """Move past white space and the literal, which must come next; fail if it does not."""
        if not self.text.startswith(literal, self.position) and not self.sees(literal):
            self.fail(f"expected {literal!r}")
        self.position += len(literal)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Skip white space, match a pattern, and move past the match; None if it does not match."""
        self.skip_space()
        match = pattern.match(self.text, self.position)
        if match:
            self.position = match.end()
        return match

    def word(self, what: str) -> str:
        """Read an identifier, dots included; `what` names it in the error."""
        match = self.match(_WORD)
        if not match:
            self.fail(f"expected {what}")
        return match.group()

    def integer(self, what: str) -> int:
        """Read a decimal integer; `what` names it in the error."""
        match = self.match(_INTEGER)
        if not match:
            self.fail(f"expected {what}")
        return int(match.group())

    def string(self, what: str = "a string") -> str:
        """Read a string literal, and return its text with escapes resolved."""
        match = self.match(_STRING)
        if not match:
            self.fail(f"expected {what}")
        return unescape(match.group()[1:-1])

    def balanced(self) -> None:
        """Move past a bracketed text at the current position, nested brackets included."""
        start = self.position
        open_brackets: list[str] = []
        while True:
            character = self.text[self.position : self.position + 1]
            if not character:
                self.fail("bracket is never closed", start)
            if character == '"':
                self.string()
            elif character in _CLOSERS:
                open_brackets.append(_CLOSERS[character])
                self.position += 1
            elif character in ">)]}":
                if character != open_brackets[-1]:
                    self.fail(f"expected {open_brackets[-1]!r}")
                self.position += 1
                open_brackets.pop()
                if not open_brackets:
                    return
            else:
                filler = _FILLER.match(self.text, self.position)
                assert filler
                self.position = filler.end()


def unescape(body: str) -> str:
    r"""Return a string literal's text with ``\\``, ``\"``, ``\n``, ``\t`` and ``\HH`` resolved.

    Bytes that are not UTF-8 become surrogate escapes.
    """
    if "\\" not in body:
        return body

    def resolve(match: re.Match[bytes]) -> bytes:
        escape = match.group(1)
        plain = _PLAIN_ESCAPES.get(escape)
        return bytes([int(escape, 16)]) if plain is None else plain

    raw = body.encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(resolve, raw).decode("utf-8", "surrogateescape")
