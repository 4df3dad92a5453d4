"""`nki.isa`: names of the newer interface's instructions."""

from typing import Final

from kvtrace.addons.neuron import constants
from kvtrace.addons.neuron.constants import (
    dge_mode,
    engine,
    get_nc_version,
    nc_version,
    reduce_cmd,
)
from kvtrace.addons.neuron.errors import NkiError as NkiValidationError
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
    "NkiValidationError",
    "constants",
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
unknown_engine = engine.unknown

dma_copy = moves.dma_copy.older
memset = moves.memset_into.newer

#: Module of ops → names of its ops, which are this module's names.
_OPS: Final = {
    activations: "activation activation_reduce",
    elementwise: "reciprocal scalar_tensor_tensor tensor_scalar tensor_tensor",
    moves: "tensor_copy",
    products: "nc_matmul nc_matmul_mx nc_transpose quantize_mx",
    reductions: "tensor_reduce",
    scans: "tensor_scalar_reduce tensor_tensor_scan",
}
globals().update(
    (name, getattr(ops, name).newer) for ops, names in _OPS.items() for name in names.split()
)
globals().update(refused("nki.isa"))

__getattr__ = missing_name_handler("nki.isa")
