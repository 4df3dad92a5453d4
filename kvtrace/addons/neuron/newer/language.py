"""`nki.language`: the names of both languages, and those of the newer one alone."""

from typing import Any

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.buffers import Buffer
from kvtrace.addons.neuron.errors import missing_name_handler, refused
from kvtrace.addons.neuron.language import *  # noqa: F403 - its names are this module's
from kvtrace.addons.neuron.loops import no_reorder  # noqa: F401
from kvtrace.addons.neuron.ops import elementwise, moves
from kvtrace.addons.neuron.ops.creation import shared_identity_matrix as _identity_in_device_memory
from kvtrace.addons.neuron.tiles import Tile
from kvtrace.addons.neuron.tokens import BYPASS, Token

bypass = BYPASS
MemoryRegion = Buffer
NkiTensor = Tile
Op = Token
where = elementwise.where.older
globals().update(refused("nki.language"))


def broadcast_to(x: Any, shape: Any, dtype: Any = None) -> Any:
    """Return a view that repeats dimensions of size 1; a tile if `dtype` is another type."""
    view = x.broadcast_to(shape)
    return view if dtype is None or x.dtype == dtype else moves.copy.older(view, dtype=dtype)


def shared_identity_matrix(n: int, dtype: Any = dtypes.uint8, dst: Any = None) -> Any:
    """Return an n x n identity matrix in a new tile in SBUF, or write it to `dst`."""
    matrix = _identity_in_device_memory(n, dtype)
    return moves.load.older(matrix) if dst is None else moves.load.into(dst, matrix)


__getattr__ = missing_name_handler("nki.language")
