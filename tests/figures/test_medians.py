"""Bins of times, as SQL and as arrays, and medians of what is in them."""

from statistics import median

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.figures.medians import medians_of, times_at
from kvtrace.figures.sums_reading import BIN

TIMES = st.integers(0, 51).flatmap(lambda bits: st.integers(0, 1 << bits))


def by_bits(times):
    """Bins of whole numbers, by their bits."""
    exponents = [max(time.bit_length() - 7, 0) for time in times]
    return [64 * e + (time >> e) for e, time in zip(exponents, times, strict=True)]


def test_bins_follow_from_the_bits_of_a_time():
    edges = {(1 << bits) + more for bits in range(48) for more in (-2, -1, 0, 1, 2)}
    times = sorted(time for time in edges if time >= 0)
    with duckdb.connect() as database:
        database.register("rows", pa.table({"ns": times}))
        found = database.sql(f"SELECT {BIN} FROM rows ORDER BY ns").fetchall()
    assert [number for (number,) in found] == by_bits(times)


@given(st.lists(TIMES, min_size=1))
def test_bins_begin_and_end_with_their_times(times):
    bins = np.array(by_bits(times))
    least, most = times_at(bins, np.zeros(bins.size)), times_at(bins, np.ones(bins.size))
    for time, low, high in zip(times, least.tolist(), most.tolist(), strict=True):
        assert low <= time <= high
        assert high - low < 1 / 64 * max(time, 64)
        assert by_bits([int(low), int(high)]) == by_bits([time]) * 2


@given(st.lists(st.tuples(st.integers(0, 4), TIMES, st.integers(1, 5))))
def test_medians_of_bins_are_near_those_of_the_times(rows):
    codes, times, counts = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    bins = np.array(by_bits(times.tolist()), np.int64)
    occurring, medians = medians_of(codes, bins, counts, binned=True)
    assert occurring.tolist() == sorted(set(codes.tolist()))
    exact = dict(zip(*medians_of(codes, times, counts, binned=False), strict=True))
    for code, found in zip(occurring.tolist(), medians.tolist(), strict=True):
        expected = median(np.repeat(times[codes == code], counts[codes == code]).tolist())
        assert found == pytest.approx(expected, rel=1 / 64)
        assert exact[code] == pytest.approx(expected, rel=1e-12)


def test_codes_and_times_beyond_63_bits_have_medians():
    codes, times = np.array([1 << 40, 3, 1 << 40]), np.array([1 << 50, 7, 1 << 51])
    found = medians_of(codes, times, np.array([2, 1, 1]), binned=False)
    assert [part.tolist() for part in found] == [[3, 1 << 40], [7, 1 << 50]]


def test_a_median_is_at_the_place_of_its_rank():
    one_bin, three = np.zeros(1, np.int64), np.array([3])
    for first, expected in ((128, 128.5), (127, 127)):  # a bin of 128 and 129 ns, and one of 127
        assert medians_of(one_bin, np.array([first]), three, binned=True)[1] == expected
