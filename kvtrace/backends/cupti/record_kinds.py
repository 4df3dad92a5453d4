"""Kinds of CUPTI's records, and the lengths of records by version of CUPTI's API."""

from typing import Final

#: `CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL` (kernels are recorded and still run side by side),
#: `CUPTI_ACTIVITY_KIND_MEMCPY` and `CUPTI_ACTIVITY_KIND_MEMSET`.
CONCURRENT_KERNEL: Final = 10
COPY: Final = 1
FILL: Final = 2
KINDS: Final = (CONCURRENT_KERNEL, COPY, FILL)

#: First CUPTI API version of each length of a record, in bytes.
_KERNELS: Final = ((18, 208), (130000, 216), (130100, 224), (130300, 232), (130400, 248))
_COPYING: Final = ((18, 88), (26, 96), (130400, 112))
_FILLING: Final = ((18, 88), (130400, 104))
_NEWEST: Final = 130600


def record_lengths(version: int) -> tuple[int, int, int] | None:
    """Return the bytes of a kernel's, copy's and fill's record in an API version, or None."""
    if not _KERNELS[0][0] <= version < _NEWEST:
        return None
    kernel, copy, fill = (
        [length for first, length in lengths if version >= first][-1]
        for lengths in (_KERNELS, _COPYING, _FILLING)
    )
    return kernel, copy, fill
