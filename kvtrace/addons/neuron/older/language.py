"""`neuronxcc.nki.language`: the names of both languages, and those of the older one alone."""

from typing import Any

import ml_dtypes

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.arguments import array_of
from kvtrace.addons.neuron.constants import fp32  # noqa: F401
from kvtrace.addons.neuron.errors import missing_name_handler
from kvtrace.addons.neuron.indices import arange, mgrid, par_dim  # noqa: F401
from kvtrace.addons.neuron.language import *  # noqa: F403 - its names are this module's
from kvtrace.addons.neuron.loops import nc, spmd_dim  # noqa: F401
from kvtrace.addons.neuron.older.tiles import Tile
from kvtrace.addons.neuron.ops import elementwise, exchanges, moves, reductions
from kvtrace.addons.neuron.ops.creation import shared_identity_matrix  # noqa: F401
from kvtrace.addons.neuron.tensors import Tensor

tensor = Tile
where = elementwise.where.older
all_reduce = exchanges.all_reduce
atomic_rmw = moves.atomic_rmw.older
loop_reduce = reductions.loop_reduce.older


def broadcast_to(src: Any, *, shape: Any) -> Any:
    """Return a view that repeats dimensions of size 1."""
    return src.broadcast_to(shape)


def static_cast(data: Any, dtype: Any) -> Any:
    """Return a tile converted to another type; outside of kernels, an array for an array."""
    array = None if isinstance(data, Tensor) else array_of(data)
    if array is None:
        return moves.copy.older(data, dtype=dtype)
    return dtypes.rounded(array, dtypes.as_dtype(dtype))


def finfo(dtype: Any) -> Any:
    """Return the limits of a floating-point type."""
    return ml_dtypes.finfo(dtypes.as_dtype(dtype))


__getattr__ = missing_name_handler("neuronxcc.nki.language")
