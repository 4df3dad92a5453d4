"""What ops would give if nothing wrapped around, from values with ideal numbers beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.evaluate.values import (
    Array,
    Pointer,
    PointerChoice,
    Sum,
    Unknown,
    Wrapped,
    actual,
    ideal_numbers,
)
from kvtrace.ir import Op, Value
from kvtrace.ir.ops import DIVIDING, KINDS, Kind, Operator, operator_of
from kvtrace.ir.types import IntegerType, TensorType
from kvtrace.symbolic.walk_types import integer_bits, is_pointer, number_of
from kvtrace.verdicts.exact_integers import (
    FIRST_UNSIGNED,
    compared,
    held_in,
    limits,
    narrowed,
    product,
    read_unsigned,
    total,
)

#: A pointer that would go into another argument has no offset to compare.
_ELSEWHERE: Final = -(1 << 70)


def is_number(value: Value) -> bool:
    """Tell whether a value is an integer, and no Boolean."""
    return (integer_bits(value.type) or 1) > 1


def is_followed(value: Value) -> bool:
    """Tell whether a value is an integer, a Boolean or a pointer."""
    return integer_bits(value.type) is not None or is_pointer(value.type)


def is_unknown(value: Any) -> bool:
    """Tell whether a value, or where a pointer goes, depends on what was not recorded."""
    value = actual(value)
    if isinstance(value, Pointer):
        return isinstance(value.offset, Unknown)
    if isinstance(value, PointerChoice):
        return is_unknown(value.first) or is_unknown(value.second)
    return isinstance(value, Unknown)


def same(left: Array, right: Array) -> bool:
    """Tell whether numbers are equal in all places."""
    return not np.any(left != right)


def lanes_of(array: Array, type_: ValueType) -> Array:
    """Return an array with every lane axis at its extent."""
    return np.broadcast_to(array, (array.shape[0], *type_.shape))


def flags_of(type_: ValueType) -> ValueType:
    """Return the type of a Boolean for each element."""
    return value_type(TensorType(type_.shape, IntegerType(1)) if type_.shape else IntegerType(1))


def _range(value: Any) -> tuple[int, int]:
    return (value.low, value.high) if isinstance(value, Sum) else limits(np.asarray(value))


def certainly_fits(op: Op, given: Sequence[Any], type_: ValueType) -> bool:
    """Tell from ranges alone that a result is within its width."""
    ranges = [_range(value) for value in given if not isinstance(value, Unknown)]
    if len(ranges) < len(given):
        return True  # so is the result
    low = -(1 << (type_.element.bits - 1))
    operator = operator_of(op)
    if operator == "abs":
        return ranges[0][0] > low
    if op.name in DIVIDING:
        return ranges[0][0] > low or not ranges[1][0] <= -1 <= ranges[1][1]
    first, second = ranges
    if operator == "<<":
        if second[0] < 0 or second[1] >= type_.element.bits:
            return False
        second = (1 << second[0], 1 << second[1])
    if operator == "+":
        ends = [first[0] + second[0], first[1] + second[1]]
    elif operator == "-":
        ends = [first[0] - second[1], first[1] - second[0]]
    else:
        ends = [a * b for a in first for b in second]
    return low <= min(ends) and max(ends) < -low


def magnitude(op: Op, given: Sequence[Any]) -> Array:
    """Return the magnitude of a number."""
    numbers = ideal_numbers(given[0], value_type(op.operand("source").type))
    return narrowed(np.abs(numbers.astype(object)))


def moved(op: Op, given: Sequence[Any]) -> Array:
    """Move pointers, in bytes."""
    pointer, index = (value_type(op.operand(name).type) for name in ("pointer", "offset"))
    steps = ideal_numbers(given[1], index)
    size = np.full((1,) * steps.ndim, pointer.element.bytes, np.int64)
    return total(ideal_numbers(given[0], pointer), product(steps, size))


def compared_numbers(op: Op, given: Sequence[Any]) -> Array:
    """Compare integers."""
    type_ = value_type(op.operand("left").type)
    predicate = number_of(op, "predicate")
    left, right = (ideal_numbers(value, type_) for value in given)
    if left.dtype == np.bool_:
        sign = 1 if predicate >= FIRST_UNSIGNED else -1  # signed, true is -1
        left, right = left.astype(np.int64) * sign, right.astype(np.int64) * sign
    elif predicate >= FIRST_UNSIGNED:
        bits = type_.element.bits
        left, right = read_unsigned(left, bits), read_unsigned(right, bits)
    return compared(predicate, left, right)


def selected(op: Op, given: Sequence[Any]) -> Array:
    """Choose between integers, Booleans or pointers."""
    condition = value_type(op.operand("condition").type)
    type_ = value_type(op.results[0].type)
    chosen = ideal_numbers(given[0], condition)
    if type_.shape and not condition.shape:
        chosen = chosen.reshape((-1,) + (1,) * len(type_.shape))
    first, second = (ideal_numbers(value, type_) for value in given[1:])
    result = np.where(chosen, first, second)
    if type_.pointer and isinstance(given[0], Wrapped):
        really = ideal_numbers(actual(given[0]), condition).reshape(chosen.shape)
        result = np.where(chosen != really, _ELSEWHERE, result.astype(object))
    return np.asarray(result)


def truncated(op: Op, given: Sequence[Any]) -> Array:
    """Cut a number to fewer bits, which is meant."""
    numbers = ideal_numbers(given[0], value_type(op.operand("source").type)).astype(object)
    element = value_type(op.results[0].type).element
    if element.kind == "b":
        return np.asarray(numbers & 1, np.bool_)
    return held_in(numbers, element.bits)


Ideal = Callable[[Op, Sequence[Any]], Array]
"""Returns what an op would give, from its operands."""
MEANINGS: Final[Mapping[Operator, Ideal]] = {
    "+": moved,  # of a pointer: numbers are BINARY
    "compare": compared_numbers,
    "where": selected,
    "abs": magnitude,
    "cast": truncated,  # of an integer, where it is no extension
}


def combined_along(op: Op, function: Any, numbers: Array, axis: int) -> Array:
    """Return what a reduction or scan by one function of NumPy would give."""
    if KINDS[op.name].kind is Kind.REDUCTION:
        return np.asarray(function.reduce(numbers, axis=axis))
    if "reverse" in op.attributes and number_of(op, "reverse"):
        return np.flip(function.accumulate(np.flip(numbers, axis), axis=axis), axis)
    return np.asarray(function.accumulate(numbers, axis=axis))
