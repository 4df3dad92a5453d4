"""Numbers of a tensor's elements, computed from their bytes by NumPy."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from kvtrace.schema.checked_tables import LEVELS

Floats = npt.NDArray[np.float64]

#: NumPy's types of elements by Triton's names; a bool is a byte in memory.
_TYPES: Final = {
    "i1": "u1", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
    "u1": "u1", "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8",
    "fp16": "f2", "fp32": "f4", "fp64": "f8",
}  # fmt: skip
#: Bits of the exponent, its bias, and codes that are NaN, of types of 8 bits without infinities.
#: Source: "FP8 Formats for Deep Learning" (arXiv 2209.05433) and, for `fnuz` (fp8e4b8, fp8e5b16),
#: "8-bit Numerical Formats for Deep Neural Networks" (arXiv 2206.02915).
_BYTES: Final = {
    "fp8e4nv": (4, 7, (0x7F, 0xFF)),
    "fp8e4b8": (4, 8, (0x80,)),
    "fp8e5b16": (5, 16, (0x80,)),
}

#: Of signaling NaNs and huge elements NumPy warns, and the program may have made warnings errors.
_quiet: Final = np.errstate(all="ignore")


def element_bytes(type_name: str) -> int | None:
    """Return the bytes of an element of a Triton type, or None if its values are not read."""
    if type_name in _TYPES:
        return int(_TYPES[type_name][1])
    if type_name == "bf16":
        return 2
    return 1 if type_name in _BYTES or type_name == "fp8e5" else None


@_quiet
def element_values(content: bytes, type_name: str) -> Floats:
    """Return the elements in `content`, whose type has `element_bytes`."""
    if type_name in _TYPES:
        return np.frombuffer(content, f"<{_TYPES[type_name]}").astype(np.float64)
    if type_name == "bf16":  # the upper half of a float32
        bits = np.frombuffer(content, "<u2").astype("<u4") << 16
        return bits.view("<f4").astype(np.float64)
    return _values_by_code(type_name)[np.frombuffer(content, np.uint8)]


@lru_cache
def _values_by_code(type_name: str) -> Floats:
    if type_name == "fp8e5":  # the upper half of a float16
        return (np.arange(256, dtype="<u2") << 8).view("<f2").astype(np.float64)
    return np.array([_byte_value(code, *_BYTES[type_name]) for code in range(256)])


def _byte_value(code: int, exponent_bits: int, bias: int, nans: tuple[int, ...]) -> float:
    if code in nans:
        return math.nan
    mantissa_bits = 7 - exponent_bits
    mantissa = code & (1 << mantissa_bits) - 1
    exponent = (code & 0x7F) >> mantissa_bits
    if exponent:
        mantissa += 1 << mantissa_bits
    magnitude = math.ldexp(mantissa, max(exponent, 1) - bias - mantissa_bits)
    return -magnitude if code & 0x80 else magnitude


def of_tensor(
    offsets: Sequence[int], length: int, steps: Sequence[tuple[int, int]]
) -> npt.NDArray[np.bool_]:
    """Return for each element of ranges whether a tensor has it.

    Args:
        offsets: where the ranges begin, in elements from the tensor's first one.
        length: elements of each range.
        steps: pairs of stride and size, as `SampledRanges.steps`.

    """
    rest = (np.array(offsets)[:, None] + np.arange(length)).ravel()
    flags = np.ones(len(rest), np.bool_)
    for stride, size in steps:
        index, rest = np.divmod(rest, stride)
        flags &= index < size
    flags &= rest == 0
    return flags


@_quiet
def numbers_of(values: Floats) -> dict[str, Any]:
    """Return the columns of `tensor_statistics` from `sampled` on, of elements in memory's order.

    Columns whose number is not finite, as the mean of huge elements, are null.
    """
    finite = values[np.isfinite(values)]
    nonzero = finite[finite != 0]
    columns = {
        "sampled": len(values),
        "nans": int(np.isnan(values).sum()),
        "infinities": int(np.isinf(values).sum()),
        "negative_infinities": int(np.isneginf(values).sum()),
        "zeros": len(finite) - len(nonzero),
        "negatives": int((finite < 0).sum()),
        "sorted": _order(values) if len(finite) == len(values) else None,
    }
    numbers = dict.fromkeys(("minimum", "maximum", "mean", "deviation", "quantiles"))
    if len(finite):
        numbers |= {"minimum": float(finite.min()), "maximum": float(finite.max())}
        numbers |= {"mean": _known(finite.mean()), "deviation": _known(finite.std())}
    if len(nonzero):
        quantiles = np.quantile(nonzero, LEVELS)
        numbers["quantiles"] = quantiles.tolist() if np.isfinite(quantiles).all() else None
    return columns | numbers


def _known(number: np.float64) -> float | None:
    return float(number) if math.isfinite(number) else None


def _order(values: Floats) -> str | None:
    if len(values) < 2 or values[0] == values[-1]:
        return None
    if (values[:-1] <= values[1:]).all():
        return "ascending"
    return "descending" if (values[:-1] >= values[1:]).all() else None
