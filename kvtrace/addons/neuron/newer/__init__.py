"""The newer interface, `nki`: the decorator `jit`, and modules such as `language` and `isa`.

Instructions write to a `dst` tensor. Tensors have no operators and no masks. An integer index of
the partition dimension keeps the dimension, with size 1.
"""

from collections.abc import Callable
from typing import Any

from kvtrace.addons.neuron import typing
from kvtrace.addons.neuron.launching import Kernel
from kvtrace.addons.neuron.newer import dtype, isa, language

__all__ = [
    "dtype",
    "isa",
    "jit",
    "language",
    "simulate",
    "typing",
]


def jit(func: Callable[..., Any] | None = None, mode: str = "auto", **settings: Any) -> Any:
    """Return a function as a kernel: `@nki.jit`, or `@nki.jit(platform_target="trn2")`."""
    del mode
    if func is None:
        return lambda function: jit(function, **settings)
    return Kernel(func, "newer", target=settings.get("platform_target"))


def simulate(kernel: Any) -> Any:
    """Return the kernel itself, which runs on NumPy anyway."""
    return kernel if isinstance(kernel, Kernel) else Kernel(kernel, "newer")
