"""Columns of locations, which Triton counts from 0 before version 3.8 and from 1 since."""

import pytest

from kvtrace.ir.locations import column_shift, triton_of


@pytest.mark.parametrize(
    ("version", "shift"),
    [
        ("3.5.1", 1), ("3.7.1", 1), ("3.8.0", 0), ("3.9.0+git1", 0), ("3.10.0", 0), ("4.0", 0),
        (None, 0), ("", 0), ("nightly", 0),
    ],
)  # fmt: skip
def test_columns_count_from_one_since_3_8(version, shift):
    assert column_shift(version) == shift


def test_version_of_the_kernel_precedes_the_version_of_the_run():
    """A merged trace can have kernels that another version of Triton compiled than the run's."""
    run = {"triton": "3.9.0"}
    assert triton_of({"options": [("triton_version", "3.6.0")]}, run) == "3.6.0"
    assert triton_of({"options": [("debug", "False")]}, run) == "3.9.0"
    assert triton_of({"options": None}, {}) is None
