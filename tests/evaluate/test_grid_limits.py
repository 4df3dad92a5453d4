"""Grids as Triton's launchers take them: values as seen on an H100 with Triton 3.6."""

import numpy as np
import pytest

from kvtrace.evaluate.grid_limits import as_launched, grid_problem, launches_programs


@pytest.mark.parametrize(
    ("number", "error", "text"),
    [
        (2.0, TypeError, "'float' object cannot be interpreted as an integer"),
        ("2", TypeError, "'str' object cannot be interpreted as an integer"),
        (None, TypeError, "'NoneType' object cannot be interpreted as an integer"),
        (np.float32(2), TypeError, "cannot be interpreted as an integer"),
        (1 << 31, OverflowError, "signed integer is greater than maximum"),
        (-(1 << 31) - 1, OverflowError, "signed integer is less than minimum"),
    ],
)
def test_what_is_no_c_int_is_refused_on_each_axis(number, error, text):
    for axis in range(3):
        grid = [1, 1, 1]
        grid[axis] = number
        with pytest.raises(error, match=text):
            as_launched(tuple(grid))


def test_integers_of_any_type_are_taken():
    assert as_launched((np.int64(2), True, (1 << 31) - 1)) == (2, 1, (1 << 31) - 1)


@pytest.mark.parametrize(
    ("grid", "is_launched"),
    [
        ((1, 1, 1), True),
        ((0, 5, 5), False),
        ((-1, 1, 1), False),
        ((-1, -1, 1), True),
        ((1 << 16, 1 << 15, 1), False),
        ((1 << 16, (1 << 16) - 1, 1), False),
        ((1 << 16, 1 << 16, 1), False),
        (((1 << 31) - 1, 1, 1), True),
    ],
)
def test_a_product_that_wraps_around_to_no_positive_number_launches_nothing(grid, is_launched):
    assert launches_programs(grid, "cuda:90") == is_launched


def test_hip_leaves_out_only_a_product_of_zero():
    assert launches_programs((1 << 16, 1 << 15, 1), "hip:gfx942")
    assert not launches_programs((1 << 16, 1 << 16, 1), "hip:gfx942")


def test_limits_of_cuda_are_those_of_each_axis_and_of_clusters():
    assert grid_problem(((1 << 31) - 1, 65_535, 65_535), "cuda:90") is None
    for axis, number in ((1, 65_536), (2, 65_536), (1, -1)):
        grid = [1, 1, 1]
        grid[axis] = number
        problem = grid_problem(tuple(grid), "cuda:80")
        assert problem == f"grid_{'xyz'[axis]} is {number:,}, and CUDA launches 1 to 65,535"
    assert grid_problem((1 << 30, 1, 1), "cuda:90", ctas=2) is not None
    assert grid_problem((1 << 29, 1, 1), "cuda:90", ctas=2) is None


def test_limits_of_hip_are_work_items():
    assert grid_problem(((1 << 24) - 1, 1 << 20, 1), "hip:gfx942", threads=256) is None
    assert "16,777,215 programs of 256" in str(
        grid_problem((1 << 24, 1, 1), "hip:gfx942", threads=256)
    )


def test_targets_without_known_limits_have_no_problem():
    assert grid_problem((1, 1 << 20, 1), "") is None
