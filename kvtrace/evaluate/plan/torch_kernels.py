"""Array functions by PyTorch, for instructions at which it is clearly faster than NumPy.

They are used only if the program itself has imported PyTorch; this module does not. Each function
has the results of its NumPy counterpart in array_functions.py, and calls it for small arrays, or if
PyTorch would not do plain arithmetic now (`_is_plain`). Measured on an AMD EPYC (Zen 5),
one thread, NumPy 2.3 and PyTorch 2.13: products 2 times (oneDNN's own code generator, against
OpenBLAS), the largest of rows of 64 9 times, operations with one number per row 2 to 3 times,
rounding to bfloat16 4 times. Exponentials, logarithms and roots are NumPy's.
"""

from __future__ import annotations

import functools
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np

from kvtrace.evaluate.plan import array_functions
from kvtrace.evaluate.plan.instructions import Operation
from kvtrace.evaluate.values import Array
from kvtrace.evaluate.zeros import sign_reduced_zeros

LEAST_ELEMENTS = 1 << 14
"""NumPy computes smaller arrays: a call of PyTorch takes 2 microseconds."""

LEAST_MULTIPLICATIONS = 1 << 20
"""NumPy computes smaller matrix products: a call of oneDNN takes 12 microseconds."""

_LONGEST_ROWS = 4096
"""Longer rows are not slower in NumPy."""

_MOST_MATRICES = 64
_FP32 = np.dtype(np.float32)
_LARGEST_RESULT = 8 << 20


def is_available() -> bool:
    """Return whether the program has imported PyTorch, with all functions that are used here."""
    torch = sys.modules.get("torch")
    return torch is not None and _has_functions(torch)


@functools.lru_cache(maxsize=1)
def _has_functions(torch: Any) -> bool:
    names = ("from_numpy", "amax", "amin", "bfloat16", "is_autocast_enabled")
    inner = ("_len_torch_dispatch_stack", "_len_torch_function_stack", "_autograd")
    core = getattr(torch, "_C", None)
    return all(hasattr(torch, name) for name in names) and all(hasattr(core, n) for n in inner)


