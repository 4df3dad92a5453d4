"""Places in PTX: LLVM of Triton 3.8 and later counts lines on inside of inline assembly.

Triton writes loads and stores as inline assembly of several lines. A `.loc` directive before such a
block is the op's place; those in it, one for each of its lines, name as many lines further on,
where other ops may be:

    .loc 1 309 25
    // begin inline asm
    .loc 1 309 25
    mov.u32 %r11, 0x0;
    .loc 1 310 25
    ld.global.b32 { %r11 }, [ %rd5 + 0 ];
    // end inline asm
"""

import re
from typing import Final

_BLOCK: Final = re.compile(r"// begin inline asm$.*?// end inline asm$", re.MULTILINE | re.DOTALL)
_DIRECTIVE: Final = re.compile(r"^\s*\.loc\b.*$", re.MULTILINE)


def without_inner_places(ptx: str) -> str:
    """Return PTX whose inline assembly has the place of its op alone; its lines stay as many."""
    return _BLOCK.sub(lambda block: _DIRECTIVE.sub("", block[0]), ptx)
