"""Other values for inputs of the same shapes."""

import numpy as np
import pytest

from kvtrace.addons.judge.fresh import other_values
from kvtrace.addons.judge.inputs import TensorInput, whole_tensor

RANDOM = np.random.default_rng(3)


def drawn(values, dtype, **settings):
    values = np.asarray(values, dtype)
    tensor = whole_tensor("x", dtype, values.shape)
    content = other_values(values.tobytes(), tensor, RANDOM, **settings)
    return np.frombuffer(content, dtype).reshape(values.shape)


def test_sums_and_extremes_of_floats_differ_and_nothing_leaves_the_range():
    before = RANDOM.standard_normal((20, 30)).astype(np.float32)
    after = drawn(before, "float32")
    assert abs(after.sum() - before.sum()) > 0.1
    assert before.min() < after.min() < after.max() < before.max()


def test_zeros_and_infinities_stay_where_they_are():
    before = np.triu(RANDOM.standard_normal((9, 9))).astype(np.float32)
    before[0, 5] = -np.inf
    after = drawn(before, "float32")
    assert np.array_equal(after == 0, before == 0)
    assert np.array_equal(np.isinf(after), np.isinf(before))


def test_a_factor_keeps_what_is_symmetric():
    half = RANDOM.standard_normal((5, 5))
    after = drawn(half + half.T, "float64", scaled=True)
    assert np.allclose(after, after.T)
    assert not np.allclose(after, half + half.T)


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_what_is_in_order_stays_in_order(dtype):
    after = drawn(np.sort(RANDOM.integers(0, 1000, 50)), dtype)
    assert (after[1:] >= after[:-1]).all()


def test_offsets_of_parts_begin_and_end_where_they_did():
    after = drawn([0, 3, 3, 7, 20], "int32")
    assert (after[0], after[-1]) == (0, 20)


def test_a_permutation_stays_one_and_other_integers_stay_in_their_range():
    assert sorted(drawn(RANDOM.permutation(40), "int64")) == list(range(40))
    after = drawn(RANDOM.integers(5, 9, 300), "int64")
    assert set(after) == {5, 6, 7, 8}
    assert set(drawn([True, False] * 50, "bool")) == {True, False}


def test_only_what_a_view_reaches_changes():
    before = RANDOM.standard_normal(21).astype(np.float32)
    tensor = TensorInput("x", "float32", (10,), (2,), 1, 21)
    after = np.frombuffer(other_values(before.tobytes(), tensor, RANDOM), np.float32)
    assert np.array_equal(after[::2], before[::2])
    assert (after[1::2] != before[1::2]).all()
