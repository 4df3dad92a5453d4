"""Arithmetic of integers without a width, as arrays of int64, or of Python's integers if larger.

A width matters only for shift amounts, and where an op reads bits as an unsigned number.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import add, mul, sub
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.sums import COMPARISONS
from kvtrace.evaluate.values import Array
from kvtrace.ir import Op
from kvtrace.ir.ops import (
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
    """Return left + right; Booleans are added modulo 2."""
    return left ^ right if left.dtype == np.bool_ else _exactly(add, left, right)


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


def _quotient(left: Array, right: Array, *, rounded: str) -> Array:
    """Return the exact quotient, rounded toward zero, down or up; by 0, the evaluator's."""
    a, b = left.astype(object), right.astype(object)
    safe = np.where(b == 0, 1, b)
    down = a // safe
    if rounded == "down":
        return narrowed(down)
    inexact = a - down * safe != 0
    if rounded == "up":
        return narrowed(down + inexact)
    return narrowed(np.where(b == 0, 0, down + (inexact & ((a < 0) != (safe < 0)))))


def _remainder(left: Array, right: Array) -> Array:
    quotient = _quotient(left, right, rounded="zero").astype(object)
    return narrowed(left.astype(object) - right.astype(object) * quotient)


def _bitwise(function: Any) -> Callable[[Array, Array], Array]:
    def apply(left: Array, right: Array) -> Array:
        if left.dtype == np.bool_:
            return np.asarray(function(left, right))
        if left.dtype == object or right.dtype == object:
            left, right = left.astype(object), right.astype(object)
        return narrowed(np.asarray(function(left, right)))

    return apply


def _unsigned_division(left: Array, right: Array, *, up: bool = False) -> Array:
    zero = np.where(right == 0, 0, 1).astype(object)  # a divisor of 0 gives 0
    return narrowed(_quotient(left, right, rounded="up" if up else "zero").astype(object) * zero)


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
    "//": lambda a, b, _: _quotient(a, b, rounded="zero"),
    "%": lambda a, b, _: _remainder(a, b),
    "floordiv": lambda a, b, _: _quotient(a, b, rounded="down"),
    "ceildiv": lambda a, b, _: _quotient(a, b, rounded="up"),
    "min": lambda a, b, _: np.minimum(a, b),
    "max": lambda a, b, _: np.maximum(a, b),
}
_UNSIGNED: Final[dict[Operator, _Exact]] = _EXACT | {
    "//": lambda a, b, _: _unsigned_division(a, b),
    "ceildiv": lambda a, b, _: _unsigned_division(a, b, up=True),
    ">>": lambda a, b, bits: np.where((b >= 0) & (b < bits), _shifted_right(a, b, bits), 0),
    "mulhi": lambda a, b, bits: narrowed((a.astype(object) * b.astype(object)) >> bits),
}
_BY_BITS: Final = UNSIGNED | MIXING
"""Ops that read the bits of integers as unsigned numbers."""
BINARY: Final = computing(*_UNSIGNED) & (MODULAR | SIGNED | _BY_BITS | computing("<<"))
_COMPARED: Final = (*COMPARISONS.values(), *tuple(COMPARISONS.values())[2:])
"""Comparisons by MLIR's number of a predicate; the unsigned ones, without equality, come last."""
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
    return np.asarray(_COMPARED[predicate](left, right), np.bool_)
