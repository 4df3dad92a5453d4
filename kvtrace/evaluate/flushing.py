"""Float32 denormals that become zeros of their sign where PTX says `.ftz`.

Triton compiles libdevice's float32 functions for NVIDIA GPUs that way: operands and results flush.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kvtrace.evaluate.values import Array
from kvtrace.ir import Op


def flush(array: Array) -> Array:
    """Return floats with zeros of their sign instead of denormals."""
    denormal = np.abs(array) < np.finfo(array.dtype).tiny
    return np.where(denormal, np.copysign(array.dtype.type(0), array), array)


def flush_single(array: Array) -> Array:
    """Return an array, flushed if it is float32."""
    return flush(array) if array.dtype == np.float32 else array


def flushed(function: Callable[..., Any], *arrays: Array) -> Array:
    """Return a function's result, with float32 operands and results flushed."""
    return flush_single(np.asarray(function(*map(flush_single, arrays))))


def flushing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose float32 operands and results are flushed."""
    return partial(flushed, function)


def flushes_atomics(target: str) -> bool:
    """Return whether a target's atomic additions to float32 in global memory flush (PTX atom)."""
    return target.startswith("cuda:")


def flushed_by(function: Callable[..., Any], target: str, _op: Op) -> Callable[..., Any]:
    """Return the flushing function for NVIDIA GPUs, else the function itself."""
    return flushing(function) if target.startswith("cuda:") else function
