"""Counting launches in bins: what is left out of the page is never left out of its sums."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.converters.report.detail import detailed
from kvtrace.converters.report.slices import (
    BinCounter,
    Executions,
    Slices,
    bin_slices,
)
from kvtrace.figures.columns import narrow
from tests.support.thorough import usually


def slices(rows: list[tuple[int, int, int, int, int]]) -> Slices:
    """Slices from (begin, duration, kernel, call, track)."""
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    zeros = np.zeros(len(rows), np.int64)
    begin, duration, kernel, call, track = columns
    seq = np.arange(len(rows), dtype=np.int64)
    return Slices.join([Slices(begin, duration, kernel, call, track, zeros, seq)])


ROWS = st.lists(
    st.tuples(
        st.integers(0, 10_000), st.integers(0, 3_000), st.integers(-1, 3), st.integers(-1, 4),
        st.integers(0, 2),
    ),
    min_size=1, max_size=60,
)  # fmt: skip


@pytest.mark.costly("random slices; another of the file stays by day")
@settings(max_examples=usually(50, thorough=200))
@given(ROWS, st.integers(1, 50))
def test_bins_count_every_slice_once_and_divide_its_time_exactly(rows, count):
    given_slices = slices(rows)
    span = int((given_slices.begin + given_slices.duration).max())
    bins = bin_slices(given_slices, span, 4, count)
    for kernel in range(-1, 4):
        for track in range(3):
            mine = (given_slices.kernel == kernel) & (given_slices.track == track)
            here = (bins.key == kernel) & (bins.track == track)
            assert bins.count[here].sum() == mine.sum()
            assert bins.busy_ns[here].sum() == given_slices.duration[mine].sum()


@given(ROWS)
def test_bin_sums_the_slices_within_it(rows):
    given_slices = slices(rows)
    span = int((given_slices.begin + given_slices.duration).max())
    bins = bin_slices(given_slices, span, 4, 7)
    for track, index, kernel, busy in zip(
        bins.track, bins.bin, bins.key, bins.busy_ns, strict=True
    ):
        low, high = index * bins.width_ns, (index + 1) * bins.width_ns
        mine = (given_slices.kernel == kernel) & (given_slices.track == track)
        begin, end = given_slices.begin[mine], (given_slices.begin + given_slices.duration)[mine]
        overlap = np.minimum(end, high) - np.maximum(begin, low)
        assert busy == overlap[overlap > 0].sum()


@given(ROWS, st.lists(st.integers(0, 2), min_size=60, max_size=60))
def test_executions_without_a_kernel_are_counted_by_name(rows, names):
    of_kernels = slices(rows)
    columns = {name: getattr(of_kernels, name) for name in Slices.__slots__}
    names = np.array(names[: len(rows)])
    executions = Executions(**columns, launch=columns["seq"], name=names)
    bins = bin_slices(executions, 14_000, 4, 5)
    for name in range(3):
        mine = (of_kernels.kernel == -1) & (names == name)
        assert bins.count[bins.key == 4 + name].sum() == mine.sum()
        assert bins.busy_ns[bins.key == 4 + name].sum() == of_kernels.duration[mine].sum()


@settings(max_examples=usually(25, thorough=100))
@given(ROWS, st.integers(1, 50), st.integers(1, 5))
def test_bins_of_batches_equal_those_of_all_rows_and_wider_bins_are_their_sums(rows, count, times):
    whole = slices(rows)
    span = int((whole.begin + whole.duration).max())
    pieces = [whole.take(np.arange(at, min(at + 9, len(rows)))) for at in range(0, len(rows), 9)]
    expected = bin_slices(whole, span, 4, count)
    counter = BinCounter(expected.width_ns, span, 4)
    for piece in pieces:
        counter.add(piece)
    found = counter.bins()
    wider = found.coarser(times)
    sums = Counter()
    for name in ("track", "bin", "key", "count", "busy_ns"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
    for is_wider, each in enumerate((found, wider)):
        columns = (each.track, each.bin // (1 if is_wider else times), each.key)
        for *key, number, busy in zip(*columns, each.count, each.busy_ns, strict=True):
            sums[bool(is_wider), "count", *map(int, key)] += int(number)
            sums[bool(is_wider), "busy", *map(int, key)] += int(busy)
    for (of_wider, *key), number in list(sums.items()):
        assert sums[not of_wider, *key] == number
    assert wider.width_ns == found.width_ns * times


@given(st.lists(st.integers(-(2**40), 2**40), max_size=20))
def test_a_narrowed_column_holds_the_same_values(values):
    assert narrow(np.array(values, np.int64)).tolist() == values


@settings(max_examples=usually(8, thorough=30))
@given(ROWS, ROWS)
def test_joined_parts_are_in_order_of_time_whatever_their_widths(first, second):
    narrowed = Slices(*(narrow(getattr(slices(first), name)) for name in Slices.__slots__))
    joined = Slices.join([narrowed, slices(second)])
    assert np.all(np.diff(joined.begin) >= 0)
    assert sorted(joined.duration.tolist()) == sorted(row[1] for row in (*first, *second))


def test_batches_are_counted_together(monkeypatch):
    """What is looked at piece by piece gives the same as at once."""
    random = np.random.default_rng(3)
    rows = np.stack([random.integers(0, high, 500) for high in (9000, 300, 4, 5, 3)], axis=1)
    whole = slices([tuple(row) for row in rows.tolist()])
    plan = ((4_000, 5_000), (0, 10_000))
    expected = bin_slices(whole, 10_000, 4, 30), detailed(whole, plan, 60, all_read=True)[1]
    monkeypatch.setattr("kvtrace.converters.report.slices._BATCH_ROWS", 64)
    monkeypatch.setattr("kvtrace.converters.report.slices._MOST_PENDING", 100)
    found = bin_slices(whole, 10_000, 4, 30), detailed(whole, plan, 60, all_read=True)[1]
    for name in ("track", "bin", "key", "count", "busy_ns"):
        assert getattr(found[0], name).tolist() == getattr(expected[0], name).tolist()
    assert found[1].seq.tolist() == expected[1].seq.tolist()
