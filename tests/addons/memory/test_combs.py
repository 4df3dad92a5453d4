"""A comb has the bytes of its elements."""

from hypothesis import given
from hypothesis import strategies as st

from kvtrace.addons.memory.combs import comb_of


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 4)), max_size=4), st.integers(1, 8))
def test_a_comb_has_the_bytes_of_its_elements(steps, element_bytes):
    comb = comb_of(3, steps, element_bytes)
    if comb is None:
        return
    starts = [3]
    for step, count in steps:
        starts = [start + turn * step for start in starts for turn in range(count)]
    expected = {start + byte for start in starts for byte in range(element_bytes)}
    assert bytes_of(comb) == expected
    assert (comb.size, comb.end) == (len(expected), max(expected) + 1)


def bytes_of(comb):
    starts = [comb.first]
    for count, distance in comb.levels:
        starts = [start + turn * distance for start in starts for turn in range(count)]
    return {start + byte for start in starts for byte in range(comb.run)}
