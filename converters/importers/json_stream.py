"""Reader of JSON files of gigabytes, which decodes one value at a time with the standard library.

Decoding takes half of an import's time (benchmarks/import.py). orjson takes three quarters of the
standard library's time, so it would save an eighth of it, which is not worth a dependency.
"""

import codecs
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, Final

from kvtrace.converters.importers.registry import BadSource

#: Bytes of one read.
_PIECE: Final = 8 << 20
#: Most characters of one value.
_LONGEST: Final = 256 << 20
#: Most characters of white space between two values.
_BLANK: Final = 64 << 20
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_NEXT: Final = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")


class JsonFile:
    """A JSON file that is read in pieces, value by value.

    With `exact`, numbers with a fraction become `Decimal`, since µs since 1970 with a fraction have
    more digits than a float.
    """

    def __init__(self, path: Path, file: BinaryIO, *, exact: bool = False) -> None:
        self._path = path
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._text = ""
        self._position = 0
        self._is_at_end = False
        self._consumed = 0
        self._begin = self._end = 0
        self.exact = exact

    @property
    def exact(self) -> bool:
        """Whether numbers with a fraction become `Decimal`, not float."""
        return self._exact

    @exact.setter
    def exact(self, exact: bool) -> None:
        self._exact = exact
        parse_float = Decimal if exact else None
        self._decoder = json.JSONDecoder(strict=False, parse_float=parse_float)
        self._strict = json.JSONDecoder(parse_float=parse_float)

    def peek(self) -> str:
        """Return the next character after white space, without consuming it; "" at the end."""
        begin_offset = self._consumed + self._position
        while True:
            self._position = _SPACE.match(self._text, self._position).end()  # type: ignore[union-attr]
            if self._position < len(self._text):
                return self._text[self._position]
            if self._consumed + self._position - begin_offset > _BLANK:
                raise BadSource(
                    f"{self._path} has more than {_BLANK >> 20} MB of white space from character "
                    f"{begin_offset:,} on, so it is damaged: record it again"
                )
            if not self._read(_PIECE):
                return ""

    def take(self, expected: str) -> None:
        """Consume the expected character; BadSource if the next one is different."""
        if self.peek() != expected:
            raise self._problem()
        self._position += 1

    def value(self) -> Any:
        """Read and return the next value; BadSource if it is not JSON, or incomplete."""
        self._begin = self._end = 0
        self.peek()
        piece = _PIECE
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._position)
            except (ValueError, RecursionError) as problem:
                if isinstance(problem, RecursionError) or not self._read(piece):
                    raise self._problem() from problem
                piece *= 2  # so that a long value is decoded only a few times
                continue
            if end == len(self._text) and self._read(piece):
                continue  # a number may continue
            self._position = end
            return value

    def members(self) -> Iterator[str]:
        """Yield the keys of an object; the caller reads each value before the next key."""
        self.take("{")
        if self.peek() == "}":
            self._position += 1
            return
        while True:
            key = self.value()
            if not isinstance(key, str):
                raise self._problem()
            self.take(":")
            yield key
            if self.peek() != ",":
                self.take("}")
                return
            self._position += 1

    def entries(self) -> Iterator[Any]:
        """Yield the values of the array that comes next."""
        self.take("[")
        if self.peek() == "]":
            self._position += 1
            return
        while True:
            yield from self._entries_in_memory()
            yield self.value()
            if self.peek() != ",":
                self.take("]")
                return
            self._position += 1

    def _entries_in_memory(self) -> Iterator[Any]:
        """Yield the next values that are in memory together with the comma after them.

        This is much faster than `value`, and nearly all values are of this kind. Values that have
        control characters in texts are not: as they stand, other readers refuse them.
        """
        match_comma, decode = _NEXT.match, self._strict.scan_once  # type: ignore[attr-defined]
        text, position = self._text, _SPACE.match(self._text, self._position).end()  # type: ignore[union-attr]
        while True:
            try:
                value, end = decode(text, position)
            except (StopIteration, ValueError, RecursionError):
                break
            comma = match_comma(text, end)
            if comma is None:
                break
            self._begin, self._end = position, end
            position = comma.end()
            self._position = position
            yield value
        self._position = position

    def last_member(self, quoted: str) -> str | None:
        """Return the JSON text of a member of the object that `entries` just yielded, or None.

        `quoted` is its key with the quotation marks.

        The member is the object's last and an object itself, and no member before it is an object
        or array. None: the file does not have the text in one plain piece. White space behind its
        first and before its last brace is left out.
        """
        begin = self._text.find(quoted, self._begin, self._end)
        if begin < 0 or self._text.find(quoted, begin + 1, self._end) >= 0:
            return None  # escaped, twice, or also a value
        text = self._text[begin + len(quoted) : self._end - 1].strip()
        value = text[1:].lstrip()
        if not (text.startswith(":") and value.startswith("{") and value.endswith("}")):
            return None
        return f"{{{value[1:-1].strip()}}}"

    def _read(self, size: int) -> bool:
        """Read up to `size` more bytes into `_text`; return False at the end of the file."""
        if self._is_at_end:
            return False
        if len(self._text) - self._position > _LONGEST:
            raise BadSource(
                f"{self._path} has a value of more than {_LONGEST >> 20} MB at character "
                f"{self._consumed + self._position:,}, which is too long to import"
            )
        data = self._file.read(size)
        self._is_at_end = not data
        new_text = self._decode(data, final=self._is_at_end)
        self._consumed += self._position
        self._text, self._position = self._text[self._position :] + new_text, 0
        return bool(new_text) or not self._is_at_end

    def _problem(self) -> BadSource:
        location = f"character {self._consumed + self._position:,}"
        if self._is_at_end and not self._text[self._position :].strip():
            return BadSource(
                f"{self._path} ends too early, at {location}: the program may have been killed "
                "while writing the file; import a complete file"
            )
        excerpt = " ".join(self._text[self._position : self._position + 40].split())
        return BadSource(
            f"{self._path} is not JSON, or ends too early, at {location} ({excerpt!r}): import a "
            "complete file"
        )
