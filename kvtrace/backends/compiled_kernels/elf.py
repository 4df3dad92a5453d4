"""Sections of an ELF file (64-bit, little-endian), the container of compiled kernels.

Layout: the System V ABI's "Object Files" chapter (https://refspecs.linuxfoundation.org/elf/).
"""

import struct
from dataclasses import dataclass
from typing import ClassVar, Final

from kvtrace.schema.errors import KvtraceError

_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")


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


def sections(elf: bytes) -> dict[str, bytes]:
    """Return the content of each section of an ELF file, by name.

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
    rows = [_SECTION.unpack_from(elf, table + i * size) for i in range(count)]
    texts = _content(elf, rows[names])
    return {text_at(texts, row[0]): _content(elf, row) for row in rows}


def text_at(texts: bytes, offset: int) -> str:
    """Return the text that begins at a byte offset of a string table.

    Raises:
        ValueError: The string has no terminating zero.
    """
    return texts[offset : texts.index(b"\0", offset)].decode()


def _content(elf: bytes, section: tuple[int, ...]) -> bytes:
    offset, size = section[4], section[5]
    return elf[offset : offset + size]
