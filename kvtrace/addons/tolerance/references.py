"""References in float64: called with parameters of a kernel, by their names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kvtrace.addons.tolerance.launches import NotDerived


def referred(reference: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Call a reference, and return its results as float64 arrays by parameter.

    Args:
        reference: a function of some of the kernel's parameters, by name. Tensors of floats reach
            it as float64 tensors on the CPU, copied; all else as it is.
        given: the kernel's arguments and constants, as they are before the launch.

    Raises:
        NotDerived: it has a parameter that the kernel lacks, or returns no tensor.

    """
    wanted = inspect.signature(reference).parameters
    passed = {}
    for name, parameter in wanted.items():
        if name in given:
            passed[name] = in_float64(given[name])
        elif parameter.default is inspect.Parameter.empty:
            raise NotDerived(
                f"the reference has a parameter {name!r}, and the kernel has no argument of that "
                f"name, only {', '.join(given)}"
            )
    found = reference(**passed)
    if not isinstance(found, Mapping):
        return {"": as_array(found)}
    return {str(name): as_array(values) for name, values in found.items()}


def in_float64(value: Any) -> Any:
    """Return a tensor's copy on the CPU, floats in float64; anything else as it is."""
    if not hasattr(value, "data_ptr"):
        return value
    copied = value.detach().cpu().clone()
    return copied.double() if copied.is_floating_point() else copied


def as_array(values: Any) -> Any:
    """Return a tensor, or an array, in float64.

    Raises:
        NotDerived: it is neither.

    """
    if hasattr(values, "detach"):
        values = values.detach().cpu().double().numpy()
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise NotDerived(f"a {type(values).__name__} where numbers were expected") from error
