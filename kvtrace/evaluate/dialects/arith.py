"""`arith`: constants, integer and float arithmetic, comparisons, select.

Meanings follow https://mlir.llvm.org/docs/Dialects/ArithOps/ ; integers wrap, division truncates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kvtrace.evaluate import sums
from kvtrace.evaluate.accuracy import JUMPS, Accuracy
from kvtrace.evaluate.compiler import Compiler, computed, slots_of
from kvtrace.evaluate.directed import fused_multiply_add
from kvtrace.evaluate.registry import Step, elementwise, factored, semantics
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.evaluate.values import (
    Array,
    Pointer,
    PointerChoice,
    Unknown,
    constant_sum,
    sum_of_terms,
    to_array,
    to_sum,
    uniform_flag,
    unknown_of,
    with_rank,
)
from kvtrace.evaluate.zeros import larger_number, maximum, minimum, smaller_number
from kvtrace.ir import Op
from kvtrace.ir.attributes import DenseAttribute, FloatAttribute, IntegerAttribute
from kvtrace.ir.flow import constant_of
from kvtrace.ir.integers import PREDICATES


def unsigned(array: Array) -> Array:
    """Return the bits of signed integers as unsigned integers."""
    if array.dtype == np.bool_:
        return array
    return array.view(np.dtype(f"u{array.dtype.name}"))


def _signed(array: Array, like: Array) -> Array:
    return array.astype(like.dtype, copy=False)


# -- constants --------------------------------------------------------------------------------


@semantics("arith.constant", "llvm.mlir.constant")
def constant(op: Op, compiler: Compiler) -> Step:
    """Return the step that sets a constant."""
    result = op.results[0].id
    value = compiler.constant(constant_value(op, value_type(op.results[0].type)))

    def step(values: list[Any], _scope: Scope) -> None:
        values[result] = value

    return step


def constant_value(op: Op, type_: ValueType) -> Any:
    """Return an op's constant attribute as a value: a bool, a Sum or an array."""
    attribute = op.attributes["value"]
    rank = len(type_.shape) + 1
    if isinstance(attribute, IntegerAttribute):
        return bool(attribute.value) if type_.element.kind == "b" else constant_sum(attribute.value)
    if isinstance(attribute, FloatAttribute):
        return np.full((1,) * rank, attribute.value, type_.element.value)
    assert isinstance(attribute, DenseAttribute)
    if attribute.is_splat:
        repeated_number = attribute.values[0]
        if type_.element.kind == "b":
            return bool(repeated_number)
        if type_.element.kind == "i":
            return constant_sum(int(repeated_number))
        return np.full((1,) * rank, repeated_number, type_.element.value)
    return np.array(attribute.values, type_.element.value).reshape(1, *type_.shape)


# -- integers ---------------------------------------------------------------------------------

factored("arith.addi")(sums.add)
factored("arith.subi")(sums.subtract)
factored("arith.muli")(sums.multiply)
factored("arith.divsi")(sums.divide_signed)
factored("arith.remsi")(sums.remainder_signed)
factored("arith.minsi")(sums.smaller)
factored("arith.maxsi")(sums.larger)

elementwise("arith.muli")(np.multiply)
elementwise("arith.divsi")(sums.truncating_quotient)
elementwise("arith.remsi")(sums.truncating_remainder)
elementwise("arith.minsi")(np.minimum)
elementwise("arith.maxsi")(np.maximum)
elementwise("arith.ori")(np.bitwise_or)
elementwise("arith.xori")(np.bitwise_xor)


