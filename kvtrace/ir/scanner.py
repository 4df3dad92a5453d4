"""The text and the position in it; every reader of a part of the grammar builds on it.

There is no separate token list: each reader matches a regular expression at the position, which
is what makes 25 microseconds an op possible in Python.
"""

import re
from typing import Final, Never

from kvtrace.ir.errors import IRSyntaxError

#: White space and comments, never given back (so that no input makes matching slow).
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
# What can lie between two brackets in an attribute or type that is kept as text.
_FILLER = re.compile(r'(?:[^"\[\](){}<>\-=]|->|>=|=>|-|=)++')
_CLOSERS = {"<": ">", "(": ")", "[": "]", "{": "}"}
_MOST_NESTED: Final = 48
"""Levels of types, attributes, locations and regions inside one another. Compilers print some ten;
all that walks a module may take a few calls a level, and Python allows a thousand."""


class Scanner:
    """A text and a position in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._nested = 0

    def fail(self, problem: str, offset: int | None = None) -> Never:
        """Raise the syntax error for the position (after white space), or for an offset."""
        if offset is None:
            self.skip_space()
            offset = self.position
        raise IRSyntaxError(problem, self.text, offset)

    def enter(self) -> None:
        """Go one level deeper; fail if that is too deep."""
        self._nested += 1
        if self._nested > _MOST_NESTED:
            self.fail("nested too deeply")

    def leave(self) -> None:
        """Come back from a level."""
        self._nested -= 1

    def skip_space(self) -> None:
        """Move past white space and comments."""
        if self.text[self.position : self.position + 1] not in _SPACE_STARTS:
            return
        match = _SPACE.match(self.text, self.position)
        assert match
        self.position = match.end()

    def sees(self, literal: str) -> bool:
        """Whether the literal comes next, after white space (which is skipped)."""
        if self.text.startswith(literal, self.position):
            return True
        self.skip_space()
        return self.text.startswith(literal, self.position)

    def accept(self, literal: str) -> bool:
        """Move past the literal if it comes next."""
        if not self.text.startswith(literal, self.position) and not self.sees(literal):
            return False
        self.position += len(literal)
        return True

    def expect(self, literal: str) -> None:
        """Move past the literal, which must come next."""
        if not self.text.startswith(literal, self.position) and not self.sees(literal):
            self.fail(f"expected {literal!r}")
        self.position += len(literal)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match at the position, after white space, and move past what matched."""
        self.skip_space()
        found = pattern.match(self.text, self.position)
        if found:
            self.position = found.end()
        return found

    def word(self, what: str) -> str:
        """Read an identifier, dots included."""
        found = self.match(_WORD)
        if not found:
            self.fail(f"expected {what}")
        return found.group()

    def integer(self, what: str) -> int:
        """Read a decimal integer."""
        found = self.match(_INTEGER)
        if not found:
            self.fail(f"expected {what}")
        return int(found.group())

    def string(self, what: str = "a string") -> str:
        """Read a string literal and resolve its escapes."""
        found = self.match(_STRING)
        if not found:
            self.fail(f"expected {what}")
        return unescape(found.group()[1:-1])

    def balanced(self) -> None:
        """Move past one bracketed text, the opening bracket being next."""
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
    r"""Resolve the escapes of a string literal's body: ``\\``, ``\"``, ``\n``, ``\t``, ``\HH``.

    The result is UTF-8 text; bytes that are not are kept as surrogate escapes.
    """
    if "\\" not in body:
        return body

    def resolve(found: re.Match[bytes]) -> bytes:
        escape = found.group(1)
        plain = _PLAIN_ESCAPES.get(escape)
        return bytes([int(escape, 16)]) if plain is None else plain

    raw = body.encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(resolve, raw).decode("utf-8", "surrogateescape")
