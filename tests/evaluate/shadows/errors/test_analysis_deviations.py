"""Deviations bound a device's results in any order; the exact numbers are a reference's."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from kvtrace.evaluate import evaluate
from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.shadows.errors.analysis import Deviations
from kvtrace.evaluate.shadows.errors.planes import PLANES, are_apart, combined_scale
from kvtrace.evaluate.shadows.errors.roundings import (
    GrantedRoundings,
    constants_radius,
    deviations_for,
    rounding,
)
from tests.kernels.launching import bind, compile_for
from tests.support.tiers import some

BLOCK = 1024


@triton.jit
def summed(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, BLOCK)), axis=0))


@triton.jit
def in_a_loop(x, out, ROUNDS: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for trip in range(ROUNDS):
        total += tl.load(x + trip * BLOCK + lanes) * 0.1
    tl.store(out + lanes, total)


@triton.jit
def chosen(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    given = tl.exp(tl.load(x + lanes))
    tl.store(out + lanes, tl.where(given > 1.0, given, -given))


@triton.jit
def branching(x, out, BLOCK: tl.constexpr):
    total = tl.sum(tl.load(x + tl.arange(0, BLOCK)), axis=0)
    if total > 1.0:
        tl.store(out, total)


@triton.jit
def added(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.atomic_add(out + lanes % 4, tl.load(x + lanes))


@triton.jit
def cumulated(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.cumsum(tl.load(x + lanes), axis=0))


@triton.jit
def narrowed(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes) / 3.0)


def deviations(kernel, x, size, dtype=torch.float32, granted=None, **constants):
    """Return the stored numbers, the exact numbers, and the planes."""
    given = {"x": x, "out": torch.zeros(size, dtype=dtype)}
    module = compile_for(kernel, given, constants)
    arguments = bind(kernel, given)
    result = Deviations(module, granted=granted)
    evaluate(module, arguments, (1,), instrument=result)
    result.memory.finish()
    _, _, planes = result.memory.planes.by_storage.get(
        id(arguments[1].storage), (0, 0, np.zeros(size, PLANES))
    )
    out = given["out"].double().numpy()
    return out, out + planes["off"], planes


def of_normal(count, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(count, np.float32))


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_a_sum_in_any_order_is_within_the_probable_bound(shift):
    x = of_normal(BLOCK) + shift
    _, exact, planes = deviations(summed, x, 1, BLOCK=BLOCK)
    orders = np.random.default_rng(1)

    result = [
        np.add.accumulate(order, dtype=np.float32)[-1]
        for order in (x.numpy(), np.sort(x.numpy()), np.sort(x.numpy())[::-1])
    ]
    result += [np.add.accumulate(orders.permutation(x.numpy()))[-1] for _ in range(200)]

    assert exact[0] == pytest.approx(x.double().sum().item(), rel=1e-14)
    assert max(abs(each - exact[0]) for each in result) <= planes["near"][0]
    assert planes["near"][0] < planes["worst"][0] / 3


@pytest.mark.parametrize("constant", some([0.1, 0.7, 1 / 3], 3))
def test_a_sum_of_one_repeated_number_is_within_the_probable_bound(constant):
    x = torch.full((65536,), constant)
    _, exact, planes = deviations(summed, x, 1, BLOCK=65536)
    assert abs(np.add.accumulate(x.numpy())[-1] - exact[0]) <= planes["near"][0]

    rounds = 1024
    x = torch.full((rounds * 16,), constant)
    out, exact, planes = deviations(in_a_loop, x, 16, ROUNDS=rounds, BLOCK=16)
    assert (np.abs(out - exact) <= planes["near"]).all()


def test_a_sum_of_whole_numbers_is_exact():
    x = torch.arange(float(BLOCK))
    out, exact, planes = deviations(summed, x, 1, BLOCK=BLOCK)
    assert out[0] == exact[0] == x.sum()
    assert planes["worst"][0] == 0


@triton.jit
def product(x, out, LEFT: tl.constexpr, TYPE: tl.constexpr):
    row, column = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    y = tl.load(x + row * 32 + column)
    left = tl.full((32, 32), LEFT, tl.float32).to(x.dtype.element_ty)
    total = tl.dot(left, y, input_precision="ieee", out_dtype=TYPE)
    tl.store(out + row * 32 + column, total)


@pytest.mark.parametrize(
    ("size", "given", "result", "exact"),
    [
        (723, torch.float32, tl.float32, True),  # 32 · 723² < 2²⁴
        (725, torch.float32, tl.float32, False),
        (11, torch.float16, tl.float32, True),
        (11, torch.float16, tl.float16, False),  # 32 · 11² > 2¹¹
        (16, torch.float8_e4m3fn, tl.float32, False),  # tensor cores keep 13 bits of its sums
    ],
)
def test_a_product_of_whole_numbers_is_exact_if_none_is_rounded(size, given, result, exact):
    x = torch.full((32 * 32,), float(size)).to(given)
    dtype = torch.float16 if result == tl.float16 else torch.float32
    _, right, planes = deviations(product, x, 32 * 32, dtype, LEFT=float(size), TYPE=result)
    assert (right == 32 * size * size).all()
    assert (planes["worst"] == 0).all() == exact


@pytest.mark.costly("many trips; a sum stays by day")
def test_roundings_of_a_loop_add_by_squares():
    few, many = (
        deviations(in_a_loop, of_normal(16 * rounds), 16, ROUNDS=rounds, BLOCK=16)[2]
        for rounds in (16, 1024)
    )
    # sqrt(64) times as many roundings, of sums that are sqrt(64) times as large
    grown = np.median(many["near"]) / np.median(few["near"])
    assert np.median(many["worst"]) / np.median(few["worst"]) > 2 * grown


def test_meaning_plane_of_a_rounded_constant_contains_the_written_number():
    x = of_normal(16 * 16)
    _, exact, planes = deviations(in_a_loop, x, 16, ROUNDS=16, BLOCK=16)
    expected = 0.1 * x.double().numpy().reshape(16, 16).sum(0)
    assert (np.abs(exact - expected) > 0).any()
    assert (np.abs(exact - expected) <= planes["meaning"]).all()
    assert (planes["meaning"] < planes["worst"]).all()


def test_a_select_by_a_close_comparison_covers_both_sides():
    x = torch.tensor([1.0, -1.0, 0.0, 1e-9])
    _, exact, planes = deviations(chosen, x, 4, BLOCK=4)
    assert exact == pytest.approx([np.e, -np.exp(-1.0), -1.0, -1.0], rel=1e-6)
    assert (planes["near"][:2] < 1e-5).all()
    assert (planes["near"][2:] >= 2).all()
    assert planes["meaning"][3] >= 2  # exp(1e-9) is above 1, and rounded to 1


@pytest.mark.parametrize(("off", "decided"), [(0.5, True), (2**-23, False)])
def test_a_branch_on_an_uncertain_number_is_undecided(off, decided):
    x = torch.full((BLOCK,), (1 + off) / BLOCK)
    x[0] += 1e-6
    if decided:
        out, _, _ = deviations(branching, x, 1, BLOCK=BLOCK)
        assert out[0] > 1
        return
    with pytest.raises(Undecided, match="that the device chooses"):
        deviations(branching, x, 1, BLOCK=BLOCK)


def test_bounds_of_atomic_sums_hold_in_any_order():
    x = of_normal(BLOCK)
    out, exact, planes = deviations(added, x, 4, BLOCK=BLOCK)
    columns = x.numpy().reshape(-1, 4)
    orders = [columns, columns[::-1], np.sort(columns, 0), -np.sort(-columns, 0)]
    assert exact == pytest.approx(columns.astype(np.float64).sum(0), rel=1e-13)
    for each in orders:
        result = np.add.accumulate(each, 0, dtype=np.float32)[-1]
        assert (np.abs(result - exact) <= planes["near"]).all()
    assert (np.abs(out - exact) <= planes["near"]).all()
    assert (planes["near"] < planes["worst"]).all()


def test_prefix_sums_are_within_their_bounds():
    x = of_normal(BLOCK)
    _, exact, planes = deviations(cumulated, x, BLOCK, BLOCK=BLOCK)
    sequential = np.add.accumulate(x.numpy(), dtype=np.float32)
    assert exact == pytest.approx(np.cumsum(x.double().numpy()), rel=1e-12)
    assert (np.abs(sequential - exact) <= planes["near"]).all()


@pytest.mark.parametrize(
    ("dtype", "unit", "least"),
    [
        (torch.bfloat16, 2.0**-8, 1e-38),
        (torch.float16, 2.0**-11, 2.0**-25),
        (torch.float8_e4m3fn, 2.0**-4, 2.0**-10),
        (torch.float8_e5m2, 2.0**-3, 2.0**-17),
    ],
)
def test_a_store_to_a_narrow_type_adds_the_bound_of_one_rounding(dtype, unit, least):
    x = of_normal(BLOCK)
    out, exact, planes = deviations(narrowed, x, BLOCK, dtype, BLOCK=BLOCK)
    assert (np.abs(out - exact) <= planes["near"]).all()
    assert (planes["near"] <= 1.001 * (np.abs(exact) * unit + least) + 1e-6 * np.abs(exact)).all()


def test_bounds_of_8_bit_floats_are_finite_as_they_saturate():
    x = torch.tensor([3000.0, -3000.0, 3.0, 0.0])
    out, exact, planes = deviations(narrowed, x, 4, torch.float8_e4m3fn, BLOCK=4)
    assert out.tolist() == exact.tolist() == [448.0, -448.0, 1.0, 0.0]
    assert np.isfinite(planes["near"]).all()


def test_errors_that_share_a_rounding_add_up_others_by_squares():
    three, four = np.array([3.0]), np.array([4.0])
    assert combined_scale([(three, (1, 1)), (four, (2, 5))]) == (5.0, (1, 5))
    assert combined_scale([(three, (1, 3)), (four, (2, 5))]) == (7.0, (1, 5))
    assert combined_scale([(three, None), (four, (2, 5))])[0] == 7.0
    assert not are_apart(None, None)


def test_bound_of_one_rounding_is_half_a_step_of_the_type():
    assert rounding("f32", np.array([1.0])) == 2.0**-24
    assert rounding("bf16", np.array([2.0])) == 2.0**-7
    assert rounding("f16", np.array([0.0])) == 2.0**-25  # of what has no normal exponent
    assert constants_radius("f32", np.array([0.5, 3.0, 0.1]))[:2].tolist() == [0.0, 0.0]
    assert constants_radius("f32", np.array([0.1]))[0] > 0
    assert constants_radius("f32", np.array([1_000_003.0]))[0] == 0
    assert constants_radius("f32", np.array([2.0**25 + 4100]))[0] > 0  # its neighbors are rounded


def test_the_stated_chance_is_divided_among_all_comparisons():
    assert deviations_for(1e-9, 1) == pytest.approx(6.545, abs=1e-3)
    assert deviations_for(1e-9, 10**6) > deviations_for(1e-9, 1)
    assert GrantedRoundings() == GrantedRoundings(tf32=None, narrow=None)


@triton.jit
def growing(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    given = tl.load(x + lanes)
    tl.store(out + lanes, given / 3.0 * given)


@triton.jit
def masked_by_a_number(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    powers = tl.exp(tl.load(x + lanes))
    tl.store(out + lanes, powers, mask=powers > 1.0)


def test_a_number_that_may_overflow_has_no_bound():
    _, _, planes = deviations(growing, torch.tensor([1.0, 1e19, 3.2e19, 1e30]), 4, BLOCK=4)
    assert np.isfinite(planes["near"][:2]).all()
    assert np.isinf(planes["near"][2:]).all()


def test_a_store_under_an_uncertain_mask_has_no_bound():
    _, _, planes = deviations(masked_by_a_number, torch.tensor([1.0, -1.0, 0.0, 0.5]), 4, BLOCK=4)
    assert np.isfinite(planes["near"][[0, 1, 3]]).all()
    assert np.isinf(planes["near"][2])


def test_a_quotient_that_is_exact_here_has_the_bound_of_an_approximate_division():
    _, _, planes = deviations(narrowed, torch.full((4,), 6.0), 4, BLOCK=4)
    assert (planes["near"] > 0).all()


@triton.jit
def thirds_at_an_end(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rows = tl.load(x + lanes[:, None] * 2 + tl.arange(0, 2)[None, :], mask=lanes[:, None] < n)
    tl.store(out + lanes, tl.sum(rows, axis=1) / 3.0, mask=lanes < n)


def test_errors_of_an_earlier_launch_remain_in_memory():
    """This includes an access that is masked at the end of the memory."""
    given = {"x": of_normal(200), "out": torch.zeros(100), "n": 100}
    module = compile_for(thirds_at_an_end, given, {"BLOCK": 64})
    arguments = bind(thirds_at_an_end, given)
    before = np.zeros(200, PLANES)
    for plane in ("worst", "near", "bias"):
        before[plane] = 1e-3
    before["off"] = 2e-4
    carried = Deviations(module, before={id(arguments[0].storage): (4, 0, before)})

    evaluate(module, arguments, (2,), instrument=carried)

    planes = carried.memory.planes.by_storage[id(arguments[1].storage)][2]
    exact = given["out"].double().numpy() + planes["off"]
    expected = (given["x"].double().numpy() + 2e-4).reshape(100, 2).sum(axis=1) / 3
    assert exact == pytest.approx(expected, rel=1e-12)
    assert (planes["near"] >= 2e-3 / 3).all()
    assert (planes["near"] < 1e-3).all()
    assert (before["off"] == 2e-4).all()


@triton.jit
def added_atomically(x, out, BLOCK: tl.constexpr):
    tl.atomic_add(out + tl.arange(0, BLOCK) * 0, tl.load(x + tl.arange(0, BLOCK)))


def test_atomic_additions_begin_with_the_exact_number_in_memory():
    given = {"x": of_normal(64), "out": torch.ones(1)}
    module = compile_for(added_atomically, given, {"BLOCK": 64})
    arguments = bind(added_atomically, given)
    before = np.zeros(1, PLANES)
    before["off"] = before["worst"] = before["near"] = before["bias"] = 1e-3
    carried = Deviations(module, before={id(arguments[1].storage): (4, 0, before)})

    evaluate(module, arguments, (1,), instrument=carried)
    carried.memory.finish()

    (planes,) = carried.memory.planes.by_storage[id(arguments[1].storage)][2]
    exact = float(given["out"]) + planes["off"]
    assert exact == pytest.approx(1.001 + float(given["x"].double().sum()), abs=1e-12)
    assert planes["near"] >= 1e-3
