"""`nki.tensor`: constants of the program, which `nl.shared_constant` takes; arrays of NumPy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.missing import missing_name_handler


def zeros(shape: Any, dtype: Any = dtypes.float32) -> NDArray[Any]:
    """Return zeros."""
    return np.zeros(shape, dtypes.as_dtype(dtype))


def ones(shape: Any, dtype: Any = dtypes.float32) -> NDArray[Any]:
    """Return ones."""
    return np.ones(shape, dtypes.as_dtype(dtype))


def full(shape: Any, fill_value: Any, dtype: Any = dtypes.float32) -> NDArray[Any]:
    """Return one number in every element."""
    return np.full(shape, fill_value, dtypes.as_dtype(dtype))


def identity(n: int, dtype: Any = dtypes.float32) -> NDArray[Any]:
    """Return an identity matrix."""
    return np.identity(n, dtypes.as_dtype(dtype))


def arange(*bounds: Any, dtype: Any = dtypes.int32) -> NDArray[Any]:
    """Return numbers one after the other."""
    return np.arange(*bounds).astype(dtypes.as_dtype(dtype))


__getattr__ = missing_name_handler("nki.tensor")
