"""Planning of constants, integer arithmetic, comparisons and selects."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvtrace.evaluate import sums
from kvtrace.evaluate.dialects.arith import compare_integers
from kvtrace.evaluate.errors import Unplannable
from kvtrace.evaluate.plan import integers
from kvtrace.evaluate.plan.affine import Affine
from kvtrace.evaluate.plan.array_functions import CONJUNCTION, selection, ufunc_operation
from kvtrace.evaluate.plan.comparisons import (
    combined_with_constant,
    comparison,
    is_same,
    selected_value,
    simplified_by_program,
)
from kvtrace.evaluate.plan.instructions import Operation
from kvtrace.evaluate.plan.integers import Law, fits, non_negative
from kvtrace.evaluate.plan.meanings import Planner, PlanStep, planned
from kvtrace.evaluate.plan.steps import PlanCompiler, operations_of, refusal, step_of_operations
from kvtrace.evaluate.plan.values import Condition, Constant, Integer, Pointer, Tensor
from kvtrace.evaluate.plan.walk import BOOLEAN, Walk
from kvtrace.evaluate.registry import ELEMENTWISE
from kvtrace.evaluate.types import value_type
from kvtrace.ir import Op
from kvtrace.ir.attributes import DenseAttribute, FloatAttribute, IntegerAttribute
from kvtrace.ir.integers import PREDICATES, signed_range
from kvtrace.ir.model import attribute


@planned("arith.constant", "llvm.mlir.constant")
def constant(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan a number that is the same for all programs and lanes; refuse other constant tensors."""
    type_ = value_type(op.results[0].type)
    result = op.results[0].id
    attribute_ = op.attributes["value"]
    number: Any
    if isinstance(attribute_, IntegerAttribute | FloatAttribute):
        number = attribute_.value
    elif isinstance(attribute_, DenseAttribute) and attribute_.is_splat:
        number = attribute_.values[0]
    else:
        return refusal("a constant tensor has different numbers")
    value: Integer | Constant
    if type_.element.kind == "i":
        value = Integer(Affine(int(number)), type_.shape, type_.element.bits)
    else:
        value = Constant(type_.element.value.type(number), type_.shape)

    def step(walk: Walk) -> None:
        walk.values[result] = value

    return step


def _arithmetic(law: Law, ufunc: np.ufunc | None = None) -> Planner:
    """Return the planner of arithmetic by a law, or by an instruction (`ufunc`, if given)."""

    def planner(op: Op, _compiler: PlanCompiler) -> PlanStep:
        left, right = op.operand("left").id, op.operand("right").id
        result = op.results[0].id
        type_ = value_type(op.results[0].type)
        if ufunc is not None and type_.element.kind == "i":
            operation = ufunc_operation(op.name, ufunc, type_.element.value)
        else:
            operation, _ = operations_of(op, ELEMENTWISE[op.name], type_)
        shape, bits = type_.shape, type_.element.bits
        limits = signed_range(bits)

        def step(walk: Walk) -> None:
            left_value, right_value = walk.values[left], walk.values[right]
            if type(left_value) is Integer and type(right_value) is Integer:
                form = law(walk, left_value, right_value)
                if form is not None and fits(walk, form, shape, limits):
                    walk.values[result] = Integer(form, shape, bits)
                    return
                if form is None and left_value.form.is_constant and right_value.form.is_constant:
                    walk.values[result] = _constant_result(
                        operation, left_value, right_value, shape
                    )
                    return
            walk.values[result] = walk.elementwise(operation, (left_value, right_value), shape)

        return step

    return planner


def _constant_result(
    operation: Operation, left: Integer, right: Integer, shape: tuple[int, ...]
) -> Any:
    """Return the result of an op on two constants, computed by its array function."""
    dtype = operation.dtype
    operands = [np.full(1, value.form.constant, dtype) for value in (left, right)]
    with np.errstate(all="ignore"):
        number = int(operation.function(*operands)[0])
    return Integer(Affine(number), shape, left.bits)


for _name, _law, _ufunc in (
    ("arith.addi", integers.total, np.add),
    ("arith.subi", integers.difference, np.subtract),
    ("arith.muli", integers.product, None),
    ("arith.divsi", integers.quotient, None),
    ("arith.remsi", integers.remainder, None),
    ("arith.minsi", integers.smaller, None),
    ("arith.maxsi", integers.larger, None),
    ("arith.divui", non_negative(integers.quotient), None),
    ("arith.remui", non_negative(integers.remainder), None),
    ("arith.minui", non_negative(integers.smaller), None),
    ("arith.maxui", non_negative(integers.larger), None),
    ("arith.shli", integers.shifted_left, None),
    ("arith.shrsi", integers.shifted_right, None),
    ("arith.shrui", integers.shifted_right, None),
):
    planned(_name)(_arithmetic(_law, _ufunc))


