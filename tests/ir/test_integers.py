"""Counters of counted loops, in their width."""

from itertools import chain, islice

import pytest

from kvtrace.ir.integers import counter_ranges, wrapped, wraps_around


def by_hand(first, end, step, bits, most=300):
    """The counters of a compiled loop: compared as signed, added modulo 2^bits."""
    counter = first
    for _ in range(most):
        if not counter < end:
            return
        yield counter
        counter = wrapped(counter + step, bits)


BYTES = [
    (first, end, step)
    for first in (-128, -100, -1, 0, 1, 100, 127)
    for end in (-128, -3, 0, 5, 120, 127)
    for step in (-128, -50, -1, 0, 1, 7, 50, 64, 127)
]


@pytest.mark.parametrize(("first", "end", "step"), BYTES)
def test_laps_equal_the_counters_of_compiled_code(first, end, step):
    expected = list(by_hand(first, end, step, 8))

    assert list(islice(chain.from_iterable(counter_ranges(first, end, step, 8)), 300)) == expected

    plain = list(range(first, end, step)) if step > 0 else []
    assert wraps_around(first, end, step, 8) == (expected != plain)


def test_counter_wraps_around_at_the_end_of_int32():
    first, second = islice(counter_ranges(2**31 - 300, 2**31 - 100, 150, 32), 2)

    assert list(first) == [2**31 - 300, 2**31 - 150]
    assert second[0] == -(2**31)
    assert not wraps_around(2**31 - 300, 2**31 - 129, 128, 32)
