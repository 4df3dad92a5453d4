"""`compared`: a candidate's elements are wrong or right beside the reference's."""

import numpy as np

from kvtrace.addons.judge.comparing import compared


def wrong(value, exact, own):
    arrays = (np.asarray([each]) for each in (value, exact, own))
    return compared(0, *arrays, "float32", tf32=False, planes="").wrong


def test_a_scan_of_another_order_may_be_nan_where_the_reference_overflows():
    assert not wrong(np.nan, 1.8e47, np.inf)
    assert not wrong(-np.inf, 1.8e47, np.inf)


def test_a_scan_that_is_finite_there_or_nan_elsewhere_is_wrong():
    assert wrong(3.0, 1.8e47, np.inf)
    assert wrong(np.nan, 1.8e37, 1.8e37)
    assert wrong(np.nan, np.inf, np.inf)
