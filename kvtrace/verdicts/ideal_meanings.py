"""What ops would give if nothing wrapped around, from values with ideal numbers beside them."""

from __future__ import annotations

from collections.abc import Sequence
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
from kvtrace.ir.types import IntegerType, TensorType
from kvtrace.symbolic.walk_types import integer_bits, is_pointer, number_of
from kvtrace.verdicts.exact_integers import (
    FIRST_UNSIGNED,
    compared,
    held_in,
    limits,
    narrowed,
    product_or_sum,
    read_unsigned,
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


def certainly_fits(name: str, given: Sequence[Any], type_: ValueType) -> bool:
    """Tell from ranges alone that a result is within its width."""
    ranges = [_range(value) for value in given if not isinstance(value, Unknown)]
    if len(ranges) < len(given):
        return True  # so is the result
    low = -(1 << (type_.element.bits - 1))
    if name == "math.absi":
        return ranges[0][0] > low
    if name in ("arith.divsi", "arith.floordivsi", "arith.ceildivsi"):
        return ranges[0][0] > low or not ranges[1][0] <= -1 <= ranges[1][1]
    first, second = ranges
    if name == "arith.shli":
        if second[0] < 0 or second[1] >= type_.element.bits:
            return False
        second = (1 << second[0], 1 << second[1])
        name = "arith.muli"
    if name == "arith.addi":
        ends = [first[0] + second[0], first[1] + second[1]]
    elif name == "arith.subi":
        ends = [first[0] - second[1], first[1] - second[0]]
    else:
        ends = [a * b for a in first for b in second]
    return low <= min(ends) and max(ends) < -low


def magnitude(op: Op, given: Sequence[Any]) -> Array:
    """Return what math.absi would give."""
    numbers = ideal_numbers(given[0], value_type(op.operands[0].type))
    return narrowed(np.abs(numbers.astype(object)))


def moved(op: Op, given: Sequence[Any]) -> Array:
    """Move pointers, in bytes."""
    pointer, index = (value_type(value.type) for value in op.operands)
    steps = ideal_numbers(given[1], index)
    size = np.full((1,) * steps.ndim, pointer.element.bytes, np.int64)
    moved = product_or_sum("arith.muli", steps, size)
    return product_or_sum("arith.addi", ideal_numbers(given[0], pointer), moved)


def compared_numbers(op: Op, given: Sequence[Any]) -> Array:
    """Return what arith.cmpi would give."""
    type_ = value_type(op.operands[0].type)
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
    """Return what arith.select would give."""
    condition, type_ = value_type(op.operands[0].type), value_type(op.results[0].type)
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
    """Return what arith.trunci gives: casts to fewer bits are meant."""
    numbers = ideal_numbers(given[0], value_type(op.operands[0].type)).astype(object)
    element = value_type(op.results[0].type).element
    if element.kind == "b":
        return np.asarray(numbers & 1, np.bool_)
    return held_in(numbers, element.bits)


_COMBINING: Final[dict[str, Any]] = {
    "arith.addi": np.add,
    "arith.muli": np.multiply,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
}


def combined_along(op: Op, combining: str, numbers: Array, axis: int) -> Array:
    """Return what a reduction or scan by one op would give."""
    function = _COMBINING[combining]
    if op.name == "tt.reduce":
        return np.asarray(function.reduce(numbers, axis=axis))
    if "reverse" in op.attributes and number_of(op, "reverse"):
        return np.flip(function.accumulate(np.flip(numbers, axis), axis=axis), axis)
    return np.asarray(function.accumulate(numbers, axis=axis))
