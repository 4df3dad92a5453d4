"""Bytes of accesses, as formulas and as lanes, are those listed one by one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.addons.memory.access_bytes import TouchedBytes
from kvtrace.evaluate.observe import Access, AccessParts
from kvtrace.metrics.byte_ranges import ByteRanges, TooManyRanges
from tests.addons.memory.brute_force import bytes_of
from tests.metrics.counted_calls import LOAD
from tests.support.thorough import usually

SIZE = 400


STEPS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 5)), max_size=3).map(tuple)
ELEMENTS = st.tuples(st.integers(-20, 300), STEPS, st.sampled_from([1, 2, 4]))


def bytes_by_points(first, steps, width):
    """The bytes of elements at a first byte plus sums of steps, point by point."""
    points = product(*(range(count) for _, count in steps))
    starts = [first + sum(i * s for i, (s, _) in zip(p, steps, strict=True)) for p in points]
    return {start + byte for start in starts for byte in range(width)}


@settings(max_examples=usually(50, thorough=200), deadline=None)
@given(st.lists(ELEMENTS, min_size=1, max_size=4))
def test_unions_of_regular_elements_have_the_bytes_of_all_points(sets):
    touched = TouchedBytes()
    for elements in sets:
        touched.add_elements(*elements)
    expected = set().union(*(bytes_by_points(*elements) for elements in sets))

    assert bytes_of(touched.listed(SIZE)) == {byte for byte in expected if 0 <= byte < SIZE}
    assert bytes_of(touched.hull(SIZE)) >= bytes_of(touched.listed(SIZE))


@given(st.lists(st.booleans(), min_size=12, max_size=12), st.integers(0, 3))
def test_lanes_that_are_masked_off_are_left_out(active, constant):
    mask = np.array(active).reshape(3, 4)
    terms = (np.arange(3).reshape(3, 1) * 20, np.arange(4).reshape(1, 4) * 4)
    parts = AccessParts(constant, terms, (mask,), (4,), np.arange(3), 0, 8)
    starts = [constant + 8 + 20 * p + 4 * i for p in range(3) for i in range(4) if mask[p, i]]
    ends = (min(starts) - 8, max(starts) - 8) if starts else (None, None)
    touched = TouchedBytes()

    touched.add(Access(LOAD, "load", 0, 4, 3, 12, len(starts), *ends, parts=parts))

    assert touched.listed(SIZE) == ByteRanges.union_of(ByteRanges.of(s, s + 4) for s in starts)


def test_sets_that_fit_together_are_joined_before_they_are_listed():
    touched = TouchedBytes()
    for first in (4, 0):
        touched.add_elements(first, ((8, 1 << 22),), 4)

    assert touched.listed(1 << 25) == ByteRanges.of(0, 1 << 25)


def test_too_many_ranges_have_a_hull():
    touched = TouchedBytes()
    touched.add_elements(0, ((8, 1 << 21),), 4)

    with pytest.raises(TooManyRanges):
        touched.listed(1 << 24)
    assert touched.hull(1 << 24) == ByteRanges.of(0, (1 << 24) - 4)
