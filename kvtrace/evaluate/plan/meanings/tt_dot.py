"""Planning of matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvtrace.evaluate.dialects.tt_dot import dot_form, saturates
from kvtrace.evaluate.plan.array_functions import TO_TF32, converted_into, ufunc_operation
from kvtrace.evaluate.plan.bridge import array_call_step
from kvtrace.evaluate.plan.instructions import Dot, Operation
from kvtrace.evaluate.plan.meanings import PlanStep, planned
from kvtrace.evaluate.plan.steps import PlanCompiler, rounded
from kvtrace.evaluate.plan.values import Constant, Register, Tensor
from kvtrace.evaluate.plan.walk import Walk
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Array
from kvtrace.ir import Op


def _conversion(dtype: np.dtype[Any]) -> Operation:
    return Operation(
        "convert", lambda array: array.astype(dtype), converted_into, frozenset(), dtype
    )


def _from_doubles(dtype: np.dtype[Any]) -> Operation:
    def function(array: Array) -> Array:
        return array.astype(np.int64).astype(dtype)

    return Operation("integers", function, None, frozenset(), dtype)


@planned("tt.dot")
def dot(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan a matrix product plus addend; programs that share an operand are one product."""
    sum_type = value_type(op.operand("added").type)
    left, right = op.operand("left").id, op.operand("right").id
    addend = op.operand("added").id
    result = op.results[0].id
    element = sum_type.element
    form = dot_form(op)
    if form.is_split or saturates(op, compiler.module):
        return array_call_step(op, compiler)
    working = form.working
    convert = _conversion(working)
    to_result_type = _from_doubles(element.value) if form.integers else _conversion(element.value)
    add = ufunc_operation("add", np.add, working)

    def operand(walk: Walk, value: Any) -> Register:
        register = walk.spread(value).register
        if form.tf32:
            register = walk.map(TO_TF32, (register,))
        return register if register.dtype == working else walk.map(convert, (register,))

    def step(walk: Walk) -> None:
        values = walk.values
        left_register, right_register = operand(walk, values[left]), operand(walk, values[right])
        start = walk.constant_or_tensor(values[addend])
        axes = tuple(a or b for a, b in zip(left_register.axes, right_register.axes, strict=True))
        operands: tuple[Any, ...] = (left_register, right_register)
        separate_addend: Any = None
        if not isinstance(start, Constant) or start.value != 0:
            separate_addend = start
            if isinstance(separate_addend, Tensor):
                separate_addend = walk.padded(separate_addend)
            fused = (
                isinstance(separate_addend, Tensor) and separate_addend.register.dtype == working
            )
            if fused and separate_addend.register.lanes == sum_type.shape:
                register = separate_addend.register
                axes = tuple(a or b for a, b in zip(axes, register.axes, strict=True))
                operands, separate_addend = (left_register, right_register, register), None
        target = walk.register(axes, sum_type.shape, working)
        walk.emit(Dot(target, operands))
        total: Constant | Tensor = Tensor(target, sum_type.shape)
        if separate_addend is not None:
            total = walk.elementwise(add, (total, separate_addend), sum_type.shape)
        if element.value != working:
            total = walk.elementwise(to_result_type, (total,), sum_type.shape)
        values[result] = rounded(walk, total, sum_type)

    return step
