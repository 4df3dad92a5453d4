"""Thinning and counting launches: what is left out of the page is never left out of its sums."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.converters.report.slices import (
    RowSelector,
    Slices,
    bin_batches,
    bin_slices,
    coarser,
    thin,
)
from kvtrace.figures.columns import narrow


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


@settings(max_examples=200)
@given(ROWS, st.integers(1, 50))
def test_bins_count_every_slice_once_and_divide_its_time_exactly(rows, count):
    given_slices = slices(rows)
    span = int((given_slices.begin + given_slices.duration).max())
    bins = bin_slices(given_slices, span, count)
    for kernel in range(-1, 4):
        for track in range(3):
            mine = (given_slices.kernel == kernel) & (given_slices.track == track)
            here = (bins.kernel == kernel) & (bins.track == track)
            assert bins.count[here].sum() == mine.sum()
            assert bins.busy_ns[here].sum() == given_slices.duration[mine].sum()


@given(ROWS)
def test_bin_sums_the_slices_within_it(rows):
    given_slices = slices(rows)
    span = int((given_slices.begin + given_slices.duration).max())
    bins = bin_slices(given_slices, span, 7)
    for track, index, kernel, busy in zip(
        bins.track, bins.bin, bins.kernel, bins.busy_ns, strict=True
    ):
        low, high = index * bins.width_ns, (index + 1) * bins.width_ns
        mine = (given_slices.kernel == kernel) & (given_slices.track == track)
        begin, end = given_slices.begin[mine], (given_slices.begin + given_slices.duration)[mine]
        overlap = np.minimum(end, high) - np.maximum(begin, low)
        assert busy == overlap[overlap > 0].sum()


@given(ROWS, st.integers(20, 60))
def test_sampling_keeps_order_and_the_first_and_longest_launch_of_each_call(rows, keep):
    given_slices = slices(rows)
    kept = thin(given_slices, keep)
    assert np.all(np.diff(kept.begin) >= 0)
    assert set(kept.seq) <= set(given_slices.seq)
    assert len(kept) <= max(keep, 1) + 10
    for call in set(given_slices.call.tolist()) - {-1}:
        mine, chosen = given_slices.call == call, kept.call == call
        assert given_slices.duration[mine].max() == kept.duration[chosen].max()
        assert given_slices.begin[mine].min() == kept.begin[chosen].min()


def test_rows_within_the_limit_are_all_kept():
    few = slices([(0, 1, 0, 0, 0), (5, 1, 0, 0, 0)])
    assert thin(few, 2) is few


@settings(max_examples=200)
@given(ROWS, st.integers(2, 9), st.integers(1, 20))
def test_rows_are_sampled_while_they_are_read(rows, every, size):
    columns = np.array(rows, np.int64)
    call, duration = columns[:, 3], columns[:, 1]
    thinned = RowSelector(every)
    parts = range(0, len(rows), size)
    kept = [thinned.chosen(call[at : at + size], duration[at : at + size]) for at in parts]
    found = np.concatenate(kept)
    assert found[::every].all()
    for each in set(call.tolist()) - {-1}:
        own = np.flatnonzero(call == each)
        assert found[own[0]]
        assert found[own[np.argmax(duration[own])]]
    assert not found[(call == -1) & (np.arange(len(rows)) % every > 0)].any()
    everything = RowSelector(1).chosen(call, duration)
    assert everything.all()


@settings(max_examples=100)
@given(ROWS, st.integers(1, 50), st.integers(1, 5))
def test_bins_of_batches_equal_those_of_all_rows_and_wider_bins_are_their_sums(rows, count, times):
    whole = slices(rows)
    span = int((whole.begin + whole.duration).max())
    pieces = [whole.take(np.arange(at, min(at + 9, len(rows)))) for at in range(0, len(rows), 9)]
    expected = bin_slices(whole, span, count)
    found = bin_batches(iter(pieces), span, count, tracks=3, kernels=4)
    wider = coarser(found, times)
    sums = Counter()
    for name in ("track", "bin", "kernel", "count", "busy_ns"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
    for each in (found, wider):
        columns = (each.track, each.bin // (times if each is found else 1), each.kernel)
        for *key, number, busy in zip(*columns, each.count, each.busy_ns, strict=True):
            sums[each is wider, "count", *map(int, key)] += int(number)
            sums[each is wider, "busy", *map(int, key)] += int(busy)
    for (of_wider, *key), number in list(sums.items()):
        assert sums[not of_wider, *key] == number
    assert wider.width_ns == found.width_ns * times


@given(st.lists(st.integers(-(2**40), 2**40), max_size=20))
def test_a_narrowed_column_holds_the_same_values(values):
    assert narrow(np.array(values, np.int64)).tolist() == values


@settings(max_examples=30)
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
    expected = bin_slices(whole, 10_000, 30), thin(whole, 60)
    monkeypatch.setattr("kvtrace.converters.report.slices._BATCH_ROWS", 64)
    found = bin_slices(whole, 10_000, 30), thin(whole, 60)
    for name in ("track", "bin", "kernel", "count", "busy_ns"):
        assert getattr(found[0], name).tolist() == getattr(expected[0], name).tolist()
    assert found[1].seq.tolist() == expected[1].seq.tolist()
