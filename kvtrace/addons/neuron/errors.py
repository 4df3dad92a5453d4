"""Errors about a kernel: one sentence that ends with the file and line of the user's code."""

from collections.abc import Callable
from typing import Final, NoReturn

from kvtrace.schema.errors import KvtraceError


class NkiError(KvtraceError):
    """The kernel cannot continue: it uses something that NKI, or kvtrace's part of NKI, lacks."""

    slug = "nki-program"


_BY_ACCESS_PATTERNS: Final = "use tensor_copy with a view by .ap(…, scalar_offset=…)"

#: Full name → the alternative to use, for names that are not implemented on purpose.
REFUSED: Final = {
    "nki.language.NkiTensor.indirect": "use vector_select, or .ap(…, vector_offset=…)",
    "nki.isa.tensor_copy_dynamic_src": _BY_ACCESS_PATTERNS,
    "nki.isa.tensor_copy_dynamic_dst": _BY_ACCESS_PATTERNS,
}


def missing_name_handler(module: str) -> Callable[[str], NoReturn]:
    """Return a module's `__getattr__`, which raises AttributeError for missing names."""

    def raise_error(name: str) -> NoReturn:
        full_name = f"{module}.{name}"
        if full_name in REFUSED:
            raise AttributeError(f"{full_name} is refused: {REFUSED[full_name]}")
        raise AttributeError(
            f"kvtrace does not implement {full_name}; docs/nki.md lists the implemented names"
        )

    return raise_error
