"""NumPy programs as tensor graphs.

The user writes NumPy; under `trace`, a function becomes a graph of ops (the rows of `graph_ops`)
that is recorded, run by NumPy, and written as StableHLO.

    import numpy as np
    from kvtrace.addons.graphs.hlo import float32, ops, tensor, trace

    @trace
    def attention(q: tensor[float32, ("N", 64)], k, v):
        weights = ops.softmax(q @ k.T / 8.0, axis=-1)
        return weights @ v

    graph = attention.specialize(*[tensor[float32, (16, 64)]] * 3)
    print(graph.to_stablehlo())

`builders.py` says how to add functions, docs/hlo.md lists them. May import the schema, and
converters for text.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kvtrace.lazy import public_name

if TYPE_CHECKING:
    from kvtrace.addons.graphs.hlo import ops as ops
    from kvtrace.addons.graphs.hlo.annotations import immutable as immutable
    from kvtrace.addons.graphs.hlo.annotations import mutable as mutable
    from kvtrace.addons.graphs.hlo.annotations import mutable_tensor as mutable_tensor
    from kvtrace.addons.graphs.hlo.annotations import tensor as tensor
    from kvtrace.addons.graphs.hlo.errors import GraphError as GraphError
    from kvtrace.addons.graphs.hlo.graph import Graph as Graph
    from kvtrace.addons.graphs.hlo.traced import trace as trace
    from kvtrace.addons.graphs.hlo.wrapper import Tensor as Tensor

_HOMES = {
    "Graph": "kvtrace.addons.graphs.hlo.graph",
    "GraphError": "kvtrace.addons.graphs.hlo.errors",
    "Tensor": "kvtrace.addons.graphs.hlo.wrapper",
    "immutable": "kvtrace.addons.graphs.hlo.annotations",
    "mutable": "kvtrace.addons.graphs.hlo.annotations",
    "mutable_tensor": "kvtrace.addons.graphs.hlo.annotations",
    "tensor": "kvtrace.addons.graphs.hlo.annotations",
    "trace": "kvtrace.addons.graphs.hlo.traced",
}

_DTYPES = (
    *("bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "bfloat16"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3"),
)

__all__ = [*_HOMES, *_DTYPES, "ops"]


def __getattr__(name: str) -> Any:
    if name == "ops":
        return import_module("kvtrace.addons.graphs.hlo.ops")
    if name in _DTYPES:
        from kvtrace.addons.graphs.hlo.arguments import dtype_of

        element_type: Any = dtype_of(name)
        return globals().setdefault(name, element_type)
    return public_name(globals(), _HOMES, name)
