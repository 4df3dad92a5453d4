"""Decoder of MessagePack, without extension types.

Format: https://github.com/msgpack/msgpack/blob/master/spec.md
"""

import struct
from typing import Any, Final

#: Bytes of the length, and kind, of containers by their first byte.
_LENGTHS: Final = {
    0xC4: (1, "bytes"), 0xC5: (2, "bytes"), 0xC6: (4, "bytes"),
    0xD9: (1, "text"), 0xDA: (2, "text"), 0xDB: (4, "text"),
    0xDC: (2, "array"), 0xDD: (4, "array"), 0xDE: (2, "map"), 0xDF: (4, "map"),
}  # fmt: skip
#: Formats of numbers by their first byte.
_NUMBERS: Final = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
    0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_CONSTANTS: Final = {0xC0: None, 0xC2: False, 0xC3: True}


class _Reader:
    """Position in a content."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.position = 0

    def take(self, size: int) -> bytes:
        """Return the next bytes; ValueError if the content ends before."""
        taken = self._content[self.position : self.position + size]
        if len(taken) < size:
            raise ValueError(f"the content ends at byte {len(self._content):,}, inside of a value")
        self.position += size
        return taken

    def header(self) -> tuple[str, Any]:
        """Return the next value as "value", or the kind and length of a container or text."""
        first = self.take(1)[0]
        if first < 0x80:
            return "value", first
        if first >= 0xE0:
            return "value", first - 0x100
        if first < 0xC0:
            kind = "map" if first < 0x90 else "array" if first < 0xA0 else "text"
            return kind, first & (0x1F if kind == "text" else 0x0F)
        if first in _CONSTANTS:
            return "value", _CONSTANTS[first]
        if first in _NUMBERS:
            form = _NUMBERS[first]
            return "value", struct.unpack(form, self.take(struct.calcsize(form)))[0]
        if first not in _LENGTHS:
            raise ValueError(f"byte {self.position - 1:,} is {first:#x}, which begins no value")
        size, kind = _LENGTHS[first]
        return kind, int.from_bytes(self.take(size))


def value_of(content: bytes) -> Any:
    """Return the only value of a content: maps as dicts, arrays as lists, texts as str.

    Raises:
        ValueError: the content is cut off, has more after the value, or an extension type.
        TypeError: a map has a key that is a map or an array.

    """
    reader = _Reader(content)
    #: Items, wanted number of items, and whether a map, of each open container, outermost first.
    pending: list[tuple[list[Any], int, bool]] = []
    while True:
        kind, value = reader.header()
        if kind in ("array", "map"):
            pending.append(([], value * (2 if kind == "map" else 1), kind == "map"))
        else:
            if kind != "value":
                raw = reader.take(value)
                value = raw if kind == "bytes" else raw.decode("utf-8", "replace")
            if not pending:
                break
            pending[-1][0].append(value)
        while pending and len(pending[-1][0]) == pending[-1][1]:
            items, _, is_map = pending.pop()
            value = dict(zip(items[::2], items[1::2], strict=True)) if is_map else items
            if pending:
                pending[-1][0].append(value)
        if not pending:
            break
    if reader.position < len(content):
        raise ValueError(f"byte {reader.position:,} is behind the end of the value")
    return value
