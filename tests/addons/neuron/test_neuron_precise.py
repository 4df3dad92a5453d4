"""`NKI_PRECISE_FP=0`: elements of narrow floats stay unrounded."""

import ml_dtypes
import numpy as np
import pytest

from kvtrace.addons.neuron.newer import isa as nisa
from kvtrace.addons.neuron.newer import language as nl
from kvtrace.addons.neuron.older import language as older

BF16 = ml_dtypes.bfloat16
X = np.linspace(0, 1, 8 * 16, dtype=np.float32).reshape(8, 16)


@pytest.fixture
def unrounded(monkeypatch, run_newer):
    monkeypatch.setenv("NKI_PRECISE_FP", "0")


def thirds(x):
    out = nl.ndarray(x.shape, dtype=nl.bfloat16, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    part = nl.divide(tile, 3.0, dtype=nl.bfloat16)
    whole = nl.multiply(part, 3.0, dtype=nl.bfloat16)
    nl.store(out, whole)
    return out


def test_narrow_floats_are_unrounded_if_nki_precise_fp_is_0(unrounded, run_newer):
    result = run_newer(thirds, X).result
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, X / np.float32(3) * np.float32(3))


@pytest.mark.parametrize("value", ["1", "", None])
def test_values_are_rounded_unless_the_variable_is_0(monkeypatch, run_newer, value):
    if value is not None:
        monkeypatch.setenv("NKI_PRECISE_FP", value)
    result = run_newer(thirds, X).result
    assert result.dtype == BF16
    third = (X.astype(BF16).astype(np.float32) / np.float32(3)).astype(BF16)
    np.testing.assert_array_equal(result, (third.astype(np.float32) * np.float32(3)).astype(BF16))


def test_records_are_equal_with_and_without_rounding(monkeypatch, run_newer):
    records = []
    for value in "10":
        monkeypatch.setenv("NKI_PRECISE_FP", value)
        recorder = run_newer(thirds, X).recorder
        records.append((recorder.rows, [vars_of(life) for life in recorder.buffers]))
    assert records[0] == records[1]


def vars_of(life):
    return {name: getattr(life, name) for name in type(life).__slots__ if name != "name"}


def test_unrounded_values_do_not_reach_the_callers_argument(unrounded, run_newer):
    def kernel(x):
        nl.store(x, nl.add(nl.load(x), 0.001, dtype=nl.bfloat16))
        return nl.load(x)

    x = np.ones((8, 16), BF16)
    result = run_newer(kernel, x).result
    assert (result == np.float32(1) + np.float32(0.001)).all()
    assert x.dtype == BF16
    assert (x == BF16(1.001)).all()


def test_masks_apply_to_unrounded_values(unrounded, run_older):
    def kernel(x):
        out = older.ndarray((8, 16), dtype=older.float16, buffer=older.shared_hbm)
        older.store(out, older.full((8, 16), 0.1, older.float16))
        partition, column = older.arange(8)[:, None], older.arange(16)[None, :]
        tile = older.load(x[partition + 2, column], mask=partition < 4, dtype=older.float16)
        older.store(out[partition, column], tile, mask=partition < 4)
        return out

    expected = np.full((8, 16), 0.1, np.float32)
    expected[:4] = X[2:6]
    np.testing.assert_array_equal(run_older(kernel, X).result, expected)


def test_gathered_rows_stay_unrounded(unrounded, run_newer):
    def kernel(x, indices):
        out = nl.full((8, 16), 0.1, nl.float16, buffer=nl.shared_hbm)
        rows = nl.load(indices)
        nisa.dma_copy(dst=out.ap([[16, 2], [1, 16]], vector_offset=rows), src=nl.load(x)[0:2])
        return out

    expected = np.full((8, 16), 0.1, np.float32)
    expected[6:] = X[:2]
    indices = np.array([[6], [7]], np.int32)
    np.testing.assert_array_equal(run_newer(kernel, X, indices).result, expected)


def test_a_write_of_another_type_resets_unrounded_values(unrounded, run_newer):
    def kernel(x):
        tile = nl.ndarray((8, 16), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x)
        nisa.memset(tile.view(nl.uint16)[0:8, 0:1], value=0x3F80)  # the bits of 1
        return tile

    expected = X.astype(BF16).astype(np.float32)
    expected[:, 0] = 1
    np.testing.assert_array_equal(run_newer(kernel, X).result, expected)


def test_sums_of_products_are_not_rounded(unrounded, run_newer):
    def kernel(left, right):
        total = nl.ndarray((16, 16), dtype=nl.bfloat16, buffer=nl.psum)
        for _ in range(2):
            nisa.nc_matmul(dst=total, stationary=nl.load(left), moving=nl.load(right))
        return total

    result = run_newer(kernel, X, X).result
    np.testing.assert_allclose(result, 2 * X.T @ X, rtol=1e-6)
