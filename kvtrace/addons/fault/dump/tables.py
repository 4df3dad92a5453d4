"""Tables in GPU core dumps, field by field.

A dump is an ELF file; a section's kind says which table it holds, and a section refers to the row
that it belongs to: `link` is the number of the section with the table, `info` the row's number in
it. Newer drivers append fields to rows, so a field can be absent. Source: NVIDIA's
`cudacoredump.h`, part of the CUDA toolkit (docs.nvidia.com/cuda/cuda-gdb).
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from kvtrace.backends.compiled_kernels.elf import SectionTable


class Kind(IntEnum):
    """Kinds of sections: `sh_type` in ELF's terms."""

    GLOBAL_MEMORY = 0x80000002
    IMAGE = 0x80000006
    RELOCATED_IMAGE = 0x80000007
    REGISTERS = 0x80000005
    CALL_STACK = 0x80000008
    DEVICES = 0x80000009
    CONTEXTS = 0x8000000A
    PROCESSORS = 0x8000000B
    GRIDS = 0x8000000C
    BLOCKS = 0x8000000D
    WARPS = 0x8000000E
    THREADS = 0x8000000F
    MODULES = 0x80000010
    PREDICATES = 0x80000011
    PARAMETERS = 0x80000012
    UNIFORM_REGISTERS = 0x80000013
    RUN = 0x80000016


def _layout(text: str) -> Mapping[str, tuple[int, str]]:
    """Return each field's offset and struct format, from `Q a b  I c d`: formats and names."""
    layout, offset, form = {}, 0, "Q"
    for word in text.split():
        if word in ("Q", "I"):
            form = word
            continue
        layout[word] = (offset, "<" + form)
        offset += struct.calcsize("<" + form)
    return layout


#: Fields of the rows of each table that has any; only `_` is not read.
_FIELDS: Final = {
    Kind.DEVICES: _layout(
        "Q name type architecture I device bus pci processors warps lanes registers predicates "
        "major minor instruction_bytes status"
    ),
    Kind.CONTEXTS: _layout("Q context shared local global I device thread"),
    Kind.MODULES: _layout("Q module"),
    Kind.GRIDS: _layout(
        "Q grid context function entry module parent parameters_offset "
        "I type origin status registers grid_x grid_y grid_z block_x block_y block_z blocking "
        "thread cluster_x cluster_y cluster_z"
    ),
    Kind.PROCESSORS: _layout("I processor _ exception has_error_pc Q error_pc"),
    Kind.BLOCKS: _layout("Q grid I x y z"),
    Kind.WARPS: _layout("Q error_pc I warp valid active is_stopped has_error_pc"),
    Kind.THREADS: _layout("Q address pc I lane x y z exception depth"),
    Kind.CALL_STACK: _layout("Q pc address I level"),
    Kind.RUN: _layout("Q generator I driver driver_minor cuda cuda_minor flags time"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table: fields by name; one that this driver does not write is 0."""

    kind: Kind
    content: memoryview

    def __getitem__(self, field: str) -> int:
        offset, form = _FIELDS[self.kind][field]
        if offset + struct.calcsize(form) > len(self.content):
            return 0
        (value,) = struct.unpack_from(form, self.content, offset)
        return int(value)


def rows_of(sections: SectionTable, index: int) -> list[Row]:
    """Return the rows of a section's table; a section that names no size has one row."""
    kind, content = Kind(sections.rows[index][1]), sections.content(index)
    size = sections.rows[index][9] or len(content)
    return [Row(kind, content[at : at + size]) for at in range(0, len(content), size or 1)]
