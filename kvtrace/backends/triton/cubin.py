"""Registers and local memory of a kernel, read from its cubin without a driver.

A cubin is an ELF file. Its section `.nv.info` is a list of entries of one byte format, one byte
attribute, two bytes size, and for format 4 that many bytes of payload. The attributes used here
have a payload of two 32-bit words: the function's index in the symbol table, and the figure. The
layout is not documented by its maker; it is described in the sources of CuAssembler
(github.com/cloudcores/CuAssembler, CuAsm/CuNVInfo.py), and a test compares with `cuobjdump`.
"""

import struct
from dataclasses import dataclass
from typing import ClassVar, Final

from kvtrace.schema.errors import KvtraceError

_FORMAT_SIZED: Final = 0x04
_REGISTERS: Final = 0x2F  # EIATTR_REGCOUNT
_FRAME_BYTES: Final = 0x11  # EIATTR_FRAME_SIZE
_STACK_BYTES: Final = 0x12  # EIATTR_MIN_STACK_SIZE: the frames of the deepest chain of calls

_ENTRY = struct.Struct("<BBH")
_FIGURE = struct.Struct("<II")
_ELF_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


class UnreadableBinary(KvtraceError):
    """A compiled kernel is not in the format that its name says."""

    slug: ClassVar[str] = "unreadable-binary"


@dataclass(frozen=True, slots=True)
class Resources:
    """What one thread of a kernel uses: registers, and bytes of local memory (stack, spills)."""

    registers: int
    local_bytes: int

    @property
    def spills(self) -> int:
        """Local memory in 32-bit words, as Triton counts spills."""
        return self.local_bytes // 4


def cubin_resources(cubin: bytes, function: str) -> Resources:
    """Read the resources of one function.

    Raises:
        UnreadableBinary: it is not a cubin, or holds no such function.

    """
    try:
        return _resources(cubin, function)
    except (struct.error, IndexError, ValueError) as error:
        raise UnreadableBinary(
            f"The cubin of kernel {function} cannot be read: {error or type(error).__name__}."
        ) from error


def _resources(cubin: bytes, function: str) -> Resources:
    sections = _sections(cubin)
    index = _symbol_index(sections, function)
    figures: dict[int, int] = {}
    for attribute, payload in _entries(sections.get(".nv.info", b"")):
        if len(payload) != _FIGURE.size:
            continue
        symbol, figure = _FIGURE.unpack(payload)
        if symbol == index:
            figures[attribute] = figure
    if _REGISTERS not in figures:
        raise ValueError("it does not tell the function's registers")
    local_bytes = max(figures.get(_FRAME_BYTES, 0), figures.get(_STACK_BYTES, 0))
    return Resources(figures[_REGISTERS], local_bytes)


def _sections(elf: bytes) -> dict[str, bytes]:
    """Content of each section by name."""
    header = _ELF_HEADER.unpack_from(elf)
    identification, table, size, count, names = (
        header[0],
        header[6],
        header[11],
        header[12],
        header[13],
    )
    if not identification.startswith(b"\x7fELF\x02\x01"):
        raise ValueError("it is not a 64-bit little-endian ELF file")
    rows = [_SECTION.unpack_from(elf, table + i * size) for i in range(count)]
    texts = _content(elf, rows[names])
    return {_text(texts, row[0]): _content(elf, row) for row in rows}


def _content(elf: bytes, section: tuple[int, ...]) -> bytes:
    offset, size = section[4], section[5]
    return elf[offset : offset + size]


def _symbol_index(sections: dict[str, bytes], name: str) -> int:
    symbols, texts = sections.get(".symtab", b""), sections.get(".strtab", b"")
    for index, symbol in enumerate(_SYMBOL.iter_unpack(symbols)):
        is_function = symbol[1] & 0xF == 2  # STT_FUNC
        if is_function and _text(texts, symbol[0]) == name:
            return index
    raise ValueError("it holds no such function")


def _entries(info: bytes) -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []
    position = 0
    while position + _ENTRY.size <= len(info):
        form, attribute, size = _ENTRY.unpack_from(info, position)
        position += _ENTRY.size
        if form != _FORMAT_SIZED:
            continue
        found.append((attribute, info[position : position + size]))
        position += size
    return found


def _text(texts: bytes, offset: int) -> str:
    return texts[offset : texts.index(b"\0", offset)].decode()
