"""Bessel functions of integer order: any order of 32 bits, in bounded memory, against mpmath."""

import math
import tracemalloc

import mpmath
import numpy as np
import pytest

from kvtrace.evaluate.dialects.libdevice import FUNCTIONS

FIRST, SECOND = FUNCTIONS["jn"], FUNCTIONS["yn"]


def both(order, x):
    orders = np.full(np.shape(x), order, np.int64).astype(np.int32)
    return FIRST(orders, np.asarray(x, np.float64)), SECOND(orders, np.asarray(x, np.float64))


def exact(order, x):
    ways = {"maxprec": 10**6, "maxterms": 10**7}
    return mpmath.besselj(order, x, **ways), mpmath.bessely(order, x, **ways)


@pytest.mark.parametrize("order", [2, 3, 7, 16, 31, 64, 257, 1000])
def test_every_ratio_of_argument_and_order_is_right_to_13_digits(order):
    """Also where one of them is far smaller than 1; of oscillations, to their amplitude."""
    close = [order + d * order ** (1 / 3) for d in (-1, -0.5, -0.01, 0.0, 0.01, 0.5, 3)]
    x = np.array([order * r for r in (0.01, 0.3, 0.9, 0.9999, 1.0001, 1.2, 2, 7, 40)] + close)

    first, second = both(order, x)

    with mpmath.workdps(40):
        for argument, j, y in zip(x.tolist(), first.tolist(), second.tolist(), strict=True):
            wanted_j, wanted_y = exact(order, mpmath.mpf(argument))
            size = mpmath.hypot(wanted_j, wanted_y)
            oscillates = argument > order
            assert abs(j - wanted_j) <= 1e-13 * (size if oscillates else abs(wanted_j)) + 1e-300
            if abs(wanted_y) < 1e308:
                assert abs(y - wanted_y) <= 1e-13 * (size if oscillates else abs(wanted_y))
            else:
                assert y == -math.inf


@pytest.mark.parametrize("order", [10**5, 10**7, 2**31 - 2])
def test_huge_orders_fit_what_relates_neighbours(order):
    """The recurrence 10.6.1 and the Wronskian 10.5.2 of https://dlmf.nist.gov/10."""
    x = np.array([order - 1.0, order, order + 1.0, order * 1.5, order * 7.3, order * 1e6])

    (j0, _), (j1, y1), (j2, y2) = (both(order + step, x) for step in (-1, 0, 1))

    size = np.hypot(j1, y1)
    assert np.abs((j0 + j2 - 2 * order / x * j1) / size).max() < 1e-10
    assert np.abs((j2 * y1 - j1 * y2) * np.pi * x / 2 - 1).max() < 1e-9
    # 10.19.8 where the argument is the order
    wanted = math.gamma(1 / 3) / (2 ** (2 / 3) * 3 ** (1 / 6) * math.pi * order ** (1 / 3))
    assert j1[1] == pytest.approx(wanted, rel=1e-7)
    assert y1[1] == pytest.approx(-math.sqrt(3) * wanted, rel=1e-7)


def test_a_huge_order_takes_no_more_memory_than_a_small_one():
    orders = np.random.default_rng(3).integers(-(2**31), 2**31, 4096).astype(np.int32)
    x = np.random.default_rng(4).uniform(0, 2**32, 4096)
    tracemalloc.start()

    FIRST(orders, x), SECOND(orders, x)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20


def test_limits_and_signs():
    x = np.array([0.0, np.inf, -np.inf, np.nan, 1e-320, 5.0, -5.0])

    for order in (2, 3, 900):
        first, second = both(order, x)
        odd = -1 if order % 2 else 1
        assert first[:3].tolist() == [0, 0, 0]
        assert np.isnan(first[3])
        assert first[6] == odd * first[5]
        assert second[[0, 1, 4]].tolist() == [-np.inf, 0, -np.inf]
        assert np.isnan(second[[2, 3, 6]]).all()
        mirrored, mirrored_second = both(-order, x)
        assert mirrored[5] == odd * first[5]
        assert mirrored_second[5] == odd * second[5]


def test_the_smallest_order_there_is_has_no_magnitude_of_32_bits():
    assert both(-(2**31), np.array([1.0]))[0].tolist() == [0.0]


def test_orders_0_and_1_are_those_functions():
    x = np.linspace(0.1, 300, 50)

    np.testing.assert_array_equal(both(0, x)[0], FUNCTIONS["j0"](x))
    np.testing.assert_array_equal(both(1, x)[1], FUNCTIONS["y1"](x))


def test_large_arguments_keep_their_phase():
    x = np.array([1e8, 1e16])

    with mpmath.workdps(60):
        wanted = [float(mpmath.besselj(0, mpmath.mpf(v))) for v in x.tolist()]
    np.testing.assert_allclose(FUNCTIONS["j0"](x), wanted, rtol=1e-12)
