"""Conversion between NumPy and Arrow arrays, without pandas.

`arrays.py` gives the reason why pyarrow's own conversion is not used, and works without NumPy.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def array_of_numpy(values: npt.NDArray[Any], absent: npt.NDArray[np.bool_] | None = None) -> Any:
    """Return an Arrow array of NumPy numbers or flags, null where `absent` is True."""
    kind = pa.from_numpy_dtype(values.dtype)
    valid = None if absent is None else _bits(~absent)
    content = _bits(values) if values.dtype == bool else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [valid, content])


def numpy_of(values: pa.Array, absent: int = 0) -> npt.NDArray[Any]:
    """Return an Arrow array in NumPy, times in ns; nulls become `absent`, None in texts."""
    if not pa.types.is_primitive(values.type):
        return np.array(values.to_pylist(), object)
    if pa.types.is_timestamp(values.type):
        values = values.view(pa.int64())  # a cast would import all of pyarrow.compute
    kind = values.type.to_pandas_dtype()
    if not len(values):
        return np.zeros(0, kind)
    content = values.buffers()[1]
    if kind is np.bool_:
        numbers = _flags(content, values)
    else:
        numbers = np.frombuffer(content, kind, len(values), values.offset * kind().itemsize)
    return np.where(are_null(values), absent, numbers) if values.null_count else numbers


def are_null(values: pa.Array) -> npt.NDArray[np.bool_]:
    """Return a mask of null values."""
    if not values.null_count:
        return np.zeros(len(values), bool)
    return ~_flags(values.buffers()[0], values)


def _flags(bits: pa.Buffer, of: pa.Array) -> npt.NDArray[np.bool_]:
    whole = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
    return whole[of.offset : of.offset + len(of)].astype(bool)


def _bits(flags: npt.NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
