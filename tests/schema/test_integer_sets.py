"""Sets of integers as ranges, against Python's own sets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.schema.integer_sets import IntegerSet

SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1
#: Near each other, so that ranges touch and overlap, and at the ends of what 64 bits hold.
VALUES = st.one_of(
    st.integers(-20, 20),
    st.sampled_from([SMALLEST, SMALLEST + 1, SMALLEST + 2, LARGEST - 2, LARGEST - 1, LARGEST]),
)


@given(st.lists(st.lists(VALUES)), st.lists(VALUES))
def test_a_set_holds_what_was_added_and_nothing_else(pieces, asked):
    found, wanted = IntegerSet(), set()
    for piece in pieces:
        found.add(np.array(piece, np.int64))
        wanted.update(piece)
    assert len(found) == len(wanted)
    answers = found.has(np.array(asked, np.int64)).tolist()
    assert answers == [value in wanted for value in asked]


def test_more_gaps_than_wait_at_once():
    found = IntegerSet()
    random = np.random.default_rng(3)
    values = random.permutation(400_000) * 3
    for piece in np.array_split(values, 7):
        found.add(piece)
    assert len(found) == 400_000
    assert found.has(values).all()
    assert not found.has(values + 1).any()


def test_ids_without_gaps_take_next_to_no_memory():
    found = IntegerSet()
    for start in range(0, 10_000_000, 100_000):
        found.add(np.arange(start, start + 100_000))
    assert len(found) == 10_000_000
    assert found._first.size == 1
