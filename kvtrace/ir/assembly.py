"""Bytes that an instruction of PTX or AMD assembly moves for a thread from or to global memory.

Examples: `ld.global.v4.b32`, `cp.async.cg.shared.global [%r1], [%rd2], 0x10`, `buffer_store_short`,
`global_load_dwordx4`. Atomics and TMA's copies of tiles are left out. AMD's instructions:
https://llvm.org/docs/AMDGPUUsage.html.
"""

import re
from typing import Final

#: Loads, stores and copies of PTX; groups: elements, bits of an element, bytes of a copy.
PTX_ACCESS: Final = (
    r"\b(?:ld|st)\.global(?:\.(?!v\d|b\d)[\w:]+)*(?:\.v(\d))?\.b(\d+)"
    r"|\bcp\.async\.c[ag]\.shared\.global[^,]*,[^,]*, (\w+)"
)
_PTX: Final = re.compile(PTX_ACCESS)
_AMD: Final = re.compile(
    r"\b(?:global|buffer)_(?:load|store)_(?:lds_)?"
    r"(?:dword(?:x(\d))?|(?:d16_)?(?:hi_)?(?:[us]?(byte|short)|[ubi](\d+)))(?:_d16)?(?:_hi)?\b"
)


def ptx_bytes(elements: str | None, bits: str, copied: str | None) -> int:
    """Return the bytes of an instruction from the groups of `PTX_ACCESS`."""
    return int(copied, 0) if copied else int(elements or 1) * int(bits) // 8


def global_bytes(line: str) -> int | None:
    """Return the bytes of the global load, store or copy in a line of assembly; None without."""
    if (match := _PTX.search(line)) is not None:
        return ptx_bytes(*match.groups())
    if (match := _AMD.search(line)) is None:
        return None
    words, small, bits = match.groups()
    if small:
        return {"byte": 1, "short": 2}[small]
    return int(bits) // 8 if bits else 4 * int(words or 1)
