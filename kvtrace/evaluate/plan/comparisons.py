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
    up = plus(right.form, left.form, -1)
    down = plus(left.form, right.form, -1)
    if predicate == "ne":
        outcome = decided(predicate, *walk.extremes(up, left.shape))
        return None if outcome is None else Constant(np.bool_(outcome), left.shape)
    forms: tuple[Affine, ...] = {
        "slt": (shifted(up, -1),),
        "sle": (up,),
        "sgt": (shifted(down, -1),),
        "sge": (down,),
        "eq": (up, down),
    }[predicate]
    return settled(walk, forms, left.shape)


def settled(walk: Walk, forms: tuple[Affine, ...], shape: tuple[int, ...]) -> Condition | Constant:
    """Return a condition without the forms that always hold."""
    undecided = []
    for form in forms:
        low, high = walk.extremes(form, shape)
        if high < 0:
            return Constant(np.bool_(False), shape)
        if low < 0:
            undecided.append(form)
    return Condition(tuple(undecided), shape) if undecided else Constant(np.bool_(True), shape)


def with_constant(one: Any, other: Any, *, exclusive: bool) -> Any:
    """Return (exclusive) or with a constant Boolean; None if the result is no condition."""
    if not isinstance(one, Constant) or isinstance(other, Constant):
        return None
    if not one.value:
        return other
    if not exclusive:
        return one
    if isinstance(other, Condition) and len(other.forms) == 1:
        return Condition((shifted(times(other.forms[0], -1), -1),), other.shape)
    return None


def is_same(walk: Walk, first: Any, second: Any) -> bool:
    """Return whether two values are the same integer or pointer."""
    if isinstance(first, Pointer):
        if not isinstance(second, Pointer) or first.argument != second.argument:
            return False
    elif not isinstance(second, Integer):
        return False
    gap = walk.domain.folded(plus(first.form, second.form, -1))
    return gap.is_constant and gap.constant == 0


def decided_by_programs(walk: Walk, condition: Condition) -> Condition | Constant:
    """Return a condition decided by program; SplitAxis if programs differ."""
    if any(form.lanes for form in condition.forms):
        return condition
    mask = resolved(walk, condition)
    return Constant(np.bool_(not mask.nothing), condition.shape)


def chosen(walk: Walk, operation: Operation, condition: Condition, first: Any, second: Any) -> Any:
    """Return a selection lane by lane; under a mask that is a box no instruction is emitted."""
    mask = resolved(walk, condition)
    if mask.nothing:
        return second
    if mask.box is None and not mask.conditions:
        return first
    if not mask.conditions and mask.box is not None:
        inside, outside = walk.materialised(first), walk.materialised(second)
        if isinstance(inside, Tensor) and _is_uniform(outside, mask.box):
            if inside.box != mask.box:
                inside = walk.cropped(inside, mask.box)
            return Tensor(inside.register, inside.shape, mask.box, outside)
    return walk.elementwise(operation, (condition, first, second), condition.shape)


def _is_uniform(value: Constant | Tensor, box: Any) -> bool:
    """Return whether a value does not vary along the axes that a box cuts."""
    if isinstance(value, Constant):
        return True
    if value.box is not None:
        return False
    return all(cut is None or n == 1 for cut, n in zip(box, value.register.lanes, strict=True))
