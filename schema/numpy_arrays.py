"""Conversion between NumPy and Arrow arrays, without pandas.

`arrays.py` gives the reason why pyarrow's own conversion is not used, and works without NumPy.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

#: Floating-point types that Arrow names differently.
_FLOATS: Final = {"halffloat": "float16", "float": "float32", "double": "float64"}


def array_of_numpy(values: npt.NDArray[Any], is_null: npt.NDArray[np.bool_] | None = None) -> Any:
    """Return an Arrow array with the numbers or flags of a NumPy array, null where `is_null`."""
    arrow_type = pa.from_numpy_dtype(values.dtype)
    validity_bits = None if is_null is None else _packed_flags(~is_null)
    content = (
        _packed_flags(values)
        if values.dtype == bool
        else pa.py_buffer(np.ascontiguousarray(values))
    )
    return pa.Array.from_buffers(arrow_type, len(values), [validity_bits, content])


def numpy_of(values: pa.Array, null_value: int = 0) -> npt.NDArray[Any]:
    """Return a NumPy array of an Arrow array: times in ns, nulls as `null_value` (texts: None)."""
    if not pa.types.is_primitive(values.type):
        return np.array(values.to_pylist(), object)
    if pa.types.is_timestamp(values.type):
        values = values.view(pa.int64())  # a cast would import all of pyarrow.compute
    dtype = _dtype(values.type)
    if not len(values):
        return np.zeros(0, dtype)
    content = values.buffers()[1]
    if dtype.kind == "b":
        numbers = _unpacked_flags(content, values)
    else:
        numbers = np.frombuffer(content, dtype, len(values), values.offset * dtype.itemsize)
    return np.where(are_null(values), null_value, numbers) if values.null_count else numbers


def _dtype(arrow_type: pa.DataType) -> np.dtype[Any]:
    """Return the NumPy type of numbers or flags; `to_pandas_dtype` imports pandas."""
    name = str(arrow_type)
    return np.dtype(_FLOATS.get(name, name))


def are_null(values: pa.Array) -> npt.NDArray[np.bool_]:
    """Return a boolean array that is True where `values` is null."""
    if not values.null_count:
        return np.zeros(len(values), bool)
    return ~_unpacked_flags(values.buffers()[0], values)


def _unpacked_flags(bits: pa.Buffer, of: pa.Array) -> npt.NDArray[np.bool_]:
    flags = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
    return flags[of.offset : of.offset + len(of)].astype(bool)


def _packed_flags(flags: npt.NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
