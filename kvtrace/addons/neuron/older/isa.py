"""`neuronxcc.nki.isa`: names of the older interface's instructions."""

from typing import Final

from kvtrace.addons.neuron.constants import (
    dge_mode,
    engine,
    get_nc_version,
    nc_version,
    reduce_cmd,
)
from kvtrace.addons.neuron.errors import missing_name_handler, refused
from kvtrace.addons.neuron.ops import (
    activations,
    elementwise,
    moves,
    products,
    reductions,
    scans,
)

__all__ = [
    "dge_mode",
    "engine",
    "get_nc_version",
    "nc_version",
    "reduce_cmd",
]

tensor_engine = engine.tensor
vector_engine = engine.vector
scalar_engine = engine.scalar
gpsimd_engine = engine.gpsimd
dma_engine = engine.dma
unknown_engine = engine.unknown


#: Module of ops → names of its ops, which are this module's names.
_OPS: Final = {
    activations: "activation activation_reduce",
    elementwise: "reciprocal scalar_tensor_tensor tensor_scalar tensor_tensor",
    moves: "affine_select dma_copy iota memset tensor_copy",
    products: "nc_matmul nc_transpose",
    reductions: "tensor_reduce",
    scans: "tensor_scalar_reduce tensor_tensor_scan",
}
globals().update(
    (name, getattr(ops, name).older) for ops, names in _OPS.items() for name in names.split()
)
globals().update(refused("neuronxcc.nki.isa"))

__getattr__ = missing_name_handler("neuronxcc.nki.isa")
