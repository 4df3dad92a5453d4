"""The percentile of delays, of which the time from a request to its execution is estimated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.figures.gap_causes import _LATENCY, _Delays

LIMITS = [limit // 2 for limit in _LATENCY]
DELAYS = st.lists(
    st.one_of(
        st.integers(-1_000, 60_000), st.sampled_from([n + d for n in LIMITS for d in (-1, 0, 1)])
    ),
    min_size=1,
    max_size=300,
)


@given(st.lists(DELAYS, min_size=1, max_size=3), st.sampled_from([1, 30]))
def test_the_percentile_is_that_of_all_delays(pieces, percent):
    delays = _Delays()
    for piece in pieces:
        delays.add(np.array(piece, np.int64))
    expected = np.percentile(np.concatenate(pieces), percent)

    assert np.clip(delays.percentile(percent), *LIMITS) == pytest.approx(np.clip(expected, *LIMITS))


def test_there_is_none_without_delays():
    assert _Delays().percentile(1) is None
