"""Other values for inputs of the same shapes."""

import math
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from kvtrace.inputs.cases import TensorInput, whole_tensor
from kvtrace.inputs.values import (
    AWKWARD,
    BEYOND_CONSTANTS,
    BOTH_SIGNS,
    CONSTANTS,
    SPECIAL,
    WIDE,
    constants_to_exceed,
    drawn_values,
    groups_of,
    other_scalar,
    other_values,
)

RANDOM = np.random.default_rng(3)


def draw_values(values, dtype, **settings):
    values = np.asarray(values, dtype)
    tensor = whole_tensor("x", dtype, values.shape)
    content = other_values(values.tobytes(), tensor, RANDOM, **settings)
    return np.frombuffer(content, dtype).reshape(values.shape)


def test_sums_and_extremes_of_floats_differ_and_nothing_leaves_the_range():
    before = RANDOM.standard_normal((20, 30)).astype(np.float32)
    after = draw_values(before, "float32")
    assert abs(after.sum() - before.sum()) > 0.1
    assert before.min() < after.min() < after.max() < before.max()


def test_zeros_and_infinities_stay_where_they_are():
    before = np.triu(RANDOM.standard_normal((9, 9))).astype(np.float32)
    before[0, 5] = -np.inf
    after = draw_values(before, "float32")
    assert np.array_equal(after == 0, before == 0)
    assert np.array_equal(np.isinf(after), np.isinf(before))


def test_scaled_redraw_keeps_a_matrix_symmetric():
    half = RANDOM.standard_normal((5, 5))
    after = draw_values(half + half.T, "float64", scaled=True)
    assert np.allclose(after, after.T)
    assert not np.allclose(after, half + half.T)


def test_zeros_among_signed_numbers_have_both_signs():
    signed = RANDOM.standard_normal(40).astype(np.float32)
    zeros = [number for number in draw_values(signed, "float32", awkward="zero") if number == 0]
    assert {bool(np.signbit(number)) for number in zeros} == {False, True}
    assert not np.signbit(draw_values(np.abs(signed), "float32", awkward="zero")).any()


def test_zeros_lie_beside_numbers_that_a_sum_with_one_loses_after_exp():
    usual = RANDOM.standard_normal(400).astype(np.float32)
    zeros = draw_values(usual, "float32", awkward="zero")
    assert 20 < np.abs(zeros).max() < 100
    assert np.abs(draw_values(np.abs(usual) / 9, "float32", awkward="zero")).max() <= 1


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_sorted_values_stay_sorted(dtype):
    after = draw_values(np.sort(RANDOM.integers(0, 1000, 50)), dtype)
    assert (after[1:] >= after[:-1]).all()


def test_redrawn_sorted_offsets_keep_their_first_and_last_value():
    after = draw_values([0, 3, 3, 7, 20], "int32")
    assert (after[0], after[-1]) == (0, 20)


def test_permutations_stay_permutations_and_integers_stay_in_range():
    assert sorted(draw_values(RANDOM.permutation(40), "int64")) == list(range(40))
    after = draw_values(RANDOM.integers(5, 9, 300), "int64")
    assert set(after) == {5, 6, 7, 8}
    assert set(draw_values([True, False] * 50, "bool")) == {True, False}


def test_only_elements_of_the_view_change():
    before = RANDOM.standard_normal(21).astype(np.float32)
    tensor = TensorInput("x", "float32", (10,), (2,), 1, 21)
    after = np.frombuffer(other_values(before.tobytes(), tensor, RANDOM), np.float32)
    assert np.array_equal(after[::2], before[::2])
    assert (after[1::2] != before[1::2]).all()


@pytest.mark.parametrize("value", [0.0, 1.0, -2.0])
def test_equal_floats_are_replaced_by_random_floats(value):
    after = draw_values(np.full(300, value), "float32")
    assert np.unique(after).size > 250
    assert np.abs(after).max() <= max(1.5 * abs(value), 1)
    assert (after * value >= 0).all()


