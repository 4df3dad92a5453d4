"""`nki.isa`: names of the newer interface's instructions."""

from typing import Any, Final

from kvtrace.addons.neuron import constants
from kvtrace.addons.neuron.constants import (
    dge_mode,
    dma_engine,
    engine,
    get_nc_version,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
)
from kvtrace.addons.neuron.errors import NkiError as NkiValidationError
from kvtrace.addons.neuron.errors import missing_name_handler
from kvtrace.addons.neuron.ops import (
    activations,
    creation,
    elementwise,
    gathers,
    moves,
    products,
    reductions,
    scans,
    searches,
)
from kvtrace.addons.neuron.ops.exchanges import core_barrier, sendrecv
from kvtrace.addons.neuron.registers import (
    VirtualRegister,
    register_alloc,
    register_load,
    register_move,
    register_store,
)
from kvtrace.addons.neuron.tensors import Tensor

__all__ = [
    "NkiValidationError",
    "VirtualRegister",
    "constants",
    "core_barrier",
    "dge_mode",
    "dma_engine",
    "engine",
    "get_nc_version",
    "matmul_perf_mode",
    "nc_version",
    "oob_mode",
    "reduce_cmd",
    "register_alloc",
    "register_load",
    "register_move",
    "register_store",
    "sendrecv",
]

tensor_engine = engine.tensor
vector_engine = engine.vector
scalar_engine = engine.scalar
gpsimd_engine = engine.gpsimd
unknown_engine = engine.unknown

dma_copy = moves.dma_copy.older
dropout = reductions.dropout_by_chance.newer
memset = moves.memset_into.newer
topk = searches.find_top.older
rand_set_state = creation.rand_set_state.older
set_rng_seed = creation.set_rng_seed.older

#: Module of ops → names of its ops, which are this module's names.
_OPS: Final = {
    activations: "activation activate2 activation_reduce exponential",
    creation: "iota rand2 rand_get_state rng",
    elementwise: "reciprocal scalar_tensor_tensor tensor_scalar tensor_tensor",
    gathers: "local_gather nc_n_gather nonzero_with_count",
    moves: "dma_compute tensor_copy",
    products: "nc_matmul nc_matmul_mx nc_transpose quantize_mx",
    reductions: "bn_aggr bn_stats tensor_partition_reduce tensor_reduce",
    scans: "range_select tensor_scalar_cumulative tensor_scalar_reduce tensor_tensor_scan",
    searches: (
        "dma_transpose max8 nc_find_index8 nc_match_replace8 nc_stream_shuffle select_reduce "
        "sequence_bounds tensor_copy_predicated"
    ),
}
globals().update(
    (name, getattr(ops, name).newer) for ops, names in _OPS.items() for name in names.split()
)


def affine_select(
    dst: Any,
    pattern: Any,
    channel_multiplier: Any = 0,
    on_true_tile: Any = None,
    on_false_value: Any = 0.0,
    cmp_op: Any = None,
    offset: Any = None,
    name: Any = None,
) -> None:
    """Write a tile's elements where `cmp_op(pattern value, 0)` is true, else a number.

    By position, `offset` may follow `pattern`, as in earlier releases of the interface.
    """
    del name
    if isinstance(on_false_value, Tensor):
        shift, channel_multiplier, on_true_tile = (
            channel_multiplier,
            on_true_tile,
            on_false_value,
        )
        on_false_value, cmp_op, offset = (0.0 if cmp_op is None else cmp_op), offset, shift
    operands = (pattern, offset or 0, channel_multiplier, on_true_tile, on_false_value)
    creation.affine_select.newer(dst, *operands, "equal" if cmp_op is None else cmp_op)


__getattr__ = missing_name_handler("nki.isa")
