"""Bessel functions of integer order, by SciPy, against mpmath."""

import sys

import mpmath
import numpy as np
import pytest

from kvtrace.evaluate.dialects.libdevice import FUNCTIONS
from kvtrace.evaluate.errors import UnsupportedOp

FIRST, SECOND = FUNCTIONS["jn"], FUNCTIONS["yn"]


def both(order, x):
    orders = np.full(np.shape(x), order, np.int64).astype(np.int32)
    return FIRST(orders, np.asarray(x, np.float64)), SECOND(orders, np.asarray(x, np.float64))


@pytest.mark.parametrize("order", [0, 1, 2, 3, 7, 16, 31, 64])
def test_values_are_right_to_12_digits(order):
    """Of oscillations, to their amplitude."""
    x = np.array([0.01, 0.3, 0.9, 1.2, 2.0, 7.0, 40.0, 300.0]) * max(order, 1)

    first, second = both(order, x)

    for argument, j, y in zip(x.tolist(), first.tolist(), second.tolist(), strict=True):
        wanted_j, wanted_y = mpmath.besselj(order, argument), mpmath.bessely(order, argument)
        oscillates = argument > order
        size = mpmath.hypot(wanted_j, wanted_y)
        assert abs(j - wanted_j) <= 1e-12 * (size if oscillates else abs(wanted_j))
        assert abs(y - wanted_y) <= 1e-12 * (size if oscillates else abs(wanted_y))


def test_limits_and_signs():
    x = np.array([0.0, np.inf, -np.inf, np.nan, 5.0, -5.0])

    for order in (0, 1, 2, 3, 900):
        first, second = both(order, x)
        odd = -1 if order % 2 else 1
        assert first[:3].tolist() == [order == 0, 0, 0]
        assert np.isnan(first[3])
        assert first[5] == odd * first[4]
        assert second[:2].tolist() == [-np.inf, 0]
        assert np.isnan(second[[2, 3, 5]]).all()
        mirrored, mirrored_second = both(-order, x)
        assert mirrored[4] == odd * first[4]
        assert mirrored_second[4] == odd * second[4]


def test_without_scipy_the_function_is_refused_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.special", None)

    with pytest.raises(UnsupportedOp, match="need SciPy: pip install"):
        FUNCTIONS["j0"](np.ones(1))
