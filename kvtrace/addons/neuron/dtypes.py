"""Element types: names, promotion and rounding.

Engines read any type, compute in float32 (or on bits), and round to the type of the result.
"""

from typing import Any, Final

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron.errors import NkiError

bool_: Final = np.dtype(np.bool_)
int8: Final = np.dtype(np.int8)
int16: Final = np.dtype(np.int16)
int32: Final = np.dtype(np.int32)
uint8: Final = np.dtype(np.uint8)
uint16: Final = np.dtype(np.uint16)
uint32: Final = np.dtype(np.uint32)
float16: Final = np.dtype(np.float16)
float32: Final = np.dtype(np.float32)
bfloat16: Final = np.dtype(ml_dtypes.bfloat16)
float8_e4m3: Final = np.dtype(ml_dtypes.float8_e4m3)
float8_e4m3fn: Final = np.dtype(ml_dtypes.float8_e4m3fn)
float8_e5m2: Final = np.dtype(ml_dtypes.float8_e5m2)
float8_e8m0fnu: Final = np.dtype(ml_dtypes.float8_e8m0fnu)
#: Stored in 32 bits like float32. Products of the tensor engine are not rounded to it here.
tfloat32: Final = np.dtype(np.float32)

#: Four elements packed into one, as instructions of NeuronCore-v4 take them.
float8_e4m3fn_x4: Final = np.dtype([("float8_e4m3fn", np.uint8, (4,))])
float8_e5m2_x4: Final = np.dtype([("float8_e5m2", np.uint8, (4,))])
float4_e2m1fn_x4: Final = np.dtype([("float4_e2m1fn", np.uint8, (2,))])

#: Name → type, and the type's short name in the trace's tables.
_TYPES: Final = {
    "bool_": (bool_, "i1"),
    "int8": (int8, "i8"),
    "int16": (int16, "i16"),
    "int32": (int32, "i32"),
    "uint8": (uint8, "u8"),
    "uint16": (uint16, "u16"),
    "uint32": (uint32, "u32"),
    "float16": (float16, "fp16"),
    "float32": (float32, "fp32"),
    "tfloat32": (tfloat32, "fp32"),
    "bfloat16": (bfloat16, "bf16"),
    "float8_e4m3": (float8_e4m3, "fp8e4"),
    "float8_e4m3fn": (float8_e4m3fn, "fp8e4nv"),
    "float8_e5m2": (float8_e5m2, "fp8e5"),
    "float8_e8m0fnu": (float8_e8m0fnu, "fp8e8m0"),
    "float8_e4m3fn_x4": (float8_e4m3fn_x4, "fp8e4nv_x4"),
    "float8_e5m2_x4": (float8_e5m2_x4, "fp8e5_x4"),
    "float4_e2m1fn_x4": (float4_e2m1fn_x4, "fp4e2m1_x4"),
}
NAMES: Final[dict[str, np.dtype[Any]]] = {name: dtype for name, (dtype, _) in _TYPES.items()}
SHORT: Final[dict[np.dtype[Any], str]] = dict(_TYPES.values())
FLOATS: Final = frozenset(
    {float16, float32, bfloat16, float8_e4m3, float8_e4m3fn, float8_e5m2, float8_e8m0fnu}
)
FLOAT8: Final = frozenset({float8_e4m3, float8_e4m3fn, float8_e5m2})
BITS: Final = frozenset({int8, int16, int32, uint8, uint16, uint32, bool_})

#: Fill of unwritten memory, which makes results that depend on unwritten memory look wrong.
_POISON_INTEGER: Final = 0x5A


def as_dtype(value: Any) -> np.dtype[Any]:
    """Return an element type as NumPy's dtype, given a dtype, a name or torch's dtype.

    Raises:
        NkiError: NKI has no such element type.
    """
    if isinstance(value, np.dtype):
        return value
    name = value if isinstance(value, str) else None
    if name is None and type(value).__module__ == "torch":
        name = str(value).removeprefix("torch.")
    if name is not None and name.rpartition(".")[2] in NAMES:
        return NAMES[name.rpartition(".")[2]]
    try:
        return np.dtype(value if name is None else name)
    except TypeError:
        raise NkiError(f"{value!r} is not an element type of NKI") from None


def short_name(dtype: np.dtype[Any]) -> str:
    """Return the short name of an element type, as in the trace's tables."""
    return SHORT.get(dtype, str(dtype))


def promoted(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """Return the result type of ops without a `dtype`: the widest of the operands' types."""
    widest = dtypes[0]
    for dtype in dtypes[1:]:
        if dtype != widest:
            widest = _wider(widest, dtype)
    return widest


def _wider(left: np.dtype[Any], right: np.dtype[Any]) -> np.dtype[Any]:
    floats = [dtype for dtype in (left, right) if dtype in FLOATS]
    if len(floats) == 1:
        return floats[0]
    if not floats:
        common = np.promote_types(left, right)
        return common if common in SHORT else float32  # there are no integers of 64 bits
    if left.itemsize == right.itemsize:
        return float32 if left.itemsize == 2 else bfloat16
    return left if left.itemsize > right.itemsize else right


def computed(values: NDArray[Any]) -> NDArray[Any]:
    """Return values as float32, in which engines compute."""
    return values if values.dtype == np.float32 else values.astype(np.float32)


def rounded(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return results converted to `dtype`; floats become integers by rounding to nearest even.

    Values outside an integer type's range become its smallest or largest value: engines saturate.
    """
    if values.dtype == dtype:
        return values
    if dtype in FLOATS or values.dtype.kind in "iub":
        return np.asarray(values, dtype)
    if dtype == bool_:
        return np.asarray(values != 0)
    limits = np.iinfo(dtype)
    integers = np.rint(values.astype(np.float64))
    return np.asarray(np.clip(np.nan_to_num(integers), limits.min, limits.max), dtype)


def poison(dtype: np.dtype[Any]) -> Any:
    """Return the value that marks garbage of a type: NaN for floats, else a bit pattern."""
    if dtype in FLOATS:
        return np.nan
    if dtype.kind == "V":
        return np.full(dtype.itemsize, _POISON_INTEGER, np.uint8).view(dtype)[0]
    return dtype.type(_POISON_INTEGER if dtype != bool_ else 1)
