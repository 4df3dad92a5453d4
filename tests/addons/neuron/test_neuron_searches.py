"""Searches with equal and with missing values, against the reference."""

from typing import Any

import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa
import kvtrace.addons.neuron.newer.language as nl
from tests.addons.neuron.conftest import Run

#: The example with duplicates in the reference of `nc_match_replace8`.
DATA = np.array([[1, 2, 3, 4, 8, 8, 8, 8, 8, 8, 8]], np.float32)
SEARCHED = np.array([[3, 8, 8, 8, 8, 8, 8, 8]], np.float32)


def _found_indices(run: Run, data: Any, searched: Any, dtype: Any) -> Any:
    def kernel(data: Any, searched: Any) -> Any:
        indices = nl.ndarray((data.shape[0], 8), dtype, buffer=nl.sbuf)
        nisa.nc_find_index8(indices, nl.load(data), nl.load(searched))
        out = nl.ndarray(indices.shape, dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, indices)
        return out

    return run(kernel, data, searched).result


@pytest.mark.parametrize("dtype", [nl.uint32, nl.uint16])
def test_equal_values_get_successive_indices(run_newer: Run, dtype: Any) -> None:
    assert _found_indices(run_newer, DATA, SEARCHED, dtype).tolist() == [[2, 4, 5, 6, 7, 8, 9, 10]]


@pytest.mark.parametrize("dtype", [nl.uint32, nl.uint16])
def test_a_missing_value_gets_an_index_with_all_bits_set(run_newer: Run, dtype: Any) -> None:
    data = np.arange(8, dtype=np.float32)[None, :]
    searched = np.array([[3, 9, 3, 0, 9, 1, 2, 7]], np.float32)

    ones = np.iinfo(dtype).max
    assert _found_indices(run_newer, data, searched, dtype).tolist() == [
        [3, ones, ones, 0, ones, 1, 2, 7]
    ]


def test_tied_values_get_distinct_indices(run_newer: Run) -> None:
    data = np.random.default_rng(3).integers(0, 3, (16, 40)).astype(np.float32)
    largest = -np.sort(-data, axis=1)[:, :8]

    indices = _found_indices(run_newer, data, largest, nl.uint32)

    assert np.array_equal(np.take_along_axis(data, indices.astype(np.int64), axis=1), largest)
    assert all(len(set(row)) == 8 for row in indices.tolist())


def test_replaced_duplicates_are_matched_from_the_last_slot(run_newer: Run) -> None:
    def kernel(data: Any, searched: Any) -> Any:
        rest = nl.ndarray(data.shape, nl.float32, buffer=nl.sbuf)
        indices = nl.ndarray((1, 8), nl.uint32, buffer=nl.sbuf)
        nisa.nc_match_replace8(rest, nl.load(data), nl.load(searched), 0.0, dst_idx=indices)
        outs = (
            nl.ndarray(data.shape, nl.float32, buffer=nl.shared_hbm),
            nl.ndarray((1, 8), nl.uint32, buffer=nl.shared_hbm),
        )
        for out, tile in zip(outs, (rest, indices), strict=True):
            nisa.dma_copy(out, tile)
        return outs

    rest, indices = run_newer(kernel, DATA, SEARCHED).result

    assert rest.tolist() == [[1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0]]
    assert indices.tolist() == [[2, 10, 9, 8, 7, 6, 5, 4]]
