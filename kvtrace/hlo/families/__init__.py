"""The builders of NumPy's functions, one file per family. May import primitives, not each other's
private parts.

Importing this package fills the registry, and gives tensors their methods.
"""

from kvtrace.hlo.families import (
    comparisons,
    creation,
    elementwise,
    indexing,
    integers,
    products,
    reductions,
    shapes,
    statistics,
)
from kvtrace.hlo.registry import METHODS
from kvtrace.hlo.wrapper import Tensor

__all__ = [
    "comparisons",
    "creation",
    "elementwise",
    "indexing",
    "integers",
    "products",
    "reductions",
    "shapes",
    "statistics",
]

for _name, _builder in METHODS.items():
    setattr(Tensor, _name, _builder)
