"""Gathers, searches for nonzero elements, and reductions by DMA, against NumPy."""

from typing import Any

import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa
import kvtrace.addons.neuron.newer.language as nl
import kvtrace.addons.neuron.older.isa as older_isa
import kvtrace.addons.neuron.older.language as older_nl
from kvtrace.addons.neuron.errors import NkiError
from tests.addons.neuron.conftest import Run

RNG = np.random.default_rng(0)
ROWS = RNG.random((128, 64), np.float32)


def rules(outcome: Any) -> list[str]:
    return [finding.rule for finding in outcome.recorder.findings]


def in_sbuf(x: Any) -> Any:
    tile = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(tile, x)
    return tile


def in_hbm(tile: Any) -> Any:
    out = nl.ndarray(tile.shape, tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out


# -- gathers ----------------------------------------------------------------------------------


def gather_within(x: Any, indices: Any) -> Any:
    dst = nl.ndarray(indices.shape, x.dtype, buffer=nl.sbuf)
    nisa.nc_n_gather(dst, in_sbuf(x), in_sbuf(indices))
    return in_hbm(dst)


def test_nc_n_gather_selects_elements_within_partitions(run_newer: Run) -> None:
    x = RNG.random((128, 8, 8), np.float32)
    indices = RNG.integers(0, 64, (128, 5), np.uint32)

    outcome = run_newer(gather_within, x, indices)

    expected = np.take_along_axis(x.reshape(128, 64), indices.astype(np.int64), axis=1)
    assert np.array_equal(outcome.result, expected)
    assert rules(outcome) == []


def test_a_gather_index_out_of_bounds_is_reported(run_newer: Run) -> None:
    indices = np.full((128, 5), 64, np.uint32)

    assert rules(run_newer(gather_within, ROWS, indices)) == ["out-of-bounds", "undefined-lanes"]
    assert rules(run_newer(gather_within, ROWS, np.zeros((128, 5), np.int32))) == ["engine-dtype"]


@pytest.mark.parametrize(("elements", "valid"), [(1, None), (1, 50), (4, 64)])
def test_local_gather_uses_the_indices_of_16_partitions(
    run_newer: Run, elements: int, valid: int | None
) -> None:
    count = 64 if valid is None else valid

    def kernel(x: Any, indices: Any) -> Any:
        dst = nl.ndarray((128, count, elements), x.dtype, buffer=nl.sbuf)
        nisa.local_gather(dst, in_sbuf(x), in_sbuf(indices), elements, valid)
        return in_hbm(dst)

    indices = RNG.integers(0, 61, (128, 4)).astype(np.uint16)

    outcome = run_newer(kernel, ROWS, indices)

    expected = np.empty((128, count, elements), np.float32)
    for row in range(128):
        group = indices[row // 16 * 16 : row // 16 * 16 + 16]
        for at in range(count):
            first = int(group[at % 16, at // 16])
            expected[row, at] = ROWS[row, first : first + elements]
    assert np.array_equal(outcome.result, expected)
    assert rules(outcome) == []


def test_the_older_interface_gathers_to_a_new_tile(run_older: Run) -> None:
    def kernel(x: Any, indices: Any) -> Any:
        out = older_nl.ndarray((32, 16), x.dtype, buffer=older_nl.shared_hbm)
        tile = older_isa.local_gather(older_nl.load(x), older_nl.load(indices))
        older_nl.store(out, value=tile)
        return out

    indices = RNG.integers(0, 64, (32, 1)).astype(np.uint16)

    expected = [ROWS[row, indices[row // 16 * 16 :][:16, 0]] for row in range(32)]
    assert np.array_equal(run_older(kernel, ROWS[:32].copy(), indices).result, expected)


def test_a_gather_of_17_partitions_is_refused(run_newer: Run) -> None:
    def kernel(x: Any) -> None:
        indices = nl.ndarray((17, 1), nl.uint16, buffer=nl.sbuf)
        nisa.memset(indices, 0)
        dst = nl.ndarray((17, 16), x.dtype, buffer=nl.sbuf)
        nisa.local_gather(dst, in_sbuf(x[0:17]), indices)

    with pytest.raises(NkiError, match="multiple of 16"):
        run_newer(kernel, ROWS)


# -- elements that are not zero ---------------------------------------------------------------


def test_nonzero_with_count_searches_every_16th_partition(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        dst = nl.ndarray((x.shape[0], x.shape[1] + 1), nl.int32, buffer=nl.sbuf)
        nisa.memset(dst, 7)
        nisa.nonzero_with_count(dst, in_sbuf(x), index_offset=16, padding_val=-1)
        return in_hbm(dst)

    x = RNG.integers(0, 2, (64, 8), np.int32)
    x[0] = [0, 1, 1, 0, 0, 1, 0, 0]

    outcome = run_newer(kernel, x)

    expected = np.full((64, 9), 7, np.int32)
    for row in range(0, 64, 16):
        indices = np.flatnonzero(x[row]) + 16
        expected[row] = [*indices, *[-1] * (8 - indices.size), indices.size]
    assert expected[0].tolist() == [17, 18, 21, -1, -1, -1, -1, -1, 3]
    assert np.array_equal(outcome.result, expected)
    assert rules(outcome) == []
    assert rules(run_newer(kernel, x, target="trn1")) == ["target-support"]


# -- by DMA -----------------------------------------------------------------------------------


@pytest.mark.parametrize("by_name", [True, False])
def test_dma_compute_scales_and_adds_tensors(run_newer: Run, by_name: bool) -> None:
    def kernel(x: Any, y: Any) -> Any:
        out = nl.ndarray(x.shape, nl.float32, buffer=nl.shared_hbm)
        if by_name:
            nisa.dma_compute(out, [x, y, in_sbuf(x)], scales=[1.0, 0.5, 2.0], reduce_op=nl.add)
        else:
            nisa.dma_compute(out, [x, y, in_sbuf(x)], nl.add, [1.0, 0.5, 2.0])
        return out

    y = RNG.random((128, 64), np.float32).astype(np.float16)

    outcome = run_newer(kernel, ROWS, y)

    assert np.allclose(outcome.result, 3 * ROWS + y.astype(np.float32) / 2)
    assert rules(outcome) == ["instruction-argument"]


@pytest.mark.parametrize(
    ("shape", "order"),
    [((4, 6), (1, 0)), ((2, 3, 4), (2, 1, 0)), ((2, 3, 4, 5), (3, 1, 2, 0))],
)
def test_a_transpose_by_dma_swaps_the_outer_dimensions(
    run_newer: Run, shape: tuple[int, ...], order: tuple[int, ...]
) -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray([x.shape[axis] for axis in order], x.dtype, buffer=nl.shared_hbm)
        nisa.dma_transpose(out, x)
        return out

    x = RNG.random(shape, np.float32)

    assert np.array_equal(run_newer(kernel, x).result, x.transpose(order))
