"""Readable names of device functions, demangled from C++ symbols.

Only the name itself is decoded (`at::native::reduce_kernel`); template arguments and parameters,
most of a symbol, are left out. Format: Itanium C++ ABI, section 5.1 "External Names". Names that
other tools have demangled are read, too: `void at::native::reduce_kernel<512>(int)`.
"""

import re
from collections.abc import Iterator
from typing import Final

_LENGTH: Final = re.compile(r"L?([1-9]\d{0,4})")
_ANONYMOUS: Final = "_GLOBAL__N_"
#: Begin of the parameters in a demangled name; "Memcpy HtoD (Pageable)" has none.
_PARAMETERS: Final = re.compile(r"[\w>}]\(")
#: Stands for "(anonymous namespace)", which has a parenthesis.
_UNNAMED: Final = "\0"
#: Template arguments that describe a generic kernel: `FillFunctor`, `direct_copy_kernel_cuda`.
_TELLING: Final = re.compile(r"\w*Functor\w*|\w+_functor|\w+Ops|\w+_kernel(_cuda|_impl)?")
#: A literal, a back reference, a lambda's number; or the length of a name.
_TOKEN: Final = re.compile(r"L[a-z]n?\d+E|[ST][0-9A-Z]*_|E\d+_|([1-9]\d{0,4})")
_GENERAL: Final = re.compile(r"gpu_kernel\w*|distribution_nullary_kernel")


def readable(symbol: str) -> str:
    """Return the qualified name of a mangled symbol; other symbols are returned unchanged.

    >>> readable("_ZN2at6native13reduce_kernelILi512ELi1EEEvT_")
    'at::native::reduce_kernel'
    """
    if not symbol.startswith("_Z"):
        return _written(symbol)
    nested = symbol.startswith("_ZN")
    place = 3 if nested else 2
    while nested and symbol[place : place + 1] in ("r", "V", "K"):  # a method's qualifiers
        place += 1
    parts: list[str] = []
    if symbol.startswith("St", place):
        parts.append("std")
        place += 2
    while match := _LENGTH.match(symbol, place):
        end = match.end() + int(match[1])
        name = symbol[match.end() : end]
        if len(name) < int(match[1]):
            return symbol
        parts.append("(anonymous)" if name.startswith(_ANONYMOUS) else name)
        place = end
        if not nested and parts != ["std"]:
            break
    return "::".join(parts) if parts and parts != ["std"] else symbol


def _written(name: str) -> str:
    """Return the qualified name of a demangled C++ function; other names unchanged."""
    if not name.endswith(")") or not _PARAMETERS.search(name):
        return name
    plain = name.replace("(anonymous namespace)", _UNNAMED)
    own, depth = "", 0
    for character in plain:
        if depth == 0 and character == "(":
            break
        depth += (character in "<({[") - (character in ">)}]")
        if depth == 0 and character == " ":
            own = ""  # the return type
        elif depth == 0 and character != ">":
            own += character
    return own.replace(_UNNAMED, "(anonymous)").strip("&*:") or name


def titled(symbol: str) -> str:
    """Return a short name: the function's name with the telling template arguments.

    >>> titled("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIiEEEEviT0_")
    'vectorized_elementwise_kernel<FillFunctor>'
    """
    own = readable(symbol).rpartition("::")[2]
    if own == symbol:
        return symbol
    rest = symbol.partition(own)[2]
    telling = [
        name
        for name in (_identifiers(rest) if symbol.startswith("_Z") else re.findall(r"\w+", rest))
        if _TELLING.fullmatch(name) and not _GENERAL.fullmatch(name)
    ]
    return f"{own}<{', '.join(dict.fromkeys(telling))}>" if telling else own


def _identifiers(symbol: str) -> Iterator[str]:
    """Yield the names in a mangled text, each of which follows its length."""
    place = 0
    while match := _TOKEN.search(symbol, place):
        place = match.end()
        if match[1]:
            name = symbol[place : place + int(match[1])]
            place += len(name)
            yield name
