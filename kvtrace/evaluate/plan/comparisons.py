"""Planning of comparisons, Boolean logic and select: masks stay conjunctions of affine forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvtrace.evaluate import sums
from kvtrace.evaluate.compiler import attribute
from kvtrace.evaluate.dialects.arith import _PREDICATES as PREDICATES
from kvtrace.evaluate.dialects.arith import compare_integers
from kvtrace.evaluate.plan.affine import (
    Affine,
    plus,
    shifted,
    times,
)
from kvtrace.evaluate.plan.instructions import Operation
from kvtrace.evaluate.plan.kernels import CONJUNCTION, selection, ufunc_operation
from kvtrace.evaluate.plan.masks import resolved
from kvtrace.evaluate.plan.signals import Unplannable
from kvtrace.evaluate.plan.steps import PlanCompiler, PlanStep, planned
from kvtrace.evaluate.plan.values import (
    Condition,
    Constant,
    Integer,
    Pointer,
    Tensor,
)
from kvtrace.evaluate.plan.walk import BOOLEAN, Walk
from kvtrace.evaluate.types import value_type
from kvtrace.ir import Op


@planned("arith.cmpi")
def cmpi(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan a comparison of integers: conditions on affine forms."""
    predicate = PREDICATES[attribute(op, "predicate")]
    type_ = value_type(op.operand("left").type)
    left, right = op.operand("left").id, op.operand("right").id
    result = op.results[0].id
    shape = type_.shape

    def compare(first: Any, second: Any) -> Any:
        return compare_integers(predicate, first, second)

    operation = Operation("cmpi", compare, None, frozenset(), BOOLEAN)
    if predicate in sums.COMPARISONS and type_.element.kind == "i":
        operation = ufunc_operation("cmpi", sums.COMPARISONS[predicate], BOOLEAN)

    def step(walk: Walk) -> None:
        first, second = walk.values[left], walk.values[right]
        if isinstance(first, Integer) and isinstance(second, Integer):
            value = _comparison(walk, predicate, first, second)
            if value is not None:
                walk.values[result] = value
                return
        if type_.pointer:
            raise Unplannable("pointers are compared")
        walk.values[result] = walk.elementwise(operation, (first, second), shape)

    return step


def _comparison(
    walk: Walk, predicate: str, left: Integer, right: Integer
) -> Condition | Constant | None:
    if predicate[0] == "u":
        if any(walk.extremes(value.form, value.shape)[0] < 0 for value in (left, right)):
            return None
        predicate = "s" + predicate[1:]
    up = plus(right.form, left.form, -1)
    down = plus(left.form, right.form, -1)
    if predicate == "ne":
        low, high = walk.extremes(up, left.shape)
        if low > 0 or high < 0:
            return Constant(np.bool_(True), left.shape)
        return Constant(np.bool_(False), left.shape) if low == high == 0 else None
    forms: tuple[Affine, ...] = {
        "slt": (shifted(up, -1),),
        "sle": (up,),
        "sgt": (shifted(down, -1),),
        "sge": (down,),
        "eq": (up, down),
    }[predicate]
    return settled(walk, forms, left.shape)


def settled(walk: Walk, forms: tuple[Affine, ...], shape: tuple[int, ...]) -> Condition | Constant:
    """Return a condition without what always holds."""
    left = []
    for form in forms:
        low, high = walk.extremes(form, shape)
        if high < 0:
            return Constant(np.bool_(False), shape)
        if low < 0:
            left.append(form)
    return Condition(tuple(left), shape) if left else Constant(np.bool_(True), shape)