def _is_plain() -> bool:
    """Return whether PyTorch now computes as called, without observers.

    Under a mode of the program (FakeTensorMode, a counter of FLOPs), or PyTorch's profiler,
    kvtrace's calls would count as the program's. Code may also come from the cache of a process
    that had imported PyTorch.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return False
    core = torch._C
    if core._len_torch_dispatch_stack() or core._len_torch_function_stack():
        return False
    return not core._autograd._profiler_enabled()


@contextmanager
def unobserved() -> Iterator[None]:
    """Keep this thread's calls of PyTorch from recorders of the program's operators, as kvtrace's.

    These are callbacks of ATen's RecordFunction; its switch belongs to the thread, and is on unless
    C++ code that runs no Python has turned it off.
    """
    autograd: Any = getattr(sys.modules.get("torch"), "autograd", None)
    switch = getattr(autograd, "_enable_record_function", None)
    if switch is None:
        yield
        return
    switch(False)
    try:
        yield
    finally:
        switch(True)


def _suits(*arrays: Array) -> bool:
    """Return whether PyTorch can compute on these arrays now, without a copy."""
    for array in arrays:
        if not array.flags.behaved or min(array.strides, default=0) < 0:
            return False
    return _is_plain()


# -- sums of products -----------------------------------------------------------------------------


def fuses(*arrays: Array) -> bool:
    """Return whether PyTorch now adds products of such floats with one rounding."""
    return _suits(*arrays) and _rounds_once(arrays[0].dtype)


@functools.lru_cache
def _rounds_once(dtype: np.dtype[Any]) -> bool:
    """Return whether `addcmul` is compiled to fused instructions, for arrays of any length."""
    near = 1 + 2.0 ** (-12 if dtype == np.float32 else -27)
    for count in (1, 5, 67):
        factor = np.full(count, near, dtype)
        if np.any(fused_sum(factor, factor, -factor * factor, None) != (near - 1) ** 2):
            return False
    return True


def fused_sum(
    left: Array, right: Array, addend: Array, out: Array | None, *, negative: bool = False
) -> Array:
    """Return ±left * right + addend, stored in `out` if it is given."""
    torch: Any = sys.modules["torch"]
    tensors = map(torch.from_numpy, (addend, left, right))
    target = None if out is None else torch.from_numpy(out)
    result = torch.addcmul(*tensors, value=-1 if negative else 1, out=target)
    return result.numpy() if out is None else out


# -- rows -----------------------------------------------------------------------------------------


def reduction(function: Any, working: np.dtype[Any]) -> Any:
    """Return the function (array, axis, dtype, out) that reduces by a ufunc in a dtype."""
    if working == np.float32 and function is np.fmax:
        return largest
    if working == np.float32 and function is np.fmin:
        return smallest
    return array_functions.reduction(function, working)


def largest(array: Array, axis: int, dtype: Any, out: Array) -> Array:
    """Store the maximum along an axis, without NaN, in `out`, as `array_functions.largest`."""
    if not _suits_rows(array, axis, out):
        return array_functions.largest(array, axis, dtype, out)
    torch: Any = sys.modules["torch"]
    torch.amax(torch.from_numpy(array), axis, out=torch.from_numpy(out))
    if np.isnan(out).any():
        np.fmax.reduce(array, axis, dtype, out)
    return sign_reduced_zeros(np.fmax, array, axis, out)


def smallest(array: Array, axis: int, dtype: Any, out: Array) -> Array:
    """Store the minimum along an axis, without NaN, in `out`, as `array_functions.smallest`."""
    if not _suits_rows(array, axis, out):
        return array_functions.smallest(array, axis, dtype, out)
    torch: Any = sys.modules["torch"]
    torch.amin(torch.from_numpy(array), axis, out=torch.from_numpy(out))
    if np.isnan(out).any():
        np.fmin.reduce(array, axis, dtype, out)
    return sign_reduced_zeros(np.fmin, array, axis, out)


def _suits_rows(array: Array, axis: int, out: Array) -> bool:
    return (
        array.size >= LEAST_ELEMENTS
        and axis == array.ndim - 1
        and array.shape[-1] <= _LONGEST_ROWS
        and array.strides[-1] == array.itemsize
        and array.dtype == out.dtype
        and _suits(array, out)
    )


def add(left: Array, right: Array, out: Array) -> Array:
    """Store the sum of two arrays, which broadcast, in `out`; return `out`."""
    return _store_result(np.add, "add", left, right, out)


def subtract(left: Array, right: Array, out: Array) -> Array:
    """Store the difference of two arrays, which broadcast, in `out`; return `out`."""
    return _store_result(np.subtract, "sub", left, right, out)


def multiply(left: Array, right: Array, out: Array) -> Array:
    """Store the product of two arrays, which broadcast, in `out`; return `out`."""
    return _store_result(np.multiply, "mul", left, right, out)


def divide(left: Array, right: Array, out: Array) -> Array:
    """Store the quotient of two arrays, which broadcast, in `out`; return `out`."""
    return _store_result(np.divide, "div", left, right, out)


def _store_result(function: Any, name: str, left: Array, right: Array, out: Array) -> Array:
    """Store the result of PyTorch's function `name` in `out`; of `function` for small arrays."""
    if out.size < LEAST_ELEMENTS or out.shape[-1] > _LONGEST_ROWS or not _suits(left, right, out):
        function(left, right, out)
        return out
    torch: Any = sys.modules["torch"]
    view = torch.from_numpy
    getattr(torch, name)(view(left), view(right), out=view(out))
    return out


BROADCAST: dict[Any, Callable[..., Array]] = {
    np.add: add,
    np.subtract: subtract,
    np.multiply: multiply,
    np.divide: divide,
}
"""Operations on float32 with one operand repeated along an axis."""


# -- bfloat16 -------------------------------------------------------------------------------------


def round_bf16_into(values: Array, out: Array) -> Array:
    """Store float32 numbers, rounded to bfloat16, as float32 in `out`, and return `out`."""
    if values.size < LEAST_ELEMENTS or not _suits(values, out):
        return array_functions.round_bf16_into(values, out)
    torch: Any = sys.modules["torch"]
    source = torch.from_numpy(values)
    is_nan = array_functions.not_numbers(values)
    torch.from_numpy(out).copy_(source.to(torch.bfloat16))
    if is_nan is not None:
        out[is_nan] = np.nan
    return out


