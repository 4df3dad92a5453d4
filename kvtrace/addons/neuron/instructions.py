"""Names that `neuronxcc.nki.isa` and `nki.isa` have in common, and how both get their ops."""

from typing import Any as _Any
from typing import Final as _Final
from typing import Literal as _Literal

from kvtrace.addons.neuron.constants import (  # noqa: F401
    dge_mode,
    engine,
    get_nc_version,
    nc_version,
    reduce_cmd,
)
from kvtrace.addons.neuron.ops import activations as _activations
from kvtrace.addons.neuron.ops import elementwise as _elementwise
from kvtrace.addons.neuron.ops import moves as _moves
from kvtrace.addons.neuron.ops import products as _products
from kvtrace.addons.neuron.ops import reductions as _reductions
from kvtrace.addons.neuron.ops import scans as _scans

tensor_engine = engine.tensor
vector_engine = engine.vector
scalar_engine = engine.scalar
gpsimd_engine = engine.gpsimd
unknown_engine = engine.unknown

#: Module of ops → names of its ops that both interfaces have.
_OPS: _Final = {
    _activations: "activation activation_reduce",
    _elementwise: "reciprocal scalar_tensor_tensor tensor_scalar tensor_tensor",
    _moves: "tensor_copy",
    _products: "nc_matmul nc_transpose",
    _reductions: "tensor_reduce",
    _scans: "tensor_scalar_reduce tensor_tensor_scan",
}


def ops_of(interface: _Literal["older", "newer"], own: dict[_Any, str]) -> dict[str, _Any]:
    """Return the functions of an interface's ops by name: the common ones, and its `own`."""
    listed = (*_OPS.items(), *own.items())
    return {
        name: getattr(getattr(ops, name), interface)
        for ops, names in listed
        for name in names.split()
    }
