"""Directed rounding: results rounded to nearest, then moved by the sign of the exact remainder.

1 + 2^-30 in float32, rounded up: to nearest it is 1 with the remainder 2^-30, so the result is the
next number, 1 + 2^-23. Sums and products have exact remainders (Knuth's two-sum; Dekker's product,
in float64 for float32): Muller et al., Handbook of Floating-Point Arithmetic, chapter 4. Where a
float64 remainder would under- or overflow, the element is computed as a fraction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from kvtrace.evaluate.values import Array

Direction = Literal["rn", "rz", "rd", "ru"]
"""To nearest even, toward zero, down, up, by their names in PTX."""


def two_sum(left: Array, right: Array) -> tuple[Array, Array]:
    """Return the rounded sum and the exact error of rounding."""
    total = left + right
    added_part = total - left
    return total, np.asarray((left - (total - added_part)) + (right - added_part))


def two_product(left: Array, right: Array) -> tuple[Array, Array]:
    """Return the rounded product and the exact error of rounding, barring under- and overflow."""
    if left.dtype == np.float32:
        exact = left.astype(np.float64) * right.astype(np.float64)
        nearest = exact.astype(np.float32)
        return nearest, np.asarray(exact - nearest)
    product = left * right
    a, b = _high_and_low(left)
    c, d = _high_and_low(right)
    return product, np.asarray(((a * c - product) + a * d + b * c) + b * d)


def _high_and_low(array: Array) -> tuple[Array, Array]:
    """Return a float64 array as the sum of two numbers of 26 bits."""
    scaled = array * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - array)
    return high, array - high


def rounded(nearest: Array, remainder: Array, direction: Direction) -> Array:
    """Return numbers rounded in a direction, from the nearest and the sign of the remainder."""
    if direction == "rn":
        return nearest
    # A finite sum that overflowed lies below infinity.
    overflowed = np.isinf(nearest) & np.isnan(remainder)
    remainder = np.where(overflowed, -np.sign(nearest), remainder)
    down, up = remainder < 0, remainder > 0
    if direction == "rz":
        down, up = down & (nearest > 0), up & (nearest < 0)
    elif direction == "rd":
        up = np.zeros_like(up)
    else:
        down = np.zeros_like(down)
    infinity = nearest.dtype.type(np.inf)
    moved = np.where(down, np.nextafter(nearest, -infinity), nearest)
    return np.where(up, np.nextafter(nearest, infinity), moved)


def _finite(remainder: Array, *operands: Array) -> Array:
    """Return remainders with 0 for NaN, except where finite operands overflowed to infinity."""
    operands_finite = np.ones(remainder.shape, np.bool_)
    for operand in operands:
        operands_finite = operands_finite & np.isfinite(operand)
    return np.where(operands_finite, remainder, 0)


_SAFE: Final = 2.0**480
"""Products of float64 numbers up to it, and from its inverse on, have exact remainders."""

_DIGITS, _LEAST_EXPONENT = 53, -1074


def _by_fractions(
    direction: Direction,
    result: Array,
    exact: Callable[..., Fraction],
    operands: tuple[Array, ...],
    *factors: Array,
) -> Array:
    """Return float64 results, as rounded fractions where a factor's remainder is not exact."""
    if result.dtype != np.float64:
        return result
    risky = np.zeros(result.shape, np.bool_)
    usual = np.ones(result.shape, np.bool_)
    for factor in factors:
        size = np.abs(factor)
        risky = risky | ((size > _SAFE) | (size < 1 / _SAFE))
    if not risky.any():
        return result
    for operand in operands:
        usual = usual & np.isfinite(operand)
    for factor in operands[:2]:
        usual = usual & (factor != 0)
    risky = risky & usual
    rows = [np.broadcast_to(operand, result.shape)[risky].tolist() for operand in operands]
    changed = result.copy()
    changed[risky] = [
        _rounded_fraction(exact(*map(Fraction, row)), direction) for row in zip(*rows, strict=True)
    ]
    return changed


