"""Conversions at the edges of types, and library functions where digits are easily lost."""

import math
from functools import partial

import mpmath
import numpy as np
import pytest

from kvtrace.evaluate.dialects import special
from kvtrace.evaluate.rounding import to_integer
from kvtrace.evaluate.types import element_of


@pytest.mark.parametrize("source", [np.float32, np.float64])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_floats_beyond_an_integer_type_give_its_limits(source, signed, bits):
    low = -(1 << (bits - 1)) if signed else 0
    high = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1
    # The first float past the limit: for 64 bits, what the limit itself would be rounded to.
    values = [float(high + 1), 1e30, math.inf, float(low) * 2 - 1, -1e30, -math.inf, math.nan]

    result = to_integer(np.array(values, source), element_of(f"i{bits}"), signed=signed)

    seen = result if signed else result.view(f"u{bits // 8}")
    highest_bit = bits == 64 or (bits == 32 and source is np.float64)
    assert seen[:-1].tolist() == [high, high, high, low, low, low]
    assert abs(int(seen[-1])) == (1 << (bits - 1) if highest_bit else 0)


@pytest.mark.parametrize("bits", [32, 64])
def test_floats_inside_an_integer_type_lose_their_fractions(bits):
    top = float(np.nextafter(2.0**bits, 0)) // 1
    values = np.array([0.0, -0.9, 0.9, 2.5, top])

    result = to_integer(values, element_of(f"i{bits}"), signed=False).view(f"u{bits // 8}")

    assert result.tolist() == [0, 0, 0, 2, int(top)]


DEFINITIONS = {
    "erfcx": (special.erfcx, lambda x: mpmath.exp(x * x) * mpmath.erfc(x), -5, 30),
    "normcdf": (special.normcdf, mpmath.ncdf, -30, 8),
    "normcdfinv": (
        special.normcdfinv, lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1), 0.499, 0.501
    ),
    "erfcinv": (special.erfcinv, lambda x: mpmath.erfinv(1 - x), 0.999, 1.001),
    "cyl_bessel_i0": (
        partial(special.bessel_i, 0), lambda x: mpmath.besseli(0, x), -29, 29
    ),
    "cyl_bessel_i1": (
        partial(special.bessel_i, 1), lambda x: mpmath.besseli(1, x), -0.1, 0.1
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(DEFINITIONS))
def test_library_functions_are_within_8_units_for_tiny_results(name):
    function, definition, low, high = DEFINITIONS[name]
    x = np.random.default_rng(7).uniform(low, high, 200)

    got = function(x)

    with mpmath.workprec(300):
        expected = [definition(mpmath.mpf(v)) for v in x.tolist()]
        units = [
            abs((mpmath.mpf(a) - b) / mpmath.mpf(math.ulp(float(b))))
            for a, b in zip(got.tolist(), expected, strict=True)
        ]
    assert max(units) <= 8


def test_library_functions_have_their_limits_at_infinity():
    ends = np.array([-math.inf, math.inf, math.nan])

    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(special.erfcx(ends), [math.inf, 0, math.nan])
        np.testing.assert_array_equal(special.normcdf(ends), [0, 1, math.nan])
        np.testing.assert_array_equal(special.bessel_i(1, ends), [-math.inf, math.inf, math.nan])
        np.testing.assert_array_equal(
            special.erfcinv(np.array([0.0, 1.0, 2.0])), [np.inf, 0, -np.inf]
        )
