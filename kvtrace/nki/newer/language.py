"""`nki.language`: what both languages have, and what only the newer one has."""

from typing import Any

from kvtrace.nki import dtypes
from kvtrace.nki import language as _shared
from kvtrace.nki.language import *  # noqa: F403 - its names are this module's
from kvtrace.nki.missing import says_missing
from kvtrace.nki.newer.tensors import NkiTensor
from kvtrace.nki.ops import moves
from kvtrace.nki.ops.creation import shared_identity_matrix as _identity_in_device_memory
from kvtrace.nki.registers import dynamic_range

__all__ = ["NkiTensor", "dynamic_range"]
__all__ += _shared.__all__


class NKIObject:
    """Base of classes that kernels pass around."""


def broadcast_to(src: Any, shape: Any) -> Any:
    """Return a view in which dimensions of one element are repeated."""
    return src.broadcast_to(shape)


def shared_identity_matrix(n: int, dtype: Any = dtypes.uint8) -> Any:
    """Return an identity matrix in SBUF."""
    return moves.load.older(_identity_in_device_memory(n, dtype))


__getattr__ = says_missing("nki.language")
