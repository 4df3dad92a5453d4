"""Bounds of reductions hold for any order of a device, and no inexact sum is called exact."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from kvtrace.evaluate.shadows.errors.analysis import Deviations, Radii
from tests.evaluate.shadows.errors.bounding import bounded, exact

BLOCK = 64


@triton.jit
def _total(left, right):
    return left + right


@triton.jit
def _times(left, right):
    return left * right


@triton.jit
def _either(left, right):
    return left ^ right


@triton.jit
def summed_in_its_type(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, BLOCK)), 0, _total))


@triton.jit
def multiplied(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, BLOCK)), 0, _times))


@triton.jit
def counted(x, out, BLOCK: tl.constexpr):
    above = tl.exp(tl.load(x + tl.arange(0, BLOCK))) > 1.0
    tl.store(out, tl.sum(above.to(tl.int32), axis=0))


@triton.jit
def mixed(x, out, BLOCK: tl.constexpr):
    bits = (tl.exp(tl.load(x + tl.arange(0, BLOCK))) > 1.0).to(tl.int32)
    tl.store(out, tl.reduce(bits, 0, _either))


@triton.jit
def powers_summed(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.sum(tl.exp(tl.load(x + tl.arange(0, BLOCK))), axis=0))


@triton.jit
def largest_of_differences(x, y, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    power = tl.exp(tl.load(x + lanes))  # it overflows in some lanes, on a device perhaps in others
    tl.store(out, tl.max(tl.where(power > 1e38, -power, tl.load(y + lanes)), axis=0))


@triton.jit
def largest(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.max(tl.exp(tl.load(x + tl.arange(0, BLOCK))), axis=0))


@pytest.mark.parametrize("analysis", [Radii, Deviations])
@pytest.mark.parametrize(("count", "is_exact"), [(3, True), (5, False)])
def test_whole_sums_in_bfloat16_are_exact_up_to_256(analysis, count, is_exact):
    x = torch.full((BLOCK,), float(count), dtype=torch.bfloat16)
    x[0] += 1
    out = torch.zeros(1, dtype=torch.bfloat16)
    values, planes = bounded(analysis, summed_in_its_type, {"x": x}, out, BLOCK=BLOCK)
    if is_exact:
        assert planes is None
        assert values[0] == x.double().sum()
    else:
        assert planes["worst"][0] > 0
    if analysis is Deviations:
        assert exact(values, planes)[0] == x.double().sum()


@pytest.mark.parametrize("analysis", [Radii, Deviations])
def test_a_product_in_any_order_is_within_its_bound(analysis):
    x = torch.from_numpy(np.random.default_rng(0).uniform(0.5, 2, BLOCK).astype(np.float32))
    values, planes = bounded(analysis, multiplied, {"x": x}, torch.zeros(1), BLOCK=BLOCK)
    orders = np.random.default_rng(1)
    products = [
        np.multiply.accumulate(orders.permutation(x.numpy()), dtype=np.float32)[-1]
        for _ in range(100)
    ]
    center = values if analysis is Radii else exact(values, planes)
    assert max(abs(each - center[0]) for each in products) <= planes["worst"][0]
    assert planes["worst"][0] < 1e-4 * abs(center[0])
    if analysis is Deviations:
        assert center[0] == pytest.approx(x.double().prod().item(), rel=1e-14)


@pytest.mark.parametrize("analysis", [Radii, Deviations])
@pytest.mark.parametrize("factor", [2.0**-40, 2.0**40])
def test_a_product_whose_partial_products_overflow_has_no_bound(analysis, factor):
    x = torch.tensor([factor, 1 / factor] * (BLOCK // 2))
    _, planes = bounded(analysis, multiplied, {"x": x}, torch.zeros(1), BLOCK=BLOCK)
    assert planes["worst"][0] == np.inf


@pytest.mark.parametrize("analysis", [Radii, Deviations])
def test_a_count_of_uncertain_booleans_has_a_bound(analysis):
    x = torch.linspace(-1, 1, BLOCK)
    x[5] = 0.0  # exp(0) may be more than 1
    out = torch.zeros(1, dtype=torch.int32)
    _, planes = bounded(analysis, counted, {"x": x}, out, BLOCK=BLOCK)
    assert 1 <= planes["worst"][0] < np.inf
    x[5] = 0.5
    _, planes = bounded(analysis, counted, {"x": x}, out, BLOCK=BLOCK)
    assert planes is None or not planes["worst"].any()


@pytest.mark.parametrize("analysis", [Radii, Deviations])
def test_bitwise_reductions_of_uncertain_integers_have_no_bound(analysis):
    x = torch.linspace(-1, 1, BLOCK)
    x[5] = 0.0
    out = torch.zeros(1, dtype=torch.int32)
    _, planes = bounded(analysis, mixed, {"x": x}, out, BLOCK=BLOCK)
    assert planes["worst"][0] == np.inf


def test_a_sum_of_rounded_numbers_that_happen_to_be_whole_has_a_bound():
    """exp(0) is 1 here, and on a device perhaps 1 + 2**-23, whose sums are rounded."""
    out = torch.zeros(1)
    _, planes = bounded(Radii, powers_summed, {"x": torch.zeros(BLOCK)}, out, BLOCK=BLOCK)
    away = planes["worst"][0]
    one = torch.full((BLOCK,), -200.0)
    one[3] = 0.0
    _, planes = bounded(Radii, powers_summed, {"x": one}, out, BLOCK=BLOCK)
    each = planes["worst"][0]
    assert each == pytest.approx(2 * 2.0**-23, rel=0.1)  # of exp alone: others are zero, or tiny
    assert away > BLOCK * (each + 2.0**-24 * BLOCK)


@pytest.mark.parametrize("analysis", [Radii, Deviations])
def test_a_maximum_over_an_unbounded_number_has_no_bound(analysis):
    x, y = torch.zeros(BLOCK), torch.linspace(0, 1, BLOCK)
    x[7] = 88.7228394  # whose power is at the end of what float32 holds
    _, planes = bounded(
        analysis, largest_of_differences, {"x": x, "y": y}, torch.zeros(1), BLOCK=BLOCK
    )
    assert planes["worst"][0] == np.inf


def test_a_maximum_is_as_far_off_as_any_number_that_may_be_largest():
    x = torch.linspace(0, 8, BLOCK)
    _, planes = bounded(Radii, largest, {"x": x}, torch.zeros(1), BLOCK=BLOCK)
    assert 0 < planes["worst"][0] < 1e-5 * np.exp(8.0)


@triton.jit
def _map_after(scale_1, shift_1, scale_2, shift_2):
    return scale_1 * scale_2, shift_1 * scale_2 + shift_2


@triton.jit
def recurrence(scale, shift, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    _, last = tl.reduce((tl.load(scale + lanes), tl.load(shift + lanes)), 0, _map_after)
    tl.store(out, last)


@triton.jit
def recurrence_scanned(scale, shift, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    _, steps = tl.associative_scan((tl.load(scale + lanes), tl.load(shift + lanes)), 0, _map_after)
    tl.store(out + lanes, steps)


@triton.jit
def _product_and_sum(product_1, sum_1, product_2, sum_2):
    return product_1 * product_2, sum_1 + sum_2 + product_1 * product_2


@triton.jit
def commutative(scale, shift, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    numbers = (tl.load(scale + lanes), tl.load(shift + lanes))
    _, total = tl.reduce(numbers, 0, _product_and_sum)
    tl.store(out, total)


@triton.jit
def place_of_largest(scale, shift, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    above = (tl.load(scale + lanes) > tl.load(shift + lanes)).to(tl.int32)  # with many ties
    tl.store(out, tl.argmax(above, axis=0))


@triton.jit
def _both_totals(left_1, left_2, right_1, right_2):
    return left_1 + right_1, left_2 + right_2


@triton.jit
def two_sums(scale, shift, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    _, total = tl.reduce((tl.load(scale + lanes), tl.load(shift + lanes)), 0, _both_totals)
    tl.store(out, total)


def _maps():
    torch.manual_seed(0)
    return {"scale": torch.rand(128), "shift": torch.rand(128)}


@pytest.mark.parametrize("analysis", [Radii, Deviations])
def test_a_bound_holds_for_the_order_of_each_number_of_warps(analysis):
    on_h200 = np.array([0.41970157623291016, 0.6493169069290161])  # with one and with four warps

    numbers, planes = bounded(analysis, recurrence, _maps(), torch.zeros(1), BLOCK=128)

    assert (abs(on_h200 - numbers) <= planes["worst"]).all()


@pytest.mark.parametrize("analysis", [Radii, Deviations])
@pytest.mark.parametrize("kernel", [recurrence_scanned, commutative, place_of_largest])
def test_scans_and_commutative_functions_keep_their_bounds(kernel, analysis):
    out = torch.zeros(128)

    _, planes = bounded(analysis, kernel, _maps(), out, BLOCK=128)

    assert planes is None or planes["worst"].max() < 1e-2


@pytest.mark.parametrize("analysis", [Radii, Deviations])
def test_sums_of_several_tensors_at_once_are_bounded_in_any_order(analysis):
    maps, out = _maps(), torch.zeros(1)
    one_by_one = np.float32(0)
    for number in maps["shift"].numpy():
        one_by_one += number

    numbers, planes = bounded(analysis, two_sums, maps, out, BLOCK=128)

    off = abs(exact(numbers, planes) if analysis is Deviations else numbers) - one_by_one
    assert 0 < abs(off[0]) <= planes["worst"][0] < 1e-2
