"""Sizes and numbers that follow from given inputs."""

import numpy as np
import pytest

from kvtrace.inputs.cases import parsed_shapes
from kvtrace.inputs.sizes import (
    grouped_sizes,
    other_scalars,
    other_sizes,
    probing_sizes,
    smaller_sizes,
    unequal_extents,
    wide_rows,
)


def shapes(inputs):
    return [entry.shape for entry in inputs if hasattr(entry, "shape")]


def test_one_extent_grows_large_and_takes_numbers_of_the_file():
    rows = parsed_shapes("x=f32[64, 100]", [])
    changes = [change for _, change in other_sizes(rows, [], [32], [4242])]
    assert {64: 327} in changes
    assert {64: 4243} in changes
    assert {64: 4242 * 64 // 6400 + 1} in changes
    vector = parsed_shapes("x=f32[1000]", [])
    changes = [change for _, change in other_sizes(vector, [], [], [4242])]
    assert {1000: (1 << 17) | 1} in changes
    assert {1000: 4242} in changes
    product = parsed_shapes("x=f32[32, 8], y=f32[8, 32]", [])
    changes = [change for _, change in other_sizes(product, [], [], [])]
    assert {32: 257} in changes


def test_equal_extents_are_made_unequal_one_by_one():
    inputs = parsed_shapes("x=f32[64, 64], y=f32[64], z=f32[9]", [])
    cases = [shapes(case) for case in unequal_extents(inputs, [])]
    assert [(48, 64), (64,), (9,)] in cases
    assert [(64, 48), (64,), (9,)] in cases
    assert [(64, 64), (48,), (9,)] in cases
    assert not list(unequal_extents(parsed_shapes("x=f32[64, 32]", []), []))


def test_rows_become_as_long_as_a_number_of_the_file():
    rows = parsed_shapes("x=f32[64, 100]", [])
    assert {64: 1, 100: 4243} in [change for _, change in other_sizes(rows, [], [], [4242])]


def test_sizes_lie_around_each_block_and_beyond_static_trips():
    rows = parsed_shapes("x=f32[40, 100]", [])
    changes = [change for _, change in other_sizes(rows, [], [16, 32, 64], [])]
    for block in (16, 32, 64):
        for size in (block - 1, block, block + 1, 3 * block, 3 * block + 1, 9 * block + 1):
            assert any(change.get(100) == size for change in changes), size
            assert any(change.get(40) == size for change in changes), size


@pytest.mark.parametrize("number", [96, 192, 768])
def test_each_extent_exceeds_each_number_of_the_file(number):
    rows = parsed_shapes("x=f32[40, 100], w=f32[100, 7]", [])
    changes = [change for _, change in other_sizes(rows, [], [32], [number])]
    for extent in (40, 100, 7):
        assert any(change.get(extent, 0) == number + 1 for change in changes), extent


@pytest.mark.parametrize(("blocks", "numbers"), [([32, 256], []), ([32], [300])])
def test_all_extents_exceed_a_number_at_once_and_differ(blocks, numbers):
    rows = parsed_shapes("x=f32[40, 100]", [])
    changes = [change for _, change in other_sizes(rows, [], blocks, numbers)]
    number = max(*blocks, *numbers)
    assert any(change.get(100, 0) > number < change.get(40, 0) != change[100] for change in changes)


def test_blocks_between_the_largest_and_the_smallest_are_exceeded():
    rows = parsed_shapes("x=f32[40, 100]", [])
    blocks = [8, 16, 32, 64, 128, 256]
    changes = [change for _, change in other_sizes(rows, [], blocks, [])]
    for block in blocks:
        assert {block + 1, 3 * block + 1} <= {change.get(100) for change in changes}


def test_extents_for_integers_to_reach_are_larger_than_others():
    windows = parsed_shapes("x=f32[197], start=i64[130]", [])
    (extent, change), (own, own_change) = probing_sizes(windows, [], (130,))
    assert (extent, own) == (197, 130)
    assert change[197] > 10 * change[130]
    assert own_change[130] > 10 * own_change[197]


def test_smaller_sizes_stay_unequal():
    change = smaller_sizes(parsed_shapes("x=f32[197, 130, 67, 29, 16, 4]", []), [16])
    assert 197 > change[197] > change[130] > change[67] > change[29]
    assert not {16, 4} & change.keys()


def test_all_extents_are_aligned_at_once():
    product = parsed_shapes("a=f32[40, 100], b=f32[100, 60]", [])
    changes = [change for _, change in other_sizes(product, [], [32], [])]
    whole = [change for change in changes if len(change) == 3]
    for step in (2, 16, 32, 64):
        assert any(all(size % step == 0 for size in change.values()) for change in whole), step
    assert {40: 32, 100: 32, 60: 32} in changes


@pytest.mark.parametrize(
    ("given", "source", "target"),
    [
        ("x=f32[8, 12], like=f32[16]", 8, 16),
        ("x=f32[2, 12, 6], like=f32[16]", 12, 16),
        ("x=f32[8], like=f32[16]", 8, 16),
    ],
)
def test_rows_by_rounded_quotients_differ_from_those_by_whole_numbers(given, source, target):
    def is_rounded_down(change):
        rows = np.arange(change.get(target, target))
        count = change.get(source, source)
        quotients = (np.float32(count / rows.size), np.float32(count) / np.float32(rows.size))
        products = [(rows.astype(np.float32) * quotient).astype(np.int64) for quotient in quotients]
        return any((product != rows * count // rows.size).any() for product in products)

    changes = [change for _, change in other_sizes(parsed_shapes(given, []), [], [], [])]
    assert any(is_rounded_down(change) for change in changes)


def test_aligned_extents_are_equal_where_others_have_many_elements():
    heads = parsed_shapes("q=f32[37, 4, 101, 16], k=f32[37, 2, 101, 16]", [])
    changes = [change for _, change in other_sizes(heads, [2, 4, 16], [32], [])]
    assert {37: 32, 101: 96} in changes
    assert {37: 64, 101: 64} in changes
    assert {37: 64, 101: 192} not in changes


@pytest.mark.parametrize(("shape", "largest"), [("i8[40, 100]", 127), ("u8[3, 40, 50]", 255)])
def test_products_of_the_largest_bytes_have_no_exact_sum_in_float32(shape, largest):
    bytes_ = parsed_shapes(f"x={shape}", [])
    (size,) = wide_rows(bytes_, []).values()
    exact = size * largest * largest
    assert int(np.float32(exact)) != exact
    assert size * largest > np.iinfo(np.uint16).max


def test_large_blocks_are_tried_with_three_tiles_of_one_row():
    rows = parsed_shapes("x=f32[40, 100]", [])
    changes = [change for _, change in other_sizes(rows, [], [16384], [])]
    assert {40: 1, 100: 3 * 16384 + 1} in changes


def test_numbered_extents_stay():
    heads = parsed_shapes("x=f32[40, 8, 100]", [])
    assert all(8 not in change for _, change in other_sizes(heads, [8], [32], []))


def test_grouped_sizes_are_multiples_of_each_other():
    heads = parsed_shapes("q=f32[197, 130], k=f32[67, 130]", [])
    first, smaller, second, _ = grouped_sizes(heads, [130])
    assert first[197] % first[67] == 0 < first[197] // first[67] > 1
    assert second[67] % second[197] == 0
    assert smaller[197] % smaller[67] == 0 < smaller[197] < first[197]


def test_one_group_of_heads_becomes_several():
    heads = parsed_shapes("q=f32[4, 24], k=f32[1, 24]", [])
    changes = [change for _, change in other_sizes(heads, [], [], [])]
    assert {1: 3, 4: 12, 24: 6} in changes
    assert not any(1 in change for _, change in other_sizes(heads, [1], [], []))
    several = parsed_shapes("q=f32[4, 24], k=f32[2, 24]", [])
    assert not any(1 in change for _, change in other_sizes(several, [], [], []))


def test_scalars_are_changed_one_by_one_and_swapped():
    inputs = parsed_shapes(
        "x=f32[64, 32], rows=64, shift=3, causal=True, scale=0.5, low=-0.5, high=1.5", []
    )
    labels = [label for label, _ in other_scalars(inputs)]
    assert labels == [
        "shift=4", "shift=1", "causal=False", "scale=1.5", "scale=-0.5, low=0.5",
        "low=1.5, high=-0.5",
    ]  # fmt: skip
