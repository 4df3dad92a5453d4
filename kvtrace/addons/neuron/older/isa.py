"""`neuronxcc.nki.isa`: names of the older interface's instructions."""

from typing import Any

from kvtrace.addons.neuron.constants import (
    dge_mode,
    engine,
    get_nc_version,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
)
from kvtrace.addons.neuron.errors import missing_name_handler
from kvtrace.addons.neuron.ops import (
    activations,
    elementwise,
    gathers,
    moves,
    products,
    reductions,
    scans,
    searches,
)

__all__ = [
    "dge_mode",
    "engine",
    "get_nc_version",
    "matmul_perf_mode",
    "nc_version",
    "oob_mode",
    "reduce_cmd",
]

tensor_engine = engine.tensor
vector_engine = engine.vector
scalar_engine = engine.scalar
gpsimd_engine = engine.gpsimd
dma_engine = engine.dma
unknown_engine = engine.unknown

activation = activations.activation.older
activation_reduce = activations.activation_reduce.older
affine_select = moves.affine_select.older
dma_copy = moves.dma_copy.older
iota = moves.iota.older
local_gather = gathers.local_gather.older
memset = moves.memset.older
nc_matmul = products.nc_matmul.older
nc_transpose = products.nc_transpose.older
reciprocal = elementwise.reciprocal.older
scalar_tensor_tensor = elementwise.scalar_tensor_tensor.older
tensor_copy = moves.tensor_copy.older
tensor_partition_reduce = reductions.tensor_partition_reduce.older
tensor_reduce = reductions.tensor_reduce.older
tensor_scalar = elementwise.tensor_scalar.older
tensor_tensor = elementwise.tensor_tensor.older
bn_aggr = reductions.bn_aggr.older
bn_stats = reductions.bn_stats.older
dma_transpose = searches.dma_transpose.older
dropout = reductions.dropout_by_chance.older
max8 = searches.max8.older
nc_find_index8 = searches.nc_find_index8.older
nc_match_replace8 = searches.nc_match_replace8.older
nc_stream_shuffle = searches.nc_stream_shuffle.older
sequence_bounds = searches.sequence_bounds.older
range_select = scans.range_select.older
tensor_copy_dynamic_dst = moves.tensor_copy.older
tensor_copy_dynamic_src = moves.tensor_copy.older
tensor_copy_predicated = searches.tensor_copy_predicated.older
tensor_scalar_reduce = scans.tensor_scalar_reduce.older
tensor_tensor_scan = scans.tensor_tensor_scan.older


def select_reduce(*, dst: Any, mask: Any = None, dtype: Any = None, **operands: Any) -> None:
    """Write `on_true` to `dst` where a predicate is nonzero, and `on_false` elsewhere."""
    searches.select_reduce.into(dst, mask=mask, dtype=dtype, **operands)


__getattr__ = missing_name_handler("neuronxcc.nki.isa")
