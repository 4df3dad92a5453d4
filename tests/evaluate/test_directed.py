"""Directed rounding of float64 where remainders in floats would under- or overflow."""

from fractions import Fraction

import numpy as np
import pytest

from kvtrace.evaluate import directed

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # as in evaluation

LEAST, LARGEST = 5e-324, float(np.finfo(np.float64).max)


@pytest.mark.parametrize(
    ("direction", "right"), [("rn", 1e-323), ("rz", LEAST), ("rd", LEAST), ("ru", 1e-323)]
)
def test_products_of_denormals_are_rounded_once(direction, right):
    result = directed.multiply(direction, np.array([LEAST, -LEAST]), np.array([1.5, -1.5]))

    assert result.tolist() == [right, right]


@pytest.mark.parametrize(
    ("direction", "right"),
    [("rn", np.inf), ("rz", LARGEST), ("rd", -np.inf), ("ru", -LARGEST)],
)
def test_overflow_is_infinite_or_the_largest_number(direction, right):
    sign = 1 if direction in ("rn", "rz") else -1

    result = directed.multiply(direction, np.array([LARGEST]), np.array([sign * 2.0]))

    assert result[0] == right


def test_a_fused_sum_of_tiny_and_huge_factors_lies_beside_the_exact_one():
    a, b, c = np.array([LEAST, 3e-300]), np.array([LARGEST, 7e-12]), np.array([1.5, 2e-311])

    below = directed.fused_multiply_add("rd", a, b, c)
    above = directed.fused_multiply_add("ru", a, b, c)

    exact = [Fraction(x) * Fraction(y) + Fraction(z) for x, y, z in zip(a, b, c, strict=True)]
    for low, middle, high in zip(below.tolist(), exact, above.tolist(), strict=True):
        assert Fraction(low) < middle < Fraction(high)
        assert np.nextafter(low, np.inf) == high


def test_quotients_and_roots_at_the_ends_of_the_range_are_rounded_as_said():
    quotient = directed.divide("rz", np.array([LEAST]), np.array([1.0000000000000002]))
    root = directed.square_root("ru", np.array([LARGEST, LEAST]))

    assert quotient.tolist() == [0.0]
    assert root[0] == 2.0**512
    assert root[1] == 2.0**-537
