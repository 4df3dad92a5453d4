"""The newer interface, `nki`: the decorator `jit`, and modules such as `language` and `isa`.

Instructions write to a `dst` tensor. Tensors have no operators and no masks. An integer index of
the partition dimension keeps the dimension, with size 1.
"""

from typing import Any

from kvtrace.addons.neuron import typing
from kvtrace.addons.neuron.launching import Kernel, decorator
from kvtrace.addons.neuron.newer import dtype, isa, language

__all__ = [
    "dtype",
    "isa",
    "jit",
    "language",
    "simulate",
    "typing",
]


jit = decorator("newer")


def simulate(kernel: Any) -> Any:
    """Return the kernel itself, which runs on NumPy anyway."""
    return kernel if isinstance(kernel, Kernel) else Kernel(kernel, "newer")
