"""Elements of tensors as numbers: NumPy's types of Triton's, and values of those that NumPy lacks.

bf16 is widened by its bits, 8-bit floats by a table of their 256 values. Sources: OCP 8-bit
Floating Point Specification 1.0 for e4m3fn and e5m2; "8-bit Numerical Formats for Deep Neural
Networks" (arXiv 2206.02915) for the types named `fnuz`, which have one NaN in place of negative 0.
"""

import math
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

#: NumPy's types by Triton's names; a bool is a byte in memory.
_NUMPY_TYPES: Final = {
    "fp64": "<f8", "fp32": "<f4", "fp16": "<f2",
    "i64": "<i8", "i32": "<i4", "i16": "<i2", "i8": "i1", "i1": "u1",
    "u64": "<u8", "u32": "<u4", "u16": "<u2", "u8": "u1", "u1": "u1",
    "bf16": "<u2", "fp8e4nv": "u1", "fp8e5": "u1", "fp8e4b8": "u1", "fp8e5b16": "u1",
}  # fmt: skip
#: Bits of the exponent, its bias, and codes that are NaN, of types of 8 bits without infinities.
_FLOATS_OF_8_BITS: Final = {
    "fp8e4nv": (4, 7, (0x7F, 0xFF)),
    "fp8e4b8": (4, 8, (0x80,)),
    "fp8e5b16": (5, 16, (0x80,)),
}


def stored_type(type_name: str | None) -> np.dtype[Any] | None:
    """Return the type in which elements of a Triton type lie in memory; None if it is not known."""
    name = _NUMPY_TYPES.get(type_name or "")
    return None if name is None else np.dtype(name)


def element_values(stored: npt.NDArray[Any], type_name: str) -> npt.NDArray[Any]:
    """Return the values of elements of `stored_type`: numbers of a type of NumPy, or bools."""
    values = stored
    if type_name == "bf16":  # the upper half of a float32
        values = (stored.astype(np.uint32) << 16).view(np.float32)
    elif type_name in _FLOATS_OF_8_BITS or type_name == "fp8e5":
        values = _values_by_code(type_name)[stored]
    elif type_name in ("i1", "u1"):
        values = stored != 0
    return values


@lru_cache
def _values_by_code(type_name: str) -> npt.NDArray[np.float32]:
    if type_name == "fp8e5":  # the upper half of a float16
        return (np.arange(256, dtype=np.uint16) << 8).view(np.float16).astype(np.float32)
    format_8_bits = _FLOATS_OF_8_BITS[type_name]
    return np.array([_value(code, *format_8_bits) for code in range(256)], np.float32)


def _value(code: int, exponent_bits: int, bias: int, nans: tuple[int, ...]) -> float:
    if code in nans:
        return math.nan
    mantissa_bits = 7 - exponent_bits
    mantissa = code & (1 << mantissa_bits) - 1
    exponent = (code & 0x7F) >> mantissa_bits
    if exponent:
        mantissa += 1 << mantissa_bits
    magnitude = math.ldexp(mantissa, max(exponent, 1) - bias - mantissa_bits)
    return -magnitude if code & 0x80 else magnitude
