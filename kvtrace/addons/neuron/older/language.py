"""`neuronxcc.nki.language`: the names of both languages, and those of the older one alone."""

from typing import Any

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.arguments import array_of
from kvtrace.addons.neuron.constants import fp32  # noqa: F401
from kvtrace.addons.neuron.errors import missing_name_handler, refused
from kvtrace.addons.neuron.indices import arange, mgrid, par_dim  # noqa: F401
from kvtrace.addons.neuron.language import *  # noqa: F403 - its names are this module's
from kvtrace.addons.neuron.loops import nc, spmd_dim  # noqa: F401
from kvtrace.addons.neuron.ops import elementwise, moves
from kvtrace.addons.neuron.ops.creation import shared_identity_matrix  # noqa: F401
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tiles import Tile

tensor = Tile
where = elementwise.where.older
globals().update(refused("neuronxcc.nki.language"))


def broadcast_to(src: Any, *, shape: Any) -> Any:
    """Return a view that repeats dimensions of size 1."""
    return src.broadcast_to(shape)


def static_cast(data: Any, dtype: Any) -> Any:
    """Return a tile converted to another type; outside of kernels, an array for an array."""
    array = None if isinstance(data, Tensor) else array_of(data)
    if array is None:
        return moves.copy.older(data, dtype=dtype)
    return dtypes.rounded(array, dtypes.as_dtype(dtype))


__getattr__ = missing_name_handler("neuronxcc.nki.language")
