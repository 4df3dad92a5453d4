"""Array functions that write into a given array, for the generated code."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvtrace.evaluate.numerics import from_memory, rounded_to_bf16, to_memory
from kvtrace.evaluate.plan.instructions import Operation
from kvtrace.evaluate.types import ElementType
from kvtrace.evaluate.values import Array

_ALL = frozenset(range(8))


def ufunc_operation(name: str, function: Any, dtype: np.dtype[Any]) -> Operation:
    """Wrap a NumPy ufunc whose result has a given dtype."""
    return Operation(name, function, function, _ALL, dtype)


CONJUNCTION = ufunc_operation("and", np.logical_and, np.dtype(np.bool_))


def choose(condition: Any, first: Any, second: Any, out: Array) -> Array:
    """Lane by lane `first` where `condition`, else `second`; `out` may be `second`."""
    if out is not second:
        np.copyto(out, second)
    np.copyto(out, first, where=condition)
    return out


def selection(dtype: np.dtype[Any]) -> Operation:
    """Give the operation (condition, first, second)."""
    return Operation("choose", np.where, choose, frozenset({2}), dtype)


def _round_bf16_into(values: Array, out: Array) -> Array:
    """Round float32 to bfloat16, ties to even, NaN stays NaN: as `numerics.rounded_to_bf16`."""
    bits = values.view(np.uint32)
    bias = bits >> np.uint32(16)
    bias &= np.uint32(1)
    bias += np.uint32(0x7FFF)
    bias += bits
    bias &= np.uint32(0xFFFF0000)
    broken = np.isnan(values)
    out.view(np.uint32)[...] = bias
    if broken.any():
        out[broken] = np.nan
    return out


ROUND_TO_BF16 = Operation(
    "round_bf16", rounded_to_bf16, _round_bf16_into, frozenset({0}), np.dtype(np.float32)
)


def _widen_bf16(stored: Array) -> Array:
    wide = stored.astype(np.uint32)
    wide <<= np.uint32(16)
    return wide.view(np.float32)


def _widen_bf16_into(stored: Array, out: Array) -> Array:
    bits = out.view(np.uint32)
    bits[...] = stored
    bits <<= np.uint32(16)
    return out


WIDEN_BF16 = Operation(
    "widen_bf16", _widen_bf16, _widen_bf16_into, frozenset(), np.dtype(np.float32)
)


def _narrow_bf16_into(values: Array, out: Array) -> Array:
    np.right_shift(values.view(np.uint32), np.uint32(16), out=out, casting="unsafe")
    return out


def _narrow_bf16(values: Array) -> Array:
    return _narrow_bf16_into(values, np.empty(values.shape, np.uint16))


NARROW_BF16 = Operation(
    "narrow_bf16", _narrow_bf16, _narrow_bf16_into, frozenset(), np.dtype(np.uint16)
)


def stored_dtype(element: ElementType) -> np.dtype[Any]:
    """Give the dtype under which memory is seen; bfloat16 as its bits."""
    return np.dtype(np.uint16) if element.name == "bf16" else element.memory


def widening(element: ElementType) -> Operation | None:
    """Give the operation from memory to values in flight, None if they are the same."""
    if element.name == "bf16":
        return WIDEN_BF16
    if element.value == element.memory:
        return None
    return Operation(
        f"from_{element.name}",
        lambda stored: from_memory(stored, element),
        None,
        frozenset(),
        element.value,
    )


def narrowing(element: ElementType) -> Operation | None:
    """Give the operation from values in flight, already rounded, to memory."""
    if element.name == "bf16":
        return NARROW_BF16
    if element.value == element.memory:
        return None
    return Operation(
        f"to_{element.name}",
        lambda values: to_memory(values, element),
        None,
        frozenset(),
        element.memory,
    )


def ramp(
    base: int, terms: tuple[tuple[int, int, int, int], ...], rank: int, dtype: np.dtype[Any]
) -> Array:
    """Integers `base + sum(coefficient * index)`; terms are (axis, start, extent, coefficient)."""
    total: Any = np.full((1,) * rank, base, np.int64)
    for axis, start, extent, coefficient in terms:
        shape = [1] * rank
        shape[axis] = extent
        line = np.arange(start, start + extent, dtype=np.int64) * coefficient
        total = total + line.reshape(shape)
    result: Array = total.astype(dtype, copy=False)
    return result


def ramp_condition(base: int, terms: tuple[tuple[int, int, int, int], ...], rank: int) -> Array:
    """Whether a ramp is >= 0: its largest term against minus the others, in one pass."""
    if not terms:
        return np.full((1,) * rank, base >= 0)
    *others, last = sorted(terms, key=lambda term: term[2])
    left = ramp(0, (last,), rank, np.dtype(np.int64))
    right = ramp(base, tuple(others), rank, np.dtype(np.int64))
    result: Array = np.greater_equal(left, np.negative(right))
    return result


def _largest(array: Array, axis: int, dtype: Any, out: Array) -> Array:
    """Reduce by fmax: by maximum, which is faster, unless that comes upon a NaN."""
    np.maximum.reduce(array, axis, dtype, out)
    if np.isnan(out).any():
        np.fmax.reduce(array, axis, dtype, out)
    return out


def _smallest(array: Array, axis: int, dtype: Any, out: Array) -> Array:
    np.minimum.reduce(array, axis, dtype, out)
    if np.isnan(out).any():
        np.fmin.reduce(array, axis, dtype, out)
    return out


def reduction(function: Any) -> Any:
    """Give the function (array, axis, dtype, out) that reduces by a ufunc."""
    if function is np.fmax:
        return _largest
    if function is np.fmin:
        return _smallest
    return _REDUCTIONS.setdefault(function, function.reduce)


_REDUCTIONS: dict[Any, Any] = {}
