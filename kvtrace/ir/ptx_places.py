"""Source lines in PTX, which are wrong inside inline assembly in Triton 3.8 and later.

Triton writes loads and stores as inline assembly of several lines. The `.loc` directive before such
a block has the op's line. LLVM adds directives inside the block, whose line numbers increase by one
per line of assembly:

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
    """Return PTX with empty lines in place of the `.loc` directives in inline assembly."""
    return _BLOCK.sub(lambda block: _DIRECTIVE.sub("", block[0]), ptx)
