"""Sets of bytes as ranges behave as sets of Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.metrics import byte_ranges
from kvtrace.metrics.byte_ranges import NOTHING, ByteRanges, TooManyRanges

SETS = st.sets(st.integers(0, 40))


def ranges_of(numbers):
    return ByteRanges.union_of([ByteRanges.of(n, n + 1) for n in numbers])


def numbers_of(ranges):
    return {n for begin, end in ranges for n in range(begin, end)}


@given(SETS, SETS)
def test_operations_are_those_of_sets(one, other):
    a, b = ranges_of(one), ranges_of(other)

    assert numbers_of(a | b) == one | other
    assert numbers_of(a & b) == one & other
    assert numbers_of(a - b) == one - other
    assert (a == b) == (one == other)
    assert (bool(a), a.size) == (bool(one), len(one))


@given(SETS, SETS, st.sampled_from(["__or__", "__and__", "__sub__"]))
def test_results_are_sorted_ranges_with_gaps_between_them(one, other, operation):
    array = getattr(ranges_of(one), operation)(ranges_of(other)).array

    assert array.dtype == np.int64
    assert array.shape == (len(array), 2)
    assert (array[:, 0] < array[:, 1]).all()
    assert (array[1:, 0] > array[:-1, 1]).all()


def test_an_empty_range_has_no_bytes():
    assert ByteRanges.of(5, 5) == NOTHING
    assert not ByteRanges.of(7, 5)
    assert ByteRanges.union_of([]) == NOTHING


def test_a_text_has_only_the_first_ranges():
    assert repr(ByteRanges.of(0, 4)) == "ByteRanges([0, 4))"
    assert repr(ranges_of(range(0, 40, 2))).endswith("[14, 15), …)")


def test_more_ranges_than_the_limit_are_refused(monkeypatch):
    monkeypatch.setattr(byte_ranges, "MOST_RANGES", 4)
    first = np.arange(0, 8, 2)
    four = ByteRanges(first, first + 1)

    with pytest.raises(TooManyRanges):
        four | ByteRanges.of(20, 21)
    assert (four | ByteRanges.of(1, 2)).size == 5
