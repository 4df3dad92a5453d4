"""Elements of recorded tensors as numbers, and their histograms.

Types that NumPy lacks are widened to float32: bf16 by its bits, 8-bit floats by a table of their
256 values (OCP 8-bit Floating Point Specification 1.0 for e4m3fn and e5m2; the FNUZ types of
MLIR's documentation have one NaN, in place of negative zero).
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_NUMPY_TYPES: Final = {
    "fp64": "<f8", "fp32": "<f4", "fp16": "<f2",
    "i64": "<i8", "i32": "<i4", "i16": "<i2", "i8": "i1",
    "u64": "<u8", "u32": "<u4", "u16": "<u2", "u8": "u1", "i1": "u1",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Float8:
    """An 8-bit float format: number of exponent bits, bias, and kind of NaN and infinity codes."""

    exponent: int
    bias: int
    specials: str


_FLOAT8: Final = {
    "fp8e4nv": _Float8(4, 7, "fn"),
    "fp8e5": _Float8(5, 15, "ieee"),
    "fp8e4b8": _Float8(4, 8, "fnuz"),
    "fp8e5b16": _Float8(5, 16, "fnuz"),
}
BINS: Final = 40


@dataclass(frozen=True, slots=True)
class Layout:
    """A tensor's layout in its storage: offset in bytes, shape, strides in elements."""

    dtype: str | None
    offset_bytes: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Histogram of a tensor; `edges` has one entry more than `counts`.

    `nan`, `inf` (both signs) and `zeros` count elements; the bins count finite elements, including
    zeros. `min`, `max` and `mean` (in float64) are those of finite elements, None without any.
    """

    elements: int
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    nan: int
    inf: int
    zeros: int
    min: float | int | None
    max: float | int | None
    mean: float | None


def elements_of(content: bytes, layout: Layout) -> npt.NDArray[Any] | None:
    """Return a tensor's elements in its shape, read from the bytes of its storage.

    None if `content` lacks some elements, or the type is not known.
    """
    stored_dtype = _stored_dtype(layout.dtype)
    if stored_dtype is None or len(layout.shape) != len(layout.strides):
        return None
    size = stored_dtype.itemsize
    element_span = _element_span(layout)
    if (
        element_span is None
        or layout.offset_bytes < 0
        or layout.offset_bytes + element_span * size > len(content)
    ):
        return None
    flat = np.frombuffer(content, stored_dtype, element_span, layout.offset_bytes)
    byte_strides = [stride * size for stride in layout.strides]
    view = np.lib.stride_tricks.as_strided(flat, tuple(layout.shape), byte_strides, writeable=False)
    return _widened(view, layout.dtype or "")


def histogram(values: npt.NDArray[Any]) -> Histogram:
    """Return the histogram of a tensor in equal bins from its least to its greatest value."""
    flat = values.reshape(-1).view(np.uint8) if values.dtype.kind == "b" else values.reshape(-1)
    is_float = flat.dtype.kind == "f"
    nan = int(np.isnan(flat).sum()) if is_float else 0
    inf = int(np.isinf(flat).sum()) if is_float else 0
    finite = flat[np.isfinite(flat)] if nan or inf else flat
    zeros = int((finite == 0).sum())
    if not finite.size:
        return Histogram(flat.size, (), (), nan, inf, zeros, None, None, None)
    least, most = finite.min().item(), finite.max().item()
    counts, edges = _bins(finite, least, most)
    mean = float(finite.mean(dtype=np.float64))
    return Histogram(
        flat.size,
        edges,
        counts,
        nan,
        inf,
        zeros,
        least,
        most,
        mean if math.isfinite(mean) else None,
    )


def _bins(
    finite: npt.NDArray[Any], least: float, most: float
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return counts and edges of `BINS` equal bins between the finite values' limits.

    Integers over a narrower range get one bin per value; equal values get one bin.
    """
    if least == most:
        return (finite.size,), (float(least), float(most))
    if finite.dtype.kind != "f" and most - least < BINS:
        counts_of_values = np.bincount((finite - finite.min()).astype(np.int64))
        edges = tuple(float(least + step) for step in range(len(counts_of_values) + 1))
        return tuple(counts_of_values.tolist()), edges
    width = float(most) - float(least)
    if not math.isfinite(width):  # the range exceeds float64
        return (finite.size,), (float(least), float(most))
    counts, bin_edges = np.histogram(finite.astype(np.float64), BINS, (float(least), float(most)))
    return tuple(counts.tolist()), tuple(bin_edges.tolist())


def _stored_dtype(dtype: str | None) -> np.dtype[Any] | None:
    if dtype in _NUMPY_TYPES:
        return np.dtype(_NUMPY_TYPES[dtype])
    if dtype == "bf16":
        return np.dtype("<u2")
    return np.dtype("u1") if dtype in _FLOAT8 else None


def _element_span(layout: Layout) -> int | None:
    """Return how many storage elements lie between a layout's first and last, both included.

    None if a stride or a size is negative.
    """
    if any(size < 0 for size in layout.shape) or any(stride < 0 for stride in layout.strides):
        return None
    if 0 in layout.shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(layout.shape, layout.strides, strict=True))


def _widened(view: npt.NDArray[Any], dtype: str) -> npt.NDArray[Any]:
    values = view
    if dtype == "bf16":
        values = (view.astype(np.uint32) << 16).view(np.float32)
    elif dtype in _FLOAT8:
        values = _float8_values(dtype)[view]
    elif dtype == "i1":
        values = view != 0
    return values


@cache
def _float8_values(dtype: str) -> npt.NDArray[np.float32]:
    """Return the float values of the 256 bit patterns of an 8-bit float type."""
    float_format = _FLOAT8[dtype]
    mantissa_bits = 7 - float_format.exponent
    values = np.zeros(256, np.float32)
    for bits in range(128):
        exponent, mantissa = bits >> mantissa_bits, bits & ((1 << mantissa_bits) - 1)
        scale = 2.0 ** (max(exponent, 1) - float_format.bias - mantissa_bits)
        value = (mantissa + (exponent > 0) * (1 << mantissa_bits)) * scale
        if float_format.specials == "ieee" and exponent == 31:
            value = math.nan if mantissa else math.inf
        if float_format.specials == "fn" and bits == 127:
            value = math.nan
        values[bits], values[bits | 128] = value, -value
    if float_format.specials == "fnuz":
        values[128] = math.nan
    return values
