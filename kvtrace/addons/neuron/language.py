"""Names that `neuronxcc.nki.language` and `nki.language` have in common: all public ones here."""

from typing import Any as _Any

from kvtrace.addons.neuron import dtypes as _dtypes
from kvtrace.addons.neuron import tokens as _tokens
from kvtrace.addons.neuron.buffers import hbm, private_hbm, psum, sbuf, shared_hbm  # noqa: F401
from kvtrace.addons.neuron.constants import tile_size  # noqa: F401
from kvtrace.addons.neuron.indices import ds  # noqa: F401
from kvtrace.addons.neuron.loops import (  # noqa: F401
    affine_range,
    num_programs,
    program_id,
    program_ndim,
    sequential_range,
    static_range,
)
from kvtrace.addons.neuron.ops import moves as _moves
from kvtrace.addons.neuron.ops import products as _products
from kvtrace.addons.neuron.ops import reductions as _reductions
from kvtrace.addons.neuron.ops.creation import (  # noqa: F401
    full,
    ndarray,
    ones,
    shared_constant,
    zeros,
)

# Element types and tokens: `float32`, `add`, `exp` …
globals().update(_dtypes.NAMES)
globals().update(_tokens.TOKENS)

load = _moves.load.older
store = _moves.store.older
matmul = _products.matmul.older
transpose = _products.transpose.older
sum = _reductions.sum_.older  # noqa: A001 - the public name
max = _reductions.max_.older  # noqa: A001 - the public name
min = _reductions.min_.older  # noqa: A001 - the public name
mean = _reductions.mean.older
prod = _reductions.prod.older
all = _reductions.all_.older  # noqa: A001 - the public name


def expand_dims(data: _Any, axis: int) -> _Any:
    """Return a view of `data` with a new dimension of size 1."""
    return data.expand_dims(axis)
