"""Comparison of bits with a device's: steps between floats, NaN of other bits, signs of zero."""

import numpy as np
import pytest

from tests.kernels.answers.agreement import ANSWERS
from tests.kernels.answers.compared import UNLIKE, comparison, evaluated
from tests.kernels.answers.table import read


def test_floats_are_compared_by_steps_and_nan_apart():
    ours = np.array([0x3F800000, 0x00000000, 0x7FC00000, 0x7FC00000, 0x7F800000], np.uint32)
    device = np.array([0x3F800002, 0x80000000, 0x7FFFFFFF, 0x3F800000, 0x7F7FFFFF], np.uint32)

    result = comparison("fp32", ours, device)

    assert (result.values, result.equal, result.other_nan) == (5, 0, 1)
    assert result.places.tolist() == [0, 1, 3, 4]
    assert result.steps.tolist() == [2, 1, int(UNLIKE), 1]


def test_integers_are_equal_or_unlike():
    result = comparison("i64", np.array([1, 2], np.uint64), np.array([1, 3], np.uint64))

    assert (result.equal, result.places.tolist(), result.steps.tolist()) == (1, [1], [int(UNLIKE)])


@pytest.mark.parametrize("name", ["floor fp64", "max, axis 1 i32", "atomic_xchg u64"])
def test_questions_are_answered_by_the_evaluator(name):
    question = next(each for each in read(ANSWERS).questions if each.name == name)

    answer = evaluated(question, "cuda:90")

    x = question.arguments["x"]
    if "floor" in name:
        with np.errstate(invalid="ignore"):
            numbers = np.floor(x.bits.view(np.float64))
        np.testing.assert_array_equal(answer["out"].view(np.float64), numbers)
    elif "max" in name:
        rows = x.bits.view(np.int32).reshape(16, 16).max(axis=1)
        assert answer["out"].view(np.int64).tolist() == rows.tolist()
    else:
        masked = np.arange(256) % 3 != 1
        memory_before = question.arguments["memory"].bits
        assert (answer["memory"] == np.where(masked, x.bits, memory_before)).all()
        assert (answer["old"] == np.where(masked, memory_before, 0)).all()
