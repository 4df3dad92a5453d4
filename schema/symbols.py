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
_PLACEHOLDER: Final = "\0"
#: Template arguments that describe a generic kernel: `FillFunctor`, `direct_copy_kernel_cuda`.
_DESCRIPTIVE: Final = re.compile(r"\w*Functor\w*|\w+_functor|\w+Ops|\w+_kernel(_cuda|_impl)?")
#: A literal, a back reference, a lambda's number; or the length of a name.
_TOKEN: Final = re.compile(r"L[a-z]n?\d+E|[ST][0-9A-Z]*_|E\d+_|([1-9]\d{0,4})")
_NOT_DESCRIPTIVE: Final = re.compile(r"gpu_kernel\w*|distribution_nullary_kernel")


def readable(symbol: str) -> str:
    """Return the qualified C++ name of a mangled or demangled symbol; other symbols unchanged.

    >>> readable("_ZN2at6native13reduce_kernelILi512ELi1EEEvT_")
    'at::native::reduce_kernel'
    """
    if not symbol.startswith("_Z"):
        return _demangled_name(symbol)
    is_nested = symbol.startswith("_ZN")
    position = 3 if is_nested else 2
    while is_nested and symbol[position : position + 1] in ("r", "V", "K"):  # a method's qualifiers
        position += 1
    parts: list[str] = []
    if symbol.startswith("St", position):
        parts.append("std")
        position += 2
    while match := _LENGTH.match(symbol, position):
        name_end = match.end() + int(match[1])
        name = symbol[match.end() : name_end]
        if len(name) < int(match[1]):
            return symbol
        parts.append("(anonymous)" if name.startswith(_ANONYMOUS) else name)
        position = name_end
        if not is_nested and parts != ["std"]:
            break
    return "::".join(parts) if parts and parts != ["std"] else symbol


def _demangled_name(name: str) -> str:
    """Return the qualified name of a demangled C++ function, without its types; else `name`."""
    if not name.endswith(")") or not _PARAMETERS.search(name):
        return name
    masked = name.replace("(anonymous namespace)", _PLACEHOLDER)
    own_name, depth = "", 0
    for character in masked:
        if depth == 0 and character == "(":
            break
        depth += (character in "<({[") - (character in ">)}]")
        if depth == 0 and character == " ":
            own_name = ""  # the return type
        elif depth == 0 and character != ">":
            own_name += character
    return own_name.replace(_PLACEHOLDER, "(anonymous)").strip("&*:") or name


def titled(symbol: str) -> str:
    """Return the function's unqualified name with the template arguments that describe it.

    >>> titled("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIiEEEEviT0_")
    'vectorized_elementwise_kernel<FillFunctor>'
    """
    own_name = readable(symbol).rpartition("::")[2]
    if own_name == symbol:
        return symbol
    after_name = symbol.partition(own_name)[2]
    descriptive = [
        name
        for name in (
            _names_in(after_name) if symbol.startswith("_Z") else re.findall(r"\w+", after_name)
        )
        if _DESCRIPTIVE.fullmatch(name) and not _NOT_DESCRIPTIVE.fullmatch(name)
    ]
    return f"{own_name}<{', '.join(dict.fromkeys(descriptive))}>" if descriptive else own_name


def _names_in(symbol: str) -> Iterator[str]:
    """Yield the names in a part of a mangled symbol, where each follows its length."""
    position = 0
    while match := _TOKEN.search(symbol, position):
        position = match.end()
        if match[1]:
            name = symbol[position : position + int(match[1])]
            position += len(name)
            yield name