@planned("arith.andi")
def andi(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan a conjunction: conditions join."""
    type_ = value_type(op.results[0].type)
    left, right = op.operand("left").id, op.operand("right").id
    result = op.results[0].id
    operation = ufunc_operation("andi", np.bitwise_and, type_.element.value)
    if type_.element.kind == "b":
        operation = CONJUNCTION

    def step(walk: Walk) -> None:
        first, second = walk.values[left], walk.values[right]
        if type_.element.kind == "b":
            for one, other in ((first, second), (second, first)):
                if isinstance(one, Constant):
                    walk.values[result] = other if one.value else one
                    return
            if isinstance(first, Condition) and isinstance(second, Condition):
                walk.values[result] = Condition(first.forms + second.forms, first.shape)
                return
        walk.values[result] = walk.elementwise(operation, (first, second), type_.shape)

    return step


@planned("arith.xori", "arith.ori")
def logic(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan exclusive or, or; the negation of one condition is a condition."""
    type_ = value_type(op.results[0].type)
    left, right = op.operand("left").id, op.operand("right").id
    result = op.results[0].id
    exclusive = op.name == "arith.xori"
    function = np.bitwise_xor if exclusive else np.bitwise_or
    operation = ufunc_operation(op.name, function, type_.element.value)

    def step(walk: Walk) -> None:
        first, second = walk.values[left], walk.values[right]
        if type_.element.kind == "b":
            for one, other in ((first, second), (second, first)):
                value = _with_constant(one, other, exclusive=exclusive)
                if value is not None:
                    walk.values[result] = value
                    return
        walk.values[result] = walk.elementwise(operation, (first, second), type_.shape)

    return step


def _with_constant(one: Any, other: Any, *, exclusive: bool) -> Any:
    if not isinstance(one, Constant) or isinstance(other, Constant):
        return None
    if not one.value:
        return other
    if not exclusive:
        return one
    if isinstance(other, Condition) and len(other.forms) == 1:
        return Condition((shifted(times(other.forms[0], -1), -1),), other.shape)
    return None


# -- select ---------------------------------------------------------------------------------------


@planned("arith.select")
def select(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan a choice lane by lane; a mask that is a box of lanes costs nothing."""
    type_ = value_type(op.results[0].type)
    slots = tuple(value.id for value in op.operands)
    result = op.results[0].id
    operation = selection(type_.element.value)
    scalar = not value_type(op.operand("condition").type).shape and bool(type_.shape)

    def step(walk: Walk) -> None:
        condition, first, second = (walk.values[slot] for slot in slots)
        if isinstance(condition, Condition):
            if isinstance(first, Pointer) and first.argument != second.argument:
                raise Unplannable("pointers into more than one tensor")
            if scalar:
                condition = Condition(condition.forms, type_.shape)
            condition = _decided(walk, condition)
        if isinstance(condition, Constant):
            walk.values[result] = first if condition.value else second
            return
        if isinstance(first, (Pointer, Integer)) and _is_same(walk, first, second):
            walk.values[result] = first
            return
        if isinstance(first, Pointer):
            raise Unplannable("pointers are chosen by lane")
        if isinstance(condition, Tensor) and scalar:
            register = walk.view(condition.register, (None,) * len(type_.shape))
            condition = Tensor(register, type_.shape)
        if isinstance(condition, Condition):
            walk.values[result] = _chosen(walk, operation, condition, first, second)
            return
        walk.values[result] = walk.elementwise(operation, (condition, first, second), type_.shape)

    return step


def _is_same(walk: Walk, first: Any, second: Any) -> bool:
    if isinstance(first, Pointer):
        if not isinstance(second, Pointer) or first.argument != second.argument:
            return False
    elif not isinstance(second, Integer):
        return False
    gap = walk.domain.folded(plus(first.form, second.form, -1))
    return gap.is_constant and gap.constant == 0


def _decided(walk: Walk, condition: Condition) -> Condition | Constant:
    """Resolve a condition that does not vary over lanes, asking for a split if need be."""
    if any(form.lanes for form in condition.forms):
        return condition
    found = resolved(walk, condition)
    return Constant(np.bool_(not found.nothing), condition.shape)


def _chosen(walk: Walk, operation: Operation, condition: Condition, first: Any, second: Any) -> Any:
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
    """Whether a value does not vary along the axes that a box cuts."""
    if isinstance(value, Constant):
        return True
    if value.box is not None:
        return False
    return all(cut is None or n == 1 for cut, n in zip(box, value.register.lanes, strict=True))
