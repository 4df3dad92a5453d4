"""A test case: one kernel on one set of inputs, with the expected outputs and their bounds.

The catalog of cases is used by the evaluator's conformance tests, the table of coverage in the
documentation, and the comparison with a GPU.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import ml_dtypes
import numpy as np

NUMPY = {
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64),
    "fp8e4nv": np.dtype(ml_dtypes.float8_e4m3fn),
    "fp8e5": np.dtype(ml_dtypes.float8_e5m2),
    "fp16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "fp32": np.dtype(np.float32),
    "fp64": np.dtype(np.float64),
}
SHORT = {dtype: name for name, dtype in NUMPY.items()}
DTYPES = tuple(NUMPY)

SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("fp16", "bf16", "fp32", "fp64")
NARROW = ("fp8e4nv", "fp8e5")

MANTISSA = {"fp8e4nv": 3, "fp8e5": 2, "fp16": 10, "bf16": 7, "fp32": 23, "fp64": 52}
SMALLEST = {"fp8e4nv": -6, "fp8e5": -14, "fp16": -14, "bf16": -126, "fp32": -126, "fp64": -1022}
"""Bits of mantissa, and exponent of the smallest normal number."""


@dataclass(frozen=True)
class Bound:
    """The largest allowed difference from an expected output, and the reason for it.

    It is the larger of `ulps` units in the last place and the part `of_largest` of the largest
    expected magnitude.
    """

    ulps: float = 0.0
    of_largest: float = 0.0
    why: str = "the same bits"


EXACT = Bound()
ROUNDED = Bound(1.0, why="rounded once more than the reference")


@dataclass(frozen=True)
class Case:
    """A launch: `inputs` are arrays and scalars by parameter, `outputs` the compared parameters.

    `expected` computes the outputs, by name, from the inputs before the launch. `bound` is for the
    evaluator's outputs against these; `device` for a GPU's against the evaluator's. `undefined`
    says why a GPU may have other outputs; then a difference is only reported, as with `differs`,
    which says why a GPU has other outputs although they are defined. `not_launched` says why the
    kernel cannot run on Hopper, where it is left out.
    """

    op: str
    dtype: str
    kernel: Any
    inputs: Mapping[str, Any]
    outputs: tuple[str, ...]
    expected: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    constexprs: Mapping[str, Any] = field(default_factory=dict)
    grid: tuple[int, ...] = (1,)
    bound: Bound = EXACT
    device: Bound = EXACT
    variant: str = ""
    undefined: str = ""
    differs: str = ""
    not_launched: str = ""

    @property
    def name(self) -> str:
        """The case's name in tests and reports."""
        return "-".join(part for part in (self.op, self.variant, self.dtype) if part)


def random_of(*parts: Any) -> np.random.Generator:
    """Return a random generator that is seeded by words."""
    return np.random.default_rng(crc32(repr(parts).encode()))


def is_float(dtype: str) -> bool:
    return dtype in MANTISSA


def rounded(array: Any, dtype: str) -> np.ndarray:
    """Return numbers rounded to a type; 8-bit floats saturate, integers wrap."""
    array = np.asarray(array)
    with np.errstate(all="ignore"):
        if dtype in NARROW:
            largest = float(ml_dtypes.finfo(NUMPY[dtype]).max)
            return np.clip(array.astype(np.float32), -largest, largest).astype(NUMPY[dtype])
        if dtype == "bf16" and array.dtype == np.float64:
            array = _odd_float32(array)
        return array.astype(NUMPY[dtype])


def _odd_float32(array: np.ndarray) -> np.ndarray:
    """Return float64 as float32 rounded to odd, so that rounding to bfloat16 follows exactly."""
    near = array.astype(np.float32)
    cut = np.where(np.abs(near.astype(np.float64)) > np.abs(array), np.nextafter(near, 0), near)
    cut = np.where(np.isfinite(near), cut, near).astype(np.float32)
    bits = np.ascontiguousarray(cut).view(np.uint32)
    inexact = (cut.astype(np.float64) != array) & np.isfinite(cut)
    return (bits | inexact).view(np.float32)


