"""Integer arithmetic on sums whose terms stay separate as long as that is exact.

The address `row * 1024 + column` of a 128 x 128 block stays two terms of 128 numbers each, instead
of 16,384 numbers. Each function takes values of one integer type and returns a value of that type.
Results that may exceed their width are computed in int64 and wrapped, as the hardware's registers
do; int64 itself wraps in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from kvtrace.evaluate.types import ElementType, ValueType
from kvtrace.evaluate.values import (
    Array,
    Mask,
    Sum,
    Unknown,
    constant_sum,
    sum_of_terms,
    to_array,
    to_sum,
    unknown_of,
)
from kvtrace.ir import integers

_INT64_LOW, _INT64_HIGH = integers.signed_range(64)


@lru_cache(maxsize=1 << 14)
def nests(inner: tuple[int, ...], outer: tuple[int, ...]) -> bool:
    """Return whether an array of shape `inner` broadcasts to `outer`."""
    return all(small in (1, large) for small, large in zip(inner, outer, strict=True))


def joined_terms(terms: tuple[Array, ...], more: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return two tuples of terms as one; terms whose shapes nest are added to one term."""
    if not terms:
        return more
    if not more:
        return terms
    result = list(terms)
    for term in more:
        for position, present in enumerate(result):
            if nests(term.shape, present.shape) or nests(present.shape, term.shape):
                result[position] = present + term
                break
        else:
            result.append(term)
    return tuple(result)


def fits(value: Sum, bits: int) -> bool:
    """Return whether a sum's range lies in that of signed integers of so many bits."""
    low, high = integers.signed_range(bits)
    return low <= value.low and value.high <= high


def wrapped(value: Sum, type_: ValueType) -> Sum | Array:
    """Return a sum unchanged if it fits its type, else its elements as an array, wrapped."""
    if fits(value, type_.element.bits):
        return value
    if not value.terms:
        return to_sum(to_array(value, type_))
    return to_array(_within_int64(value), type_)


def _within_int64(value: Sum) -> Sum:
    """Return the sum with its constant wrapped to int64, which keeps the sum modulo 2**64."""
    if _INT64_LOW <= value.constant <= _INT64_HIGH:
        return value
    return Sum(integers.wrapped(value.constant, 64), value.terms, value.low, value.high)


def _as_arrays(left: Any, right: Any, type_: ValueType) -> tuple[Array, Array] | None:
    """Return both operands as arrays if separate terms would save nothing, else None."""
    if isinstance(left, Sum) and isinstance(right, Sum):
        return None
    if isinstance(left, Sum):
        array, value = right, left
    elif isinstance(right, Sum):
        array, value = left, right
    elif nests(left.shape, right.shape) or nests(right.shape, left.shape):
        return left, right
    else:
        return None
    # A small array joins the sum; a large one swallows it.
    if array.size <= 4096 or not all(nests(term.shape, array.shape) for term in value.terms):
        return None
    return to_array(left, type_), to_array(right, type_)


def add(left: Any, right: Any, type_: ValueType) -> Any:
    """Return left + right."""
    pair = _as_arrays(left, right, type_)
    if pair is not None:
        return pair[0] + pair[1]
    left_sum, right_sum = to_sum(left), to_sum(right)
    total = Sum(
        left_sum.constant + right_sum.constant,
        joined_terms(left_sum.terms, right_sum.terms),
        left_sum.low + right_sum.low,
        left_sum.high + right_sum.high,
    )
    return wrapped(total, type_)


def negated(value: Sum) -> Sum:
    """Return -value, exactly."""
    terms = tuple(np.negative(term) for term in value.terms)
    return Sum(-value.constant, terms, -value.high, -value.low)


def difference(left: Sum, right: Sum) -> Sum:
    """Return left - right, exactly: it may exceed the width of both."""
    negative = negated(right)
    return Sum(
        left.constant + negative.constant,
        joined_terms(left.terms, negative.terms),
        left.low + negative.low,
        left.high + negative.high,
    )


def subtract(left: Any, right: Any, type_: ValueType) -> Any:
    """Return left - right."""
    pair = _as_arrays(left, right, type_)
    if pair is not None:
        return pair[0] - pair[1]
    return wrapped(difference(to_sum(left), to_sum(right)), type_)


def scaled(value: Sum, factor: int) -> Sum:
    """Return value * factor as a Sum, exact if the product fits int64."""
    if factor == 1:
        return value
    if factor == 0:
        return constant_sum(0)
    low, high = value.low * factor, value.high * factor
    if factor < 0:
        low, high = high, low
    terms = tuple(term * factor for term in value.terms)
    return Sum(value.constant * factor, terms, low, high)


