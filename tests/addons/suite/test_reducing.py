"""Launches of fewer programs on parts of tensors."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kvtrace.addons.suite.errors import CannotJudgeCall
from kvtrace.addons.suite.launch import Tensor
from kvtrace.addons.suite.launches import read_launch
from kvtrace.addons.suite.reducing import ELEMENTS, reduced

SUITE = Path(__file__).parents[2] / "fixtures" / "suite"


def launch_of(name):
    return read_launch(SUITE, name).with_separate_tensors()


@pytest.mark.parametrize(
    ("name", "output"),
    [("002-_rms_norm_forward_kernel_0", "Y_ptr"), ("003-chunk_fwd_kernel_o", "o")],
)
def test_the_first_programs_compute_the_first_rows_of_the_whole(name, output):
    launch = launch_of(name)

    smaller = reduced(launch)

    assert smaller.elements < launch.elements
    assert smaller.elements <= ELEMENTS[-1]
    small, whole = smaller.tensors[output], launch.tensors[output]
    rows = small.elements(smaller.results()[output])
    whole_rows = whole.elements(launch.results()[output])
    np.testing.assert_array_equal(rows, whole_rows[tuple(map(slice, small.shape))])


def test_integers_of_cut_tensors_come_from_all_recorded_ones_and_ignored_ones():
    launch = launch_of("001-liger_cross_entropy_kernel_0")

    smaller = reduced(launch)

    labels = smaller.tensors["Y_ptr"].elements(smaller.storages["Y_ptr"])
    recorded = launch.tensors["Y_ptr"].elements(launch.storages["Y_ptr"])
    assert labels[0] == smaller.arguments["ignore_index"] == -100
    assert labels[-1] == recorded.max()


def test_tensors_that_overlap_where_the_kernel_writes_are_not_separated():
    launch = read_launch(SUITE, "002-_rms_norm_forward_kernel_0")
    x = launch.tensors["X_ptr"]
    shifted = replace(launch.tensors["Y_ptr"], storage=x.storage, offset=2, shape=(2047, 1024))
    overlapping = replace(launch, arguments={**launch.arguments, "Y_ptr": shifted})

    with pytest.raises(CannotJudgeCall, match=r"X_ptr and Y_ptr share memory|Y_ptr .* X_ptr"):
        overlapping.with_separate_tensors()


@pytest.mark.costly("evaluates 2,048 rows of 1,024 numbers for each axis")
def test_a_launch_that_is_too_large_to_be_judged_says_so():
    launch = launch_of("002-_rms_norm_forward_kernel_0")
    arguments = {
        name: replace(value, strides=(1, 2048)) if name in ("X_ptr", "Y_ptr") else value
        for name, value in launch.arguments.items()
    }
    assert isinstance(arguments["X_ptr"], Tensor)

    with pytest.raises(CannotJudgeCall, match="no part of its grid is a call of its own"):
        reduced(replace(launch, arguments=arguments))
