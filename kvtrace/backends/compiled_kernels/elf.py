"""Sections of an ELF file (64-bit, little-endian), the container of compiled kernels and GPU dumps.

Layout: the System V ABI's "Object Files" chapter (https://refspecs.linuxfoundation.org/elf/).
"""

import struct
from collections.abc import Iterator
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
    return {section.name: bytes(section.content) for section in SectionTable(elf)}


class SectionTable:
    """The sections of an ELF file in their order; one is made of its row when it is asked for.

    `rows` has the rows as they are in the file: name's offset, kind, flags, address, offset, size,
    link, info, alignment, bytes of a row.
    """

    def __init__(self, elf: bytes | memoryview) -> None:
        """Read the table; nothing of the sections' contents is copied.

        Raises:
            ValueError: The bytes are not a 64-bit little-endian ELF file.
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
        if table and size != _SECTION.size:
            raise ValueError(f"its table of sections has rows of {size} bytes")
        if count == 0 and table:  # 65,280 sections or more: the first row has the numbers
            first = _SECTION.unpack_from(elf, table)
            count, names = first[5], first[6] if names == _IN_FIRST_ROW else names
        self._elf = memoryview(elf)
        end = table + count * size
        if end > len(elf):
            raise struct.error(f"its table of {count} sections does not end")
        self.rows = list(_SECTION.iter_unpack(self._elf[table:end])) if count else []
        self._texts = bytes(self.content(names)) if self.rows else b""

    def content(self, index: int) -> memoryview:
        """Return the content of a section."""
        kind, offset, size = self.rows[index][1], self.rows[index][4], self.rows[index][5]
        return self._elf[:0] if kind == _NO_BITS else self._elf[offset : offset + size]

    def __getitem__(self, index: int) -> Section:
        """Return a section.

        Raises:
            ValueError: its name does not end, or is not UTF-8.
        """
        name, kind, _, address, _, _, link, info, _, row_bytes = self.rows[index]
        content = self.content(index)
        return Section(text_at(self._texts, name), kind, address, link, info, row_bytes, content)

    def __iter__(self) -> Iterator[Section]:
        return (self[index] for index in range(len(self.rows)))


def text_at(texts: bytes, offset: int) -> str:
    """Return the text that begins at a byte offset of a string table.

    Raises:
        ValueError: The string has no terminating zero, or is not UTF-8.
    """
    return texts[offset : texts.index(b"\0", offset)].decode()
