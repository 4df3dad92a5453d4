"""Arithmetic of floats modulo a prime, by which formulas are compared as polynomials are.

Numbers are whole, from 0 to below the prime p = 2^31 - 1, and a division is exact: 1/2 is 2^30, as
2 * 2^30 = 2^31 = 1 modulo p. So `(a + b) / 2` and `a / 2 + b / 2` are equal for all random a and b,
and `(a + b) / 2` and `a + b / 2` hardly ever (Schwartz 1980, doi:10.1145/322217.322225).

Floats have operations that integers modulo p lack, for which others with their laws stand in:

- Infinity is a number M that is picked once, and -inf is -M.
- max(a, b) is the number m with `(m + s)**k = (a + s)**k + (b + s)**k - (s - M)**k` for a constant
  s: each number of the field has one root for this k. It is associative and commutative, -inf makes
  no difference to it, and it equals no other sum or product by chance. min(a, b) has M in place of
  -M and -s in place of s, so that -max(a, b) = min(-a, -b). One law fails: max(a, a) is not a, so
  formulas that are equal by that law alone are not found equal. Extremes that pass NaNs on have
  another k than those that do not.
- A truth is 1 or 0, or a random number if data decide it; logic and choices are polynomials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.ir.floats import float_from_bits

PRIME: Final = (1 << 31) - 1
Numbers = NDArray[np.uint64]

INFINITY: Final = 1_234_567_891
MINUS_INFINITY: Final = PRIME - INFINITY
NAN: Final = 987_654_321
_SHIFT: Final = 271_828_183
"""The number s of maxima."""
_EXPONENTS: Final = {False: 5, True: 13}
"""The exponent k, by whether an extreme passes NaNs on: neither divides p - 1."""


def mixed(*parts: Any) -> Numbers:
    """Return random numbers below the prime, a hash of all parts: splitmix64 (Steele et al. 2014).

    Arrays are broadcast.
    """
    total: Any = np.uint64(0x9E3779B97F4A7C15)
    for part in parts:
        total = (total ^ np.asarray(part).astype(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
        total = (total ^ (total >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        total = total ^ (total >> np.uint64(31))
    return np.asarray(total % np.uint64(PRIME), np.uint64)


def sum_of(left: Numbers, right: Numbers) -> Numbers:
    """Return the sum modulo the prime."""
    return (left + right) % np.uint64(PRIME)


def difference_of(left: Numbers, right: Numbers) -> Numbers:
    """Return the difference modulo the prime."""
    return (left + np.uint64(PRIME) - right) % np.uint64(PRIME)


def product_of(left: Any, right: Any) -> Numbers:
    """Return the product modulo the prime."""
    return np.asarray((left * right) % np.uint64(PRIME), np.uint64)


def inverse(value: Numbers) -> Numbers:
    """Return the multiplicative inverse of each number; 0 for 0."""
    return power(value, PRIME - 2)


RING: Final[Mapping[str, Callable[..., Numbers]]] = {
    "+": sum_of,
    "-": difference_of,
    "*": product_of,
    "negate": lambda value: difference_of(np.zeros_like(value), value),
    "fma": lambda left, right, added: sum_of(product_of(left, right), added),
}


TRUTHS: Final[Mapping[str, Callable[..., Numbers]]] = {
    "&": product_of,
    "|": lambda left, right: difference_of(sum_of(left, right), product_of(left, right)),
    "^": lambda left, right: difference_of(
        sum_of(left, right), product_of(np.uint64(2), product_of(left, right))
    ),
}
"""Logic as polynomials: those that are equal for random numbers are equal for 0 and 1."""


def chosen(condition: Numbers, one: Numbers, other: Numbers) -> Numbers:
    """Return `one` where a condition is 1, and `other` where it is 0."""
    distance = product_of(condition, difference_of(one, other))
    return sum_of(other, distance)


def constant(kind: str, bits: int) -> int | None:
    """Return a float constant as a number of the field; None for a NaN or another type."""
    if kind == "i1":
        return bits & 1
    if bits == 0:
        return 0
    if not kind.startswith(("f", "bf")):
        return None
    value = float_from_bits(bits, kind)
    if np.isinf(value):
        return INFINITY if value > 0 else MINUS_INFINITY
    if np.isnan(value) or value == 0:
        return None
    numerator, denominator = value.as_integer_ratio()
    return numerator * pow(denominator, -1, PRIME) % PRIME


def extreme(left: Numbers, right: Numbers, *, least: bool, nans: bool) -> Numbers:
    """Return the larger numbers, or the smaller if `least`; NaN if an operand is and `nans`."""
    k = _EXPONENTS[nans]
    shift = np.asarray(PRIME - _SHIFT if least else _SHIFT, np.uint64)
    neutral = np.asarray(INFINITY if least else MINUS_INFINITY, np.uint64)
    left, right, neutral = (power(sum_of(value, shift), k) for value in (left, right, neutral))
    shifted = power(difference_of(sum_of(left, right), neutral), pow(k, -1, PRIME - 1))
    return difference_of(shifted, shift)


def infinite(operator: str, values: list[Numbers], value: Numbers) -> Numbers:
    """Return an operation's value, corrected where an operand is -inf."""
    if operator == "exp":
        return np.where(values[0] == MINUS_INFINITY, np.uint64(0), value)
    if operator not in ("+", "-"):
        return value
    left, right = (operand == MINUS_INFINITY for operand in values)
    if operator == "-":
        value = np.where(right & ~left, np.uint64(INFINITY), value)
        value = np.where(left & right, np.uint64(NAN), value)
        return np.where(left & ~right, np.uint64(MINUS_INFINITY), value)
    return np.where(left | right, np.uint64(MINUS_INFINITY), value)


def power(value: Numbers, exponent: int) -> Numbers:
    """Return each number raised to a nonnegative power, modulo the prime."""
    result = np.ones_like(value)
    while exponent:
        if exponent & 1:
            result = product_of(result, value)
        value = product_of(value, value)
        exponent >>= 1
    return result