def multiply(left: Any, right: Any, type_: ValueType) -> Any:
    """Return left * right; a constant factor multiplies each term, other factors one array."""
    pair = _as_arrays(left, right, type_)
    if pair is not None:
        return pair[0] * pair[1]
    left_sum, right_sum = to_sum(left), to_sum(right)
    if not left_sum.terms:
        left_sum, right_sum = right_sum, left_sum
    if not right_sum.terms and _INT64_LOW <= right_sum.constant <= _INT64_HIGH:
        product = scaled(left_sum, right_sum.constant)
        if fits(product, 64):
            return wrapped(product, type_)
    corners = [
        a * b for a in (left_sum.low, left_sum.high) for b in (right_sum.low, right_sum.high)
    ]
    low, high = min(corners), max(corners)
    if (
        len(right_sum.terms) == 1
        and not right_sum.constant
        and _keeps_shapes(right_sum.terms[0], left_sum)
    ):
        terms = tuple(term * right_sum.terms[0] for term in left_sum.terms)
        constant = right_sum.terms[0] * left_sum.constant
        exact = fits(Sum(0, (), low, high), 64)
        if exact:
            joined = joined_terms(terms, (constant,)) if left_sum.constant else terms
            return wrapped(Sum(0, joined, low, high), type_)
    array = np.multiply(
        to_array(_within_int64(left_sum), _WIDE[len(type_.shape)]),
        to_array(_within_int64(right_sum), _WIDE[len(type_.shape)]),
    )
    if fits(Sum(0, (), low, high), type_.element.bits):
        return Sum(0, (array,), low, high)
    return array.astype(type_.element.value)


def _keeps_shapes(factor: Array, value: Sum) -> bool:
    """Return whether a factor is small and its shape nests with that of each term."""
    if factor.size > 4096:
        return False
    return all(
        nests(factor.shape, term.shape) or nests(term.shape, factor.shape) for term in value.terms
    )


_INT64 = ElementType("i64", "i", 64, np.dtype(np.int64), np.dtype(np.int64))
_WIDE = [ValueType("i64", (1,) * rank, _INT64) for rank in range(8)]
ADDRESS = _WIDE[0]


def truncating_quotient(left: Array, right: Array) -> Array:
    """Return left / right rounded toward zero, as in C and in hardware; 0 where right is 0."""
    safe = np.where(right == 0, right.dtype.type(1), right)
    quotient = np.floor_divide(left, safe)
    remainder = left - quotient * safe
    quotient = quotient + ((remainder != 0) & ((left < 0) != (safe < 0)))
    return np.where(right == 0, left.dtype.type(0), quotient).astype(left.dtype, copy=False)


def truncating_remainder(left: Array, right: Array) -> Array:
    """Return the remainder, with the sign of left; left where right is 0."""
    result: Array = left - right * truncating_quotient(left, right)
    return result.astype(left.dtype, copy=False)


