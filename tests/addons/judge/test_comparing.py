"""`compare_result`: which of a candidate's elements are wrong beside the reference's."""

import numpy as np
import pytest

from kvtrace.addons.judge.comparing import compare_result


def wrong(value, exact, native, granted=None):
    arrays = (np.asarray([number]) for number in (value, exact, native))
    allowed = None if granted is None else np.asarray([granted])
    return compare_result(0, *arrays, "float32", tf32=False, planes="", granted=allowed).wrong


@pytest.mark.parametrize(("off", "is_wrong"), [(9e-6, 0), (2e-5, 1)])
def test_cancelling_sum_may_be_off_by_the_granted_error(off, is_wrong):
    assert wrong(1e-7 + off, 1e-7, 1e-7, granted=1e-5) == is_wrong
    assert wrong(1e-7 + off, 1e-7, 1e-7)


def test_nan_or_infinity_is_right_where_the_reference_overflows():
    assert not wrong(np.nan, 1.8e47, np.inf)
    assert not wrong(-np.inf, 1.8e47, np.inf)


def test_finite_value_at_an_overflow_and_nan_elsewhere_are_wrong():
    assert wrong(3.0, 1.8e47, np.inf)
    assert wrong(np.nan, 1.8e37, 1.8e37)
    assert wrong(np.nan, np.inf, np.inf)
