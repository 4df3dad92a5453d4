"""Elements of recorded tensors as numbers, and their histograms."""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from kvtrace.schema.element_values import element_values, stored_type

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
    stored_dtype = stored_type(layout.dtype)
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
    return element_values(view, layout.dtype or "")


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


def _element_span(layout: Layout) -> int | None:
    """Return how many storage elements lie between a layout's first and last, both included.

    None if a stride or a size is negative.
    """
    if any(size < 0 for size in layout.shape) or any(stride < 0 for stride in layout.strides):
        return None
    if 0 in layout.shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(layout.shape, layout.strides, strict=True))
