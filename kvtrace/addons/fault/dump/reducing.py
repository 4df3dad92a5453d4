"""Smaller GPU core dumps, with the same answer: most of a dump says nothing of the fault."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kvtrace.addons.fault.dump.reading import UnreadableDump, sections_in_use
from kvtrace.addons.fault.dump.tables import Kind
from kvtrace.backends.compiled_kernels.elf import SectionTable

_HEADER_BYTES: Final = 64
_ROW: Final = struct.Struct("<IIQQQQIIQQ")
#: Where the header has the offset of the table of sections, and the count and the number of names.
_TABLE_AT: Final = 40
_COUNT_AT: Final = 60
_IMAGES: Final = frozenset({Kind.IMAGE, Kind.RELOCATED_IMAGE})
_ALIGNMENT: Final = 8
_MOST_SECTIONS: Final = 0xFF00
#: Names of sections: only the one of the texts is read.
_NAMES: Final = b"\0.strtab\0.shstrtab\0"


def reduce_dump(path: Path, changed: Callable[[bytes], bytes] | None = None) -> int:
    """Replace a dump by one that has the same answer in fewer bytes; return how many it has.

    `changed` maps the content of modules that stay, to one as long.

    Raises:
        UnreadableDump: the file is no dump, or cannot be replaced.
    """
    try:
        reduced = _reduced(path.read_bytes(), changed)
        temporary = path.with_name(f"{path.name}.reduced")
        temporary.write_bytes(reduced)
        os.replace(temporary, path)  # noqa: PTH105 - the file that readers see is always whole
    except (OSError, ValueError, struct.error, IndexError) as error:
        raise UnreadableDump(f"{path} cannot be made smaller: {error}") from error
    return len(reduced)


def _reduced(content: bytes, changed: Callable[[bytes], bytes] | None) -> bytes:
    table = SectionTable(content)
    used = sections_in_use(table)
    if len(used) >= _MOST_SECTIONS:
        raise ValueError(f"it has {len(used):,} sections")
    number = {old: new for new, old in enumerate(used)}
    result = bytearray(content[:_HEADER_BYTES])
    rows, names = [], 0
    for new, old in enumerate(used):
        row, part = table.rows[old], bytes(table.content(old))
        name = 0
        if old and table[old].name == ".strtab":
            name = _NAMES.index(b".strtab")
        elif old and table[old].name == ".shstrtab":
            name, names, part = _NAMES.index(b".shstrtab"), new, _NAMES
        if changed is not None and row[1] in _IMAGES:
            part = changed(part)
        result += bytes(-len(result) % _ALIGNMENT)
        rows.append(
            _ROW.pack(name, *row[1:4], len(result), len(part), number.get(row[6], 0), *row[7:])
        )
        result += part
    result += bytes(-len(result) % _ALIGNMENT)
    struct.pack_into("<Q", result, _TABLE_AT, len(result))
    struct.pack_into("<HH", result, _COUNT_AT, len(rows), names)
    return bytes(result + b"".join(rows))
