"""Ideal results of ops on integers, Booleans and pointers, by operator, and of their reductions.

Ops of two integers are in `integers.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.compiler import attribute
from kvtrace.evaluate.dialects.tt_reduce import along, simple_ufunc
from kvtrace.evaluate.shadows.ideal.integers import (
    FIRST_UNSIGNED,
    compared,
    limits,
    narrowed,
    product,
    read_unsigned,
    total,
    wrapped_to,
)
from kvtrace.evaluate.shadows.ideal.wrapped import WrappedNumber, ideal_numbers
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.evaluate.values import Array, Sum, Unknown, actual
from kvtrace.ir import Op
from kvtrace.ir.ops import DIVIDING, Operator, operator_of

#: A pointer that would go into another argument has no offset to compare.
_ELSEWHERE: Final = -(1 << 70)


def _range(value: Any) -> tuple[int, int]:
    return (value.low, value.high) if isinstance(value, Sum) else limits(np.asarray(value))


def certainly_fits(op: Op, operands: Sequence[Any], type_: ValueType) -> bool:
    """Return whether the operands' ranges alone prove that an op's result fits its width."""
    ranges = [_range(value) for value in operands if not isinstance(value, Unknown)]
    if len(ranges) < len(operands):
        return True  # so is the result
    low = -(1 << (type_.element.bits - 1))
    operator = operator_of(op)
    if operator == "abs":
        return ranges[0][0] > low
    if op.name in DIVIDING:
        return ranges[0][0] > low or not ranges[1][0] <= -1 <= ranges[1][1]
    left_range, right_range = ranges
    if operator == "<<":
        if right_range[0] < 0 or right_range[1] >= type_.element.bits:
            return False
        right_range = (1 << right_range[0], 1 << right_range[1])
    if operator == "+":
        extremes = [left_range[0] + right_range[0], left_range[1] + right_range[1]]
    elif operator == "-":
        extremes = [left_range[0] - right_range[1], left_range[1] - right_range[0]]
    else:
        extremes = [a * b for a in left_range for b in right_range]
    return low <= min(extremes) and max(extremes) < -low


def magnitude(op: Op, operands: Sequence[Any]) -> Array:
    """Return the absolute values of an operand's ideal numbers."""
    numbers = ideal_numbers(operands[0], value_type(op.operand("source").type))
    return narrowed(np.abs(numbers.astype(object)))


def moved(op: Op, operands: Sequence[Any]) -> Array:
    """Return the ideal byte offsets of a pointer that is moved by an index."""
    pointer, index = (value_type(op.operand(name).type) for name in ("pointer", "offset"))
    steps = ideal_numbers(operands[1], index)
    size = np.full((1,) * steps.ndim, pointer.element.bytes, np.int64)
    return total(ideal_numbers(operands[0], pointer), product(steps, size))


def compared_numbers(op: Op, operands: Sequence[Any]) -> Array:
    """Return an op's comparison of its operands' ideal numbers."""
    type_ = value_type(op.operand("left").type)
    predicate = attribute(op, "predicate", 0)
    left, right = (ideal_numbers(value, type_) for value in operands)
    if left.dtype == np.bool_:
        sign = 1 if predicate >= FIRST_UNSIGNED else -1  # signed, true is -1
        left, right = left.astype(np.int64) * sign, right.astype(np.int64) * sign
    elif predicate >= FIRST_UNSIGNED:
        bits = type_.element.bits
        left, right = read_unsigned(left, bits), read_unsigned(right, bits)
    return compared(predicate, left, right)


def selected(op: Op, operands: Sequence[Any]) -> Array:
    """Return a select's ideal numbers; an impossible offset where a pointer's choice differs."""
    condition = value_type(op.operand("condition").type)
    type_ = value_type(op.results[0].type)
    mask = ideal_numbers(operands[0], condition)
    if type_.shape and not condition.shape:
        mask = mask.reshape((-1,) + (1,) * len(type_.shape))
    if_true, if_false = (ideal_numbers(value, type_) for value in operands[1:])
    result = np.where(mask, if_true, if_false)
    if type_.pointer and isinstance(operands[0], WrappedNumber):
        actual_condition = ideal_numbers(actual(operands[0]), condition).reshape(mask.shape)
        result = np.where(mask != actual_condition, _ELSEWHERE, result.astype(object))
    return np.asarray(result)


def truncated(op: Op, operands: Sequence[Any]) -> Array:
    """Return ideal numbers wrapped to fewer bits: a truncation is intended."""
    numbers = ideal_numbers(operands[0], value_type(op.operand("source").type)).astype(object)
    element = value_type(op.results[0].type).element
    if element.kind == "b":
        return np.asarray(numbers & 1, np.bool_)
    return wrapped_to(numbers, element.bits)


Ideal = Callable[[Op, Sequence[Any]], Array]
"""Computes the ideal result of an op from the operands."""
MEANINGS: Final[Mapping[Operator, Ideal]] = {
    "+": moved,  # of a pointer: numbers are BINARY
    "compare": compared_numbers,
    "where": selected,
    "abs": magnitude,
    "cast": truncated,  # of an integer, where it is not an extension
}


def combination_of(op: Op) -> Ideal | None:
    """Return a function from operands to ideal results, which may raise TooLarge.

    None unless a single source of integers or Booleans is combined by one op.
    """
    source, *others = op.group("source")
    type_ = value_type(source.type)
    combining = None if others else simple_ufunc(op.regions[0].blocks[0], type_)
    if combining is None or type_.pointer or type_.element.kind not in "ib":
        return None
    extent = type_.shape[attribute(op, "axis", 0)]

    def combined(_op: Op, operands: Sequence[Any]) -> Array:
        numbers = ideal_numbers(operands[0], type_)
        numbers = np.broadcast_to(numbers, (numbers.shape[0], *type_.shape))
        largest = max(map(abs, limits(numbers)))
        large = combining is np.add and largest * extent >= 1 << 62
        if large or combining is np.multiply:
            numbers = numbers.astype(object)
        return narrowed(along(op, combining, numbers))

    return combined
