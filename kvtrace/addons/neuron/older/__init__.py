"""The older interface, `neuronxcc.nki`: decorators, and modules such as `language` and `isa`.

    from kvtrace.addons.neuron import older as nki
    import kvtrace.addons.neuron.older.language as nl

While recording, `import neuronxcc.nki` imports these modules if Neuron's package is missing.
"""

from collections.abc import Callable
from typing import Any

from kvtrace.addons.neuron import typing
from kvtrace.addons.neuron.launching import Kernel, decorator
from kvtrace.addons.neuron.older import compiler, isa, language

__all__ = [
    "baremetal",
    "benchmark",
    "compiler",
    "isa",
    "jit",
    "language",
    "profile",
    "simulate_kernel",
    "trace",
    "typing",
]


jit = decorator("older")


def baremetal(func: Callable[..., Any] | None = None, **settings: Any) -> Any:
    """Return a function as a kernel that runs on NumPy, like any other."""
    if func is None:
        return lambda function: baremetal(function, **settings)
    return func if isinstance(func, Kernel) else Kernel(func, "older")


benchmark = baremetal
profile = baremetal
trace = jit


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a kernel, on its grid if it has one, and return its results."""
    decorated = kernel if isinstance(kernel, Kernel) else Kernel(kernel, "older")
    return decorated(*args, **kwargs)
