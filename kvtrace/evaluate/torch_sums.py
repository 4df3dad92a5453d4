"""Sums of products by PyTorch, which adds and multiplies with one rounding in one pass.

PyTorch is used only if the program itself has imported it; this module does not. NumPy, by float64,
takes six times as long for a layer norm. Of what else PyTorch computes (products, rows, roundings),
nothing gained a tenth (Intel Xeon, NumPy 2.3, PyTorch 2.13, one thread).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kvtrace.evaluate.values import Array


def _is_plain() -> bool:
    """Return whether PyTorch is imported, and now computes as called, without observers.

    Under a mode of the program (FakeTensorMode, a counter of FLOPs), or PyTorch's profiler,
    kvtrace's calls would count as the program's.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return False
    core = torch._C
    if core._len_torch_dispatch_stack() or core._len_torch_function_stack():
        return False
    return not core._autograd._profiler_enabled()


@contextmanager
def unobserved() -> Iterator[None]:
    """Keep this thread's calls of PyTorch from recorders of the program's operators, as kvtrace's.

    These are callbacks of ATen's RecordFunction; its switch belongs to the thread, and is on unless
    C++ code that runs no Python has turned it off.
    """
    autograd: Any = getattr(sys.modules.get("torch"), "autograd", None)
    switch = getattr(autograd, "_enable_record_function", None)
    if switch is None:
        yield
        return
    switch(False)
    try:
        yield
    finally:
        switch(True)


def fuses(*arrays: Array) -> bool:
    """Return whether PyTorch now adds products of such floats with one rounding, without a copy."""
    for array in arrays:
        if not array.flags.behaved or min(array.strides, default=0) < 0:
            return False
    return _is_plain() and _rounds_once(arrays[0].dtype)


@functools.lru_cache
def _rounds_once(dtype: np.dtype[Any]) -> bool:
    """Return whether `addcmul` is compiled to fused instructions, for arrays of any length."""
    near = 1 + 2.0 ** (-12 if dtype == np.float32 else -27)
    for count in (1, 5, 67):
        factor = np.full(count, near, dtype)
        if np.any(fused_sum(factor, factor, -factor * factor) != (near - 1) ** 2):
            return False
    return True


def fused_sum(left: Array, right: Array, addend: Array, *, negative: bool = False) -> Array:
    """Return ±left * right + addend."""
    torch: Any = sys.modules["torch"]
    tensors = map(torch.from_numpy, (addend, left, right))
    result: Array = torch.addcmul(*tensors, value=-1 if negative else 1).numpy()
    return result