def test_awkward_values_have_the_named_property():
    before = RANDOM.standard_normal((20, 30)).astype(np.float32)
    kinds = {kind: draw_values(before, "float32", awkward=kind) for kind in (*AWKWARD, SPECIAL)}
    assert np.abs(kinds["large"]).max() > 60
    assert np.abs(kinds["tiny"]).max() < 1e-5
    assert (kinds["negative"] < 0).all()
    assert np.isfinite(kinds["huge"]).all()
    with np.errstate(over="ignore"):
        assert np.isinf(kinds["huge"] ** 2).any()
    assert 0.3 < (kinds["zero"] == 0).mean() < 0.7
    assert np.unique(kinds["equal"]).size <= 3
    assert np.ptp(kinds["nearly equal"]) < 0.02 * kinds["nearly equal"].max()
    assert np.unique(kinds["all equal"]).size == 1
    assert kinds["all equal"][0, 0] == draw_values(before[:5], "float32", awkward="all equal")[0, 0]
    assert (np.diff(kinds["sorted"].ravel()) >= 0).all()
    assert np.abs(kinds["canceling"].sum()) < 1e-3 * np.abs(kinds["canceling"]).sum()
    assert 0 < np.abs(kinds["denormal"]).max() < 2.0**-126
    assert np.isnan(kinds[SPECIAL]).any()
    assert np.isinf(kinds[SPECIAL]).any()


def test_floats_of_both_signs_keep_their_sizes_and_end_with_the_other_sign():
    before = RANDOM.uniform(0.5, 2, 64)
    after = draw_values(before, "float32", awkward=BOTH_SIGNS)
    assert (after[:32] > 0).any()
    assert (after[:32] < 0).any()
    assert (after[32:] < 0).all()
    assert 0.5 <= np.abs(after).min() <= np.abs(after).max() <= 2


def test_one_signed_numbers_lie_beyond_the_range_of_exponentials():
    before = RANDOM.standard_normal((20, 30)).astype(np.float32)
    assert draw_values(before, "float32", awkward="far below zero").max() <= -200
    assert draw_values(before, "float32", awkward="far above zero").min() >= 200
    assert (draw_values(np.abs(before), "float32", awkward="far below zero") >= 0).all()


@pytest.mark.parametrize("constant", [-1e4, 30.0, -88.0])
def test_all_numbers_lie_beyond_a_constant(constant):
    before = RANDOM.standard_normal((20, 30)).astype(np.float32)
    after = draw_values(before, "float32", awkward=BEYOND_CONSTANTS, constants=[constant])
    assert (after / constant > 1).all()
    assert np.unique(after).size > 100


def test_largest_constants_are_exceeded_first():
    assert constants_to_exceed([1e-5, 0.5, -1e4, 30.0, 1e30]) == [-1e4, 30.0]


@pytest.mark.parametrize("kind", ["zero rows", "zero columns", "zero tiles", "one hot"])
def test_structure_of_tensors_is_independent(kind):
    before = RANDOM.standard_normal((40, 48)).astype(np.float32)
    first, second = (draw_values(before, "float32", awkward=kind) != 0 for _ in range(2))
    assert (first != second).any()
    if kind == "zero rows":
        assert 0 < first.any(1).sum() < 40
    elif kind == "zero columns":
        assert 0 < first.any(0).sum() < 48
    elif kind == "one hot":
        assert (first.sum(1) == 1).all()
    else:
        assert 0 < first.reshape(40, 48)[:16, :16].mean() * 3 + first.mean() < 4


def test_rows_lie_far_apart_and_small_ones_follow_large_ones():
    before = RANDOM.standard_normal((40, 5)).astype(np.float32)
    largest = draw_values(before, "float32", awkward="rows far apart").max(1)
    assert (np.diff(largest) < -100).any()
    assert (np.diff(largest) > 100).any()


def test_bounds_of_parts_ascend_from_zero():
    offsets = drawn_values(whole_tensor("cu_seqlens", "int64", (50,)), RANDOM, 30)
    assert offsets[0] == 0
    assert (np.diff(offsets) >= 0).all()
    positions = drawn_values(whole_tensor("index", "int64", (50,)), RANDOM, 30)
    assert (np.diff(positions) < 0).any()


def test_drawn_bytes_cover_the_range_of_their_type():
    values = drawn_values(whole_tensor("x", "int8", (2000,)), np.random.default_rng(0), 5)
    assert (values.min(), values.max()) == (-128, 127)


def test_awkward_values_for_shares_stay_between_zero_and_one():
    before = RANDOM.random(100).astype(np.float32)
    for kind in AWKWARD:
        after = draw_values(before, "float32", awkward=kind)
        assert 0 <= after.min() <= after.max() <= 1


