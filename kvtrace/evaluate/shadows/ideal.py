"""Ideal numbers: a kernel's integers, Booleans and pointers as if nothing had wrapped around.

If 1 is added to an int32 of 2^31 - 1, the ideal number is 2^31. Numbers are arrays of int64, or of
Python's integers if larger. A width matters only for shift amounts, and where an op reads bits as
an unsigned number. The instrument is `verdicts/ideal.py`, which reports where a wrapped number
matters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import add, mul, sub
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.dialects.tt_reduce import along, simple_ufunc
from kvtrace.evaluate.sums import COMPARISONS
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.evaluate.values import (
    Array,
    Descriptor,
    Pointer,
    PointerChoice,
    ShadowedValue,
    Sum,
    Unknown,
    actual,
    offset_array,
    to_array,
    with_rank,
)
from kvtrace.ir import Op
from kvtrace.ir.model import attribute
from kvtrace.ir.ops import (
    DIVIDING,
    MIXING,
    MODULAR,
    SIGNED,
    UNSIGNED,
    Operator,
    computing,
    operator_of,
)

_LOW, _HIGH = -(1 << 63), (1 << 63) - 1
MOST_BITS: Final = 4096
"""Numbers of more bits (a generator of random numbers in a loop) are not followed."""


_KEPT_BITS: Final = 512
"""Lower bits of a hash that are kept; the order of two hashes that have more is unknown."""


class TooLarge(Exception):
    """A number has more than MOST_BITS bits."""


def limits(array: Array) -> tuple[int, int]:
    """Return the smallest and largest number of an array; (0, 0) for an empty array."""
    return (int(array.min()), int(array.max())) if array.size else (0, 0)


def narrowed(array: Array) -> Array:
    """Return numbers as int64 if all fit, else unchanged; TooLarge beyond MOST_BITS bits."""
    if array.dtype != object:
        return array
    low, high = limits(array)
    if low >= _LOW and high <= _HIGH:
        return array.astype(np.int64)
    if max(-low, high).bit_length() > MOST_BITS:
        raise TooLarge
    return array


def folded(array: Array) -> Array:
    """Return numbers whose upper bits are left out if they are long; the sign remains.

    A hash that a loop carries grows without end; its lower bits, and that it is long, tell all.
    """
    if array.dtype != object or max(map(abs, limits(array))).bit_length() <= _KEPT_BITS:
        return array
    first_long = 1 << _KEPT_BITS
    size = np.abs(array)
    short = np.where(size < first_long, size, size % first_long + first_long)
    return np.where(array < 0, -short, short)


def _exactly(function: Callable[..., Any], *arrays: Array) -> Array:
    """Return a monotone function of one or two integer arrays, computed without wrapping."""
    corners = [limits(array) for array in arrays]
    if all(array.dtype != object for array in arrays):
        corner_results = (
            [function(a, b) for a in corners[0] for b in corners[1]]
            if len(arrays) == 2
            else [function(a) for a in corners[0]]
        )
        if min(corner_results) >= _LOW and max(corner_results) <= _HIGH:
            result: Array = function(*arrays)
            return result
    return narrowed(np.asarray(function(*(array.astype(object) for array in arrays)), object))


def total(left: Array, right: Array) -> Array:
    """Return left + right; of Booleans, how many are true."""
    left, right = (
        side.astype(np.int64) if side.dtype == np.bool_ else side for side in (left, right)
    )
    return _exactly(add, left, right)


def _difference(left: Array, right: Array) -> Array:
    return left ^ right if left.dtype == np.bool_ else _exactly(sub, left, right)


def product(left: Array, right: Array) -> Array:
    """Return left * right."""
    return left & right if left.dtype == np.bool_ else _exactly(mul, left, right)


def shifted_left(left: Array, right: Array, bits: int) -> Array:
    """Return left * 2^right; 0 where right is negative, or the width or more."""
    inside = (right >= 0) & (right < bits)
    powers = 1 << np.where(inside, right, 0).astype(object)
    return np.where(inside, _exactly(mul, left, narrowed(powers)), 0)


def _shifted_right(left: Array, right: Array, bits: int) -> Array:
    amount = np.where((right >= 0) & (right < bits), right, bits - 1)
    return np.asarray(left >> amount)


def _quotient(left: Array, right: Array) -> Array:
    """Return the exact quotient, rounded toward zero; 0 for a division by 0."""
    a, b = left.astype(object), right.astype(object)
    safe = np.where(b == 0, 1, b)
    down = a // safe
    inexact = a - down * safe != 0
    return narrowed(np.where(b == 0, 0, down + (inexact & ((a < 0) != (safe < 0)))))


def _remainder(left: Array, right: Array) -> Array:
    quotient = _quotient(left, right).astype(object)
    return narrowed(left.astype(object) - right.astype(object) * quotient)


def _bitwise(function: Any) -> Callable[[Array, Array], Array]:
    def apply(left: Array, right: Array) -> Array:
        if left.dtype == np.bool_:
            return np.asarray(function(left, right))
        if left.dtype == object or right.dtype == object:
            left, right = left.astype(object), right.astype(object)
        return narrowed(np.asarray(function(left, right)))

    return apply


_Exact = Callable[[Array, Array, int], Array]
_EXACT: Final[dict[Operator, _Exact]] = {
    "+": lambda a, b, _: total(a, b),
    "-": lambda a, b, _: _difference(a, b),
    "*": lambda a, b, _: product(a, b),
    "<<": shifted_left,
    ">>": _shifted_right,
    "&": lambda a, b, _: _bitwise(np.bitwise_and)(a, b),
    "|": lambda a, b, _: _bitwise(np.bitwise_or)(a, b),
    "^": lambda a, b, _: _bitwise(np.bitwise_xor)(a, b),
    "//": lambda a, b, _: _quotient(a, b),
    "%": lambda a, b, _: _remainder(a, b),
    "min": lambda a, b, _: np.minimum(a, b),
    "max": lambda a, b, _: np.maximum(a, b),
}
_UNSIGNED: Final[dict[Operator, _Exact]] = _EXACT | {
    ">>": lambda a, b, bits: np.where((b >= 0) & (b < bits), _shifted_right(a, b, bits), 0),
    "%": lambda a, b, _: narrowed(np.where(b == 0, a, a.astype(object) % np.where(b == 0, 1, b))),
    "mulhi": lambda a, b, bits: narrowed((a.astype(object) * b.astype(object)) >> bits),
}
"""Here a remainder is not negative: modulo 2^k it is the low bits, whatever has wrapped."""
_BY_BITS: Final = UNSIGNED | MIXING
"""Ops that read the bits of integers as unsigned numbers."""
BINARY: Final = computing(*_UNSIGNED) & (MODULAR | SIGNED | _BY_BITS | computing("<<"))
_COMPARED: Final = (*COMPARISONS.values(), *tuple(COMPARISONS.values())[2:])
"""Comparisons by MLIR's number of a predicate; the unsigned ones, without equality, come last."""
_EQUALITIES: Final = _COMPARED[:2]
FIRST_UNSIGNED: Final = len(COMPARISONS)


