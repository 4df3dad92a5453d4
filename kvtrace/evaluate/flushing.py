"""Float32 denormals that become zeros of their sign where PTX says `.ftz`.

Triton compiles libdevice's float32 functions for NVIDIA GPUs that way: operands and results flush.
"""

from __future__ import annotations

from collections.abc import Callable
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


def flushing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose float32 operands and results are flushed."""

    def flushed(*arrays: Array) -> Array:
        return flush(np.asarray(function(*map(flush, arrays))))

    return flushed
