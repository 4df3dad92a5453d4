"""Medians of times that were counted in bins, compared with those of the times themselves."""

from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.converters.middles import _FINE, Middles, _bins, _edge

#: Key, time and how many it stands for.
TIMES = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.one_of(st.integers(0, 40), st.integers(5_000, 9_000), st.integers(0, 2**62)),
        st.integers(1, 3),
    ),
    max_size=60,
)


def added(middles, pieces):
    for piece in pieces:
        if piece:
            middles.add(*(np.array(each, np.int64) for each in zip(*piece, strict=True)))


@settings(deadline=None)
@given(st.lists(TIMES, max_size=4), st.sampled_from([1, 2, 5, 1 << 22]))
def test_medians_are_those_of_all_times_however_few_are_told_apart(pieces, most):
    middles = Middles(most, fewest=1)
    passes = 1
    added(middles, pieces)
    while middles.settle():
        added(middles, pieces)
        passes += 1
        assert passes < 70

    everything: dict[int, list[int]] = {}
    for piece in pieces:
        for key, ns, times in piece:
            everything.setdefault(key, []).extend([ns] * times)
    found = middles.medians(6)
    for key in range(6):
        if key in everything:
            low, high = (sorted(everything[key])[place] for place in middle(everything[key]))
            assert found[key] == low + (high - low) / 2
        else:
            assert np.isnan(found[key])


def middle(times):
    return (len(times) - 1) // 2, len(times) // 2


def test_times_of_a_hundred_thousand_launches_take_one_pass_or_little_memory():
    random = np.random.default_rng(1)
    key = random.integers(0, 50, 100_000)
    ns = random.lognormal(9, 1, 100_000).astype(np.int64)
    plain = [median(ns[key == each].tolist()) for each in range(50)]
    for most, expected in ((1 << 22, 1), (20_000, 2), (1, 3)):
        middles, passes = Middles(most), 0
        another = True
        while another:
            middles.add(key, ns, np.ones(key.size, np.int64))
            passes += 1
            another = middles.settle()
        assert middles.medians(50).tolist() == plain
        assert passes <= expected


@pytest.mark.parametrize("bits", [0, 1, 5, _FINE])
@settings(deadline=None)
@given(ns=st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=50))
def test_a_time_is_between_the_edges_of_its_bin(bits, ns):
    times = np.array(sorted(ns), np.int64)
    bins = _bins(times, bits)
    assert (np.diff(bins) >= 0).all()
    assert (_edge(bins, bits) <= times).all()
    below = times < 2**62
    assert (times[below] < _edge(bins[below] + 1, bits)).all()
