"""`nki.tensor`: NumPy arrays that serve as constants of a program, for `nl.shared_constant`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.errors import missing_name_handler


def zeros(shape: Any, dtype: Any = dtypes.float32) -> NDArray[Any]:
    """Return an array of zeros."""
    return np.zeros(shape, dtypes.as_dtype(dtype))


def ones(shape: Any, dtype: Any = dtypes.float32) -> NDArray[Any]:
    """Return a NumPy array of ones."""
    return np.ones(shape, dtypes.as_dtype(dtype))


def full(shape: Any, fill_value: Any, dtype: Any = dtypes.float32) -> NDArray[Any]:
    """Return an array with `fill_value` in every element."""
    return np.full(shape, fill_value, dtypes.as_dtype(dtype))


def identity(n: int, dtype: Any = dtypes.float32) -> NDArray[Any]:
    """Return an n x n identity matrix."""
    return np.identity(n, dtypes.as_dtype(dtype))


def arange(*bounds: Any, dtype: Any = dtypes.int32) -> NDArray[Any]:
    """Return an array of consecutive numbers, as NumPy's `arange`."""
    return np.arange(*bounds).astype(dtypes.as_dtype(dtype))


__getattr__ = missing_name_handler("nki.tensor")
