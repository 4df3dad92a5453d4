"""Float32 denormals that become zeros of their sign where PTX says `.ftz`.

Triton compiles libdevice's float32 functions for NVIDIA GPUs that way: operands and results flush.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.values import Array

_SMALLEST: Final = np.finfo(np.float32).tiny


def flush(array: Array) -> Array:
    """Return an array with zeros instead of denormals, if it is float32."""
    if array.dtype != np.float32:
        return array
    denormal = np.abs(array) < _SMALLEST
    return np.where(denormal, np.copysign(np.float32(0), array), array)


def flushed(function: Callable[..., Any], *arrays: Array) -> Array:
    """Return a function's result, with float32 operands and results flushed."""
    return flush(np.asarray(function(*map(flush, arrays))))


def flushing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose float32 operands and results are flushed."""
    return partial(flushed, function)


def flushes_atomics(target: str) -> bool:
    """Return whether a target's atomic additions to float32 in global memory flush (PTX atom)."""
    return target.startswith("cuda:")


def flushed_by(function: Callable[..., Any], target: str) -> Callable[..., Any]:
    """Return the flushing function for NVIDIA GPUs, else the function itself."""
    return flushing(function) if target.startswith("cuda:") else function
