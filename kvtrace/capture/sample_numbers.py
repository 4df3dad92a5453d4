"""Numbers of a tensor's elements, computed from their bytes by pyarrow: NumPy may not be there."""

import math
import struct
from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.checked_tables import LEVELS

#: Arrow's types of elements by Triton's names; a bool is a byte in memory.
_ARROW: Final = {
    "i1": pa.uint8(), "i8": pa.int8(), "i16": pa.int16(), "i32": pa.int32(), "i64": pa.int64(),
    "u1": pa.uint8(), "u8": pa.uint8(), "u16": pa.uint16(), "u32": pa.uint32(), "u64": pa.uint64(),
    "fp32": pa.float32(), "fp64": pa.float64(),
}  # fmt: skip
#: Types of 16 bits whose values are looked up by their code, or shifted.
_HALVES: Final = ("fp16", "bf16")
#: Bits of the exponent, its bias, and codes that are NaN, of types of 8 bits without infinities.
#: Source: "FP8 Formats for Deep Learning" (arXiv 2209.05433) and, for `fnuz` (fp8e4b8, fp8e5b16),
#: "8-bit Numerical Formats for Deep Neural Networks" (arXiv 2206.02915).
_BYTES: Final = {
    "fp8e4nv": (4, 7, (0x7F, 0xFF)),
    "fp8e4b8": (4, 8, (0x80,)),
    "fp8e5b16": (5, 16, (0x80,)),
}


def element_bytes(type_name: str) -> int | None:
    """Return the bytes of an element of a Triton type, or None if its values are not read."""
    if type_name in _ARROW:
        return int(_ARROW[type_name].bit_width // 8)
    if type_name in _HALVES:
        return 2
    return 1 if type_name in _BYTES or type_name == "fp8e5" else None


def element_values(content: bytes, type_name: str) -> pa.Array:
    """Return the elements in `content` as Arrow's float64."""
    size = element_bytes(type_name)
    assert size is not None
    count, buffers = len(content) // size, [None, pa.py_buffer(content)]
    if type_name in _ARROW:
        values = pa.Array.from_buffers(_ARROW[type_name], count, buffers)
        return pc.cast(values, pa.float64(), safe=False)
    codes = pa.Array.from_buffers(pa.uint16() if size == 2 else pa.uint8(), count, buffers)
    if type_name == "bf16":  # the upper half of a float32
        bits = pc.shift_left(codes.cast(pa.uint32()), pa.scalar(16, pa.uint32()))
        return bits.view(pa.float32()).cast(pa.float64())
    return pc.take(_values_by_code(type_name), codes)


@lru_cache
def _values_by_code(type_name: str) -> pa.Array:
    if type_name == "fp16":
        return pa.array(struct.unpack("<65536e", struct.pack("<65536H", *range(65536))))
    if type_name == "fp8e5":  # the upper half of a float16
        return _values_by_code("fp16").take(pa.array(range(0, 65536, 256)))
    return pa.array([_byte_value(code, *_BYTES[type_name]) for code in range(256)])


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


def of_tensor(offsets: Sequence[int], length: int, steps: Sequence[tuple[int, int]]) -> pa.Array:
    """Return for each element of ranges whether a tensor has it.

    Args:
        offsets: where the ranges begin, in elements from the tensor's first one.
        length: elements of each range.
        steps: pairs of stride and size, as `SampledRanges.steps`.

    """
    within = pa.array(range(length), pa.int64())
    rest = pa.concat_arrays([pc.add(within, offset) for offset in offsets])
    flags = []
    for stride, size in steps:
        index = pc.divide(rest, stride)
        flags.append(pc.less(index, size))
        rest = pc.subtract(rest, pc.multiply(index, stride))
    return reduce(pc.and_, flags, pc.equal(rest, 0))


def numbers_of(values: pa.Array) -> dict[str, Any]:
    """Return the columns of `tensor_statistics` from `sampled` on, of elements in memory's order.

    Columns whose number is not finite, as the mean of huge elements, are null.
    """
    finite = values.filter(pc.is_finite(values))
    nonzero = finite.filter(pc.not_equal(finite, 0.0))
    extremes = pc.min_max(finite)
    quantiles = pc.quantile(nonzero, q=list(LEVELS)).to_pylist() if len(nonzero) else None
    return {
        "sampled": len(values),
        "nans": _count(pc.is_nan(values)),
        "infinities": _count(pc.is_inf(values)),
        "negative_infinities": _count(pc.equal(values, -math.inf)),
        "zeros": len(finite) - len(nonzero),
        "negatives": _count(pc.less(finite, 0.0)),
        "minimum": extremes["min"].as_py(),
        "maximum": extremes["max"].as_py(),
        "mean": _finite(pc.mean(finite).as_py()),
        "deviation": _finite(pc.stddev(finite).as_py()),
        "quantiles": quantiles if quantiles is None or all(map(math.isfinite, quantiles)) else None,
        "sorted": _order(values) if len(finite) == len(values) else None,
    }


def _count(flags: pa.Array) -> int:
    return int(pc.sum(flags, min_count=0).as_py())


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def _order(values: pa.Array) -> str | None:
    if len(values) < 2 or values[0].as_py() == values[-1].as_py():
        return None
    before, after = values[:-1], values[1:]
    if pc.all(pc.less_equal(before, after)).as_py():
        return "ascending"
    return "descending" if pc.all(pc.greater_equal(before, after)).as_py() else None
