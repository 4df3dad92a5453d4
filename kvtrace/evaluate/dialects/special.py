"""Special functions of device libraries, in float64 by NumPy; callers round to their type.

Formulas are cited by number from the Digital Library of Mathematical Functions,
https://dlmf.nist.gov/.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from kvtrace.evaluate.directed import two_product
from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.values import Array

_ROOT_OF_HALF, _ROOT_OF_HALF_LOW = 0.7071067811865476, -4.833646656726457e-17
"""The square root of 1/2 as the sum of two floats."""


def _scalar(function: Callable[[float], float], *, pole: float) -> Callable[[Array], Array]:
    """Return an array function from Python's math; overflow gives infinity, a pole ±`pole`."""

    def guarded(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan if x else math.copysign(pole, x)

    lifted = np.frompyfunc(guarded, 1, 1)
    return lambda array: np.asarray(lifted(np.asarray(array, np.float64)), np.float64)


def _log_gamma(x: float) -> float:
    """Return log |gamma(x)|; from 1/2 to 5/2 by a series, as C libraries lose digits near zeros."""
    if 0.5 <= x < 1.5:
        return _log_gamma_from_2(x - 1) - math.log1p(x - 1)
    if 1.5 <= x <= 2.5:
        return _log_gamma_from_2(x - 2)
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


def _log_gamma_from_2(distance: float) -> float:
    """Return log(gamma(2 + distance)), for distances up to 1/2 (25.8.5, 5.7.3)."""
    total = 0.0
    for k in range(60, 1, -1):
        total = (total + _zeta_less_1(k) / k) * -distance
    return distance * (1.0 - float(np.euler_gamma) - total)


@cache
def _zeta_less_1(k: int) -> float:
    """Return zeta(k) - 1: 199 terms, and Euler's and Maclaurin's sum of the rest (25.2.8)."""
    end = 200.0
    rest = end ** (1 - k) / (k - 1) + end**-k / 2 + k * end ** (-k - 1) / 12
    rest -= k * (k + 1) * (k + 2) * end ** (-k - 3) / 720
    return math.fsum([n ** float(-k) for n in range(2, 200)]) + rest


erf = _scalar(math.erf, pole=0.0)
erfc = _scalar(math.erfc, pole=1.0)
lgamma = _scalar(_log_gamma, pole=math.inf)
tgamma = _scalar(math.gamma, pole=math.inf)


def sinpi(array: Array) -> Array:
    """Return sin(pi x)."""
    sine, cosine, quarter = _in_quarter_turns(array)
    result = np.choose(quarter, [sine, cosine, -sine, -cosine])
    return np.where(result == 0, np.copysign(0.0, array), result)


def cospi(array: Array) -> Array:
    """Return cos(pi x)."""
    sine, cosine, quarter = _in_quarter_turns(array)
    # The sum makes -0, which an odd quarter may give, +0.
    return np.asarray(np.choose(quarter, [cosine, -sine, -cosine, sine])) + 0.0


def _in_quarter_turns(array: Array) -> tuple[Array, Array, Array]:
    """Return sine and cosine of what exceeds the nearest quarter turn, and its number, 0 to 3.

    x is reduced before it is multiplied by pi.
    """
    x = np.asarray(array, np.float64)
    x = np.where(np.isfinite(x), np.fmod(x, 2.0), np.nan)
    quarter_turns = np.rint(2 * x)
    angle = np.pi * (x - quarter_turns / 2)
    quarter = np.mod(np.where(np.isfinite(quarter_turns), quarter_turns, 0), 4)
    return np.sin(angle), np.cos(angle), quarter.astype(int)


def norm(*arrays: Array) -> Array:
    """Return the root of the sum of squares; infinite if an operand is, even beside NaN."""
    scaled, exponent = _scaled_norm(arrays)
    return np.asarray(np.ldexp(scaled, exponent))


def inverse_norm(*arrays: Array) -> Array:
    """Return 1 divided by the root of the sum of squares, also where that is out of range."""
    scaled, exponent = _scaled_norm(arrays)
    return np.asarray(np.ldexp(1 / scaled, -exponent))


def _scaled_norm(arrays: tuple[Array, ...]) -> tuple[Array, Array]:
    """Return the root of the sum of squares of scaled numbers, and the scales' exponents."""
    sizes = [np.abs(np.asarray(array, np.float64)) for array in arrays]
    largest = np.asarray(np.fmax.reduce(sizes))
    exponent = np.frexp(largest)[1]
    squares = [np.square(np.ldexp(size, -exponent)) for size in sizes]
    root = np.sqrt(np.sum(squares, axis=0))
    return np.where(np.isinf(largest), np.inf, root), exponent


def erfcx(array: Array) -> Array:
    """Return exp(x^2) erfc(x): directly below 20, else by the asymptotic series 7.12.1."""
    x = np.asarray(array, np.float64)
    near_part = np.minimum(x, 20.0)
    # exp turns the square's rounding error into a relative error as large as the square: 200 ulp.
    square, error = two_product(near_part, near_part)
    direct = np.exp(square) * (1 + np.where(np.isfinite(error), error, 0)) * erfc(near_part)
    far_part = np.maximum(x, 20.0)
    series = term = np.ones_like(far_part)
    for k in range(1, 16):
        term = term * -(2 * k - 1) / (2 * far_part * far_part)
        series = series + term
    direct = np.where(x < _ERFCX_OVERFLOWS, np.inf, direct)
    return np.where(x < 20.0, direct, series / far_part / math.sqrt(math.pi))


_ERFCX_OVERFLOWS = -27.0


def erfcinv(array: Array) -> Array:
    """Return the inverse of erfc, by Newton's method on log(erfc), or on erf near 1."""
    x = np.asarray(array, np.float64)
    small = np.minimum(x, 2 - x)
    safe = np.clip(small, 5e-324, 1.0)
    log_x = np.log(safe)
    y = np.sqrt(np.maximum(0.0, -log_x))
    for _ in range(30):
        scaled = erfcx(y)
        y = y + (np.log(scaled) - y * y - log_x) * scaled * (math.sqrt(math.pi) / 2)
        y = np.maximum(y, 0.0)
    result = np.where(x > 1, -y, y)
    result = np.where(np.abs(1 - x) <= 0.5, _inner_erfinv(np.clip(1 - x, -0.5, 0.5)), result)
    result = np.where(small == 0, np.where(x == 0, np.inf, -np.inf), result)
    return np.where((x < 0) | (x > 2), np.nan, result)


def _inner_erfinv(inner: Array) -> Array:
    y = inner * (math.sqrt(math.pi) / 2)
    for _ in range(8):
        y = y - (erf(y) - inner) * (math.sqrt(math.pi) / 2) * np.exp(y * y)
    return np.asarray(y)


def erfinv(array: Array) -> Array:
    """Return the inverse of erf: by Newton's method up to 0.6, beyond by erfcinv."""
    x = np.asarray(array, np.float64)
    y = _inner_erfinv(np.clip(x, -0.6, 0.6))
    tail = np.copysign(erfcinv(1 - np.abs(x)), x)
    return np.where(np.abs(x) <= 0.6, y, tail)


def normcdf(array: Array) -> Array:
    """Return the distribution function of the standard normal distribution.

    The argument of erfc is a rounded product; its error is corrected by the derivative (7.2.2),
    without which the far tail loses digits.
    """
    x = np.asarray(array, np.float64)
    scaled, error = two_product(x, np.full_like(x, -_ROOT_OF_HALF))
    error = error - x * _ROOT_OF_HALF_LOW
    slope = np.exp(-scaled * scaled) * (2 / math.sqrt(math.pi))
    corrected = erfc(scaled) - np.where(np.isfinite(error), slope * error, 0.0)
    return np.asarray(corrected / 2)


def normcdfinv(array: Array) -> Array:
    """Return the inverse of the distribution function of the standard normal distribution."""
    return np.asarray(0.0 - math.sqrt(2.0) * erfcinv(2 * np.asarray(array, np.float64)))


def bessel_i(order: int, array: Array) -> Array:
    r"""Return the modified Bessel function of the first kind of order 0 or 1, from SciPy.

    Raises:
        UnsupportedOp: SciPy is not installed.
    """
    function = _scipy().i1 if order else _scipy().i0
    result = np.asarray(function(np.clip(array, -1e3, 1e3)))  # 1e3 overflows; infinities give NaN
    return np.copysign(result, array) if order else result


def bessel_of_orders(kind: str, orders: Array, array: Array) -> Array:
    r"""Return the Bessel function of kind "j" or "y" of integer orders, from SciPy.

    As in libdevice, negative orders give NaN, and so do orders of "j" from 2 on at 0, while those
    of "y" are infinite at -0; negative arguments are computed by 10.4.1.

    Raises:
        UnsupportedOp: SciPy is not installed.
    """
    absolute_orders, x = np.broadcast_arrays(
        np.abs(orders.astype(np.int64)), np.asarray(array, np.float64)
    )
    is_odd = absolute_orders % 2 == 1
    # SciPy's general functions take negative arguments for complex ones.
    result = getattr(_scipy(), f"{kind}v")(absolute_orders, np.abs(x))
    result = np.where(np.isinf(x), 0.0, result)
    result = np.where(np.abs(x) < _BELOW_SCIPY, _bessel_near_zero(kind, absolute_orders, x), result)
    flipped = np.where(is_odd, -result, result) if kind == "j" else np.nan
    result = np.where(x < 0, flipped, result)
    result = np.where((x == 0) & (result == 0) & is_odd, x, result)
    tiny = (absolute_orders > 1) & (np.abs(x) <= np.finfo(np.float64).tiny)
    at_zero = np.nan if kind == "j" else np.where(np.signbit(x) & (x == 0), np.inf, result)
    result = np.where(tiny, at_zero, result)
    return np.where(orders < 0, np.nan, result)


_BELOW_SCIPY = 1e-300
"""Below it, SciPy's functions lose digits, or give zeros and infinities."""


def _bessel_near_zero(kind: str, orders: Array, array: Array) -> Array:
    """Return the leading terms of Bessel functions of small numbers (10.7.1, 10.7.3, 10.7.4)."""
    size = np.abs(array)
    with np.errstate(all="ignore"):
        if kind == "j":
            return np.select([orders == 0, orders == 1], [np.ones_like(size), size / 2], 0.0)
        logarithm = 2 / math.pi * (np.log(size) - math.log(2.0) + float(np.euler_gamma))
        inverse = -2 / math.pi / size
        return np.select([orders == 0, orders == 1], [logarithm, inverse], -np.inf)


def _scipy() -> Any:
    try:
        import scipy.special
    except ImportError as error:
        raise UnsupportedOp(
            "Bessel functions need SciPy: pip install 'kvtrace[special]'"
        ) from error
    return scipy.special