def _rounded_fraction(exact: Fraction, direction: Direction) -> float:
    """Return a fraction rounded to float64 in a direction."""
    if not exact:
        return -0.0 if direction == "rd" else 0.0
    sign, size = (-1.0, -exact) if exact < 0 else (1.0, exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    unit = max(exponent - _DIGITS + 1, _LEAST_EXPONENT)
    scaled = size / Fraction(2) ** unit
    upward = {"ru": sign > 0, "rd": sign < 0}.get(direction, False)
    if direction == "rn":
        whole = round(scaled)
    else:
        whole = math.ceil(scaled) if upward else math.floor(scaled)
    try:
        return sign * math.ldexp(whole, unit)
    except OverflowError:
        largest = float(np.finfo(np.float64).max)
        return sign * (math.inf if upward or direction == "rn" else largest)


def add(direction: Direction, left: Array, right: Array) -> Array:
    """Return left + right, rounded in a direction."""
    total, error = two_sum(left, right)
    return _zero_sum(direction, rounded(total, _finite(error, left, right), direction), left, right)


def _zero_sum(direction: Direction, total: Array, left: Array, right: Array) -> Array:
    """Return sums with the sign of zeros: -0 if both are, or if opposites are rounded down."""
    if total.all():
        return total
    negative, other = np.signbit(left), np.signbit(right)
    is_negative = (negative | other) if direction == "rd" else (negative & other)
    cancels = (total == 0) & (left == -right)
    return np.where(cancels, np.where(is_negative, total.dtype.type(-0.0), 0), total)


def subtract(direction: Direction, left: Array, right: Array) -> Array:
    """Return left - right, rounded in a direction."""
    return add(direction, left, -right)


def multiply(direction: Direction, left: Array, right: Array) -> Array:
    """Return left * right, rounded in a direction."""
    product, error = two_product(left, right)
    result = rounded(product, _finite(error, left, right), direction)
    return _by_fractions(direction, result, _multiplied, (left, right), left, right)


def divide(direction: Direction, left: Array, right: Array) -> Array:
    """Return left / right, rounded in a direction."""
    quotient = np.divide(left, right)
    product, error = two_product(quotient, right)
    remainder = ((left - product) - error) * np.sign(right)
    exact = (right == 0) | np.isinf(right)
    result = rounded(quotient, np.where(exact, 0, _finite(remainder, left)), direction)
    return _by_fractions(direction, result, _divided, (left, right), left, right, quotient)


def reciprocal(direction: Direction, array: Array) -> Array:
    """Return 1 / array, rounded in a direction."""
    return divide(direction, np.ones_like(array), array)


def square_root(direction: Direction, array: Array) -> Array:
    """Return the square root, rounded in a direction; that of a number from 1 to 4 is scaled."""
    fraction, exponent = np.frexp(array)
    half = exponent >> 1
    scaled = np.ldexp(fraction, exponent - 2 * half)
    root = np.sqrt(scaled)
    product, error = two_product(root, root)
    remainder = _finite((scaled - product) - error, array, root)
    return np.asarray(np.ldexp(rounded(root, remainder, direction), half))


def fused_multiply_add(direction: Direction, left: Array, right: Array, addend: Array) -> Array:
    """Return left * right + addend, rounded once, in a direction."""
    if left.dtype != np.float64:
        wide = (array.astype(np.float64) for array in (left, right, addend))
        a, b, c = wide
        total, error = two_sum(a * b, c)
        error = _finite(error, total)
        nearest = to_odd(total, error).astype(left.dtype)
        remainder = np.asarray(total - nearest.astype(np.float64)) + error
        result = rounded(nearest, _finite(remainder, left, right, addend), direction)
        return _zero_sum(direction, result, a * b, c).astype(left.dtype)
    product, low = two_product(left, right)
    total, high_rest = two_sum(product, addend)
    error, last = two_sum(high_rest, low)
    nearest, remainder = two_sum(total, to_odd(error, last))
    not_finite = ~np.isfinite(remainder)
    plain = left * right + addend
    result = rounded(
        np.where(not_finite, plain, nearest), np.where(not_finite, 0, remainder), direction
    )
    result = _zero_sum(direction, result, product, addend)
    three = (left, right, addend)
    return _by_fractions(direction, result, _multiplied_and_added, three, left, right)


def fused_to_odd(left: Array, right: Array, addend: Array) -> Array:
    """Return left * right + addend as float32 rounded to odd, to be rounded to fewer bits."""
    a, b, c = (array.astype(np.float64) for array in (left, right, addend))
    total, error = two_sum(a * b, c)
    total = to_odd(total, _finite(error, total))
    nearest = total.astype(np.float32)
    return to_odd(nearest, total - nearest)


def _multiplied(left: Fraction, right: Fraction) -> Fraction:
    return left * right


def _divided(left: Fraction, right: Fraction) -> Fraction:
    return left / right


def _multiplied_and_added(left: Fraction, right: Fraction, addend: Fraction) -> Fraction:
    return left * right + addend


def to_odd(nearest: Array, remainder: Array) -> Array:
    """Return rounded numbers with an odd last bit where inexact, so that rounding again is right.

    Boldo and Melquiond, Emulation of FMA and correctly rounded sums, IEEE Trans. Comp. 57 (2008).
    """
    values = np.ascontiguousarray(nearest)
    is_even = (values.view(f"i{values.itemsize}") & 1) == 0
    infinity = values.dtype.type(np.inf)
    toward = np.where(remainder > 0, infinity, -infinity)
    inexact = (remainder != 0) & np.isfinite(values)
    return np.where(is_even & inexact, np.nextafter(values, toward), values)


def narrowed(direction: Direction, array: Array) -> Array:
    """Return float64 numbers as float32, rounded in a direction."""
    nearest = array.astype(np.float32)
    return rounded(nearest, _finite(array - nearest.astype(np.float64), array), direction)


def from_integer(direction: Direction, array: Array, dtype: type[np.floating]) -> Array:
    """Return integers (signed or unsigned) as floats of `dtype`, rounded in a direction."""
    return rounded(*from_integer_with_rest(array, dtype), direction)


def from_integer_with_rest(array: Array, dtype: type[np.floating]) -> tuple[Array, Array]:
    """Return integers as the nearest floats, and what these lack, whose sign is exact."""
    nearest = array.astype(dtype)
    wide = array.astype(np.int64) if array.dtype.itemsize < 8 else array
    low = (wide & wide.dtype.type(0xFFFFFFFF)).astype(np.float64)
    high = (wide >> wide.dtype.type(32)).astype(np.float64) * 2.0**32
    return nearest, np.asarray((high - nearest.astype(np.float64)) + low)


TO_INTEGRAL: dict[Direction, Callable[[Array], Array]] = {
    "rn": np.rint,
    "rz": np.trunc,
    "rd": np.floor,
    "ru": np.ceil,
}
"""Rounding of floats to whole numbers by direction."""
