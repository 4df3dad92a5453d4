"""Sections of an ELF file (64-bit, little-endian), the container of compiled kernels and GPU dumps.

Layout: the System V ABI's "Object Files" chapter (https://refspecs.linuxfoundation.org/elf/).
"""

import struct
from dataclasses import dataclass
from typing import ClassVar, Final

from kvtrace.schema.errors import KvtraceError

_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_IN_FIRST_ROW: Final = 0xFFFF  # SHN_XINDEX
_NO_BITS: Final = 8  # SHT_NOBITS: memory that the file has no bytes of


class UnreadableBinary(KvtraceError):
    """Raised for a compiled kernel whose bytes are not in the expected format."""

    slug: ClassVar[str] = "unreadable-binary"


@dataclass(frozen=True, slots=True)
class Resources:
    """Registers, and bytes of local memory (stack, spills), of one thread of a kernel."""

    registers: int
    local_bytes: int

    @property
    def spills(self) -> int:
        """Local memory in 32-bit words, as Triton counts spills."""
        return self.local_bytes // 4


@dataclass(frozen=True, slots=True)
class Section:
    """A section of an ELF file: a row of its table of sections, and the content.

    `address` is where the content is loaded; `link` and `info` are what the section's `kind` makes
    of them; `row_bytes` is the size of a row if the content is a table, else 0.
    """

    name: str
    kind: int
    address: int
    link: int
    info: int
    row_bytes: int
    content: memoryview


def sections(elf: bytes) -> dict[str, bytes]:
    """Return the content of each section of an ELF file, by name.

    Raises:
        ValueError: The bytes are not a 64-bit little-endian ELF file.
        struct.error: The file is cut off.
    """
    return {section.name: bytes(section.content) for section in section_rows(elf)}


def section_rows(elf: bytes | memoryview) -> list[Section]:
    """Return the sections of an ELF file in their order; nothing of their contents is copied.

    Raises:
        ValueError: The bytes are not a 64-bit little-endian ELF file, or a name does not end.
        struct.error: The file is cut off.
    """
    header = _HEADER.unpack_from(elf)
    identification, table, size, count, names = (
        header[0],
        header[6],
        header[11],
        header[12],
        header[13],
    )
    if not identification.startswith(b"\x7fELF\x02\x01"):
        raise ValueError("this is not a 64-bit little-endian ELF file")
    if count == 0 and table:  # 65,280 sections or more: the first row has the numbers
        first = _SECTION.unpack_from(elf, table)
        count, names = first[5], first[6] if names == _IN_FIRST_ROW else names
    if count * max(size, _SECTION.size) > len(elf):
        raise struct.error(f"a table of {count} sections is larger than the file")
    whole = memoryview(elf)
    rows = [_SECTION.unpack_from(elf, table + i * size) for i in range(count)]
    texts = bytes(_content(whole, rows[names])) if rows else b""
    return [
        Section(text_at(texts, name), kind, address, link, info, row_bytes, _content(whole, row))
        for row in rows
        for name, kind, _, address, _, _, link, info, _, row_bytes in (row,)
    ]


def text_at(texts: bytes, offset: int) -> str:
    """Return the text that begins at a byte offset of a string table.

    Raises:
        ValueError: The string has no terminating zero, or is not UTF-8.
    """
    return texts[offset : texts.index(b"\0", offset)].decode()


def _content(elf: memoryview, section: tuple[int, ...]) -> memoryview:
    kind, offset, size = section[1], section[4], section[5]
    return elf[:0] if kind == _NO_BITS else elf[offset : offset + size]
