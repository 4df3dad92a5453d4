"""Planning of conditions: masks stay conjunctions of affine forms as long as possible."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvtrace.evaluate.plan.affine import Affine, plus, shifted, times
from kvtrace.evaluate.plan.instructions import Operation
from kvtrace.evaluate.plan.masks import resolved
from kvtrace.evaluate.plan.values import Condition, Constant, Integer, Pointer, Tensor
from kvtrace.evaluate.plan.walk import Walk
from kvtrace.ir.integers import decided


def comparison(
    walk: Walk, predicate: str, left: Integer, right: Integer
) -> Condition | Constant | None:
    """Return a comparison of integers; None if it is no conjunction of affine forms."""
    if predicate[0] == "u":
        if any(walk.extremes(value.form, value.shape)[0] < 0 for value in (left, right)):
            return None
        predicate = "s" + predicate[1:]
    right_minus_left = plus(right.form, left.form, -1)
    left_minus_right = plus(left.form, right.form, -1)
    if predicate == "ne":
        outcome = decided(predicate, *walk.extremes(right_minus_left, left.shape))
        return None if outcome is None else Constant(np.bool_(outcome), left.shape)
    forms: tuple[Affine, ...] = {
        "slt": (shifted(right_minus_left, -1),),
        "sle": (right_minus_left,),
        "sgt": (shifted(left_minus_right, -1),),
        "sge": (left_minus_right,),
        "eq": (right_minus_left, left_minus_right),
    }[predicate]
    return simplified_condition(walk, forms, left.shape)


def simplified_condition(
    walk: Walk, forms: tuple[Affine, ...], shape: tuple[int, ...]
) -> Condition | Constant:
    """Return the condition that forms are >= 0, without those that always are."""
    undecided = []
    for form in forms:
        low, high = walk.extremes(form, shape)
        if high < 0:
            return Constant(np.bool_(False), shape)
        if low < 0:
            undecided.append(form)
    return Condition(tuple(undecided), shape) if undecided else Constant(np.bool_(True), shape)


def combined_with_constant(constant: Any, operand: Any, *, exclusive: bool) -> Any:
    """Return constant or operand, or their xor; None if that is neither constant nor condition."""
    if not isinstance(constant, Constant) or isinstance(operand, Constant):
        return None
    if not constant.value:
        return operand
    if not exclusive:
        return constant
    if isinstance(operand, Condition) and len(operand.forms) == 1:
        return Condition((shifted(times(operand.forms[0], -1), -1),), operand.shape)
    return None


def is_same(walk: Walk, left: Any, right: Any) -> bool:
    """Return whether two integers, or two pointers, are equal for all programs and lanes."""
    if isinstance(left, Pointer):
        if not isinstance(right, Pointer) or left.argument != right.argument:
            return False
    elif not isinstance(right, Integer):
        return False
    gap = walk.domain.folded(plus(left.form, right.form, -1))
    return gap.is_constant and gap.constant == 0


def simplified_by_program(walk: Walk, condition: Condition) -> Condition | Constant:
    """Return a condition as a constant unless lanes differ; SplitAxis if programs differ."""
    if any(form.lanes for form in condition.forms):
        return condition
    mask = resolved(walk, condition)
    return Constant(np.bool_(not mask.nothing), condition.shape)


def selected_value(
    walk: Walk, operation: Operation, condition: Condition, if_true: Any, if_false: Any
) -> Any:
    """Return `if_true` or `if_false` by lane; a box of lanes needs no instruction."""
    mask = resolved(walk, condition)
    if mask.nothing:
        return if_false
    if mask.box is None and not mask.conditions:
        return if_true
    if not mask.conditions and mask.box is not None:
        inside, outside = walk.constant_or_tensor(if_true), walk.constant_or_tensor(if_false)
        if isinstance(inside, Tensor) and _is_constant_along(outside, mask.box):
            if inside.box != mask.box:
                inside = walk.cropped(inside, mask.box)
            return Tensor(inside.register, inside.shape, mask.box, outside)
    return walk.elementwise(operation, (condition, if_true, if_false), condition.shape)


def _is_constant_along(value: Constant | Tensor, box: Any) -> bool:
    if isinstance(value, Constant):
        return True
    if value.box is not None:
        return False
    return all(cut is None or n == 1 for cut, n in zip(box, value.register.lanes, strict=True))