def read_unsigned(array: Array, bits: int, *, keep_negative: bool = False) -> Array:
    """Return numbers whose bits an op reads as unsigned: negative ones plus 2^bits.

    `keep_negative`: negative numbers, which come from unsigned arithmetic below zero, are
    unchanged.
    """
    if keep_negative or array.dtype == np.bool_ or limits(array)[0] >= 0:
        return array
    low = -(1 << (bits - 1))
    wide = array.astype(object)
    return narrowed(np.where((wide < 0) & (wide >= low), wide + (1 << bits), wide))


def wrapped_to(array: Array, bits: int) -> Array:
    """Return the numbers wrapped to a signed integer of so many bits."""
    low = 1 << (bits - 1)
    return narrowed(np.asarray((array.astype(object) + low) % (1 << bits) - low, object))


def is_unsigned(op: Op) -> bool:
    """Return whether an op of two integers reads them as unsigned."""
    return op.name in _BY_BITS


def combined(op: Op, left: Array, right: Array, bits: int) -> Array:
    """Return the ideal result of an op in BINARY; unsigned operands must be `read_unsigned`."""
    return (_UNSIGNED if is_unsigned(op) else _EXACT)[operator_of(op)](left, right, bits)


def compared(predicate: int, left: Array, right: Array) -> Array:
    """Return a comparison of two arrays by an MLIR predicate number."""
    if left.dtype == object or right.dtype == object:
        left, right = left.astype(object), right.astype(object)
        shorter = min(max(map(abs, limits(side))) for side in (left, right))
        if _COMPARED[predicate] not in _EQUALITIES and shorter.bit_length() > _KEPT_BITS:
            raise TooLarge
    return np.asarray(_COMPARED[predicate](left, right), np.bool_)


