"""Certain partners are those that every longest common subsequence has, found by trying all."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.addons.join.orders import can_align, certain_partners
from tests.support.thorough import usually

SHORT = st.lists(st.integers(0, 2), max_size=5)


def every_longest(first: list[int], second: list[int]) -> list[dict[int, int]]:
    """Return every longest way to align two sequences: positions of the first by the second's."""
    for length in range(min(len(first), len(second)), -1, -1):
        found = [
            dict(zip(theirs, own, strict=True))
            for own in combinations(range(len(first)), length)
            for theirs in combinations(range(len(second)), length)
            if [first[each] for each in own] == [second[each] for each in theirs]
        ]
        if found:
            return found
    return []


@settings(max_examples=usually(75, thorough=300), deadline=None)
@given(SHORT, SHORT)
def test_partners_are_paired_in_every_longest_common_subsequence(
    first: list[int], second: list[int]
) -> None:
    ways = every_longest(first, second)
    expected = []
    for position in range(len(second)):
        partners = {way.get(position, -1) for way in ways}
        expected.append(partners.pop() if len(partners) == 1 else -1)
    found = certain_partners(np.asarray(first, np.int64), np.asarray(second, np.int64))
    assert found.tolist() == expected


def test_additional_launch_leaves_equal_neighbors_without_partners() -> None:
    own, theirs = np.array([7, 1, 1, 1, 8]), np.array([7, 1, 1, 8])
    assert certain_partners(own, theirs).tolist() == [0, -1, -1, 4]


def test_long_sequences_are_refused_before_memory_is_taken() -> None:
    assert can_align(np.zeros(4_000, np.int64), np.zeros(4_000, np.int64))
    assert not can_align(np.zeros(100_000, np.int64), np.zeros(100_000, np.int64))
