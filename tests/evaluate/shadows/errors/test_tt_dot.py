"""Products of whole numbers are exact only where no factor is cut, or split into parts."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from kvtrace.evaluate.shadows.errors.analysis import Deviations, Radii
from tests.evaluate.shadows.errors.bounding import bounded, exact

SIDE = 16


@triton.jit
def product(x, y, out, PRECISION: tl.constexpr, SIDE: tl.constexpr):
    places = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
    total = tl.dot(tl.load(x + places), tl.load(y + places), input_precision=PRECISION)
    tl.store(out + places, total)


@triton.jit
def product_of_powers(x, y, out, PRECISION: tl.constexpr, SIDE: tl.constexpr):
    places = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
    powers = tl.exp(tl.load(x + places))
    tl.store(out + places, tl.dot(powers, tl.load(y + places), input_precision=PRECISION))


def of_diagonal(number, factor):
    """Return factors whose product has the number's products on the diagonal, without sums."""
    return {"x": torch.eye(SIDE) * number, "y": torch.eye(SIDE) * factor}


@pytest.mark.parametrize("analysis", [Radii, Deviations])
@pytest.mark.parametrize(
    ("precision", "number", "is_exact"),
    [
        ("ieee", 3001.0, True),
        ("tf32", 1023.0, True),
        ("tf32", 3001.0, False),  # of 12 bits tf32 holds 11
        ("tf32x3", 1023.0, True),
        ("tf32x3", 3001.0, False),  # the product of the lower parts is left out
        ("bf16x3", 255.0, True),
        ("bf16x3", 1023.0, False),
    ],
)
def test_products_of_whole_numbers_are_exact_where_no_bits_are_cut(
    analysis, precision, number, is_exact
):
    factors = of_diagonal(number, number)
    values, planes = bounded(
        analysis, product, factors, torch.zeros(SIDE, SIDE), PRECISION=precision, SIDE=SIDE
    )
    assert (planes is None or not planes["worst"].any()) == is_exact
    if analysis is Deviations:
        np.testing.assert_array_equal(
            exact(values, planes), (torch.eye(SIDE).double() * number**2).numpy().ravel()
        )


@pytest.mark.parametrize("precision", ["ieee", "tf32"])
def test_products_of_rounded_factors_that_happen_to_be_whole_have_bounds(precision):
    factors = {"x": torch.zeros(SIDE, SIDE), "y": torch.ones(SIDE, SIDE)}
    out = torch.zeros(SIDE, SIDE)
    _, planes = bounded(Radii, product_of_powers, factors, out, PRECISION=precision, SIDE=SIDE)
    of_factors = SIDE * 2 * 2.0**-23  # exp(0) may be off by two units
    assert (planes["worst"] > of_factors + 2.0**-24 * SIDE).all()
