"""Arguments and results of kernels that are called while a NumPy function is traced to a graph.

What is traced are objects with a method `_call_kernel`; this room knows no more of graphs.
"""

from typing import Any

from kvtrace.addons.neuron.arguments import like


def traced_tensors(value: Any) -> list[Any]:
    """Return the traced tensors among arguments, in order, each once."""
    found: list[Any] = []
    for leaf in _leaves(value):
        if hasattr(type(leaf), "_call_kernel") and not any(leaf is each for each in found):
            found.append(leaf)
    return found


def placed_again(value: Any, old: list[Any], new: list[Any]) -> Any:
    """Return a structure with some leaves in the place of others."""
    if isinstance(value, dict):
        return {key: placed_again(item, old, new) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return like(value, [placed_again(item, old, new) for item in value])
    for one, other in zip(old, new, strict=True):
        if value is one:
            return other
    return value


def as_results(value: Any) -> list[Any]:
    """Return the arrays that a kernel has returned."""
    return [leaf for leaf in _leaves(value) if hasattr(leaf, "dtype") and hasattr(leaf, "shape")]


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]
