"""Bytes of strided tensors, against each element."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.addons.memory.operator_effects import tensor_bytes
from kvtrace.metrics.byte_ranges import MOST_RANGES, TooManyRanges

axes = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=3)


@given(st.integers(0, 16), axes, st.sampled_from([1, 2, 4, 8]))
def test_bytes_are_those_of_the_elements(offset, axes, element_bytes):
    shape, strides = [size for size, _ in axes], [stride for _, stride in axes]
    expected = set()
    for index in product(*map(range, shape)):
        first = offset + element_bytes * sum(i * s for i, s in zip(index, strides, strict=True))
        expected |= set(range(first, first + element_bytes))
    listed = tensor_bytes(offset, shape, strides, element_bytes)
    assert {byte for begin, end in listed for byte in range(begin, end)} == expected


def test_contiguous_tensors_are_one_range_whatever_their_size():
    assert len(tensor_bytes(64, (1 << 20, 1 << 10), (1 << 10, 1), 4)) == 1


def test_scattered_bytes_are_refused():
    with pytest.raises(TooManyRanges):
        tensor_bytes(0, (MOST_RANGES + 1,), (2,), 4)
