"""Functions of libdevice of float32 in which steps between flush denormals, as its PTX shows.

`libdevice.py` has the functions that flush their operands and results alone, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from kvtrace.evaluate import directed
from kvtrace.evaluate.dialects import special
from kvtrace.evaluate.flushing import flush
from kvtrace.evaluate.values import Array

_SMALLEST: Final = np.finfo(np.float32).tiny
_NAN: Final = np.array(0x7FFFFFFF, np.uint32).view(np.float32)
"""The NaN that NVIDIA GPUs make."""


def _power_of_two(exponent: Array) -> Array:
    """Return 2^exponent of whole numbers (PTX ex2.approx.ftz)."""
    return flush(np.asarray(np.ldexp(np.float32(1), exponent)))


def ldexp(array: Array, exponent: Array) -> Array:
    """Return array times 2^exponent, in one, two or four factors; a denormal is doubled instead."""
    size = np.abs(exponent.astype(np.int64))
    half = np.trunc(exponent / 2).astype(np.int32)
    quarter = np.trunc(exponent / 4).astype(np.int32)
    near = _power_of_two(exponent) * array
    apart = _power_of_two(half) * array * _power_of_two(exponent - half)
    factor = _power_of_two(quarter)
    far = factor * (factor * (factor * array)) * _power_of_two(exponent - 3 * quarter)
    scaled = np.where(size <= 125, near, np.where(size <= 251, apart, far))
    flushed = flush(array)
    unscaled = np.where(np.abs(flushed) > 0, array, array + array)
    is_scaled = (flushed != 0) & (np.abs(array) != np.inf) & (exponent != 0)
    return np.where(is_scaled, scaled, unscaled)


def logb(array: Array) -> Array:
    """Return the binary exponent as a float; -150 for denormals, minus infinity for 0."""
    exponents = np.where(np.abs(array) < _SMALLEST, -150, np.frexp(array)[1] - 1)
    result = np.where(array == 0, -np.inf, exponents).astype(np.float32)
    return np.where(np.isfinite(array), result, array * array)


def nextafter(left: Array, right: Array) -> Array:
    """Return the number next to `left` toward `right`; none between 0 and the least normal."""
    start, end = flush(left), flush(right)
    from_zero = np.where(end == 0, end, np.copysign(_SMALLEST, right))
    result = np.where(start == 0, from_zero, np.nextafter(left, right))
    return np.where(np.isnan(left) | np.isnan(right), left + right, result)


_FAR: Final = np.float32(2.0**23)
"""Ratios up to it are reduced by one division, larger ones bit by bit."""


def _rest(dividend: Array, divisor: Array) -> Array:
    """Return the remainder of sizes; it flushes only where the ratio is small."""
    rest = np.asarray(np.fmod(dividend, divisor))
    return np.where(dividend <= divisor * _FAR, flush(rest), rest)


def fmod(left: Array, right: Array) -> Array:
    """Return the remainder of a quotient rounded toward zero, exactly, with the sign of `left`."""
    rest = _rest(np.abs(flush(left)), np.abs(flush(right)))
    return np.where(np.isnan(rest), _NAN, np.copysign(rest, left))


def remainder(left: Array, right: Array) -> Array:
    """Return the IEEE remainder: of a quotient rounded to the nearest, ties to even."""
    dividend, divisor = np.abs(flush(left)), np.abs(flush(right))
    exact = np.fmod(dividend, divisor)
    wide = divisor.astype(np.float64)
    is_odd = np.fmod(dividend.astype(np.float64), 2 * wide) >= wide
    rounds_up = (2 * exact > divisor) | ((2 * exact == divisor) & is_odd)
    rest = _rest(dividend, divisor)
    above = np.where(
        rest >= _SMALLEST, rest - divisor, flush(2 * exact - 2 * divisor) * np.float32(0.5)
    )
    result = np.where(rounds_up, above, rest)
    return np.where(np.isnan(result), _NAN, np.where(np.signbit(left), -result, result))


def base_2(array: Array) -> Array:
    """Return log2(x) (PTX lg2.approx.ftz)."""
    return np.log2(flush(array).astype(np.float64)).astype(np.float32)


def _exp2(array: Array) -> Array:
    """Return 2^x (PTX ex2.approx.ftz)."""
    return flush(np.exp2(flush(array).astype(np.float64)).astype(np.float32))


def _times(function: Callable[[Array], Array], factor: float) -> Callable[[Array], Array]:
    """Return a function with its result multiplied by a float32 factor."""
    return lambda array: np.asarray(function(array) * np.float32(factor))


def _of_multiple(function: Callable[[Array], Array], factor: float) -> Callable[[Array], Array]:
    """Return a function of the argument multiplied by a float32 factor, rounded before."""
    return lambda array: function(np.asarray(array * np.float32(factor)))


def fast_power(left: Array, right: Array) -> Array:
    """Return 2^(right log2(left)): NaN for negative bases, and for 0 to the power 0."""
    result = _exp2(np.asarray(base_2(left) * right))
    return np.where(np.isnan(result), _NAN, result)


def power(left: Array, right: Array) -> Array:
    """Return left^right; a denormal base counts as 2^-127 of its sign."""
    denormal = (np.abs(left) < _SMALLEST) & (left != 0)
    base = np.where(denormal, np.copysign(2.0**-127, left), left.astype(np.float64))
    return flush(np.power(base, right.astype(np.float64)).astype(np.float32))


def whole_power(array: Array, exponent: Array) -> Array:
    """Return a product of squares for a whole exponent; its inverse for a negative one."""
    bits = np.abs(exponent.astype(np.int64))
    result, square = np.ones_like(array), array
    while bits.any():
        result = np.where(bits & 1 == 1, flush(flush(result) * flush(square)), result)
        square = flush(flush(square) * flush(square))
        bits = bits >> 1
    return np.where(exponent < 0, 1 / result, result)


def quotient(left: Array, right: Array) -> Array:
    """Return left / right by a reciprocal, which is 0 for divisors above 2^126 (PTX div.approx)."""
    dividend, divisor = flush(left), flush(right)
    beyond = (np.abs(divisor) > 2.0**126) & np.isfinite(divisor)
    zero = np.copysign(np.float32(0), divisor)
    return flush(np.where(beyond, dividend * zero, np.divide(dividend, divisor)))


_TURNS_UNIT: Final = 2.0**25


def _turns(array: Array) -> Array:
    """Return an angle as a fraction of a turn, cut to 25 binary places (PTX sin.approx)."""
    inverse = np.full_like(array, 1 / (2 * np.pi))
    turns = directed.multiply("rz", flush(array), inverse).astype(np.float64)
    cut = np.trunc(turns * _TURNS_UNIT) / _TURNS_UNIT
    return np.where(np.isfinite(turns), np.fmod(cut, 1.0), np.nan)


def fast_sine(array: Array) -> Array:
    """Return sin(x) of a cut number of turns."""
    return flush(np.sin(2 * np.pi * _turns(array)).astype(np.float32))


def fast_cosine(array: Array) -> Array:
    """Return cos(x) of a cut number of turns."""
    return np.cos(2 * np.pi * _turns(array)).astype(np.float32)


def fast_tangent(array: Array) -> Array:
    """Return the quotient of the approximate sine and cosine."""
    return quotient(fast_sine(array), fast_cosine(array))


def quotient_up(left: Array, right: Array) -> Array:
    """Return left / right, rounded up; what is below the least normal before rounding is zero."""
    dividend, divisor = flush(left), flush(right)
    cut = directed.divide("rz", dividend, divisor)
    return np.where(
        np.abs(cut) < _SMALLEST, flush(cut), flush(directed.divide("ru", dividend, divisor))
    )


def _without_sign(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Return a function that makes +0 of denormals of both signs."""

    def of_single(array: Array) -> Array:
        flushed = flush(array)
        result = flush(np.asarray(function(flushed.astype(np.float64))).astype(np.float32))
        return np.where((flushed == 0) & (array != 0), np.float32(0), result)

    return of_single


