"""`neuronxcc.nki.language`: the names of the older language, each from where it is written."""

from typing import Any

import ml_dtypes

from kvtrace.nki import dtypes, tokens
from kvtrace.nki.buffers import hbm, private_hbm, psum, sbuf, shared_hbm
from kvtrace.nki.constants import fp32, tile_size
from kvtrace.nki.indices import arange, ds, mgrid, par_dim
from kvtrace.nki.loops import (
    affine_range,
    device_print,
    nc,
    num_programs,
    program_id,
    program_ndim,
    sequential_range,
    spmd_dim,
    static_range,
)
from kvtrace.nki.missing import says_missing
from kvtrace.nki.older.tiles import Tile
from kvtrace.nki.ops import elementwise, moves, products, reductions, searches, statistics
from kvtrace.nki.ops.creation import (
    empty_like,
    full,
    ndarray,
    ones,
    rand,
    random_seed,
    shared_constant,
    shared_identity_matrix,
    zeros,
    zeros_like,
)

__all__ = [
    "affine_range",
    "arange",
    "device_print",
    "ds",
    "empty_like",
    "fp32",
    "full",
    "hbm",
    "mgrid",
    "nc",
    "ndarray",
    "num_programs",
    "ones",
    "par_dim",
    "private_hbm",
    "program_id",
    "program_ndim",
    "psum",
    "rand",
    "random_seed",
    "sbuf",
    "sequential_range",
    "shared_constant",
    "shared_hbm",
    "shared_identity_matrix",
    "spmd_dim",
    "static_range",
    "tile_size",
    "zeros",
    "zeros_like",
]

tensor = Tile

# Element types and tokens: `float32`, `add`, `exp` …
globals().update(dtypes.NAMES)
globals().update(tokens.TOKENS)
__all__ += [*dtypes.NAMES, *tokens.TOKENS]

load = moves.load.older
load_transpose2d = moves.load_transpose2d.older
store = moves.store.older
matmul = products.matmul.older
transpose = products.transpose.older
where = elementwise.where.older
sum = reductions.sum_.older  # noqa: A001 - the public name
max = reductions.max_.older  # noqa: A001 - the public name
min = reductions.min_.older  # noqa: A001 - the public name
mean = reductions.mean.older
prod = reductions.prod.older
var = reductions.var.older
all = reductions.all_.older  # noqa: A001 - the public name
loop_reduce = reductions.loop_reduce.older


def expand_dims(data: Any, axis: int) -> Any:
    """Return a view with a new dimension of one element."""
    return data.expand_dims(axis)


def broadcast_to(src: Any, *, shape: Any) -> Any:
    """Return a view in which dimensions of one element are repeated."""
    return src.broadcast_to(shape)


def static_cast(data: Any, dtype: Any) -> Any:
    """Return a tile in another type."""
    return moves.copy.older(data, dtype=dtype)


def finfo(dtype: Any) -> Any:
    """Return the ends of a floating-point type."""
    return ml_dtypes.finfo(dtypes.as_dtype(dtype))


softmax = statistics.softmax.older
rms_norm = statistics.rms_norm.older
dropout = statistics.dropout.older
gather_flattened = searches.gather_flattened.older

__getattr__ = says_missing("neuronxcc.nki.language")
