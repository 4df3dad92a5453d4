"""Planning of integer and pointer ops: affine as long as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kvtrace.evaluate.compiler import attribute
from kvtrace.evaluate.dialects.arith_casts import (
    truncated_integer,
    zero_extended,
)
from kvtrace.evaluate.plan.affine import (
    ZERO,
    Affine,
    divided,
    multiples,
    plus,
    shifted,
    times,
    whole,
)
from kvtrace.evaluate.plan.instructions import Operation
from kvtrace.evaluate.plan.masks import resolved
from kvtrace.evaluate.plan.signals import FactorAxis, SplitAxis, Unplannable
from kvtrace.evaluate.plan.steps import PlanCompiler, PlanStep, operations_of, planned, refusal
from kvtrace.evaluate.plan.values import (
    Condition,
    Constant,
    Integer,
    Pointer,
)
from kvtrace.evaluate.plan.walk import Walk, is_open
from kvtrace.evaluate.registry import ELEMENTWISE
from kvtrace.evaluate.types import value_type
from kvtrace.ir import Op
from kvtrace.ir.attributes import DenseAttribute, FloatAttribute, IntegerAttribute

_Rule = Callable[[Walk, Integer, Integer], Affine | None]


# -- sources ------------------------------------------------------------------------------------


@planned("arith.constant", "llvm.mlir.constant")
def constant(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan a number that is the same for all programs and lanes."""
    type_ = value_type(op.results[0].type)
    result = op.results[0].id
    attribute_ = op.attributes["value"]
    number: Any
    if isinstance(attribute_, IntegerAttribute | FloatAttribute):
        number = attribute_.value
    elif isinstance(attribute_, DenseAttribute) and attribute_.is_splat:
        number = attribute_.values[0]
    else:
        return refusal("a constant tensor of different numbers")
    value: Integer | Constant
    if type_.element.kind == "i":
        value = Integer(Affine(int(number)), type_.shape, type_.element.bits)
    else:
        value = Constant(type_.element.value.type(number), type_.shape)

    def step(walk: Walk) -> None:
        walk.values[result] = value

    return step