def round_and_narrow_into(values: Array, out: Array) -> Array:
    """Store float32 numbers, rounded to bfloat16, in the bfloat16 array `out`; return `out`."""
    if values.size < LEAST_ELEMENTS or not _suits(values, out):
        return array_functions.round_and_narrow_into(values, out)
    torch: Any = sys.modules["torch"]
    target = torch.from_numpy(out.view(np.int16)).view(torch.bfloat16)
    target.copy_(torch.from_numpy(values))
    is_nan = array_functions.not_numbers(values)
    if is_nan is not None:
        out[is_nan] = ml_dtypes.bfloat16(np.nan)
    return out


CONVERSIONS: dict[Operation, Callable[..., Array]] = {
    array_functions.ROUND_TO_BF16: round_bf16_into,
    array_functions.ROUND_AND_NARROW: round_and_narrow_into,
}


# -- products -------------------------------------------------------------------------------------


def multiplied(left: Array, right: Array, out: Array) -> Array:
    """Store the product of matrices (or stacks) in `out`, in float32 by oneDNN; return `out`."""
    if not _is_large_product(left, right):
        np.matmul(left, right, out)
        return out
    for left_matrix, right_matrix, target in _matrices(left, right, out):
        np.copyto(target, _product(left_matrix, right_matrix))
    return out


def multiplied_onto(left: Array, right: Array, total: Array) -> Array:
    """Add the product of matrices (or stacks of them) to `total`; return `total`."""
    if not _is_large_product(left, right):
        np.add(total, np.matmul(left, right), total)
        return total
    for left_matrix, right_matrix, target in _matrices(left, right, total):
        np.add(target, _product(left_matrix, right_matrix), target)
    return total


def _product(left: Array, right: Array) -> Array:
    torch: Any = sys.modules["torch"]
    linear = torch.ops.mkldnn._linear_pointwise.default
    view = torch.from_numpy
    result: Array = linear(view(left), view(_dense(right).T), None, "none", [], "").numpy()
    return result


def _dense(matrix: Array) -> Array:
    """Return a matrix without gaps, for which oneDNN is 2000 times faster than with gaps."""
    return matrix if matrix.flags.forc else np.ascontiguousarray(matrix)


def _matrices(left: Array, right: Array, out: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Yield the left, right and result matrix of each product; no stack is one product."""
    if out.ndim == 2:
        yield left.reshape(left.shape[-2:]), right.reshape(right.shape[-2:]), out
        return
    for number, target in enumerate(out):
        yield _matrix_at(left, number), _matrix_at(right, number), target


def _matrix_at(stack: Array, number: int) -> Array:
    if stack.ndim == 2:
        return stack
    matrix: Array = stack[number if len(stack) > 1 else 0]
    return matrix


def _is_large_product(left: Array, right: Array) -> bool:
    rows, inner = left.shape[-2:]
    return (
        rows * inner * right.shape[-1] >= LEAST_MULTIPLICATIONS
        and left.dtype == _FP32
        and right.dtype == _FP32
        and left.ndim <= 3
        and (left.ndim == 2 or max(len(left), len(right)) <= _MOST_MATRICES)
        and _suits(left, right)
        and _has_exact_products()
    )


def _has_exact_products() -> bool:
    """Return whether oneDNN now uses all bits of float32 factors; settings may allow less."""
    torch: Any = sys.modules["torch"]
    if not _has_products(torch) or torch.is_autocast_enabled("cpu"):
        return False
    precision_of = getattr(torch._C, "_get_fp32_precision_getter", None)
    if precision_of is None:
        return bool(torch.get_float32_matmul_precision() == "highest")
    return precision_of("mkldnn", "matmul") in ("none", "ieee")


@functools.lru_cache(maxsize=1)
def _has_products(torch: Any) -> bool:
    """Return whether oneDNN's product exists, which Inductor calls since PyTorch 2.0.

    It allocates a new array for each result. The C library would map and unmap memory for each,
    which takes as long as the product, until the program has once freed an array of that size; so
    one is allocated and freed here (the dynamic threshold of mallopt(3), M_MMAP_THRESHOLD).
    """
    if platform.machine() not in ("x86_64", "AMD64") or not torch.backends.mkldnn.is_available():
        return False
    if os.environ.get("ONEDNN_DEFAULT_FPMATH_MODE", "STRICT").upper() != "STRICT":
        return False
    np.empty(_LARGEST_RESULT, np.uint8)
    return hasattr(torch.ops.mkldnn, "_linear_pointwise")
