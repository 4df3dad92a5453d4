"""Memory that is read of a tensor for its numbers."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.capture.sample_numbers import of_tensor
from kvtrace.capture.tensor_samples import SAMPLE_BYTES, SampledRanges, sampled_ranges


def elements_of(ranges: SampledRanges) -> list[int]:
    """Return the offsets of the elements that numbers are computed from."""
    offsets = [start + n for start in ranges.offsets for n in range(ranges.length)]
    if not ranges.steps:
        return offsets
    flags = of_tensor(ranges.offsets, ranges.length, ranges.steps)
    return [offset for offset, flag in zip(offsets, flags, strict=True) if flag]


def memory_of(shape: tuple[int, ...], strides: tuple[int, ...]) -> set[int]:
    """Return the offsets of a tensor's elements in memory."""
    offsets = np.zeros(shape, np.int64)
    for axis, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        index = np.arange(size).reshape([-1 if n == axis else 1 for n in range(len(shape))])
        offsets = offsets + index * stride
    return set(offsets.ravel().tolist())


@st.composite
def layouts(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draw shape and strides of a view without overlap, of up to 2**20 elements in memory."""
    shape, strides, span = [], [], 1
    for _ in range(draw(st.integers(0, 4))):
        size, gap = draw(st.integers(1, 40)), draw(st.sampled_from([0, 0, 1, 3, 200]))
        stride = draw(st.sampled_from([0, span + gap])) if size < 4 else span + gap
        if (size - 1) * stride + span > 1 << 20:
            break
        shape.append(size)
        strides.append(stride)
        span += (size - 1) * stride
    order = draw(st.permutations(range(len(shape))))
    return tuple(shape[n] for n in order), tuple(strides[n] for n in order)


@given(layouts(), st.sampled_from([1, 2, 4, 8]))
def test_sampled_elements_are_the_tensors(
    layout: tuple[tuple[int, ...], tuple[int, ...]], item: int
) -> None:
    ranges = sampled_ranges(*layout, item)
    memory = memory_of(*layout)
    assert ranges is not None
    elements = elements_of(ranges)
    assert elements
    assert memory.issuperset(elements)
    assert ranges.elements == len(memory)
    assert len(ranges.offsets) * ranges.length * item <= SAMPLE_BYTES
    assert max(ranges.offsets) + ranges.length <= max(memory) + 1
    if (max(memory) + 1) * item <= SAMPLE_BYTES:
        assert sorted(elements) == sorted(memory)


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((4096, 4096), (4096, 1)),
        ((32, 1 << 20), (1 << 20, 1)),
        ((8, 2048, 3, 128), (2048 * 1152, 1152, 384, 1)),  # queries of an attention's product
        ((2048, 8, 64), (2048, 64, 1)),  # keys of grouped queries
        ((4096, 8), (4096, 1)),
        ((64, 64, 4), (64 * 4096, 4096, 1)),
    ],
)
def test_a_sample_is_of_all_parts_of_each_axis(
    shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    ranges = sampled_ranges(shape, strides, 2)
    assert ranges is not None
    elements = torch.tensor(elements_of(ranges))
    assert len(elements) >= 500
    for size, stride in sorted(zip(shape, strides, strict=True), key=lambda step: -step[1]):
        index, elements = elements // stride, elements % stride
        parts = (index * min(size, 8) // size).unique()
        assert len(parts) == min(size, 8), (size, stride)


def test_rows_of_a_matrix_are_read_by_one_copy() -> None:
    ranges = sampled_ranges((4096, 11008), (11008, 1), 2)
    assert ranges is not None
    distances = {b - a for a, b in zip(ranges.offsets, ranges.offsets[1:], strict=False) if b > a}
    assert len(distances) == 1


def test_elements_of_overlapping_windows_count_once() -> None:
    ranges = sampled_ranges((100, 10), (1, 1), 4)
    assert ranges == SampledRanges(109, (0,), 109)


def test_an_empty_tensor_is_not_read() -> None:
    assert sampled_ranges((3, 0), (1, 1), 4) is None


def test_one_repeated_element_is_read_once() -> None:
    ranges = sampled_ranges((5, 7), (0, 0), 4)
    assert ranges == SampledRanges(1, (0,), 1)
    assert math.prod((5, 7)) > ranges.elements
