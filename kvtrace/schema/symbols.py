"""Names of device functions as people write them: what C++ compilers made of them, read back.

Only the name itself is read (`at::native::reduce_kernel`); template arguments and parameters, which
make up most of such a symbol, are left out. Format: Itanium C++ ABI, section 5.1 "External Names".
"""

import re
from typing import Final

_LENGTH: Final = re.compile(r"L?([1-9]\d{0,4})")
_ANONYMOUS: Final = "_GLOBAL__N_"


def readable(symbol: str) -> str:
    """Return the qualified name that a mangled symbol stands for; others are returned as they are.

    >>> readable("_ZN2at6native13reduce_kernelILi512ELi1EEEvT_")
    'at::native::reduce_kernel'
    """
    if not symbol.startswith("_Z"):
        return symbol
    nested = symbol.startswith("_ZN")
    place = 3 if nested else 2
    while nested and symbol[place : place + 1] in ("r", "V", "K"):  # a method's qualifiers
        place += 1
    parts: list[str] = []
    if symbol.startswith("St", place):
        parts.append("std")
        place += 2
    while found := _LENGTH.match(symbol, place):
        end = found.end() + int(found[1])
        name = symbol[found.end() : end]
        if len(name) < int(found[1]):
            return symbol
        parts.append("(anonymous)" if name.startswith(_ANONYMOUS) else name)
        place = end
        if not nested and parts != ["std"]:
            break
    return "::".join(parts) if parts and parts != ["std"] else symbol