def test_thresholds_are_drawn_with_numbers_between_and_beyond_them():
    before = RANDOM.standard_normal(1000).astype(np.float32)
    after = draw_values(before, "float32", awkward=CONSTANTS, constants=[7.0, -1000.0, 1e30])
    assert {7.0, -7.0, 503.5, 1000.0, 2000.0, 3.5} <= set(after.tolist())
    assert np.abs(after).max() == 2000
    shares = draw_values(np.abs(before / 9), "float32", awkward=CONSTANTS, constants=[0.25, 7.0])
    assert 0.25 in shares
    assert 0 <= shares.min() <= shares.max() <= 1


def test_constants_are_grouped_by_magnitude():
    groups = groups_of([7.0, 0.5, 1e-20, 3e-20, 1e-30, -1e9, 1e6, 1e38, 0.001])
    usual = [7.0, 0.5, 1e-20, 3e-20, 0.001]
    assert groups == [
        usual, [1e6], [1e-30], [1e-20, 3e-20], [1e-15], [1e-10, math.sqrt(3e-20)],
    ]  # fmt: skip


def test_tiny_and_huge_constants_are_drawn_alone():
    before = RANDOM.standard_normal(1000).astype(np.float32)
    tiny = draw_values(before, "float32", awkward=CONSTANTS, constants=[1e-20])
    assert 0 < np.abs(tiny).min() <= np.abs(tiny).max() < 5e-20
    assert (tiny < 0).any()
    assert np.float32(1e-20) in np.abs(tiny)
    large = draw_values(before, "float32", awkward=CONSTANTS, constants=[1e6])
    assert 2e5 < large.min() < large.max() < 5e6
    shares = draw_values(np.abs(before / 9), "float32", awkward=CONSTANTS, constants=[1e6])
    assert shares.max() <= 1


def test_floats_that_are_all_nan_are_replaced_by_random_floats():
    after = draw_values(np.full(300, np.nan), "float32")
    assert np.isfinite(after).all()
    assert np.unique(after).size > 250


def test_integers_of_all_sizes_reach_both_ends_of_their_type():
    after = draw_values(RANDOM.integers(0, 5, 300), "int32", awkward=WIDE[0])
    assert after.min() < -(1 << 30)
    assert after.max() > 1 << 30
    wide = draw_values(RANDOM.integers(0, 5, 300), "int64", awkward=WIDE[0])
    assert np.abs(wide).max() <= 1 << 40


@pytest.mark.parametrize(("dtype", "least"), [("int32", -(1 << 30)), ("int8", -100)])
def test_integers_may_all_lie_below_zero(dtype, least):
    after = draw_values(RANDOM.integers(0, 5, 300), dtype, awkward=WIDE[1])
    assert after.min() < least
    assert after.max() <= 0


def test_unsigned_integers_do_not_lie_below_zero():
    assert draw_values(RANDOM.integers(0, 5, 300), "uint8", awkward=WIDE[1]).max() > 200


def test_redrawn_scalar_between_zero_and_one_stays_in_that_range():
    assert all(0.05 <= other_scalar(1e-5, RANDOM) <= 0.95 for _ in range(50))
    assert 0.05 <= other_scalar(0.0, RANDOM) <= 0.95
    assert -3 <= other_scalar(-2.0, RANDOM) <= -1


def test_floats_of_eight_bits_are_drawn():
    kind = ml_dtypes.float8_e4m3fn
    before = RANDOM.standard_normal(60).astype(kind)
    tensor = TensorInput("x", "float8_e4m3fn", (30,), (2,), 0, 60)
    after = np.frombuffer(other_values(before.tobytes(), tensor, RANDOM), kind)
    assert (after[1::2] == before[1::2]).all()
    assert (after[::2] != before[::2]).sum() > 20


@pytest.mark.parametrize("shape", [(1,), (), (1, 1)])
def test_a_number_that_nobody_gave_takes_both_signs_and_any_size(shape):
    tensor = replace(whole_tensor("alpha", "float32", shape), is_drawn=True)
    content = np.full(shape, 0.25, np.float32).tobytes()

    def again(awkward=""):
        return np.frombuffer(other_values(content, tensor, RANDOM, awkward=awkward), np.float32)[0]

    drawn = [again() for _ in range(50)]
    assert min(drawn) < 0 < max(drawn)
    assert again("far above zero") > 100
    assert again("far below zero") < -100


def test_a_number_that_was_given_keeps_its_sign_and_size():
    assert draw_values([0.25], "float32", awkward="far above zero")[0] < 1
    assert all(0 < draw_values([0.25], "float32")[0] < 1 for _ in range(20))