def _nan_below_zero(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Return a function that is NaN for negative denormals, too."""

    def of_single(array: Array) -> Array:
        result = flush(np.asarray(function(flush(array).astype(np.float64))).astype(np.float32))
        return np.where(array < 0, _NAN, result)

    return of_single


def bessel_y(orders: Array, array: Array) -> Array:
    """Return the Bessel function of the second kind; NaN for negative denormals, too."""
    result = special.bessel_of_orders("y", orders, np.abs(flush(array)).astype(np.float64))
    return np.where(array < 0, _NAN, flush(result.astype(np.float32)))


def bessel_j(orders: Array, array: Array) -> Array:
    """Return the Bessel function of the first kind; NaN near 0 for orders from 2 on."""
    result = special.bessel_of_orders("j", orders, flush(array).astype(np.float64))
    overflows = (orders > 1) & (np.abs(array) < _RECURRENCE_OVERFLOWS)
    return np.where(overflows, _NAN, result.astype(np.float32))


_RECURRENCE_OVERFLOWS: Final = 1.1e-17


def quantile(array: Array) -> Array:
    """Return the inverse of the normal distribution, of a doubled argument that flushes."""
    doubled = flush(array + array).astype(np.float64)
    result = (-np.sqrt(2.0) * special.erfcinv(doubled) + 0.0).astype(np.float32)
    return np.where(array < 0, _NAN, result)


def gamma(array: Array) -> Array:
    """Return the gamma function as libdevice computes it: 1 / x for negative denormals."""
    result = special.tgamma(flush(array).astype(np.float64)).astype(np.float32)
    near_zero = (array < 0) & (array > -_SMALLEST)
    return np.where(near_zero, 1 / np.where(near_zero, array, 1), flush(result))


SINGLE: Final[dict[str, Callable[..., Any]]] = {
    "fdiv_ru": quotient_up,
    "fmodf": fmod,
    "jnf": bessel_j,
    "ldexpf": ldexp,
    "log1pf": _without_sign(np.log1p),
    "logbf": logb,
    "nextafterf": nextafter,
    "normcdfinvf": quantile,
    "powf": power,
    "powif": whole_power,
    "remainderf": remainder,
    "scalbnf": ldexp,
    "sinpif": _without_sign(special.sinpi),
    "tgammaf": gamma,
    "ynf": bessel_y,
    "y0f": _nan_below_zero(partial(special.bessel_of_orders, "y", np.array(0))),
    "y1f": _nan_below_zero(partial(special.bessel_of_orders, "y", np.array(1))),
    "fast_cosf": fast_cosine,
    "fast_exp10f": _of_multiple(_exp2, np.log2(10.0)),
    "fast_expf": _of_multiple(_exp2, np.log2(np.e)),
    "fast_fdividef": quotient,
    "fast_log10f": _times(base_2, np.log10(2.0)),
    "fast_log2f": base_2,
    "fast_logf": _times(base_2, np.log(2.0)),
    "fast_powf": fast_power,
    "fast_sinf": fast_sine,
    "fast_tanf": fast_tangent,
}
"""Functions by their symbol without its prefix."""