def divide_signed(left: Any, right: Any, type_: ValueType) -> Any:
    """Return left / right toward zero; a Sum, with its range, if the divisor is constant."""
    if not isinstance(left, Sum) or not isinstance(right, Sum):
        return _array_quotient(to_array(left, type_), to_array(right, type_))
    if right.terms or right.constant <= 0 or left.low < 0:
        return truncating_quotient(to_array(left, type_), to_array(right, type_))
    divisor = right.constant
    if divisor == 1:
        return left
    if not left.terms:
        return constant_sum(left.constant // divisor)
    quotients = tuple(np.floor_divide(term, divisor) for term in _separate_terms(left, divisor))
    return Sum(0, quotients, left.low // divisor, left.high // divisor)


def _separate_terms(value: Sum, divisor: int) -> tuple[Array, ...]:
    """Return a sum's terms, with its constant, if their digits do not mix; else one array.

    They do not if their remainders add up to less than the divisor in all lanes: of `1024 * program
    + lane` with 1,024 lanes, by 64 or by 4,096.
    """
    if len(value.terms) > 1:
        first, *others = sorted(value.terms, key=lambda term: term.size)
        terms = (first + value.constant if value.constant else first, *others)
        quotients = [np.floor_divide(term, divisor) for term in terms]
        remainders = [_remainder(term, divisor) for term in terms]
        if (
            _highest_total(remainders) < divisor
            # No part is beyond int64 and wrapped there.
            and _highest_total([-quotient for quotient in quotients]) <= 0
            and _highest_total(quotients) <= _INT64_HIGH // divisor - 1
        ):
            return terms
    return (np.asarray(sum_of_terms(value)),)


def _remainder(dividend: Array, divisor: int) -> Array:
    """Return the remainder of a quotient that is rounded down, by a positive divisor."""
    rest: Array = np.floor_divide(dividend, divisor)  # np.remainder takes three times as long
    rest *= divisor
    np.subtract(dividend, rest, out=rest)
    return rest


def _highest_total(terms: list[Array]) -> int:
    """Return a bound of the sum of the terms, exact if they share no axis."""
    return sum(int(term.max(initial=_INT64_LOW)) for term in terms)


def _array_quotient(left: Array, right: Array) -> Array:
    if right.size == 1 and right.flat[0] > 0 and left.size and left.min() >= 0:
        return np.floor_divide(left, right)
    return truncating_quotient(left, right)


def remainder_signed(left: Any, right: Any, type_: ValueType) -> Any:
    """Return the remainder with the dividend's sign; a Sum if the divisor is constant."""
    if not isinstance(left, Sum) or not isinstance(right, Sum):
        return truncating_remainder(to_array(left, type_), to_array(right, type_))
    if right.terms or right.constant <= 0 or left.low < 0:
        return truncating_remainder(to_array(left, type_), to_array(right, type_))
    divisor = right.constant
    if left.high < divisor:
        return left
    if not left.terms:
        return constant_sum(left.constant % divisor)
    remainders = tuple(_remainder(term, divisor) for term in _separate_terms(left, divisor))
    return Sum(0, remainders, 0, divisor - 1)


def smaller(left: Any, right: Any, type_: ValueType) -> Any:
    """Return the signed minimum."""
    return _extreme(left, right, type_, smallest=True)


def larger(left: Any, right: Any, type_: ValueType) -> Any:
    """Return the signed maximum."""
    return _extreme(left, right, type_, smallest=False)


def _extreme(left: Any, right: Any, type_: ValueType, *, smallest: bool) -> Any:
    choose = np.minimum if smallest else np.maximum
    if not isinstance(left, Sum) or not isinstance(right, Sum):
        return choose(to_array(left, type_), to_array(right, type_))
    if left.high <= right.low:
        return left if smallest else right
    if right.high <= left.low:
        return right if smallest else left
    array = choose(to_array(left, type_), to_array(right, type_)).astype(np.int64, copy=False)
    pick = min if smallest else max
    return Sum(0, (array,), pick(left.low, right.low), pick(left.high, right.high))


COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "slt": np.less,
    "sle": np.less_equal,
    "sgt": np.greater,
    "sge": np.greater_equal,
}


def compare(predicate: str, left: Any, right: Any, type_: ValueType) -> bool | Array:
    """Return a signed comparison of integers; a bool if ranges decide it for all lanes."""
    if not isinstance(left, Sum) and not isinstance(right, Sum):
        result: Array = COMPARISONS[predicate](left, right)
        return result
    gap = difference(to_sum(left), to_sum(right))
    decided = integers.decided(predicate, gap.low, gap.high)
    if decided is not None:
        return decided
    if not fits(gap, 62) or not gap.terms:
        array: Array = COMPARISONS[predicate](to_array(left, type_), to_array(right, type_))
        return array
    return _compare_with_zero(predicate, gap)


def _compare_with_zero(predicate: str, gap: Sum) -> Array:
    """Compare a Sum with 0: its largest term with minus the other terms, in one pass."""
    largest = max(range(len(gap.terms)), key=lambda position: gap.terms[position].size)
    rest: Array | int = -gap.constant
    for position, term in enumerate(gap.terms):
        if position != largest:
            rest = rest - term
    lanes, choose = gap.terms[largest], COMPARISONS[predicate]
    if not isinstance(rest, int) and len(lanes) == 1 < len(rest) == rest.size:
        return _compare_lanes(choose, lanes, rest)
    result: Array = choose(lanes, rest)
    return result


def _compare_lanes(choose: Callable[..., Array], lanes: Array, rest: Array) -> Array:
    """Compare lanes that all programs share with a number of each program.

    Numbers that lie beyond all lanes, as in all programs but the last, need one comparison.
    """
    low, high = lanes.min(), lanes.max()
    result = np.empty(np.broadcast_shapes(lanes.shape, rest.shape), np.bool_)
    result[...] = choose(low, rest)
    between = np.flatnonzero((rest >= low) & (rest <= high))
    if between.size:
        result[between] = choose(lanes, rest[between])
    return result


def factors_of(mask: Any) -> tuple[Array, ...]:
    """Return the factors of a mask, or of the known part of an Unknown; none for None and True."""
    if isinstance(mask, Mask | Unknown):
        return mask.factors
    return () if mask is None or mask is True else (mask,)


def mask_of(factors: tuple[Array, ...]) -> Any:
    """Return the conjunction of factors as a value: True, an array or a Mask."""
    if not factors:
        return True
    return factors[0] if len(factors) == 1 else Mask(factors)


def _known_part(value: Any) -> Any:
    return mask_of(value.factors) if isinstance(value, Unknown) else value


def both(left: Any, right: Any) -> Any:
    """Return the conjunction of two Booleans, as separate factors if shapes do not nest."""
    if isinstance(left, bool):
        return right if left else False
    if isinstance(right, bool):
        return left if right else False
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        known_part = both(_known_part(left), _known_part(right))
        unknown = unknown_of((left, right))
        if known_part is False or unknown is None:
            return False
        return unknown if known_part is True else Unknown(unknown.sources, factors_of(known_part))
    factors = list(factors_of(left))
    for factor in factors_of(right):
        for position, present in enumerate(factors):
            if nests(factor.shape, present.shape) or nests(present.shape, factor.shape):
                factors[position] = np.logical_and(present, factor)
                break
        else:
            factors.append(factor)
    return mask_of(tuple(factors))