# -- comparisons and choices --------------------------------------------------------------------


@planned("arith.cmpi")
def cmpi(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan a comparison of integers as conditions on affine forms, else as an instruction."""
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
        left_value, right_value = walk.values[left], walk.values[right]
        if isinstance(left_value, Integer) and isinstance(right_value, Integer):
            value = comparison(walk, predicate, left_value, right_value)
            if value is not None:
                walk.values[result] = value
                return
        walk.values[result] = walk.elementwise(operation, (left_value, right_value), shape)

    return step


_COMPARISONS = {
    1: np.equal,
    2: np.greater,
    3: np.greater_equal,
    4: np.less,
    5: np.less_equal,
    13: np.not_equal,
}
"""Predicates of arith.cmpf that equal one NumPy comparison, also for NaN."""


@planned("arith.cmpf")
def cmpf(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan a comparison of floats."""
    ufunc = _COMPARISONS.get(attribute(op, "predicate"))
    if ufunc is None:
        return compiler.elementwise(op)
    return step_of_operations(op, ufunc_operation("cmpf", ufunc, BOOLEAN))


@planned("arith.andi")
def andi(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan a conjunction; two conditions become one condition."""
    type_ = value_type(op.results[0].type)
    left, right = op.operand("left").id, op.operand("right").id
    result = op.results[0].id
    operation = ufunc_operation("andi", np.bitwise_and, type_.element.value)
    if type_.element.kind == "b":
        operation = CONJUNCTION

    def step(walk: Walk) -> None:
        left_value, right_value = walk.values[left], walk.values[right]
        if type_.element.kind == "b":
            for constant, operand in ((left_value, right_value), (right_value, left_value)):
                if isinstance(constant, Constant):
                    walk.values[result] = operand if constant.value else constant
                    return
            if isinstance(left_value, Condition) and isinstance(right_value, Condition):
                walk.values[result] = Condition(
                    left_value.forms + right_value.forms, left_value.shape
                )
                return
        walk.values[result] = walk.elementwise(operation, (left_value, right_value), type_.shape)

    return step


@planned("arith.xori", "arith.ori")
def logic(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan xor, or; with a constant Boolean the result may be a condition."""
    type_ = value_type(op.results[0].type)
    left, right = op.operand("left").id, op.operand("right").id
    result = op.results[0].id
    exclusive = op.name == "arith.xori"
    function = np.bitwise_xor if exclusive else np.bitwise_or
    operation = ufunc_operation(op.name, function, type_.element.value)

    def step(walk: Walk) -> None:
        left_value, right_value = walk.values[left], walk.values[right]
        if type_.element.kind == "b":
            for constant, operand in ((left_value, right_value), (right_value, left_value)):
                value = combined_with_constant(constant, operand, exclusive=exclusive)
                if value is not None:
                    walk.values[result] = value
                    return
        walk.values[result] = walk.elementwise(operation, (left_value, right_value), type_.shape)

    return step


@planned("arith.select")
def select(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan a selection lane by lane; it needs no instruction if the mask is a box of lanes."""
    type_ = value_type(op.results[0].type)
    slots = tuple(op.operand(name).id for name in ("condition", "first", "second"))
    result = op.results[0].id
    operation = selection(type_.element.value)
    scalar = not value_type(op.operand("condition").type).shape and bool(type_.shape)

    def step(walk: Walk) -> None:
        condition, if_true, if_false = (walk.values[slot] for slot in slots)
        if isinstance(condition, Condition):
            if isinstance(if_true, Pointer) and if_true.argument != if_false.argument:
                raise Unplannable("a pointer may point into more than one tensor")
            if scalar:
                condition = Condition(condition.forms, type_.shape)
            condition = simplified_by_program(walk, condition)
        if isinstance(condition, Constant):
            walk.values[result] = if_true if condition.value else if_false
            return
        if isinstance(if_true, (Pointer, Integer)) and is_same(walk, if_true, if_false):
            walk.values[result] = if_true
            return
        if isinstance(if_true, Pointer):
            raise Unplannable("pointers are selected lane by lane")
        if isinstance(condition, Tensor) and scalar:
            register = walk.view(condition.register, (None,) * len(type_.shape))
            condition = Tensor(register, type_.shape)
        if isinstance(condition, Condition):
            walk.values[result] = selected_value(walk, operation, condition, if_true, if_false)
            return
        walk.values[result] = walk.elementwise(
            operation, (condition, if_true, if_false), type_.shape
        )

    return step
