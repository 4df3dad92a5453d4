"""Names that `neuronxcc.nki.language` and `nki.language` have in common."""

from typing import Any

from kvtrace.addons.neuron import dtypes, tokens
from kvtrace.addons.neuron.buffers import hbm, private_hbm, psum, sbuf, shared_hbm
from kvtrace.addons.neuron.constants import tile_size
from kvtrace.addons.neuron.indices import ds
from kvtrace.addons.neuron.loops import (
    affine_range,
    device_print,
    num_programs,
    program_id,
    program_ndim,
    sequential_range,
    static_range,
)
from kvtrace.addons.neuron.ops import moves, products, reductions, searches
from kvtrace.addons.neuron.ops.creation import (
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

__all__ = [
    "affine_range",
    "all",
    "device_print",
    "dropout",
    "ds",
    "empty_like",
    "expand_dims",
    "full",
    "gather_flattened",
    "hbm",
    "load",
    "load_transpose2d",
    "matmul",
    "max",
    "mean",
    "min",
    "ndarray",
    "num_programs",
    "ones",
    "private_hbm",
    "prod",
    "program_id",
    "program_ndim",
    "psum",
    "rand",
    "random_seed",
    "rms_norm",
    "sbuf",
    "sequential_range",
    "shared_constant",
    "shared_hbm",
    "softmax",
    "static_range",
    "store",
    "sum",
    "tile_size",
    "transpose",
    "var",
    "zeros",
    "zeros_like",
]

# Element types and tokens: `float32`, `add`, `exp` …
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
softmax = reductions.softmax.older
rms_norm = reductions.rms_norm.older
dropout = reductions.dropout.older
gather_flattened = searches.gather_flattened.older


def expand_dims(data: Any, axis: int) -> Any:
    """Return a view of `data` with a new dimension of size 1."""
    return data.expand_dims(axis)
