"""Planning of casts."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvtrace.evaluate.dialects.arith_casts import integer_conversion
from kvtrace.evaluate.plan.affine import Affine
from kvtrace.evaluate.plan.array_functions import ROUND_TO_BF16, converted_into
from kvtrace.evaluate.plan.bridge import array_call_step
from kvtrace.evaluate.plan.instructions import Operation
from kvtrace.evaluate.plan.integers import fits
from kvtrace.evaluate.plan.meanings import PlanStep, planned
from kvtrace.evaluate.plan.steps import PlanCompiler, keeps_dtype, step_of_operations
from kvtrace.evaluate.plan.values import Condition, Constant, Integer
from kvtrace.evaluate.plan.walk import Walk
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.ir import Op
from kvtrace.ir.integers import signed_range
from kvtrace.ir.model import attribute
from kvtrace.ir.ops import UNSIGNED


@planned("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui")
def integer_cast(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan a change of an integer's width; an integer that fits stays affine."""
    source, target = value_type(op.operand("source").type), value_type(op.results[0].type)
    slot, result = op.operand("source").id, op.results[0].id
    unsigned = op.name in UNSIGNED
    element = target.element
    limits = signed_range(element.bits)
    operation = Operation(
        op.name, integer_conversion(op, compiler.module), None, frozenset(), element.value
    )

    def step(walk: Walk) -> None:
        value = walk.values[slot]
        if isinstance(value, Integer) and element.kind == "i":
            same = fits(walk, value.form, value.shape, limits)
            if same and (not unsigned or walk.extremes(value.form, value.shape)[0] >= 0):
                walk.values[result] = Integer(value.form, value.shape, element.bits)
                return
        if isinstance(value, Condition):
            value = walk.constant_or_tensor(value)
        if isinstance(value, Constant) and source.element.kind == "b" and element.kind == "i":
            as_integer = int(value.value) if unsigned else -int(value.value)
            walk.values[result] = Integer(Affine(as_integer), value.shape, element.bits)
            return
        walk.values[result] = walk.elementwise(operation, [value], target.shape)

    return step


@planned("arith.extf", "arith.truncf", "arith.sitofp")
def float_cast(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan a conversion to a float type: NumPy's cast and rounding where they are exact."""
    type_ = value_type(op.results[0].type)
    if not _is_plain_cast(op, type_):
        return compiler.elementwise(op)
    cast = None if keeps_dtype(op, type_) else _cast(type_.element.value)
    return step_of_operations(op, cast, ROUND_TO_BF16 if type_.element.name == "bf16" else None)


def _is_plain_cast(op: Op, type_: ValueType) -> bool:
    """Return whether NumPy's cast, followed by bfloat16's rounding if needed, is exact."""
    source = value_type(op.operand("source").type).element
    if source.kind == "b" or (type_.element.rounded and source.value != type_.element.value):
        return False  # numbers that float32 lacks are rounded to bfloat16 only once
    if type_.element.rounded and type_.element.name != "bf16":
        return False
    if source.name == "f8E5M2" and type_.element.name == "bf16":
        return False  # infinity and NaN differ by target
    return attribute(op, "rounding") not in (0, "rtz")


def _cast(dtype: np.dtype[Any]) -> Operation:
    def function(array: Any) -> Any:
        return array.astype(dtype)

    return Operation("cast", function, converted_into, frozenset(), dtype)


@planned("arith.bitcast", "tt.bitcast")
def bitcast(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan a bitcast: pointers keep their value; numbers of another type go to the array step."""
    source, target = value_type(op.operand("source").type), value_type(op.results[0].type)
    slot, result = op.operand("source").id, op.results[0].id
    if not source.pointer and source.element != target.element:
        return array_call_step(op, compiler)

    def step(walk: Walk) -> None:
        walk.values[result] = walk.values[slot]

    return step
