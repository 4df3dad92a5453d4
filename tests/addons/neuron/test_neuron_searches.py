"""Searches with equal values, and values that are not there: each slot against the reference."""

from typing import Any

import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa
import kvtrace.addons.neuron.newer.language as nl
from tests.addons.neuron.conftest import Run

#: What the reference of `nc_match_replace8` shows with duplicates.
DATA = np.array([[1, 2, 3, 4, 8, 8, 8, 8, 8, 8, 8]], np.float32)
WANTED = np.array([[3, 8, 8, 8, 8, 8, 8, 8]], np.float32)


def _found(run: Run, data: Any, wanted: Any, dtype: Any) -> Any:
    def kernel(data: Any, wanted: Any) -> Any:
        places = nl.ndarray((data.shape[0], 8), dtype, buffer=nl.sbuf)
        nisa.nc_find_index8(places, nl.load(data), nl.load(wanted))
        out = nl.ndarray(places.shape, dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, places)
        return out

    return run(kernel, data, wanted).result


@pytest.mark.parametrize("dtype", [nl.uint32, nl.uint16])
def test_equal_values_are_found_one_after_the_other(run_newer: Run, dtype: Any) -> None:
    assert _found(run_newer, DATA, WANTED, dtype).tolist() == [[2, 4, 5, 6, 7, 8, 9, 10]]


@pytest.mark.parametrize("dtype", [nl.uint32, nl.uint16])
def test_a_value_that_is_not_there_has_all_ones_for_a_place(run_newer: Run, dtype: Any) -> None:
    data = np.arange(8, dtype=np.float32)[None, :]
    wanted = np.array([[3, 9, 3, 0, 9, 1, 2, 7]], np.float32)

    ones = np.iinfo(dtype).max
    assert _found(run_newer, data, wanted, dtype).tolist() == [[3, ones, ones, 0, ones, 1, 2, 7]]


def test_the_eight_largest_of_ties_have_places_of_their_own(run_newer: Run) -> None:
    data = np.random.default_rng(3).integers(0, 3, (16, 40)).astype(np.float32)
    largest = -np.sort(-data, axis=1)[:, :8]

    places = _found(run_newer, data, largest, nl.uint32)

    assert np.array_equal(np.take_along_axis(data, places.astype(np.int64), axis=1), largest)
    assert all(len(set(row)) == 8 for row in places.tolist())


def test_replaced_duplicates_have_their_places_from_the_last_slot_on(run_newer: Run) -> None:
    def kernel(data: Any, wanted: Any) -> Any:
        rest = nl.ndarray(data.shape, nl.float32, buffer=nl.sbuf)
        places = nl.ndarray((1, 8), nl.uint32, buffer=nl.sbuf)
        nisa.nc_match_replace8(rest, nl.load(data), nl.load(wanted), 0.0, dst_idx=places)
        outs = (
            nl.ndarray(data.shape, nl.float32, buffer=nl.shared_hbm),
            nl.ndarray((1, 8), nl.uint32, buffer=nl.shared_hbm),
        )
        for out, tile in zip(outs, (rest, places), strict=True):
            nisa.dma_copy(out, tile)
        return outs

    rest, places = run_newer(kernel, DATA, WANTED).result

    assert rest.tolist() == [[1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0]]
    assert places.tolist() == [[2, 10, 9, 8, 7, 6, 5, 4]]
