"""Bessel functions of integer order from 2 on, J and Y together, in float64 and in bounded memory.

Schläfli's integral for the Hankel function, 10.9.18 of https://dlmf.nist.gov/10.9,

    J_n(x) + i Y_n(x) = 1/(πi) ∫ exp(x sinh t - n t) dt   from -∞ to ∞ + πi,

is taken over straight legs through a saddle of the exponent: ib with x cos b = n where x >= n, and
±a with x cosh a = n where x < n. On each leg the integrand falls from its start on and turns little
faster than it falls, so a fixed number of Gauss's nodes up to where it has vanished is enough, for
every order and however close it is to x. The exponent is written as its difference from the
saddle's, in a form that loses no digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from kvtrace.evaluate.values import Array

#: From this order on; `special` has the others, in which a leg may be long.
SMALLEST_ORDER: Final = 2

#: Elements that are integrated at once.
_BLOCK: Final = 1 << 10
_NODES: Final = 96
#: A factor of e to minus this is less than a unit in the last place.
_VANISHED: Final = 42.0
#: All legs have vanished after this length, of such orders.
_FAR: Final = 50.0
#: Of a smaller argument, J of such an order is 0 and Y infinite.
_LEAST: Final = 1e-300

#: Directions of the legs down to the real axis, and up to the line at πi.
_DOWN: Final = -np.exp(0.25j * np.pi)
_UP: Final = np.exp(1j / 3 * np.pi)


def bessel_of_order(order: Array, x: Array) -> tuple[Array, Array]:
    """Return J and Y of floats `x`; `order` has their shape and is at least `SMALLEST_ORDER`."""
    orders = np.asarray(order, np.float64).reshape(-1)
    flat = np.asarray(x, np.float64).reshape(-1)
    first, second = np.empty_like(flat), np.empty_like(flat)
    for start in range(0, len(flat), _BLOCK):
        part = slice(start, start + _BLOCK)
        first[part], second[part] = _of_any(orders[part], flat[part])
    return first.reshape(x.shape), second.reshape(x.shape)


def _of_any(order: Array, x: Array) -> tuple[Array, Array]:
    """Deal with 0, infinities, NaN and negative arguments."""
    plain = np.where(np.isfinite(x), np.maximum(np.abs(x), _LEAST), 1.0)
    first, second = np.empty_like(x), np.empty_like(x)
    below = plain < order
    with np.errstate(over="ignore", under="ignore"):
        for chosen, function in ((below, _below), (~below, _above)):
            first[chosen], second[chosen] = function(order[chosen], plain[chosen])
    first = np.where((x < 0) & (order % 2 == 1), -first, first)
    second = np.where(x < 0, np.nan, np.where(x == 0, -np.inf, second))
    unbounded, unknown = np.isinf(x), np.isnan(x)
    first = np.where(unknown, np.nan, np.where(unbounded, 0.0, first))
    return first, np.where(unknown, np.nan, np.where(unbounded & (x > 0), 0.0, second))


def _above(order: Array, x: Array) -> tuple[Array, Array]:
    """Return J and Y where x >= n."""
    root = np.sqrt(x - order) * np.sqrt(x + order)
    angle = np.arctan2(root, order)
    saddle = _Saddle(1j * root, order)
    diagonal = np.sqrt(2.0) * angle
    left = saddle.along(0.0 * _DOWN, _DOWN, diagonal)
    left = left + saddle.along(diagonal * _DOWN, -1.0, np.full_like(x, _FAR))
    both = (_to_the_right(saddle, angle) - left) * _turned(order, x) * (-1j / np.pi)
    return both.real, both.imag


def _below(order: Array, x: Array) -> tuple[Array, Array]:
    """Return J and Y where x < n."""
    root = np.sqrt(order - x) * np.sqrt(order + x)
    height = np.arcsinh(root / x)
    wide = np.longdouble
    n, exact = order.astype(wide), x.astype(wide)
    exact_root = np.sqrt((n - exact) * (n + exact))
    fall = (n * np.arcsinh(exact_root / exact) - exact_root).astype(np.float64)
    upper = _to_the_right(_Saddle(root, order), np.zeros_like(x))
    lower = _Saddle(-root, order)
    line = lower.along(0.0, 1.0, np.minimum(2 * height, _FAR))
    line = line - lower.along(0.0, -1.0, np.full_like(x, _FAR))
    first = np.exp(-fall) * upper.imag
    return first / np.pi, -(np.exp(fall) * line.real + np.exp(-fall) * upper.real) / np.pi


def _turned(order: Array, x: Array) -> Array:
    """Return exp(i (√(x² - n²) - n b)), where both terms may be huge.

    Far from n it is x - n π/2 + δ, of which the first two are reduced exactly.
    """
    n, exact = order.astype(np.longdouble), x.astype(np.longdouble)
    root = np.sqrt(exact - n) * np.sqrt(exact + n)
    far = x > 2 * order
    delta = n * np.arcsin(n / exact) - n * (n / (exact + root))
    rest = np.where(far, delta, root - n * np.arctan2(root, n))
    quarter = np.asarray([1, -1j, -1, 1j])[(order % 4).astype(np.int64)]
    whole = np.where(far, (np.cos(x) + 1j * np.sin(x)) * quarter, 1.0)
    return np.asarray(whole * (np.cos(rest) + 1j * np.sin(rest)).astype(np.complex128))


@dataclass(frozen=True)
class _Saddle:
    """The exponent's difference from a saddle's, at τ from it.

    It is even (cosh τ - 1) + odd (sinh τ - τ), with one entry an element.
    """

    even: Array
    odd: Array

    def exponent(self, tau: Array) -> Array:
        """Return it at a row of points for each element."""
        half = np.sinh(tau / 2)
        even, odd = self.even[:, None], self.odd[:, None]
        return np.asarray(2 * even * half * half + odd * _sinh_less(tau))

    def along(self, start: Array | complex, way: complex, length: Array) -> Array:
        """Integrate its exponential on a straight leg of at most that length."""
        begin = np.broadcast_to(np.asarray(start), length.shape)[:, None]
        reach = self._reach(begin, way, length)[:, None]
        nodes, weights = _gauss()
        values = np.exp(self.exponent(begin + way * reach * nodes))
        return np.asarray((values @ weights) * reach[:, 0] * way)

    def _reach(self, begin: Array, way: complex, length: Array) -> Array:
        """Return the length after which the integrand has vanished; it falls all the way."""
        low = np.full_like(length, -400.0)
        high = np.log(np.maximum(length, 1e-150))
        for _ in range(20):
            middle = (low + high) / 2
            there = self.exponent(begin + way * np.exp(middle)[:, None])[:, 0]
            vanished = there.real < -_VANISHED
            low, high = np.where(vanished, low, middle), np.where(vanished, middle, high)
        return np.asarray(np.minimum(np.exp(high), length))


def _to_the_right(saddle: _Saddle, angle: Array) -> Array:
    """Integrate from a saddle, which lies `angle` above the real axis, to ∞ + πi."""
    slant = (np.pi - angle) / _UP.imag
    level = saddle.along(slant * _UP, 1.0, np.full_like(angle, _FAR))
    return np.asarray(saddle.along(0.0, _UP, slant) + level)


@cache
def _gauss() -> tuple[Array, Array]:
    """Return nodes and weights of Gauss's rule on 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return np.asarray((nodes + 1) / 2), np.asarray(weights / 2)


def _sinh_less(tau: Array) -> Array:
    """Return sinh τ - τ, by the series where the difference would lose digits."""
    near = np.abs(tau) < 1
    inside, outside = np.where(near, tau, 0.0), np.where(near, 0.0, tau)
    square = inside * inside
    total = np.ones_like(inside)
    for k in range(20, 3, -2):
        total = 1 + total * square / (k * (k + 1))
    return np.where(near, inside * square * total / 6, np.sinh(outside) - outside)