def _modulo_2(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a sum or difference of integers that is modulo 2 for Booleans."""
    return lambda left, right: (np.logical_xor if left.dtype == np.bool_ else function)(left, right)


elementwise("arith.addi")(_modulo_2(np.add))
elementwise("arith.subi")(_modulo_2(np.subtract))


@semantics("arith.andi")
def andi(op: Op, compiler: Compiler) -> Step:
    """Return the step of a bitwise and; a conjunction of Booleans stays a list of factors."""
    type_ = value_type(op.results[0].type)
    left, right, result = *slots_of(op.operands), op.results[0].id

    def conjunction_step(values: list[Any], _scope: Scope) -> None:
        left_value, right_value = values[left], values[right]
        if left_value is False or right_value is False:
            values[result] = False
            return
        values[result] = sums.both(left_value, right_value)

    def bits(*operands: Any) -> Array:
        return np.asarray(np.bitwise_and(*(to_array(value, type_) for value in operands)))

    step = conjunction_step if type_.element.kind == "b" else computed(op, bits)
    return compiler.counting_step(op, step, type_.size, 0)


def _shift_in_range(array: Array, amount: Array) -> Array:
    bits = array.dtype.itemsize * 8
    inside: Array = (amount >= 0) & (amount < bits)
    return inside


@elementwise("arith.shli")
def shli(left: Array, right: Array) -> Array:
    """Return left shifted left by right; 0 if right is the width or more (PTX shl clamps)."""
    return _shifted(np.left_shift, left, right)


@elementwise("arith.shrui")
def shrui(left: Array, right: Array) -> Array:
    """Return left shifted right, filled with zeros; 0 if right is the width or more."""
    return _shifted(np.right_shift, left, right)


def _shifted(shift: Callable[..., Any], left: Array, right: Array) -> Array:
    inside = _shift_in_range(left, right)
    bits = unsigned(left)
    shifted = shift(bits, np.where(inside, right, 0).astype(bits.dtype))
    return _signed(np.where(inside, shifted, 0), left)


@elementwise("arith.shrsi")
def shrsi(left: Array, right: Array) -> Array:
    """Return left shifted right, filled with the sign bit; only sign bits from the width on."""
    last = left.dtype.type(left.dtype.itemsize * 8 - 1)
    amount = np.where(_shift_in_range(left, right), right, last)
    return _signed(np.right_shift(left, amount), left)


@elementwise("arith.divui")
def divui(left: Array, right: Array) -> Array:
    """Return the unsigned quotient; 0 where the divisor is 0."""
    divisor = unsigned(right)
    safe = np.where(divisor == 0, divisor.dtype.type(1), divisor)
    return _signed(np.where(divisor == 0, 0, unsigned(left) // safe), left)


@elementwise("arith.remui")
def remui(left: Array, right: Array) -> Array:
    """Return the unsigned remainder; the dividend where the divisor is 0."""
    divisor = unsigned(right)
    safe = np.where(divisor == 0, divisor.dtype.type(1), divisor)
    return _signed(np.where(divisor == 0, unsigned(left), unsigned(left) % safe), left)


def _of_unsigned(function: Callable[..., Any]) -> Callable[..., Array]:
    """Return a function of unsigned integers as one of signed integers with the same bits."""
    return lambda left, right: _signed(function(unsigned(left), unsigned(right)), left)


elementwise("arith.minui")(_of_unsigned(np.minimum))
elementwise("arith.maxui")(_of_unsigned(np.maximum))


# -- floats -----------------------------------------------------------------------------------

elementwise("arith.addf", flops=1)(np.add)
elementwise("arith.subf", flops=1)(np.subtract)
elementwise("arith.mulf", flops=1)(np.multiply)
elementwise("arith.divf", flops=1, accuracy=Accuracy(2, pole=1))(np.divide)


def _signed_by_constant(function: Callable[..., Any], _target: str, op: Op) -> Callable[..., Any]:
    """Return remainders with the dividend's sign, zero included, by a constant 2^k, k >= 0.

    LLVM expands those apart, but not where it computes the remainder in a narrow type, since the
    dividend was widened and the result is narrowed.
    """
    divisor = constant_of(op.operand("right"))
    if not divisor or abs(divisor) < 1 or abs(math.frexp(divisor)[0]) != 0.5:
        return function
    dividend, rest = op.operand("left").owner, op.results[0]
    uses = [user.name for user in op.block.ops if rest in user.operands] if op.block else []
    if isinstance(dividend, Op) and dividend.name == "arith.extf" and set(uses) == {"arith.truncf"}:
        return function
    return lambda left, right: np.copysign(function(left, right), left)


@elementwise("arith.remf", flops=1, accuracy=JUMPS, by_target=_signed_by_constant)
def remf(left: Array, right: Array) -> Array:
    """Return left - trunc(left / right) * right, with two roundings: that is not exact `fmod`."""
    rest = fused_multiply_add("rn", -np.trunc(left / right), right, left)
    return np.where(np.isinf(right), left, rest)


elementwise("arith.negf")(np.negative)
elementwise("arith.maxnumf", flops=1)(larger_number)
elementwise("arith.minnumf", flops=1)(smaller_number)
elementwise("arith.maximumf", flops=1)(maximum)
elementwise("arith.minimumf", flops=1)(minimum)


# -- comparisons and select -------------------------------------------------------------------

_UNSIGNED_COMPARISONS = {
    "ult": np.less,
    "ule": np.less_equal,
    "ugt": np.greater,
    "uge": np.greater_equal,
}


def compare_integers(predicate: str, left: Array, right: Array) -> Array:
    """Return a comparison of integers, or Booleans (true is -1 for signed predicates)."""
    if predicate in _UNSIGNED_COMPARISONS:
        result: Array = _UNSIGNED_COMPARISONS[predicate](unsigned(left), unsigned(right))
        return result
    if left.dtype == np.bool_ and predicate not in ("eq", "ne"):
        left, right = -left.astype(np.int8), -right.astype(np.int8)
    compared = sums.COMPARISONS[predicate](left, right)
    return np.asarray(compared)


@semantics("arith.cmpi")
def cmpi(op: Op, compiler: Compiler) -> Step:
    """Return the step of an integer comparison; the result is a bool if ranges decide it."""
    predicate = PREDICATES[op.attributes["predicate"].value]  # type: ignore[union-attr, index]
    type_ = value_type(op.operand("left").type)
    left, right = op.operand("left").id, op.operand("right").id
    result = op.results[0].id
    is_integer = type_.element.kind == "i"
    bits = type_.element.bits

    def step(values: list[Any], _scope: Scope) -> None:
        left_value, right_value = values[left], values[right]
        if isinstance(left_value, Unknown) or isinstance(right_value, Unknown):
            values[result] = unknown_of((left_value, right_value))
            return
        used_predicate = predicate
        if is_integer and used_predicate not in sums.COMPARISONS:
            # If neither can be negative, unsigned order equals signed order.
            left_value, right_value = to_sum(left_value), to_sum(right_value)
            if left_value.low >= 0 and right_value.low >= 0 and sums.fits(left_value, bits):
                used_predicate = "s" + used_predicate[1:]
        if is_integer and used_predicate in sums.COMPARISONS:
            values[result] = sums.compare(used_predicate, left_value, right_value, type_)
            return
        values[result] = compare_integers(
            used_predicate, to_array(left_value, type_), to_array(right_value, type_)
        )

    return compiler.counting_step(op, step, type_.size, 0)


def compare_floats(predicate: int, left: Array, right: Array) -> Array:
    """Return a comparison of floats by an MLIR predicate number.

    1 to 6: both ordered and eq, gt, ge, lt, le, ne; 7: ordered; 8 to 13: unordered or eq to ne; 14:
    unordered; 0 and 15 are false and true.
    """
    if predicate == 0 or predicate == 15:
        return np.full(np.broadcast_shapes(left.shape, right.shape), predicate == 15)
    unordered: Array = np.isnan(left) | np.isnan(right)
    if predicate == 7:
        return np.logical_not(unordered)
    if predicate == 14:
        return unordered
    position = (predicate - 1) % 7
    result: Array = _FLOAT_COMPARISONS[position](left, right)
    if predicate < 7:
        return np.asarray(result & ~unordered) if position == 5 else result
    return np.asarray(result | unordered)


_FLOAT_COMPARISONS = (
    np.equal,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
    np.not_equal,
)

elementwise("arith.cmpf", attributes=("predicate",))(compare_floats)


@semantics("arith.select")
def select(op: Op, compiler: Compiler) -> Step:
    """Return the step of a selection by lane; if the condition is unknown, so is the result."""
    type_ = value_type(op.results[0].type)
    condition_type = value_type(op.operand("condition").type)
    condition_slot = op.operand("condition").id
    left, right = op.operand("first").id, op.operand("second").id
    result = op.results[0].id

    def step(values: list[Any], _scope: Scope) -> None:
        condition, if_true, if_false = values[condition_slot], values[left], values[right]
        if isinstance(condition, Unknown):
            values[result] = _unknown_selection(if_true, if_false, condition)
            return
        flag = uniform_flag(condition)
        if flag is not None:
            values[result] = if_true if flag else if_false
            return
        mask = to_array(condition, condition_type)
        if not condition_type.shape and type_.shape:
            mask = with_rank(mask, len(type_.shape) + 1)
        if isinstance(if_true, Pointer | PointerChoice):
            values[result] = _selected_pointers(mask, if_true, if_false)
            return
        unknown = unknown_of((if_true, if_false))
        if unknown is not None:
            values[result] = unknown
            return
        values[result] = np.where(mask, to_array(if_true, type_), to_array(if_false, type_))

    return compiler.counting_step(op, step, type_.size, 0)


def _unknown_selection(if_true: Any, if_false: Any, condition: Unknown) -> Any:
    unknown = unknown_of((condition, if_true, if_false))
    if isinstance(if_true, Pointer) and isinstance(if_false, Pointer):
        offsets = unknown_of((condition, if_true.offset, if_false.offset))
        assert offsets is not None
        same = if_true.argument == if_false.argument
        return Pointer(if_true.argument if same else None, offsets)
    return unknown


def _selected_pointers(mask: Array, if_true: Any, if_false: Any) -> Any:
    both_simple = isinstance(if_true, Pointer) and isinstance(if_false, Pointer)
    if not both_simple or if_true.argument != if_false.argument:
        return PointerChoice(mask, if_true, if_false)
    unknown = unknown_of((if_true.offset, if_false.offset))
    if unknown is not None:
        return Pointer(if_true.argument, unknown)
    offset = np.where(mask, sum_of_terms(if_true.offset), sum_of_terms(if_false.offset))
    return Pointer(if_true.argument, to_sum(offset))
