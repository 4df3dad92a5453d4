"""Planning of reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvtrace.evaluate.dialects.tt_reduce import simple_ufunc
from kvtrace.evaluate.plan.array_functions import ufunc_operation
from kvtrace.evaluate.plan.bridge import array_call_step
from kvtrace.evaluate.plan.instructions import Map, Reduce
from kvtrace.evaluate.plan.meanings import PlanStep, planned
from kvtrace.evaluate.plan.steps import PlanCompiler, rounded
from kvtrace.evaluate.plan.values import Constant, Register, Tensor
from kvtrace.evaluate.plan.walk import Walk
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.ir import Op
from kvtrace.ir.model import attribute

_COUNTED = (np.add, np.multiply, np.bitwise_xor)
"""Combining functions whose result depends on how often an element occurs."""


@planned("tt.reduce")
def reduce(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan a reduction by a single op; other reductions call the array evaluator's step."""
    source, *others = op.group("source")
    type_ = value_type(source.type)
    function = None if others else simple_ufunc(op.regions[0].blocks[0], type_)
    if function is None:
        return array_call_step(op, compiler)
    axis = int(attribute(op, "axis"))
    slot, result = source.id, op.results[0].id

    def step(walk: Walk) -> None:
        walk.values[result] = _reduced(walk, walk.values[slot], function, axis, type_)

    return step


def _reduced(walk: Walk, value: Any, function: Any, axis: int, type_: ValueType) -> Any:
    operand = walk.constant_or_tensor(value)
    shape = type_.shape[:axis] + type_.shape[axis + 1 :]
    dtype = type_.element.value
    if isinstance(operand, Constant):
        if function not in _COUNTED:
            return Constant(operand.value, shape)
        operand = walk.spread(operand)
    box = operand.box
    if box is not None and not _is_cut_only_at(box, axis):
        operand, box = walk.padded(operand), None
    if box is not None and _lanes_outside(operand, axis) and function is np.multiply:
        operand, box = walk.padded(operand), None
    if box is not None and dtype == np.float16 and function is np.add:
        operand, box = walk.padded(operand), None  # each partial sum is rounded
    extent = type_.shape[axis]
    if box is None and operand.register.lanes[axis] != extent and function in _COUNTED:
        operand = walk.spread(operand)
    addend = _without_added_zero(walk, operand, function)
    source = operand.register if addend is None else addend
    lanes = source.lanes[:axis] + source.lanes[axis + 1 :]
    target = walk.register(source.axes, lanes, dtype)
    walk.emit(Reduce(target, (source,), function, axis, dtype))
    total: Constant | Tensor = Tensor(target, shape)
    if addend is not None:
        plus_zero = ufunc_operation("add", np.add, dtype)
        total = walk.elementwise(plus_zero, (total, Constant(dtype.type(0), shape)), shape)
    if box is not None:
        total = _with_fill(walk, total, operand, function, axis, dtype)
    return rounded(walk, total, type_)


def _is_cut_only_at(box: Any, axis: int) -> bool:
    return all(cut is None for position, cut in enumerate(box) if position != axis)


def _lanes_outside(operand: Tensor, axis: int) -> int:
    """Return how many lanes of an axis lie outside a tensor's box."""
    assert operand.box is not None
    cut = operand.box[axis]
    return 0 if cut is None else operand.shape[axis] - (cut[1] - cut[0])


def _with_fill(
    walk: Walk,
    total: Constant | Tensor,
    operand: Tensor,
    function: Any,
    axis: int,
    working: np.dtype[Any],
) -> Constant | Tensor:
    """Return the result of the lanes inside the box combined with the fill outside."""
    count = _lanes_outside(operand, axis)
    if not count or operand.fill is None:
        return total
    fill = _without_axis(walk, operand.fill, axis)
    shape = total.shape
    if function is np.bitwise_xor and count % 2 == 0:
        return total
    if function is np.add:
        times = ufunc_operation("multiply", np.multiply, working)
        lane_count = Constant(working.type(count), shape)
        fill = walk.elementwise(times, (fill, lane_count), shape)
        if isinstance(fill, Constant) and fill.value == 0 and working.kind != "f":
            return total
    return walk.elementwise(ufunc_operation("combine", function, working), (total, fill), shape)


def _without_axis(walk: Walk, value: Constant | Tensor, axis: int) -> Constant | Tensor:
    shape = value.shape[:axis] + value.shape[axis + 1 :]
    if isinstance(value, Constant):
        return Constant(value.value, shape)
    axes = tuple(position for position in range(len(value.shape)) if position != axis)
    return Tensor(walk.view(value.register, axes), shape)


def _without_added_zero(walk: Walk, operand: Tensor, function: Any) -> Register | None:
    """Return x if the summand is x + 0.0, else None; zero can be added to the sum."""
    if function is not np.add or operand.box is not None or operand.register.dtype.kind != "f":
        return None
    for instruction in reversed(walk.instructions[-8:]):
        if instruction.target is not operand.register:
            continue
        if not isinstance(instruction, Map) or instruction.operation.function is not np.add:
            return None
        left, right = instruction.operands
        summand, zero = (left, right) if isinstance(left, Register) else (right, left)
        if isinstance(summand, Register) and not isinstance(zero, Register) and zero == 0:
            return summand
        return None
    return None
