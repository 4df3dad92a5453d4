"""Distinct values: as NumPy's, for any array of integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.metrics.distinct import distinct


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=20), st.integers(1, 3))
def test_distinct_equals_numpy_unique(numbers, copies):
    array = np.array(numbers * copies, np.int64).reshape(copies, -1)
    assert distinct(array).tolist() == np.unique(array).tolist()
