"""`tt.dot`: matrix products, accumulated in float32 (int32 for int8)."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvtrace.evaluate.compiler import Compiler, attribute
from kvtrace.evaluate.numerics import rounding_to, truncated_to_tf32
from kvtrace.evaluate.registry import Step, semantics
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.evaluate.values import Array, full_array, to_array, unknown_of
from kvtrace.ir import Op

_TF32 = 0
"""Triton's InputPrecision: 0 tf32, 1 tf32x3, 2 ieee, 3 bf16x3, 4 bf16x6."""


def product(left: Array, right: Array, working: np.dtype[Any], *, tf32: bool) -> Array:
    """Multiply matrices on the last two axes in the working precision."""
    if tf32:
        left, right = truncated_to_tf32(left), truncated_to_tf32(right)
    result: Array
    result = np.matmul(left.astype(working, copy=False), right.astype(working, copy=False))
    return result


def _lane_array(value: Any, type_: ValueType) -> Array:
    """Give a matrix with both its axes at full extent, contiguous enough for BLAS."""
    return full_array(value, type_)


@semantics("tt.dot")
def dot(op: Op, compiler: Compiler) -> Step:
    """Multiply and add. tf32 inputs are truncated, see numerics.py; other splits count as exact."""
    left_type, right_type, sum_type = (value_type(value.type) for value in op.operands[:3])
    left, right, addend = (value.id for value in op.operands[:3])
    result = op.results[0].id
    element = sum_type.element
    exact_integer = element.kind == "i"
    working = np.dtype(np.float64 if exact_integer or element.bits == 64 else np.float32)
    precision = attribute(op, "inputPrecision", 2)
    tf32 = left_type.element.name == "f32" and precision in (_TF32, "tf32")
    rounded = rounding_to(element)
    flops = 2 * sum_type.size * left_type.shape[-1]

    def step(values: list[Any], _scope: Scope) -> None:
        unknown = unknown_of((values[left], values[right], values[addend]))
        if unknown is not None:
            values[result] = unknown
            return
        total = product(
            _lane_array(values[left], left_type),
            _lane_array(values[right], right_type),
            working,
            tf32=tf32,
        )
        start = to_array(values[addend], sum_type)
        if start.size != 1 or start.flat[0] != 0:
            fits = start.shape[0] <= total.shape[0] and start.dtype == total.dtype
            total = np.add(total, start, out=total) if fits else total + start
        if total.dtype != element.value:
            total = total.astype(np.int64) if exact_integer else total
            total = total.astype(element.value)
        values[result] = total if rounded is None else rounded(total)

    return compiler.counted(op, step, sum_type.size, flops)
