"""Special functions of device libraries in NumPy, in float64; callers round to their type.

Formulas by number from the Digital Library of Mathematical Functions, https://dlmf.nist.gov/.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kvtrace.evaluate.dialects.bessel import SMALLEST_ORDER, bessel_of_order
from kvtrace.evaluate.directed import two_product
from kvtrace.evaluate.values import Array

_ROOT_OF_HALF, _ROOT_OF_HALF_REST = 0.7071067811865476, -4.833646656726457e-17
"""The square root of 1/2 as the sum of two floats."""

_BLOCK = 1 << 12
"""Elements that are integrated at once."""


def _scalar(function: Callable[[float], float], *, pole: float) -> Callable[[Array], Array]:
    """Lift a function of Python's math module; overflow gives infinity, a pole what is said."""

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
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


erf = _scalar(math.erf, pole=0.0)
erfc = _scalar(math.erfc, pole=1.0)
lgamma = _scalar(_log_gamma, pole=math.inf)
tgamma = _scalar(math.gamma, pole=math.inf)


def sinpi(array: Array) -> Array:
    """Sine of pi x: the argument is reduced before pi comes in."""
    x = np.asarray(array, np.float64)
    near = np.rint(2 * x)
    rest = np.pi * (x - near / 2)
    turn = np.mod(np.where(np.isfinite(near), near, 0), 4)
    sine, cosine = np.sin(rest), np.cos(rest)
    return np.asarray(np.choose(turn.astype(int), [sine, cosine, -sine, -cosine]))


def cospi(array: Array) -> Array:
    """Cosine of pi x."""
    x = np.asarray(array, np.float64)
    near = np.rint(2 * x)
    rest = np.pi * (x - near / 2)
    turn = np.mod(np.where(np.isfinite(near), near, 0), 4)
    sine, cosine = np.sin(rest), np.cos(rest)
    return np.asarray(np.choose(turn.astype(int), [cosine, -sine, -cosine, sine]))


def erfcx(array: Array) -> Array:
    """exp(x^2) erfc(x); for large x the asymptotic series 7.12.1."""
    x = np.asarray(array, np.float64)
    near = np.minimum(x, 20.0)
    # exp makes of the square's rounding error a relative one, as large as the square: 200 ulp.
    square, error = two_product(near, near)
    direct = np.exp(square) * (1 + np.where(np.isfinite(error), error, 0)) * erfc(near)
    far = np.maximum(x, 20.0)
    series = term = np.ones_like(far)
    for k in range(1, 16):
        term = term * -(2 * k - 1) / (2 * far * far)
        series = series + term
    return np.where(x < 20.0, direct, series / (far * math.sqrt(math.pi)))


def erfcinv(array: Array) -> Array:
    """Inverse of erfc on (0, 2), by Newton's method on log(erfc); that of erf near its zero."""
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
    """Inverse of erf on (-1, 1): Newton's method near 0, erfcinv elsewhere."""
    x = np.asarray(array, np.float64)
    y = _inner_erfinv(np.clip(x, -0.6, 0.6))
    tail = np.copysign(erfcinv(1 - np.abs(x)), x)
    return np.where(np.abs(x) <= 0.6, y, tail)


def normcdf(array: Array) -> Array:
    """Distribution function of the standard normal distribution.

    The argument of erfc is a product that has been rounded; its error goes in by the derivative
    (7.2.2), without which the far tail loses digits.
    """
    x = np.asarray(array, np.float64)
    scaled, error = two_product(x, np.full_like(x, -_ROOT_OF_HALF))
    error = error - x * _ROOT_OF_HALF_REST
    slope = np.exp(-scaled * scaled) * (2 / math.sqrt(math.pi))
    corrected = erfc(scaled) - np.where(np.isfinite(error), slope * error, 0.0)
    return np.asarray(corrected / 2)


def normcdfinv(array: Array) -> Array:
    """Inverse of the distribution function of the standard normal distribution."""
    return np.asarray(-math.sqrt(2.0) * erfcinv(2 * np.asarray(array, np.float64)))


# -- Bessel functions -------------------------------------------------------------------------


def _by_blocks(function: Callable[[Array], Array], array: Array) -> Array:
    flat = np.asarray(array, np.float64).reshape(-1)
    result = np.empty_like(flat)
    for start in range(0, len(flat), _BLOCK):
        result[start : start + _BLOCK] = function(flat[start : start + _BLOCK])
    return result.reshape(array.shape)


def _angles(largest: float, order: int) -> Array:
    """Enough equally spaced angles for the trapezoid rule to be exact to rounding."""
    count = 2 * (int(largest) + abs(order) + 40)
    return np.arange(count) * (2 * np.pi / count)


def _is_far(x: Array, order: int) -> Array:
    return np.asarray(np.abs(x) > max(50.0, 2.0 * order * order))