@planned("tt.get_program_id")
def program_id(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan the program's index along an axis of the grid."""
    axis, result = int(attribute(op, "axis")), op.results[0].id

    def step(walk: Walk) -> None:
        form = walk.domain.folded(walk.region.ids[axis])
        walk.values[result] = Integer(form, (), 32)

    return step


@planned("tt.get_num_programs")
def num_programs(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan the grid's extent along an axis."""
    axis, result = int(attribute(op, "axis")), op.results[0].id

    def step(walk: Walk) -> None:
        walk.values[result] = Integer(Affine(walk.region.grid[axis]), (), 32)

    return step


@planned("tt.make_range")
def make_range(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan consecutive integers along a lane axis."""
    start, end = int(attribute(op, "start")), int(attribute(op, "end"))
    lanes = (1,) if end - start > 1 else ()
    value = Integer(Affine(start, (), lanes), (end - start,), 32)
    result = op.results[0].id

    def step(walk: Walk) -> None:
        walk.values[result] = value

    return step


# -- arithmetic ---------------------------------------------------------------------------------


def fits(walk: Walk, form: Affine, shape: tuple[int, ...], bits: int) -> bool:
    """Tell whether no value of a form leaves a signed integer of so many bits."""
    half = 1 << (bits - 1)
    if form.is_constant:
        return -half <= form.constant < half
    if is_open(form):
        return True  # asked again once the loop's step is known
    low, high = walk.domain.extremes(form, whole(shape) if form.lanes else ())
    return -half <= low and high < half


def _arithmetic(rule: _Rule) -> Callable[[Op, PlanCompiler], PlanStep]:
    def planner(op: Op, _compiler: PlanCompiler) -> PlanStep:
        left, right = op.operand("left").id, op.operand("right").id
        result = op.results[0].id
        type_ = value_type(op.results[0].type)
        operation, _ = operations_of(op, ELEMENTWISE[op.name], type_)
        assert operation is not None
        shape, bits = type_.shape, type_.element.bits

        def step(walk: Walk) -> None:
            first, second = walk.values[left], walk.values[right]
            if type(first) is Integer and type(second) is Integer:
                form = rule(walk, first, second)
                if form is not None and fits(walk, form, shape, bits):
                    walk.values[result] = Integer(form, shape, bits)
                    return
                if form is None and first.form.is_constant and second.form.is_constant:
                    walk.values[result] = _folded(operation, first, second, shape)
                    return
            walk.values[result] = walk.elementwise(operation, (first, second), shape)

        return step

    return planner


def _folded(operation: Operation, first: Integer, second: Integer, shape: tuple[int, ...]) -> Any:
    """Compute an op on two constants by its array function."""
    dtype = operation.dtype
    numbers = [np.full(1, value.form.constant, dtype) for value in (first, second)]
    with np.errstate(all="ignore"):
        number = int(operation.function(*numbers)[0])
    return Integer(Affine(number), shape, first.bits)


def _sum(_walk: Walk, left: Integer, right: Integer) -> Affine | None:
    return plus(left.form, right.form)


def _difference(_walk: Walk, left: Integer, right: Integer) -> Affine | None:
    return plus(left.form, right.form, -1)


def _product(walk: Walk, left: Integer, right: Integer) -> Affine | None:
    number = walk.constant_of(right)
    if number is not None:
        return times(left.form, number)
    number = walk.constant_of(left)
    return None if number is None else times(right.form, number)


def _quotient(walk: Walk, left: Integer, right: Integer) -> Affine | None:
    parts = _parts(walk, left, right)
    return None if parts is None else parts[0]


def _remainder(walk: Walk, left: Integer, right: Integer) -> Affine | None:
    parts = _parts(walk, left, right)
    return None if parts is None else parts[1]


def _parts(walk: Walk, left: Integer, right: Integer) -> tuple[Affine, Affine] | None:
    """Return quotient and remainder of a non-negative form by a positive constant.

    Raises FactorAxis or SplitAxis where program axes can be seen so that they are affine.
    """
    divisor = walk.constant_of(right)
    if divisor is None or divisor <= 0:
        return None
    form = walk.domain.folded(left.form)
    if divisor == 1:
        return form, ZERO
    if form.is_constant:
        quotient = abs(form.constant) // divisor * (1 if form.constant >= 0 else -1)
        return Affine(quotient), Affine(form.constant - quotient * divisor)
    if walk.extremes(form, left.shape)[0] < 0:
        return None
    even, odd = multiples(form, divisor)
    low, high = walk.extremes(odd, left.shape)
    times_in = low // divisor
    if times_in == high // divisor:
        quotient_form = plus(divided(even, divisor), Affine(times_in))
        return quotient_form, shifted(odd, -times_in * divisor)
    _ask_for_axes(walk, odd, divisor, left.shape)
    return None


_MOST_PERIODS = 4
"""Blocks of lanes that run over multiples of a divisor: beyond so many, nothing is split."""


def _ask_for_axes(walk: Walk, odd: Affine, divisor: int, shape: tuple[int, ...]) -> None:
    """Raise what makes a division affine, if a program axis or a trip is what makes it not so."""
    for symbol, number in odd.outer:
        if symbol in walk.nest or number <= 0 or divisor % number:
            continue
        period = divisor // number
        first, last = walk.domain.ranges[symbol]
        extent = last - first + 1
        alone = len(odd.outer) == 1 and not odd.lanes
        if alone and (odd.constant + number * first) % divisor == 0 and extent > period:
            if extent % period:
                raise SplitAxis(symbol, first + extent // period * period)
            raise FactorAxis(symbol, period)
        at = first + period - (odd.constant // number + first) % period
        if first < at <= last:
            raise SplitAxis(symbol, at)
    low, high = walk.extremes(odd, shape)
    if high // divisor - low // divisor > _MOST_PERIODS:
        return
    for symbol, number in odd.outer:
        end = _end_of_period(walk, divisor, symbol, number, low, high)
        if end is not None:
            raise SplitAxis(symbol, end)


def _end_of_period(
    walk: Walk, divisor: int, symbol: int, number: int, low: int, high: int
) -> int | None:
    """Return where a symbol is to be cut before or behind the first block over a multiple."""
    first, last = walk.domain.ranges[symbol]
    if number <= 0:
        return None
    rest_low, rest_high = low - number * first, high - number * last
    multiple = (low // divisor + 1) * divisor
    for at in (-((rest_high - multiple) // number), -((rest_low - multiple) // number)):
        if first < at <= last:
            return at
    return None


def _smaller(walk: Walk, left: Integer, right: Integer) -> Affine | None:
    return _extreme(walk, left, right, smallest=True)


def _larger(walk: Walk, left: Integer, right: Integer) -> Affine | None:
    return _extreme(walk, left, right, smallest=False)


def _extreme(walk: Walk, left: Integer, right: Integer, *, smallest: bool) -> Affine | None:
    """Decide by range, or ask for a split of the programs at the point where they cross."""
    gap = walk.domain.folded(plus(right.form, left.form, -1))
    low, high = walk.extremes(gap, left.shape)
    if low >= 0:
        return left.form if smallest else right.form
    if high <= 0:
        return right.form if smallest else left.form
    if gap.lanes:
        return None
    # right >= left holds or fails along a program axis or a trip.
    resolved(walk, Condition((gap,), ()))
    return None


for _name, _rule in (
    ("arith.addi", _sum),
    ("arith.subi", _difference),
    ("arith.muli", _product),
    ("arith.divsi", _quotient),
    ("arith.remsi", _remainder),
    ("arith.minsi", _smaller),
    ("arith.maxsi", _larger),
):
    planned(_name)(_arithmetic(_rule))


def _non_negative(rule: _Rule) -> _Rule:
    """Use a signed rule where neither operand can be negative."""

    def checked(walk: Walk, left: Integer, right: Integer) -> Affine | None:
        for value in (left, right):
            if walk.extremes(value.form, value.shape)[0] < 0:
                return None
        return rule(walk, left, right)

    return checked


for _name, _rule in (
    ("arith.divui", _quotient),
    ("arith.remui", _remainder),
    ("arith.minui", _smaller),
    ("arith.maxui", _larger),
):
    planned(_name)(_arithmetic(_non_negative(_rule)))


def _shifted_left(walk: Walk, left: Integer, right: Integer) -> Affine | None:
    number = walk.constant_of(right)
    if number is None or not 0 <= number < left.bits - 1:
        return None
    return times(left.form, 1 << number)


def _shifted_right(walk: Walk, left: Integer, right: Integer) -> Affine | None:
    number = walk.constant_of(right)
    if number is None or not 0 <= number < left.bits - 1:
        return None
    if walk.extremes(left.form, left.shape)[0] < 0:
        return None
    return _quotient(walk, left, Integer(Affine(1 << number), left.shape, left.bits))


planned("arith.shli")(_arithmetic(_shifted_left))
planned("arith.shrsi", "arith.shrui")(_arithmetic(_shifted_right))


# -- pointers -----------------------------------------------------------------------------------


@planned("tt.addptr")
def addptr(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan pointers that advance by elements."""
    size = value_type(op.operand("pointer").type).element.bytes
    pointer, index = op.operand("pointer").id, op.operand("offset").id
    result = op.results[0].id

    def step(walk: Walk) -> None:
        base, steps = walk.values[pointer], walk.values[index]
        if not isinstance(base, Pointer):
            raise Unplannable("pointers into more than one tensor")
        if not isinstance(steps, Integer):
            raise Unplannable("an address is not affine, or depends on data")
        walk.values[result] = Pointer(base.argument, plus(base.form, steps.form, size), base.shape)

    return step


# -- casts --------------------------------------------------------------------------------------


@planned("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui")
def integer_cast(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan a change of width; the number stays where it fits."""
    source, target = value_type(op.operand("source").type), value_type(op.results[0].type)
    slot, result = op.operand("source").id, op.results[0].id
    unsigned = op.name in ("arith.extui", "arith.index_castui")
    element = target.element

    def convert(array: Any) -> Any:
        if source.element.kind == "b":
            wide = array.astype(element.value)
            return wide if unsigned else -wide
        if unsigned:
            return zero_extended(array, element)
        return truncated_integer(array, element)

    operation = Operation(op.name, convert, None, frozenset(), element.value)

    def step(walk: Walk) -> None:
        value = walk.values[slot]
        if isinstance(value, Integer) and element.kind == "i":
            same = fits(walk, value.form, value.shape, element.bits)
            if same and (not unsigned or walk.extremes(value.form, value.shape)[0] >= 0):
                walk.values[result] = Integer(value.form, value.shape, element.bits)
                return
        if isinstance(value, Condition):
            value = walk.materialised(value)
        if isinstance(value, Constant) and source.element.kind == "b" and element.kind == "i":
            number = int(value.value) if unsigned else -int(value.value)
            walk.values[result] = Integer(Affine(number), value.shape, element.bits)
            return
        walk.values[result] = walk.elementwise(operation, [value], target.shape)

    return step
