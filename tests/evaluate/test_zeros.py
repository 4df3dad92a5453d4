"""Signs of zeros in sums and extremes, as an H100 has them."""

import numpy as np
import pytest

from kvtrace.evaluate.dialects.tt_reduce import reduced
from kvtrace.evaluate.types import ValueType, element_of
from kvtrace.evaluate.zeros import larger_number, maximum, minimum, smaller_number
from tests.evaluate.one_op import run_op

ROWS = {
    "all negative": [-0.0] * 4,
    "mixed": [-0.0, 0.0, -0.0, -0.0],
    "canceled": [-1.0, 1.0, -0.0, -0.0],
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("width", [4, 64])
@pytest.mark.parametrize("row", ROWS)
def test_a_sum_is_negative_zero_if_all_summands_are(row, width, dtype):
    array = np.tile(np.array(ROWS[row], dtype), (2, width // 4))
    element = element_of(f"f{np.dtype(dtype).itemsize * 8}")

    out = reduced(np.add, array, 1, ValueType("", (width,), element))

    assert not out.any()
    assert np.signbit(out).tolist() == [row == "all negative"] * 2


@pytest.mark.parametrize("function", [np.fmax, np.maximum, np.fmin, np.minimum])
def test_extremes_of_zeros_do_not_depend_on_order(function):
    arrays = np.array([[0.0, -0.0, -0.0], [-0.0, -0.0, 0.0], [-0.0, -0.0, -0.0]], np.float32)

    out = reduced(function, arrays, 1, ValueType("", (3,), element_of("f32")))

    is_largest = function in (np.fmax, np.maximum)
    assert np.signbit(out).tolist() == ([False, False, True] if is_largest else [True] * 3)


@pytest.mark.parametrize("function", [larger_number, maximum, smaller_number, minimum])
def test_the_larger_zero_is_positive_and_the_smaller_negative(function):
    left, right = np.array([0.0, -0.0, -0.0, 0.0, -0.0]), np.array([-0.0, 0.0, -0.0, -2.0, 2.0])

    signs = np.signbit(function(left, right)).tolist()

    is_largest = function in (larger_number, maximum)
    largest, smallest = [False, False, True, False, False], [True, True, True, True, True]
    assert signs == (largest if is_largest else smallest)


def test_a_reduction_keeps_the_sign():
    region = (
        " ({\n^bb0(%x: f32, %y: f32):\n"
        '%s = "arith.addf"(%x, %y) : (f32, f32) -> f32\n'
        '"tt.reduce.return"(%s) : (f32) -> ()\n})'
    )
    (total,) = run_op(
        "tt.reduce", [("f32", np.full(4, -0.0))], ["f32"], "axis = 0 : i32", [()], region,
    )  # fmt: skip
    assert np.signbit(total).all()
