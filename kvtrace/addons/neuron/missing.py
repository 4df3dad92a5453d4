"""Messages for names that the public interfaces have and kvtrace's does not."""

from collections.abc import Callable
from typing import Final, NoReturn

_BY_ACCESS_PATTERNS: Final = "use tensor_copy with a view by .ap(…, scalar_offset=…)"

#: Names that are left out for a reason; others are reported as missing.
REFUSED: Final = {
    "nki.language.NkiTensor.indirect": "use vector_select, or .ap(…, vector_offset=…)",
    "nki.isa.tensor_copy_dynamic_src": _BY_ACCESS_PATTERNS,
    "nki.isa.tensor_copy_dynamic_dst": _BY_ACCESS_PATTERNS,
}


def says_missing(module: str) -> Callable[[str], NoReturn]:
    """Make the `__getattr__` of a module of an interface."""

    def missing(name: str) -> NoReturn:
        whole = f"{module}.{name}"
        if whole in REFUSED:
            raise AttributeError(f"{whole} is refused: {REFUSED[whole]}")
        raise AttributeError(
            f"{whole} is not there: kvtrace runs kernels of NKI with what it has "
            "implemented of it (docs/nki.md)"
        )

    return missing