def integers(rng: np.random.Generator, dtype: str, size: Any) -> np.ndarray:
    """Return random integers of all magnitudes, the extremes first."""
    info = np.iinfo(NUMPY[dtype])
    wide = rng.integers(info.min, info.max, size, NUMPY[dtype], endpoint=True)
    shift = rng.integers(0, info.bits, size)  # so that small ones are as frequent
    flat = np.right_shift(wide, shift.astype(NUMPY[dtype])).reshape(-1)
    edges = [0, 1, info.max, info.min, info.max - 1, info.min + 1, 2, 3]
    count = min(len(flat), len(edges))
    flat[:count] = [NUMPY[dtype].type(edge) for edge in edges[:count]]
    return flat.reshape(size)


def floats(
    rng: np.random.Generator, dtype: str, size: Any, low: float = -10, high: float = 10
) -> np.ndarray:
    """Return random floats between low and high."""
    return rounded(rng.uniform(low, high, size), dtype)


ODD_FLOATS = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.5, -2.5, 3e-6, -3e-6)


def odd_floats(rng: np.random.Generator, dtype: str, size: int) -> np.ndarray:
    """Return floats of all magnitudes, among them infinities, NaN and both zeros."""
    exponent = rng.uniform(-6, 6, size)
    values = np.exp2(exponent) * rng.choice([-1.0, 1.0], size)
    with np.errstate(all="ignore"):
        values[: len(ODD_FLOATS)] = rng.permutation(ODD_FLOATS)
        return values.astype(NUMPY[dtype])


def numbers(rng: np.random.Generator, dtype: str, size: int) -> np.ndarray:
    """Return numbers of a type, special ones among them."""
    if dtype == "i1":
        return rng.integers(0, 2, size).astype(np.bool_)
    return odd_floats(rng, dtype, size) if is_float(dtype) else integers(rng, dtype, size)


def ulp(array: np.ndarray, dtype: str) -> np.ndarray:
    """Return the distance between neighboring numbers of the type, at each number."""
    wide = np.abs(array.astype(np.float64))
    exponent = np.frexp(np.where(np.isfinite(wide), wide, 1.0))[1] - 1
    exponent = np.maximum(np.where(wide == 0, SMALLEST[dtype], exponent), SMALLEST[dtype])
    return np.exp2(exponent.astype(np.float64) - MANTISSA[dtype])


@dataclass(frozen=True)
class Difference:
    """The largest difference of actual from expected outputs, and its position."""

    ulps: float
    of_largest: float
    excess: float
    place: tuple[int, ...]
    got: Any
    wanted: Any
    count: int

    @property
    def within(self) -> bool:
        return self.excess <= 0


def difference(got: Any, wanted: Any, bound: Bound) -> Difference:
    """Compare arrays of one type. NaN equals NaN, and zeros of either sign are equal."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    dtype = SHORT[got.dtype]
    wanted = np.broadcast_to(wanted, got.shape)
    if not is_float(dtype):
        gap = np.where(got != wanted.astype(got.dtype), np.inf, 0.0)
        allowed = relative = np.zeros_like(gap)
        in_ulps = gap
    else:
        with np.errstate(all="ignore"):
            a, b = got.astype(np.float64), wanted.astype(np.float64)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            gap = np.where(same, 0.0, np.abs(a - b))
            gap = np.where(np.isnan(gap), np.inf, gap)
            finite = np.abs(b[np.isfinite(b)])
            largest = float(finite.max()) if finite.size else 0.0
            unit = ulp(b, dtype)
            allowed = np.maximum(bound.ulps * unit, bound.of_largest * largest)
            in_ulps = gap / unit
            relative = gap / largest if largest else gap
    excess = np.where(gap > allowed, gap, 0.0)
    worst = int(np.argmax(np.where(excess > 0, 1e300, 0) + np.minimum(in_ulps, 1e299)))
    place = np.unravel_index(worst, got.shape) if got.shape else ()
    return Difference(
        float(in_ulps.max(initial=0)),
        float(relative.max(initial=0)),
        float(excess.max(initial=0)),
        tuple(int(i) for i in place),
        got[place],
        wanted[place],
        int((excess > 0).sum()),
    )
