"""Bins of times, as SQL and as arrays, and medians of what is in them."""

from statistics import median

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.figures.bins import (
    BINS,
    PRECISION,
    bin_of,
    medians_of_bins,
    medians_of_counts,
    middle_of,
    middles,
)

TIMES = st.integers(0, 62).flatmap(lambda bits: st.integers(0, 1 << bits))


def bins_of(times):
    """Bins of whole numbers, by their bits."""
    exponents = [max(time.bit_length() - 7, 0) for time in times]
    return [64 * e + (time >> e) for e, time in zip(exponents, times, strict=True)]


def test_bins_in_sql_follow_from_the_bits_of_a_time():
    edges = {(1 << bits) + more for bits in range(48) for more in (-2, -1, 0, 1, 2)}
    times = sorted(time for time in edges if time >= 0)
    rows = pa.table({"ns": times})
    with duckdb.connect() as database:
        database.register("rows", rows)
        found = database.sql(
            f"SELECT bin, {middle_of('bin')} FROM (SELECT ns, {bin_of('ns')} AS bin FROM rows) "
            "ORDER BY ns"
        ).fetchall()
    assert [bin_number for bin_number, _ in found] == bins_of(times)
    assert [middle for _, middle in found] == middles(np.array(bins_of(times))).tolist()


@given(st.lists(TIMES, min_size=1))
def test_a_bin_stands_for_its_times(times):
    bins = bins_of(times)
    assert max(bins) < BINS
    for time, middle in zip(times, middles(np.array(bins)).tolist(), strict=True):
        assert abs(middle - time) <= PRECISION * time


@given(st.lists(st.tuples(st.integers(0, 4), TIMES, st.integers(1, 5))))
def test_medians_of_bins_are_those_of_the_times_that_stand_for_them(rows):
    codes, times, counts = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    bins = np.array(bins_of(times.tolist()), np.int64)
    medians = medians_of_bins(codes, bins, counts, 5)
    sums = np.bincount(codes * BINS + bins, counts, 5 * BINS)
    assert np.array_equal(medians, medians_of_counts(sums, 5), equal_nan=True)
    for code in range(5):
        same = np.repeat(middles(bins[codes == code]), counts[codes == code]).tolist()
        expected = median(same) if same else np.nan
        assert medians[code] == pytest.approx(expected, nan_ok=True)
