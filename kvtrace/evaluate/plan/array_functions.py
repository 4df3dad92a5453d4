"""Array functions that generated code calls, most of which write into an existing array."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from kvtrace.evaluate.plan.instructions import Operation
from kvtrace.evaluate.rounding import (
    from_memory,
    rounded_to_bf16,
    to_memory,
    truncated_to_tf32,
)
from kvtrace.evaluate.types import ElementType
from kvtrace.evaluate.values import Array
from kvtrace.evaluate.zeros import sign_reduced_zeros

_ALL = frozenset(range(8))


def ufunc_operation(name: str, function: Any, dtype: np.dtype[Any]) -> Operation:
    """Return the Operation of a NumPy ufunc, whose result has this dtype."""
    return Operation(name, function, function, _ALL, dtype)


CONJUNCTION = ufunc_operation("and", np.logical_and, np.dtype(np.bool_))


def converted_into(array: Array, out: Array) -> Array:
    """Store an array in `out`, converted to its dtype as by NumPy's casts; return `out`."""
    np.copyto(out, array, casting="unsafe")
    return out


def truncated_into(array: Array, out: Array) -> Array:
    """Store float32 numbers in `out` without the 13 bits that tf32 lacks; return `out`."""
    np.bitwise_and(array.view(np.uint32), np.uint32(0xFFFFE000), out=out.view(np.uint32))
    return out


TO_TF32 = Operation(
    "to_tf32", truncated_to_tf32, truncated_into, frozenset({0}), np.dtype(np.float32)
)


def choose(condition: Any, if_true: Any, if_false: Any, out: Array) -> Array:
    """Store `if_true` where the condition holds, else `if_false`, which may be `out`."""
    if out is not if_false:
        np.copyto(out, if_false)
    np.copyto(out, if_true, where=condition)
    return out


def selection(dtype: np.dtype[Any]) -> Operation:
    """Return the Operation that selects between two values lane by lane, by a condition."""
    return Operation("choose", np.where, choose, frozenset({2}), dtype)


def round_bf16_into(values: Array, out: Array) -> Array:
    """Store float32 numbers, rounded to bfloat16, as float32 in `out`, and return `out`."""
    bits = values.view(np.uint32)
    bias = bits >> np.uint32(16)
    bias &= np.uint32(1)
    bias += np.uint32(0x7FFF)
    bias += bits
    bias &= np.uint32(0xFFFF0000)
    is_nan = not_numbers(values)
    out.view(np.uint32)[...] = bias
    if is_nan is not None:
        out[is_nan] = np.nan
    return out


def not_numbers(values: Array) -> Array | None:
    """Return a mask of the NaNs in an array; None, after one pass, if there are none."""
    if values.flags.forc and not np.isnan(np.maximum.reduce(values, None)):
        return None
    is_nan: Array = np.isnan(values)
    return is_nan if is_nan.any() else None


ROUND_TO_BF16 = Operation(
    "round_bf16", rounded_to_bf16, round_bf16_into, frozenset({0}), np.dtype(np.float32)
)


def _widen_bf16(stored: Array) -> Array:
    return stored.astype(np.float32)


def _widen_bf16_into(stored: Array, out: Array) -> Array:
    np.copyto(out, stored)
    return out


WIDEN_BF16 = Operation(
    "widen_bf16", _widen_bf16, _widen_bf16_into, frozenset(), np.dtype(np.float32)
)


def _narrow_bf16_into(values: Array, out: Array) -> Array:
    bits = out.view(np.uint16)
    np.right_shift(values.view(np.uint32), np.uint32(16), out=bits, casting="unsafe")
    return out


def _narrow_bf16(values: Array) -> Array:
    return _narrow_bf16_into(values, np.empty(values.shape, ml_dtypes.bfloat16))


def round_and_narrow_into(values: Array, out: Array) -> Array:
    """Store float32 numbers, rounded to bfloat16, in `out`, any bfloat16 view; return `out`."""
    is_nan = not_numbers(values)
    np.copyto(out, values, casting="unsafe")
    if is_nan is not None:
        out[is_nan] = np.nan
    return out


def _round_and_narrow(values: Array) -> Array:
    return round_and_narrow_into(values, np.empty(values.shape, ml_dtypes.bfloat16))


_BF16 = np.dtype(ml_dtypes.bfloat16)
NARROW_BF16 = Operation("narrow_bf16", _narrow_bf16, _narrow_bf16_into, frozenset(), _BF16)
ROUND_AND_NARROW = Operation(
    "round_and_narrow", _round_and_narrow, round_and_narrow_into, frozenset(), _BF16
)
"""Rounds and narrows in one pass, for values that are rounded only to be stored."""


