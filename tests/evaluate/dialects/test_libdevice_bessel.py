"""Bessel functions of integer order, by SciPy, against mpmath."""

import sys

import mpmath
import numpy as np
import pytest

from kvtrace.evaluate.dialects.libdevice import FUNCTIONS
from kvtrace.evaluate.errors import UnsupportedOp

FIRST, SECOND = FUNCTIONS["jn"], FUNCTIONS["yn"]


def evaluated_and_exact(order, x):
    orders = np.full(np.shape(x), order, np.int64).astype(np.int32)
    return FIRST(orders, np.asarray(x, np.float64)), SECOND(orders, np.asarray(x, np.float64))


@pytest.mark.parametrize("order", [0, 1, 2, 3, 7, 16, 31, 64])
def test_bessel_functions_equal_mpmath_to_12_digits(order):
    """Errors are relative to the amplitude of the oscillation."""
    x = np.array([0.01, 0.3, 0.9, 1.2, 2.0, 7.0, 40.0, 300.0]) * max(order, 1)

    first, second = evaluated_and_exact(order, x)

    for argument, j, y in zip(x.tolist(), first.tolist(), second.tolist(), strict=True):
        wanted_j, wanted_y = mpmath.besselj(order, argument), mpmath.bessely(order, argument)
        oscillates = argument > order
        size = mpmath.hypot(wanted_j, wanted_y)
        assert abs(j - wanted_j) <= 1e-12 * (size if oscillates else abs(wanted_j))
        assert abs(y - wanted_y) <= 1e-12 * (size if oscillates else abs(wanted_y))


def test_bessel_functions_have_their_limits_and_signs():
    x = np.array([0.0, np.inf, -np.inf, np.nan, 5.0, -5.0])

    for order in (0, 1, 2, 3, 900):
        first, second = evaluated_and_exact(order, x)
        odd = -1 if order % 2 else 1
        assert first[1:3].tolist() == [0, 0]
        at_zero = [1.0, 0.0, np.nan][min(order, 2)]  # libdevice's recurrence divides by it
        np.testing.assert_equal(first[0], at_zero)
        assert np.isnan(first[3])
        assert first[5] == odd * first[4]
        assert second[:2].tolist() == [-np.inf, 0]
        assert np.isnan(second[[2, 3, 5]]).all()
        if order:  # libdevice has none of negative order, as an H100 shows
            assert all(np.isnan(values).all() for values in evaluated_and_exact(-order, x))


def test_bessel_functions_without_scipy_are_refused_with_an_install_hint(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.special", None)

    with pytest.raises(UnsupportedOp, match="need SciPy: pip install"):
        FUNCTIONS["j0"](np.ones(1))
