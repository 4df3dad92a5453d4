"""`nki.language`: the names of the newer language, each from where it is written."""

from typing import Any

from kvtrace.nki import dtypes, tokens
from kvtrace.nki.buffers import hbm, private_hbm, psum, sbuf, shared_hbm
from kvtrace.nki.constants import tile_size
from kvtrace.nki.indices import ds
from kvtrace.nki.loops import (
    affine_range,
    device_print,
    num_programs,
    program_id,
    program_ndim,
    sequential_range,
    static_range,
)
from kvtrace.nki.missing import says_missing
from kvtrace.nki.newer.tensors import NkiTensor
from kvtrace.nki.ops import moves, products, reductions, searches, statistics
from kvtrace.nki.ops.creation import (
    empty_like,
    full,
    ndarray,
    ones,
    rand,
    random_seed,
    shared_constant,
    zeros,
    zeros_like,
)
from kvtrace.nki.ops.creation import shared_identity_matrix as _identity_in_device_memory
from kvtrace.nki.registers import dynamic_range

__all__ = [
    "NkiTensor",
    "affine_range",
    "device_print",
    "ds",
    "dynamic_range",
    "empty_like",
    "full",
    "hbm",
    "ndarray",
    "num_programs",
    "ones",
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
    "static_range",
    "tile_size",
    "zeros",
    "zeros_like",
]


class NKIObject:
    """Base of classes that kernels pass around."""


globals().update(dtypes.NAMES)
globals().update(tokens.TOKENS)
__all__ += [*dtypes.NAMES, *tokens.TOKENS]

load = moves.load.older
load_transpose2d = moves.load_transpose2d.older
store = moves.store.older
matmul = products.matmul.older
transpose = products.transpose.older
sum = reductions.sum_.older  # noqa: A001 - the public name
max = reductions.max_.older  # noqa: A001 - the public name
min = reductions.min_.older  # noqa: A001 - the public name
mean = reductions.mean.older
prod = reductions.prod.older
var = reductions.var.older
all = reductions.all_.older  # noqa: A001 - the public name


def broadcast_to(src: Any, shape: Any) -> Any:
    """Return a view in which dimensions of one element are repeated."""
    return src.broadcast_to(shape)


def expand_dims(data: Any, axis: int) -> Any:
    """Return a view with a new dimension of one element."""
    return data.expand_dims(axis)


def shared_identity_matrix(n: int, dtype: Any = dtypes.uint8) -> Any:
    """Return an identity matrix in SBUF."""
    return moves.load.older(_identity_in_device_memory(n, dtype))


softmax = statistics.softmax.older
rms_norm = statistics.rms_norm.older
dropout = statistics.dropout.older
gather_flattened = searches.gather_flattened.older

__getattr__ = says_missing("nki.language")
