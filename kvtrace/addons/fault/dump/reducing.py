"""Smaller GPU core dumps: without modules that no kernel in the dump is of."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kvtrace.addons.fault.dump.reading import UnreadableDump, images_in_use
from kvtrace.addons.fault.dump.tables import Kind
from kvtrace.backends.compiled_kernels.elf import SectionTable

_HEADER_BYTES: Final = 64
_ROW: Final = struct.Struct("<IIQQQQIIQQ")
#: Where the header has the offset of the table of sections.
_TABLE_AT: Final = 40
_IMAGES: Final = frozenset({Kind.IMAGE, Kind.RELOCATED_IMAGE})
#: Tables that say nothing of a fault, and are most of a large dump.
_UNREAD: Final = frozenset({Kind.PREDICATES, Kind.CALL_STACK, Kind.GLOBAL_MEMORY})
_ALIGNMENT: Final = 8


def reduce_dump(path: Path, changed: Callable[[bytes], bytes] | None = None) -> int:
    """Replace a dump by one that has the same answer in fewer bytes; return how many it has.

    The sections keep their numbers; those that are left out are empty. `changed` maps the content
    of modules that stay, to one as long.

    Raises:
        UnreadableDump: the file is no dump, or cannot be replaced.
    """
    try:
        content = path.read_bytes()
        table = SectionTable(content)
        used = images_in_use(content)
        rows, parts, position = [], [], _HEADER_BYTES
        for index, row in enumerate(table.rows):
            kind = row[1]
            is_left_out = kind in _UNREAD or (kind in _IMAGES and index not in used)
            part = b"" if is_left_out else bytes(table.content(index))
            if changed is not None and kind in _IMAGES and part:
                part = changed(part)
            position += -position % _ALIGNMENT
            parts.append((position, part))
            rows.append(_ROW.pack(*row[:4], position, len(part), *row[6:]))
            position += len(part)
        position += -position % _ALIGNMENT
        reduced = bytearray(position)
        reduced[:_HEADER_BYTES] = content[:_HEADER_BYTES]
        struct.pack_into("<Q", reduced, _TABLE_AT, position)
        for place, part in parts:
            reduced[place : place + len(part)] = part
        reduced += b"".join(rows)
        if len(rows) and table.rows[0][5]:  # the first row has the count of sections
            struct.pack_into("<Q", reduced, position + 32, table.rows[0][5])
        temporary = path.with_name(f"{path.name}.reduced")
        temporary.write_bytes(reduced)
        os.replace(temporary, path)  # noqa: PTH105 - the file that readers see is always whole
    except (OSError, ValueError, struct.error, IndexError) as error:
        raise UnreadableDump(f"{path} cannot be made smaller: {error}") from error
    return len(reduced)
