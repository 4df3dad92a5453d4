"""Differences from plain NumPy: dimensions that stay, garbage, programs, both interfaces."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.isa as nisa
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron.errors import NkiError
from tests.addons.neuron.conftest import Run

ONES = np.ones((128, 64), np.float32)


def rules(outcome: Any) -> list[str]:
    return [finding.rule for finding in outcome.recorder.findings]


def test_a_reduction_to_one_dimension_keeps_its_partitions(run_older: Run) -> None:
    shapes = []

    def kernel(x: Any) -> None:
        tile = nl.load(x)
        shapes.append(nl.sum(tile, axis=1).shape)
        shapes.append(nl.max(tile, axis=[1], keepdims=True).shape)
        shapes.append(nisa.tensor_reduce(np.add, tile, axis=(1,)).shape)

    run_older(kernel, ONES)

    assert shapes == [(128, 1)] * 3


def test_a_tile_of_one_dimension_is_read_as_a_column(run_older: Run) -> None:
    def kernel(x: Any, weights: Any) -> Any:
        tile = nl.load(x)
        column = nl.load(weights)
        assert column.shape == (128, 1)
        assert tile[:, 3].shape == (128, 1)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=nisa.tensor_scalar(tile, nl.multiply, column))
        return out

    weights = np.arange(128, dtype=np.float32)
    assert np.array_equal(run_older(kernel, ONES, weights).result, ONES * weights[:, None])


def test_reducing_over_partitions_is_an_error(run_older: Run) -> None:
    def kernel(x: Any) -> None:
        nl.sum(nl.load(x), axis=0)

    with pytest.raises(NkiError, match="only free dimensions can"):
        run_older(kernel, ONES)


def test_masked_off_elements_do_not_count_in_a_reduction(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        p, f = nl.mgrid[0:128, 0:64]
        tile = nl.load(x[p, f], mask=f < 10)
        out = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=nl.sum(tile[p, f], axis=1, mask=f < 10))
        return out

    outcome = run_older(kernel, ONES)

    assert np.array_equal(outcome.result, np.full((128, 1), 10, np.float32))
    assert rules(outcome) == []


def test_stores_of_equal_size_reshape(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((128, 8, 8), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=nl.load(x))
        return out

    x = np.arange(128 * 64, dtype=np.float32).reshape(128, 64)
    assert np.array_equal(run_older(kernel, x).result, x.reshape(128, 8, 8))


def test_programs_share_outputs_but_not_private_device_memory(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((4, 128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        mine = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.private_hbm)
        index = nl.program_id(0) * nl.num_programs(1) + nl.program_id(1)
        nl.store(mine, value=nl.load(x) * float(index))
        nl.store(out[index], value=nl.load(mine))
        return out

    outcome = run_older(kernel, ONES, grid=(2, 2))

    assert np.array_equal(outcome.result[:, 0, 0], [0, 1, 2, 3])
    assert rules(outcome) == []


def test_bfloat16_products_accumulate_in_float32(run_older: Run) -> None:
    def kernel(a: Any, b: Any) -> Any:
        out = nl.ndarray((64, 512), dtype=nl.float32, buffer=nl.shared_hbm)
        total = nl.zeros((64, 512), dtype=nl.float32, buffer=nl.psum)
        for k in nl.affine_range(3):
            rows = nl.ds(k * 128, 128)
            total += nisa.nc_matmul(nl.load(a[rows, :]), nl.load(b[rows, :]))
        nl.store(out, value=nl.copy(total))
        return out

    random = np.random.default_rng(1)
    a = random.standard_normal((384, 64)).astype(ml_dtypes.bfloat16)
    b = random.standard_normal((384, 512)).astype(ml_dtypes.bfloat16)

    outcome = run_older(kernel, a, b)

    expected = a.astype(np.float32).T @ b.astype(np.float32)
    assert np.allclose(outcome.result, expected, rtol=1e-5, atol=1e-5)
    # A product that is accumulated is one op of the tensor engine, and no tile of its own.
    products = [site for site in outcome.recorder.sites if site.op == "nisa.nc_matmul"]
    assert [site.executions for site in products if site.executions] == [3]
    assert not any(site.op == "nl.add" for site in outcome.recorder.sites if site.executions)


@pytest.mark.parametrize("accumulate", [None, True, False])
def test_the_first_product_overwrites_and_the_next_ones_add(
    run_newer: Run, accumulate: bool | None
) -> None:
    def kernel(x: Any) -> Any:
        tile = nl2.ndarray(x.shape, dtype=x.dtype, buffer=nl2.sbuf)
        nisa2.dma_copy(dst=tile, src=x)
        total = nl2.ndarray((64, 64), dtype=nl2.float32, buffer=nl2.psum)
        nisa2.nc_matmul(dst=total, stationary=tile, moving=tile)
        nisa2.nc_matmul(dst=total, stationary=tile, moving=tile, accumulate=accumulate)
        copied = nl2.ndarray((64, 64), dtype=x.dtype, buffer=nl2.sbuf)
        nisa2.tensor_copy(dst=copied, src=total)
        out = nl2.ndarray((64, 64), dtype=x.dtype, buffer=nl2.shared_hbm)
        nisa2.dma_copy(dst=out, src=copied)
        return out

    outcome = run_newer(kernel, ONES)

    assert np.all(outcome.result == (128 if accumulate is False else 256))
    assert rules(outcome) == []


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda t: t + t, "have no operators"),
        (lambda t: t[128, 0:4], "index 128 is outside dimension 0"),
        (lambda t: nisa2.tensor_copy(dst=t, src=t, mask=True), "has no argument mask"),
        (lambda t: bool(t), "no truth value"),
    ],
)
def test_unsupported_use_of_the_newer_interface_is_an_error(
    run_newer: Run, wrong: Any, sentence: str
) -> None:
    def kernel(x: Any) -> None:
        wrong(nl2.load(x))

    with pytest.raises(NkiError, match=sentence):
        run_newer(kernel, ONES)


def test_an_integer_index_keeps_the_partition_dimension(run_newer: Run) -> None:
    shapes = []

    def kernel(x: Any) -> Any:
        tile = nl2.ndarray((64, 8, 16), dtype=x.dtype, buffer=nl2.sbuf)
        nisa2.dma_copy(dst=tile, src=x)
        shapes.extend(
            view.shape for view in (tile[3], tile[3, 2, 5], tile[:, 2, 5], tile[3, ..., 5], x[3])
        )
        out = nl2.ndarray((2, 16), dtype=x.dtype, buffer=nl2.shared_hbm)
        nisa2.dma_copy(dst=out[0:1], src=tile[3, 2])
        nisa2.dma_copy(dst=out[1], src=tile[4, 2])
        return out

    x = np.arange(64 * 8 * 16, dtype=np.float32).reshape(64, 8, 16)
    outcome = run_newer(kernel, x)

    assert shapes == [(1, 8, 16), (1, 1), (64, 1), (1, 8), (8, 16)]
    assert np.array_equal(outcome.result, x[3:5, 2])
    assert rules(outcome) == []


def test_numpy_functions_are_accepted_as_op(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        tile = nl.load(x)
        scaled = nisa.tensor_scalar(tile, np.multiply, 3.0, op1=np.add, operand1=1.0)
        out = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=nisa.tensor_reduce(np.max, nisa.activation(np.exp, scaled), axis=[1]))
        return out

    assert np.allclose(run_older(kernel, ONES).result, np.exp(4.0))


def test_exceeding_on_chip_memory_is_reported(run_older: Run) -> None:
    def kernel(x: Any, tiles: int) -> Any:
        loaded = [nl.load(x) for _ in range(tiles)]
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        total = loaded[0]
        for tile in loaded[1:]:
            total = total + tile
        nl.store(out, value=total)
        return out

    wide = np.ones((128, 8192), np.float32)  # 32 KiB a partition

    assert rules(run_older(kernel, wide, tiles=4, target="trn1")) == []
    assert rules(run_older(kernel, wide, tiles=7, target="trn1")) == ["sbuf-capacity"]
    assert rules(run_older(kernel, wide, tiles=6, target="trn3")) == []


def test_a_tile_counts_toward_capacity_only_until_its_last_use(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((20, *x.shape), dtype=x.dtype, buffer=nl.shared_hbm)
        tiles = []  # a program may hold names longer than the machine holds tiles
        for i in nl.static_range(20):
            tiles.append(nl.load(x))
            nl.store(out[i], value=tiles[-1])
        return out

    assert rules(run_older(kernel, np.ones((128, 8192), np.float32))) == []


def test_an_argument_of_an_unsupported_type_is_an_error(run_older: Run) -> None:
    with pytest.raises(NkiError, match="argument 'x' is float64, which NKI does not have"):
        run_older(lambda x: None, np.ones((4, 4)))


@pytest.mark.parametrize("holds", [False, True])
@pytest.mark.parametrize("partitions", [1, 128])
def test_a_scalar_mask_applies_to_all_lanes(run_older: Run, partitions: int, holds: bool) -> None:
    def kernel(x: Any) -> Any:
        tile = nl.zeros((partitions, 64), dtype=nl.float32)
        tile[:, :] = nl.add(nl.load(x), 1.0, mask=holds)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=tile)
        return out

    outcome = run_older(kernel, ONES[:partitions])

    assert np.array_equal(outcome.result, ONES[:partitions] * (2 if holds else 0))
    assert rules(outcome) == []


def test_masks_of_rows_and_columns_apply_to_one_partition(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        row, column = nl.arange(1)[:, None], nl.arange(64)[None, :]
        tile = nl.zeros((1, 64), dtype=nl.float32)
        tile[row, column] = nl.copy(nl.load(x), mask=row < 0)
        tile[row, column] = nl.add(nl.load(x), 1.0, mask=column >= 32)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=tile)
        return out

    outcome = run_older(kernel, ONES[:1])

    assert np.array_equal(outcome.result, np.where(np.arange(64) >= 32, 2, 0)[None, :])
    assert rules(outcome) == []