def widening(element: ElementType) -> Operation | None:
    """Return the operation from stored elements to values in flight; None if dtypes agree."""
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
    """Return the operation from rounded values to stored elements; None if dtypes agree."""
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
    """Return `base + sum(coefficient * index)` as an array of `rank` axes.

    A term is (axis, first index, extent, coefficient).
    """
    total: Any = np.full((1,) * rank, base, np.int64)
    for axis, start, extent, coefficient in terms:
        shape = [1] * rank
        shape[axis] = extent
        line = np.arange(start, start + extent, dtype=np.int64) * coefficient
        total = total + line.reshape(shape)
    result: Array = total.astype(dtype, copy=False)
    return result


def update_memory(
    buffer: Array,
    dtype: np.dtype[Any],
    index: Array,
    values: Any,
    mask: Array | None,
    shape: tuple[int, ...],
    update: Callable[..., Any],
) -> None:
    """Call `update(memory, indices, values)` for the lanes in `mask`, in ascending order."""
    memory = buffer[: len(buffer) // dtype.itemsize * dtype.itemsize].view(dtype)
    indices, operands = np.broadcast_to(index, shape), np.broadcast_to(values, shape)
    if mask is None:
        update(memory, indices.reshape(-1), operands.reshape(-1))
        return
    active = np.broadcast_to(mask, shape)
    update(memory, indices[active], operands[active])


def ramp_condition(base: int, terms: tuple[tuple[int, int, int, int], ...], rank: int) -> Array:
    """Return where the ramp (see `ramp`) is >= 0, in one pass over the full shape."""
    if not terms:
        return np.full((1,) * rank, base >= 0)
    *smaller_terms, largest_term = sorted(terms, key=lambda term: term[2])
    left = ramp(0, (largest_term,), rank, np.dtype(np.int64))
    right = ramp(base, tuple(smaller_terms), rank, np.dtype(np.int64))
    result: Array = np.greater_equal(left, np.negative(right))
    return result


_BLOCK = 512


def _row_sums(array: Array, axis: int, dtype: Any, out: Array) -> Array:
    """Store the sum along an axis in `out`; contiguous rows are multiplied by ones with BLAS.

    BLAS has many partial sums, and longer rows are cut into blocks that NumPy adds in pairs, so the
    error is as small as that of NumPy's own sum, which is four times slower.
    """
    columns = array.shape[-1]
    suits = axis == array.ndim - 1 and array.strides[-1] == array.itemsize and columns >= 32
    if not suits or array.dtype != dtype or (columns > 2 * _BLOCK and columns % _BLOCK):
        np.add.reduce(array, axis, dtype, out)
        return sign_reduced_zeros(np.add, array, axis, out)
    if columns <= 2 * _BLOCK:
        np.matmul(array, _ones(columns, array.dtype), out)
        return sign_reduced_zeros(np.add, array, axis, out)
    blocks = array.reshape(*array.shape[:-1], columns // _BLOCK, _BLOCK)
    np.add.reduce(np.matmul(blocks, _ones(_BLOCK, array.dtype)), axis, dtype, out)
    return sign_reduced_zeros(np.add, array, axis, out)


def _half_sums(array: Array, axis: int, _dtype: Any, out: Array) -> Array:
    """Store the sum of float16 numbers along an axis, each partial sum rounded, in `out`."""
    from kvtrace.evaluate.fixed_order import half_sum  # which most kernels have no need of

    np.copyto(out, half_sum(array, axis))
    return out


@lru_cache(maxsize=64)
def _ones(count: int, dtype: np.dtype[Any]) -> Array:
    return np.ones(count, dtype)


def reduction(function: Any, working: np.dtype[Any]) -> Any:
    """Return the function (array, axis, dtype, out) that reduces by a ufunc in a dtype."""
    if function is np.add and working in (np.float32, np.float64):
        return _row_sums
    if function is np.add and working == np.float16:
        return _half_sums
    if working.kind == "f" and function in _EXTREMES:
        return _EXTREMES[function]
    return _REDUCTIONS.setdefault(function, function.reduce)


def _extreme(quick: np.ufunc, function: np.ufunc) -> Callable[..., Array]:
    """Return the reduction by `function`, which is that by `quick` where no result is NaN."""

    def store(array: Array, axis: int, dtype: Any, out: Array) -> Array:
        quick.reduce(array, axis, dtype, out)
        if function is not quick and np.isnan(out).any():
            function.reduce(array, axis, dtype, out)
        return sign_reduced_zeros(function, array, axis, out)

    return store


_EXTREMES: dict[Any, Any] = {
    np.fmax: _extreme(np.maximum, np.fmax),
    np.fmin: _extreme(np.minimum, np.fmin),
    np.maximum: _extreme(np.maximum, np.maximum),
    np.minimum: _extreme(np.minimum, np.minimum),
}
_REDUCTIONS: dict[Any, Any] = {}
