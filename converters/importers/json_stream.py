"""JSON streams: values of a file of gigabytes, decoded one at a time by the standard library.

Decoding takes half of an import's time (benchmarks/import.py). orjson needs three quarters of the
standard library's time, and would save an eighth in all, which is not worth a dependency.
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
#: The most characters of one value.
_LONGEST: Final = 256 << 20
#: The most characters of space between two values.
_BLANK: Final = 64 << 20
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_NEXT: Final = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")


class JsonFile:
    """A JSON file that is read in pieces.

    If `exact` is set, numbers with a fraction are `Decimal`: µs since 1970 with a fraction have
    more digits than a float.
    """

    def __init__(self, path: Path, file: BinaryIO, *, exact: bool = False) -> None:
        self._path = path
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._text = ""
        self._at = 0
        self._over = False
        self._before = 0
        self.exact = exact

    @property
    def exact(self) -> bool:
        """Numbers with a fraction are `Decimal`, not float."""
        return self._exact

    @exact.setter
    def exact(self, exact: bool) -> None:
        self._exact = exact
        self._decoder = json.JSONDecoder(strict=False, parse_float=Decimal if exact else None)

    def peek(self) -> str:
        """Return the next character that is not white space; empty at the end of the file."""
        begin = self._before + self._at
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if self._before + self._at - begin > _BLANK:
                raise BadSource(
                    f"{self._path} has more than {_BLANK >> 20} MB of space from character "
                    f"{begin:,} on, as no tool writes it; record it again"
                )
            if not self._read(_PIECE):
                return ""

    def take(self, expected: str) -> None:
        """Consume the expected character; BadSource if the next one is different."""
        if self.peek() != expected:
            raise self._problem()
        self._at += 1

    def value(self) -> Any:
        """Return the next value; BadSource if it is not JSON, or does not end."""
        self.peek()
        piece = _PIECE
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except (ValueError, RecursionError) as problem:
                if isinstance(problem, RecursionError) or not self._read(piece):
                    raise self._problem() from problem
                piece *= 2  # a value of any length is decoded a few times at most
                continue
            if end == len(self._text) and self._read(piece):
                continue  # a number may continue
            self._at = end
            return value

    def members(self) -> Iterator[str]:
        """Yield the keys of an object; the caller reads each value before the next key."""
        self.take("{")
        if self.peek() == "}":
            self._at += 1
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
            self._at += 1

    def entries(self) -> Iterator[Any]:
        """Yield the values of an array."""
        self.take("[")
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            yield from self._entries_in_memory()
            yield self.value()
            if self.peek() != ",":
                self.take("]")
                return
            self._at += 1

    def _entries_in_memory(self) -> Iterator[Any]:
        """Yield the next values that are in memory with the comma after them, as nearly all are."""
        following, decode = _NEXT.match, self._decoder.scan_once  # type: ignore[attr-defined]
        text, at = self._text, _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
        while True:
            try:
                value, end = decode(text, at)
            except (StopIteration, ValueError, RecursionError):
                break
            comma = following(text, end)
            if comma is None:
                break
            at = comma.end()
            self._at = at
            yield value
        self._at = at

    def _read(self, size: int) -> bool:
        """Read more of the file into memory; return False at the end of the file."""
        if self._over:
            return False
        if len(self._text) - self._at > _LONGEST:
            raise BadSource(
                f"{self._path} has a value of more than {_LONGEST >> 20} MB at character "
                f"{self._before + self._at:,}, which is not imported."
            )
        data = self._file.read(size)
        self._over = not data
        more = self._decode(data, final=self._over)
        self._before += self._at
        self._text, self._at = self._text[self._at :] + more, 0
        return bool(more) or not self._over

    def _problem(self) -> BadSource:
        place = f"character {self._before + self._at:,}"
        if self._over and not self._text[self._at :].strip():
            return BadSource(
                f"{self._path} ends too early, at {place}: the program may have been killed while "
                "it was written; import a file that was written to its end."
            )
        excerpt = " ".join(self._text[self._at : self._at + 40].split())
        return BadSource(
            f"{self._path} is not JSON, or ends too early, at {place} ({excerpt!r}); import a file "
            "that was written to its end."
        )
