"""Radii cover exact results, and end an evaluation whose branches are uncertain."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from kvtrace.evaluate import evaluate
from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.shadows.errors.analysis import Radii
from tests.kernels.launching import bind, compile_for

BLOCK = 32


@triton.jit
def normalized(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    powers = tl.exp(tl.load(x + lanes))
    tl.store(out + lanes, powers / tl.sum(powers, axis=0))


@triton.jit
def _joined(product, total, other_product, other_total):
    return product * other_product, total * other_product + other_total


@triton.jit
def recurrence(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    given = tl.load(x + lanes)
    _, totals = tl.associative_scan((given * 0.5, given), 0, _joined)
    tl.store(out + lanes, totals)


@triton.jit
def deciding(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + lanes), axis=0)
    if total > LIMIT:
        tl.store(out + lanes, lanes.to(tl.float32))


LIMIT = tl.constexpr(1.0)


@triton.jit
def filling(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    power = tl.exp(tl.load(x + lanes))
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < BLOCK // 2, other=power))


def evaluated(kernel, x):
    """Return the stored numbers and their radii."""
    given = {"x": torch.from_numpy(x), "out": torch.zeros(BLOCK)}
    module = compile_for(kernel, given, {"BLOCK": BLOCK})
    arguments = bind(kernel, given)
    radii = Radii(module)
    evaluate(module, arguments, (1,), instrument=radii)
    result = radii.memory.planes.by_storage.get(id(arguments[1].storage))
    return given["out"].numpy(), np.zeros(BLOCK) if result is None else result[2]["worst"]


X = np.linspace(-2, 2, BLOCK, dtype=np.float32)


def test_exact_results_lie_within_the_radii():
    out, radii = evaluated(normalized, X)
    exact = np.exp(X.astype(np.float64))
    exact /= exact.sum()

    assert (np.abs(out - exact) <= radii).all()
    assert (radii < 1e-4 * exact).all()
    assert (out != exact).any()


def test_the_fill_value_of_a_load_has_its_radius_in_the_result():
    _, radii = evaluated(filling, X)
    assert (radii[: BLOCK // 2] == 0).all()
    assert (radii[BLOCK // 2 :] > 0).all()


def test_a_region_of_several_ops_has_radii_where_it_may_not_round():
    out, radii = evaluated(recurrence, X)
    products, totals, distance = X * np.float32(0.5), X.copy(), 1
    while distance < BLOCK:  # in passes as the evaluator, but a product is joined with its sum
        before, after = np.float64(totals[:-distance]), np.float64(products[distance:])
        totals[distance:] = np.float32(before * after + totals[distance:])
        products[distance:] *= products[:-distance]
        distance *= 2

    assert (out != totals).any()
    assert (np.abs(out - totals) <= radii).all()
    assert radii.max() < 2e-5


@pytest.mark.parametrize(("off", "decided"), [(0.5, True), (2**-23, False)])
def test_a_branch_on_an_uncertain_number_is_undecided(off, decided):
    x = np.full(BLOCK, (1 + off) / BLOCK, np.float32)
    x[0] += 1e-6  # no whole number of anything
    if decided:
        out, _ = evaluated(deciding, x)
        np.testing.assert_array_equal(out, np.arange(BLOCK))
        return
    with pytest.raises(Undecided, match="that the device chooses"):
        evaluated(deciding, x)
