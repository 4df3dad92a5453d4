"""Sizes, views and numbers that follow from given inputs."""

import numpy as np

from kvtrace.addons.judge.inputs import (
    Case,
    as_views,
    draw_values,
    exchanged_numbers,
    other_fractions,
    other_sizes,
    other_whole_numbers,
    parsed_shapes,
    unequal_extents,
    views_of,
    whole_tensor,
)
from kvtrace.addons.judge.reference import _broadcasts


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


def test_sizes_lie_on_both_sides_of_each_block():
    rows = parsed_shapes("x=f32[40, 100]", [])
    changes = [change for _, change in other_sizes(rows, [], [16, 32, 64], [])]
    assert all({100: block + step} in changes for block in (16, 32, 64) for step in (-1, 1))
    assert all({40: block + step} in changes for block in (16, 64) for step in (-1, 1))
    assert {100: 64} in changes


def test_equal_extents_are_made_unequal_one_by_one():
    inputs = parsed_shapes("x=f32[64, 64], y=f32[64], z=f32[9]", [])
    cases = [shapes(case) for case in unequal_extents(inputs, [])]
    assert [(48, 64), (64,), (9,)] in cases
    assert [(64, 48), (64,), (9,)] in cases
    assert [(64, 64), (48,), (9,)] in cases
    assert not list(unequal_extents(parsed_shapes("x=f32[64, 32]", []), []))


def test_integers_that_are_not_extents_are_changed():
    inputs = parsed_shapes("x=f32[64, 32], rows=64, shift=3, causal=True, scale=0.5", [])
    labels = [label for label, _ in other_whole_numbers(inputs)]
    assert labels == ["shift=4", "shift=1", "causal=False"]


def test_transposed_views_have_the_last_axes_exchanged():
    (view,) = as_views([whole_tensor("x", "float32", (2, 3, 5))], "transposed")
    assert (view.strides, view.storage) == ((15, 1, 3), 30)


def test_reversed_padded_and_expanded_views_have_their_strides():
    inputs = [whole_tensor("x", "float32", (2, 3, 5)), whole_tensor("at", "int64", (4,))]
    assert views_of(inputs) == ("strided", "offset", "transposed", "padded", "expanded", "reversed")
    assert views_of(inputs[1:]) == ("strided", "offset")
    for kind, strides, storage in [
        ("reversed", (1, 2, 6), 30),
        ("padded", (24, 8, 1), 48),
        ("expanded", (0, 5, 1), 15),
    ]:
        view, at = as_views(inputs, kind)
        assert (view.strides, view.storage, at) == (strides, storage, inputs[1])


def test_fractions_become_numbers_beyond_one():
    inputs = parsed_shapes("x=f32[9], slope=0.25, n=3, factor=2.0", [])
    assert [label for label, _ in other_fractions(inputs)] == ["slope=1.25"]


def test_rows_become_as_long_as_a_number_of_the_file():
    rows = parsed_shapes("x=f32[64, 100]", [])
    assert {64: 1, 100: 4243} in [change for _, change in other_sizes(rows, [], [], [4242])]


def test_extent_of_one_that_the_reference_broadcasts_is_detected():
    given_case = Case("given", "given", parsed_shapes("x=f32[16, 64], cos=f32[16, 32]", []))
    repeated = Case("32 → 1", "sizes", parsed_shapes("x=f32[16, 64], cos=f32[16, 1]", []))
    smaller = Case("16 → 1", "sizes", parsed_shapes("x=f32[1, 64], cos=f32[1, 32]", []))
    assert _broadcasts(repeated, given_case)
    assert not _broadcasts(smaller, given_case)
    assert not _broadcasts(given_case, given_case)


def test_drawn_bytes_cover_the_range_of_their_type():
    tensor = whole_tensor("x", "int8", (2000,))
    values = draw_values(tensor, np.random.default_rng(0), {"x.0": 5})
    assert (values.min(), values.max()) == (-128, 127)


def test_neighboring_fractions_are_exchanged():
    inputs = parsed_shapes("x=f32[9], low=-0.5, n=3, high=1.5, other=1.5", [])
    assert [label for label, _ in exchanged_numbers(inputs)] == ["low=1.5, high=-0.5"]
