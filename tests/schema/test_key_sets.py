"""Sets of integers as ranges, against Python's own sets."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.schema.key_sets import IntegerSet

SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1
#: Near each other, so that ranges touch and overlap, and at the ends of what 64 bits hold.
VALUES = st.one_of(
    st.integers(-20, 20),
    st.sampled_from([SMALLEST, SMALLEST + 1, SMALLEST + 2, LARGEST - 2, LARGEST - 1, LARGEST]),
)


@given(st.lists(st.lists(VALUES)), st.lists(VALUES))
def test_integer_set_contains_exactly_the_added_values(pieces, asked):
    found, wanted = IntegerSet(), set()
    for piece in pieces:
        found.add(pa.array(piece, pa.int64()))
        wanted.update(piece)
    assert len(found) == len(wanted)
    answers = found.contains_each(pa.array(asked, pa.int64())).to_pylist()
    assert answers == [value in wanted for value in asked]


def test_integer_set_with_many_gaps_contains_exactly_the_added_values():
    found = IntegerSet()
    values = 3 * np.random.default_rng(3).permutation(100_000)
    for begin in range(0, 100_000, 15_000):
        found.add(pa.array(values[begin : begin + 15_000]))
    assert len(found) == 100_000
    assert found.contains_each(pa.array(values)).true_count == 100_000
    assert found.contains_each(pa.array(values + 1)).true_count == 0


def test_integer_set_of_consecutive_ids_stores_one_range():
    found = IntegerSet()
    for start in range(0, 10_000_000, 100_000):
        found.add(pa.array(np.arange(start, start + 100_000)))
    assert len(found) == 10_000_000
    assert len(found._range_starts) == 1
