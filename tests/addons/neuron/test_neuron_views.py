"""Views by slices and index expressions, against NumPy's own indexing."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.indices import Index, arange
from kvtrace.addons.neuron.launching import Kernel, bound_arguments, execute
from tests.support.thorough import usually

SOURCE = np.arange(2 * 12 * 20, dtype=np.float32).reshape(2, 12, 20)


def loaded(key: Any, source: Any = SOURCE, mask: Any = None) -> Any:
    """Return what a kernel loads through a subscript of an array."""
    observed: list[Any] = []

    def kernel(x: Any) -> None:
        observed.append(np.array(nl.load(x[key], mask=mask).array()))

    execute(Kernel(kernel, "older"), (1,), bound_arguments(kernel, (source,), {}))
    return observed[0]


@pytest.mark.parametrize(
    "key",
    [
        (0,),
        (1, slice(2, 9)),
        (0, slice(0, 12, 3), slice(5, 20)),
        (slice(None), 4),
        (Ellipsis, slice(0, 7)),
        (1, slice(None), slice(3, 18, 5)),
    ],
)
def test_slices_and_integers_equal_numpy(key: Any) -> None:
    assert np.array_equal(loaded(key), SOURCE[key])


@settings(max_examples=usually(15, thorough=60), deadline=None)
@given(
    rows=st.integers(1, 4),
    columns=st.integers(1, 4),
    offsets=st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(0, 4)),
    steps=st.tuples(*[st.integers(0, 1)] * 2, *[st.integers(0, 2)] * 2),
)
def test_affine_index_expressions_equal_numpy(
    rows: int, columns: int, offsets: tuple[int, int, int], steps: tuple[int, int, int, int]
) -> None:
    # Given: two axes, each of which may move along both dimensions
    i, j = arange(rows)[:, None], arange(columns)[None, :]
    p, q = np.arange(rows)[:, None], np.arange(columns)[None, :]
    a, b, c, d = steps

    got = loaded((offsets[0], offsets[1] + i * a + j * b, offsets[2] + j * c + i * d + 0 * j))

    expected = SOURCE[offsets[0], offsets[1] + p * a + q * b, offsets[2] + q * c + p * d]
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("function", [lambda i: i // 2, lambda i: i % 3, lambda i: i * i // 4])
def test_index_expressions_that_are_not_affine_equal_numpy(function: Any) -> None:
    i, j = arange(7)[:, None], arange(5)[None, :]

    got = loaded((1, function(i), j))

    assert np.array_equal(got, SOURCE[1, function(np.arange(7))[:, None], np.arange(5)[None, :]])


def test_arithmetic_on_indices_stays_affine() -> None:
    index = 3 + (arange(4)[:, None] * 8 - arange(8)[None, :]) * 2

    assert index.is_affine
    assert np.array_equal(index.values, 3 + (np.arange(4)[:, None] * 8 - np.arange(8)) * 2)
    assert index.offset_and_steps() == (3, [16, -2])
    assert index.is_inside(52) is False
    assert (index + 11).is_inside(3 + 48 + 11 + 1)
    assert not (index + 11).is_inside(3 + 48 + 11)


def test_an_index_of_a_grid_has_its_axes_by_name() -> None:
    grid = nl.mgrid[0:4, 2:8:2]

    assert np.array_equal(grid.p.values, np.arange(4)[:, None])
    assert np.array_equal(grid.x.values, np.arange(2, 8, 2)[None, :])
    assert isinstance(grid[1], Index)


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ((0, slice(0, 13)), "exceeds dimension 1"),
        ((2,), "index 2 is outside dimension 0"),
        ((0, -1), "index -1 is outside dimension 1"),
        ((0, slice(0, -1)), "counts from the end"),
        ((0, 0, 0, 0), "4 indices are given for a tensor of 3 dimensions"),
        ((0, slice(0, 4), arange(3)[None, :]), "cannot be mixed"),
    ],
)
def test_unsupported_indexing_is_an_error_with_the_line(key: Any, sentence: str) -> None:
    with pytest.raises(NkiError) as error:
        loaded(key)

    assert sentence in str(error.value)
    assert f"({__file__}:" in str(error.value)


def test_masked_lanes_out_of_bounds_are_garbage_without_a_finding() -> None:
    i, j = arange(16)[:, None], arange(20)[None, :]

    got = loaded((0, i, j), mask=i < 12)

    assert np.array_equal(got[:12], SOURCE[0])
    assert np.isnan(got[12:]).all()


def test_indices_from_a_tile_gather_rows() -> None:
    rows = np.array([[3], [0], [11]], np.int32)

    def kernel(x: Any, chosen: Any) -> Any:
        tile = nl.load(chosen)
        out = nl.ndarray((3, 20), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=nl.load(x[1, tile, nl.arange(20)[None, :]]))
        return out

    outcome = execute(Kernel(kernel, "older"), (1,), bound_arguments(kernel, (SOURCE, rows), {}))

    assert np.array_equal(outcome.result, SOURCE[1, rows[:, 0]])