class WrappedNumber(ShadowedValue, frozen=True):
    """A value that differs from its ideal number because an integer wrapped around.

    The shadow is the ideal number, an array of int64, of Python's integers or of Booleans (of a
    pointer or a descriptor's base: byte offsets; of a sum of Booleans: how many are true).
    `origins` are the indices of the ops that wrapped around.
    """

    origins: frozenset[int]

    @classmethod
    def shadow_of(cls, value: Any, type_: ValueType) -> Array:
        """Return a value's ideal numbers; of pointers and descriptors, the ideal byte offsets."""
        if isinstance(value, WrappedNumber):
            return value.shadow
        rank = len(type_.shape) + 1
        if isinstance(value, PointerChoice):
            if_true, if_false = (
                ideal_numbers(option, type_) for option in (value.first, value.second)
            )
            return np.where(value.condition, if_true, if_false)
        if isinstance(value, Pointer):
            return offset_array(value.offset, rank)
        if isinstance(value, Descriptor):
            return np.asarray(with_rank(offset_array(value.base.offset, 1), rank))
        array = to_array(value, type_)
        return array if array.dtype == np.bool_ else array.astype(np.int64, copy=False)

    @classmethod
    def joined(cls, value: Any, shadow: Array, sources: Sequence[Any] = ()) -> WrappedNumber:
        """Return a value with its ideal numbers, and with the origins of the source operands."""
        return cls(value, shadow, origins_of(sources))


def ideal_numbers(value: Any, type_: ValueType) -> Array:
    """Return a value's ideal numbers; of a Boolean, whether it is true."""
    numbers = WrappedNumber.shadow_of(value, type_)
    is_count = type_.element.kind == "b" and not type_.pointer and numbers.dtype != np.bool_
    return numbers != 0 if is_count else numbers


def origins_of(values: Sequence[Any]) -> frozenset[int]:
    """Return the indices of the ops that wrapped around to give any of the values."""
    return frozenset().union(
        *(value.origins for value in values if isinstance(value, WrappedNumber))
    )


#: A pointer that would go into another argument has no offset to compare.
_ELSEWHERE: Final = -(1 << 70)


def _range(value: Any) -> tuple[int, int]:
    return (value.low, value.high) if isinstance(value, Sum) else limits(np.asarray(value))


def certainly_fits(op: Op, operands: Sequence[Any], type_: ValueType) -> bool:
    """Return whether the operands' ranges alone prove that an op's result fits its width."""
    ranges = [_range(value) for value in operands if not isinstance(value, Unknown)]
    if len(ranges) < len(operands):
        return True  # the result is unknown
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


def compared_numbers(
    op: Op, operands: Sequence[Any], *, keeps_negative: Callable[[Any], bool]
) -> Array:
    """Return an op's comparison of its operands' ideal numbers.

    `keeps_negative`: whether negative numbers of an operand stay negative if compared as unsigned.
    """
    type_ = value_type(op.operand("left").type)
    predicate = attribute(op, "predicate", 0)
    left, right = (ideal_numbers(value, type_) for value in operands)
    if left.dtype == np.bool_:
        sign = 1 if predicate >= FIRST_UNSIGNED else -1  # signed, true is -1
        left, right = left.astype(np.int64) * sign, right.astype(np.int64) * sign
    elif predicate >= FIRST_UNSIGNED:
        bits = type_.element.bits
        left, right = (
            read_unsigned(numbers, bits, keep_negative=keeps_negative(value))
            for numbers, value in zip((left, right), operands, strict=True)
        )
    return compared(predicate, left, right)


def selected(op: Op, operands: Sequence[Any]) -> Array:
    """Return a select's ideal numbers; an impossible offset where a pointer's choice differs."""
    condition = value_type(op.operand("condition").type)
    type_ = value_type(op.results[0].type)
    mask = ideal_numbers(operands[0], condition)
    if type_.shape and not condition.shape:
        mask = with_rank(mask, len(type_.shape) + 1)
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
