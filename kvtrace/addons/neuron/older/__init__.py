"""The older interface, `neuronxcc.nki`: decorators here, `language`, `isa` and `typing` beside.

    from kvtrace.addons.neuron import older as nki
    import kvtrace.addons.neuron.older.language as nl

is what `import neuronxcc.nki as nki` gives during a recording if Neuron's own package is
missing.
"""

from collections.abc import Callable
from typing import Any

from kvtrace.addons.neuron.launching import Kernel
from kvtrace.addons.neuron.older import compiler, isa, language, typing
from kvtrace.addons.neuron.older.tiles import Tile

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


def jit(func: Callable[..., Any] | None = None, mode: str = "auto", **settings: Any) -> Any:
    """Make a kernel of a function: `@nki.jit`, or `@nki.jit(mode="simulation")`."""
    del mode
    if func is None:
        return lambda function: jit(function, **settings)
    return Kernel(func, Tile, target=settings.get("platform_target"))


def baremetal(func: Callable[..., Any] | None = None, **settings: Any) -> Any:
    """Make a kernel of a function; here it runs like any other."""
    if func is None:
        return lambda function: baremetal(function, **settings)
    return func if isinstance(func, Kernel) else Kernel(func, Tile)


benchmark = baremetal
profile = baremetal
trace = jit


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a kernel, with its grid if it has one, and give its results."""
    made = kernel if isinstance(kernel, Kernel) else Kernel(kernel, Tile)
    return made(*args, **kwargs)
