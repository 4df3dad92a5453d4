"""Tensors created without data: constants and positions.

NumPy's own creators (`np.zeros((3, 4))`) take no tensor and return arrays, which become constants
when combined with a tensor. The functions here return tensors: the `_like` functions, and those of
`kvtrace.hlo.ops`.
"""

from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import dtype_of, shape_of
from kvtrace.addons.graphs.hlo.builders import implements, implements_each, operation
from kvtrace.addons.graphs.hlo.dtypes import FLOAT32, INT32, Dtype, scalar_dtype
from kvtrace.addons.graphs.hlo.families.elementwise import like
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    add,
    broadcast_to,
    convert,
    fresh,
    full,
    iota,
    lift,
    multiply,
)
from kvtrace.addons.graphs.hlo.wrapper import Tensor


@operation("full")
def full_(shape: Any, fill_value: Operand, dtype: Any = None, **_: Any) -> Tensor:
    """Return a tensor filled with one value, which may be traced; by default of its type."""
    extents = shape_of(shape)
    if isinstance(fill_value, Tensor):
        value = fill_value if dtype is None else convert(fill_value, dtype_of(dtype))
        return broadcast_to(value, extents)
    element_type = scalar_dtype(fill_value) if dtype is None else dtype_of(dtype)
    return full(fill_value, extents, element_type)


@operation("zeros", "empty")
def zeros(shape: Any, dtype: Any = FLOAT32, **_: Any) -> Tensor:
    """Return a tensor of zeros, by default float32; a graph has no uninitialized memory."""
    return full(0, shape_of(shape), dtype_of(dtype))


@operation()
def ones(shape: Any, dtype: Any = FLOAT32, **_: Any) -> Tensor:
    """Return a tensor of ones, by default float32."""
    return full(1, shape_of(shape), dtype_of(dtype))


@operation()
def constant(value: Operand, dtype: Any = None) -> Tensor:
    """Return a copy of an array, a scalar, lists of scalars or a tensor as a tensor."""
    tensor = lift(value, None if dtype is None else dtype_of(dtype))
    return fresh(tensor)


@implements(np.full_like)
def full_like(
    a: Operand, fill_value: Operand, dtype: Any = None, shape: Any = None, **_: Any
) -> Tensor:
    """Return a tensor of one value, with the shape and type of another unless these are given."""
    x = lift(a)
    extents = x.shape if shape is None else shape_of(shape)
    return full_(extents, fill_value, x.dtype if dtype is None else dtype)


implements_each(
    {np.zeros_like: 0, np.ones_like: 1},
    lambda value, a, dtype=None, shape=None, **_: full_like(a, value, dtype, shape),
)
implements(np.empty_like)(
    lambda prototype, dtype=None, shape=None, **_: full_like(prototype, 0, dtype, shape)
)


@operation("arange")
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, **_: Any) -> Tensor:
    """Return start, start + step and so on, before stop; int32 for integers, else float32."""
    first_value, end_value = (0, start) if stop is None else (start, stop)
    are_integers = all(isinstance(value, int) for value in (first_value, end_value, step))
    element_type: Dtype = (INT32 if are_integers else FLOAT32) if dtype is None else dtype_of(dtype)
    count = max(0, int(np.ceil((end_value - first_value) / step)))
    positions = convert(iota((count,), 0), element_type)
    return add(multiply(positions, like(positions, step)), like(positions, first_value))
