"""`neuronxcc.nki.isa`: names of the older interface's instructions."""

from typing import Any, Final

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

dropout = reductions.dropout_by_chance.older
tensor_copy_dynamic_dst = tensor_copy_dynamic_src = moves.tensor_copy.older

#: Module of ops → names of its ops, which are this module's names.
_OPS: Final = {
    activations: "activation activation_reduce",
    elementwise: "reciprocal scalar_tensor_tensor tensor_scalar tensor_tensor",
    gathers: "local_gather",
    moves: "affine_select dma_copy iota memset tensor_copy",
    products: "nc_matmul nc_transpose",
    reductions: "bn_aggr bn_stats tensor_partition_reduce tensor_reduce",
    scans: "range_select tensor_scalar_reduce tensor_tensor_scan",
    searches: (
        "dma_transpose max8 nc_find_index8 nc_match_replace8 nc_stream_shuffle sequence_bounds "
        "tensor_copy_predicated"
    ),
}
globals().update(
    (name, getattr(ops, name).older) for ops, names in _OPS.items() for name in names.split()
)


def select_reduce(*, dst: Any, mask: Any = None, dtype: Any = None, **operands: Any) -> None:
    """Write `on_true` to `dst` where a predicate is nonzero, and `on_false` elsewhere."""
    searches.select_reduce.into(dst, mask=mask, dtype=dtype, **operands)


__getattr__ = missing_name_handler("neuronxcc.nki.isa")
