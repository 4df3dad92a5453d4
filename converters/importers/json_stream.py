"""Reader of JSON files of gigabytes, value by value, or an array's values in batches.

The standard library decodes single values, and all that it accepts: NaN, control characters in
texts, halves of surrogate pairs. Batches are for stricter and faster decoders.
"""

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator
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
#: Characters of a batch of values.
_BATCH: Final = 1 << 20
_SHORT_BATCH: Final = 1 << 12
#: Characters of the longest escape, such as \\u00e9.
_ESCAPE: Final = 6
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_NEXT: Final = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")

Decode = Callable[[str], list[Any] | None]


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
        self.exact = exact

    @property
    def exact(self) -> bool:
        """Numbers with a fraction become `Decimal`, not float."""
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
        self.peek()
        piece = _PIECE
        if self._position > self._cut_from:
            self._read(piece)
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._position)
            except (ValueError, RecursionError) as problem:
                if (place := self._invalid_escape(problem)) is not None:
                    raise self._escape_problem(place) from problem
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
        for values in self.batches():
            yield from values

    def batches(self, decode: Decode | None = None) -> Iterator[Iterable[Any]]:
        """Yield the values of the array that comes next, many at once.

        `decode` returns the values of a JSON array, or None if it does not accept all. Those it
        refuses, and without it all, are values as `value` returns them.
        """
        self.take("[")
        if self.peek() == "]":
            self._position += 1
            return
        while True:
            yield from self._batches_in_memory(decode)
            yield (self.value(),)
            if self.peek() != ",":
                self.take("]")
                return
            self._position += 1

    def _batches_in_memory(self, decode: Decode | None) -> Iterator[Iterable[Any]]:
        """Yield the next values that are in memory together with the comma after them.

        Where a batch is refused, shorter ones are tried, down to one value.
        """
        size = _BATCH
        self._position = _SPACE.match(self._text, self._position).end()  # type: ignore[union-attr]
        while decode is not None and (limits := self._batch_limits(size)) is not None:
            end, next_begin = limits
            values = decode(f"[{self._text[self._position : end]}]")
            if values is not None:
                self._position = next_begin
                size = min(2 * size, _BATCH)
                yield values
            elif size > 1:
                size = max(size // 16, 1)
            else:
                yield self._values_in_memory(next_begin)
                size = _SHORT_BATCH
        yield self._values_in_memory(self._cut_from + 1)

    @property
    def _cut_from(self) -> int:
        """Position behind which a value may be cut, whose error would count all text's lines."""
        return len(self._text) - (0 if self._is_at_end else _SHORT_BATCH)

    def _batch_limits(self, size: int) -> tuple[int, int] | None:
        """Return the end of the last value of a batch, and the begin of the value after it.

        The value after it is found by the text between the first two values: where that is also
        inside of a value, the batch is no array. None: a whole value and its comma are not there.
        """
        text = self._text
        if self._position > self._cut_from:
            return None
        try:
            _, end = self._strict.scan_once(text, self._position)  # type: ignore[attr-defined]
        except (StopIteration, ValueError, RecursionError):
            return None
        comma = _NEXT.match(text, end)
        if comma is None or comma.end() == len(text):
            return None
        separator = text[end - 1 : comma.end() + 1]
        last = max(text.rfind(separator, end - 1, self._position + size), end - 1)
        return last + 1, last + len(separator) - 1

    def _values_in_memory(self, limit: int) -> Iterator[Any]:
        """Yield the values that begin before a position, up to one that is not strict JSON.

        This is much faster than `value`. Values that have control characters in texts are not
        strict: as they stand, other readers refuse them.
        """
        match_comma, decode = _NEXT.match, self._strict.scan_once  # type: ignore[attr-defined]
        text, position = self._text, self._position
        while position < limit:
            try:
                value, end = decode(text, position)
            except (StopIteration, ValueError, RecursionError):
                break
            comma = match_comma(text, end)
            if comma is None:
                break
            position = comma.end()
            self._position = position
            yield value

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

    def _invalid_escape(self, problem: Exception) -> int | None:
        """Return the position in `_text` of an escape that is invalid whatever follows, or None."""
        if not (isinstance(problem, json.JSONDecodeError) and problem.msg.startswith("Invalid \\")):
            return None
        place = self._text.rfind("\\", self._position, problem.pos + 1)
        return place if 0 <= place < len(self._text) - _ESCAPE else None

    def _escape_problem(self, place: int) -> BadSource:
        excerpt = self._text[max(self._position, place - 20) : place + 20]
        length = _ESCAPE if self._text[place + 1] == "u" else 2
        return BadSource(
            f"{self._path} is not JSON, at character {self._consumed + place:,} "
            f"({' '.join(excerpt.split())}): {self._text[place : place + length]} is no escape; "
            "correct the file (a backslash in a text is written twice), or record it again"
        )

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