def _hankel(x: Array, order: int) -> tuple[Array, Array]:
    """Return J and Y for large x by Hankel's expansion 10.17.3 and 10.17.4."""
    cosine_part, sine_part = np.ones_like(x), np.zeros_like(x)
    term = np.ones_like(x)
    for k in range(1, 24):
        term = term * (4.0 * order * order - (2 * k - 1) ** 2) / (8.0 * k * x)
        sign = -1.0 if k % 4 in (2, 3) else 1.0
        if k % 2:
            sine_part = sine_part + sign * term
        else:
            cosine_part = cosine_part + sign * term
    scale = np.sqrt(2 / (np.pi * x))
    shift = (order % 4 / 2 + 0.25) * np.pi
    sine = np.sin(x) * np.cos(shift) - np.cos(x) * np.sin(shift)
    cosine = np.cos(x) * np.cos(shift) + np.sin(x) * np.sin(shift)
    return (
        scale * (cosine_part * cosine - sine_part * sine),
        scale * (cosine_part * sine + sine_part * cosine),
    )


def bessel_j(order: int, array: Array) -> Array:
    """Bessel function of the first kind, by Bessel's integral 10.9.2."""

    def block(x: Array) -> Array:
        far = _is_far(x, order)
        near = np.where(far | ~np.isfinite(x), 0.0, x)
        angles = _angles(float(np.abs(near).max(initial=0)), order)
        inner = np.cos(order * angles - near[:, None] * np.sin(angles)).mean(axis=1)
        sign = np.where((x < 0) & (order % 2 == 1), -1.0, 1.0)
        outer = sign * _hankel(np.where(far, np.abs(x), 100.0), order)[0]
        result = np.where(far, outer, inner)
        return np.where(np.isinf(x), 0.0, np.where(np.isnan(x), np.nan, result))

    return _by_blocks(block, np.asarray(array))


def bessel_y(order: int, array: Array) -> Array:
    """Bessel function of the second kind, by the integral 10.9.7 with Gauss's rule."""
    nodes, weights = np.polynomial.legendre.leggauss(240)
    unit, weight = (nodes + 1) / 2, weights / 2

    def block(x: Array) -> Array:
        far = _is_far(x, order)
        near = np.where((x > 0) & ~far & np.isfinite(x), x, 1.0)[:, None]
        theta = np.pi * unit
        first = np.sin(near * np.sin(theta) - order * theta) @ weight
        end = np.arcsinh((700.0 + 20.0 * order) / near)
        t = end * unit
        growth = np.exp(order * t - near * np.sinh(t))
        decay = np.exp(-order * t - near * np.sinh(t)) * (-1.0) ** order
        second = ((growth + decay) @ weight) * end[:, 0] / np.pi
        outer = _hankel(np.where(far & (x > 0), x, 100.0), order)[1]
        result = np.where(far, outer, first - second)
        result = np.where(np.isinf(x), 0.0, np.where(x == 0, -np.inf, result))
        return np.where((x < 0) | np.isnan(x), np.nan, result)

    return _by_blocks(block, np.asarray(array))


def bessel_i(order: int, array: Array) -> Array:
    """Modified Bessel function of the first kind.

    By the series 10.25.2, whose terms have one sign, up to 30; beyond by the integral 10.32.3.
    """

    def series(x: Array) -> Array:
        half = x.astype(np.longdouble) / 2
        term = half**order / math.factorial(order)
        total = term
        for k in range(1, 90):
            term = term * (half * half) / (k * (k + order))
            total = total + term
        return total.astype(np.float64)

    def block(x: Array) -> Array:
        small = np.abs(x) <= 30
        if small.all():
            return series(x)
        return np.where(small, series(np.where(small, x, 0.0)), integral(x))

    def integral(x: Array) -> Array:
        near = np.where(np.abs(x) < 800, x, 0.0)
        angles = _angles(float(np.abs(near).max(initial=0)), order)
        inner = (np.exp(near[:, None] * np.cos(angles)) * np.cos(order * angles)).mean(axis=1)
        outer = np.where((x < 0) & (order % 2 == 1), -np.inf, np.inf)
        result = np.where(np.abs(x) < 800, inner, outer)
        return np.where(np.isnan(x), np.nan, result)

    return _by_blocks(block, np.asarray(array))


def of_orders(function: Callable[[int, Array], Array], which: int) -> Callable[..., Array]:
    """Let the order be an array of integers; `which` of J and Y (0 or 1) it is."""

    def lifted(orders: Array, array: Array) -> Array:
        orders, x = np.broadcast_arrays(orders, np.asarray(array, np.float64))
        sizes = np.abs(orders.astype(np.int64))
        result: Any = np.empty(x.shape, np.float64)
        beyond = sizes >= SMALLEST_ORDER
        result[beyond] = bessel_of_order(sizes[beyond], x[beyond])[which]
        for order in np.unique(sizes[~beyond]):
            chosen = sizes == order
            result[chosen] = function(int(order), x[chosen])
        return np.asarray(np.where((orders < 0) & (orders % 2 != 0), -result, result))

    return lifted
