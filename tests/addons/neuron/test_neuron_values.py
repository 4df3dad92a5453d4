"""Values that programs of the public interface rely on, against NumPy."""

from typing import Any

import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.isa as nisa
import kvtrace.addons.neuron.older.language as nl
from tests.addons.neuron.conftest import Run

ROWS = np.arange(128 * 64, dtype=np.float32).reshape(128, 64)


def rules(outcome: Any) -> list[str]:
    return [finding.rule for finding in outcome.recorder.findings]


# -- reductions over loops --------------------------------------------------------------------


# -- masks ------------------------------------------------------------------------------------


def test_assigning_a_masked_result_keeps_the_other_lanes(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        p, f = nl.mgrid[0:128, 0:64]
        t = nl.load(x)
        t[...] = nl.add(t, 1.0, mask=p < 64)
        t[p, f] = nl.multiply(t[p, f], 2.0, mask=(p >= 32) & (f < 10))
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=t)
        return out

    outcome = run_older(kernel, ROWS)

    expected = ROWS.copy()
    expected[:64] += 1
    expected[32:, :10] *= 2
    assert np.array_equal(outcome.result, expected)
    assert rules(outcome) == []


def test_a_masked_load_keeps_the_tiles_other_lanes(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        p, f = nl.mgrid[0:128, 0:64]
        t = nl.zeros((128, 64), dtype=x.dtype)
        t[p, f] = nl.load(x[p, f], mask=(p < 100) & (f < 50))
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=t)
        return out

    outcome = run_older(kernel, ROWS[:100, :50].copy())

    expected = np.zeros_like(ROWS)
    expected[:100, :50] = ROWS[:100, :50]
    assert np.array_equal(outcome.result, expected)
    assert rules(outcome) == []


def test_lanes_left_out_by_a_masked_assignment_stay_undefined(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        p = nl.arange(128)[:, None]
        t = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        t[...] = nl.add(nl.load(x), 1.0, mask=p < 64)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=t)
        return out

    assert rules(run_older(kernel, ROWS)) == ["uninitialized-read"]


# -- the tensor engine ------------------------------------------------------------------------


def test_the_first_product_that_is_added_to_psum_starts_the_sum(run_older: Run) -> None:
    def kernel(a: Any, b: Any) -> Any:
        acc = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.psum)
        for k in nl.affine_range(3):
            acc[:, :] += nisa.nc_matmul(nl.load(a[k]), nl.load(b[k]))
        out = nl.ndarray((128, 64), dtype=a.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=nl.copy(acc))
        return out

    a = np.random.default_rng(0).random((3, 128, 128), np.float32)
    b = np.random.default_rng(1).random((3, 128, 64), np.float32)

    outcome = run_older(kernel, a, b)

    expected = np.einsum("kcm,kcn->mn", a, b)
    assert np.allclose(outcome.result, expected, rtol=1e-5)
    assert rules(outcome) == []


# -- integers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("divisor", [3, 4, 7])
def test_a_quotient_of_integers_is_a_float_that_floor_rounds_down(
    run_older: Run, divisor: int
) -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((2, *x.shape), dtype=nl.int32, buffer=nl.shared_hbm)
        tile = nl.load(x)
        other = nl.full(x.shape, divisor, dtype=nl.int32)
        nl.store(out[0], value=nl.floor(tile / divisor, dtype=nl.int32))
        nl.store(out[1], value=nl.floor(nl.divide(tile, other), dtype=nl.int32))
        return out

    x = np.arange(-64, 64, dtype=np.int32)[:, None] * np.ones((1, 4), np.int32)

    assert np.array_equal(run_older(kernel, x).result, np.stack([x // divisor] * 2))


# -- access patterns --------------------------------------------------------------------------


def test_a_pattern_of_another_type_counts_in_elements_of_that_type(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        tile = nl2.ndarray(x.shape, x.dtype, buffer=nl2.sbuf)
        nisa2.dma_copy(tile, x)
        high = nl2.ndarray((128, 16), nl2.uint16, buffer=nl2.sbuf)
        nisa2.tensor_copy(high, tile.ap([[128, 128], [2, 16]], offset=1, dtype=nl2.uint16))
        out = nl2.ndarray((128, 16), nl2.uint16, buffer=nl2.shared_hbm)
        nisa2.dma_copy(out, high)
        return out

    outcome = run_newer(kernel, ROWS)

    assert np.array_equal(outcome.result, ROWS.view(np.uint16)[:, 1:32:2])
    assert rules(outcome) == []


def test_an_access_pattern_out_of_bounds_is_reported_at_its_read(run_newer: Run) -> None:
    def kernel(x: Any, used: bool) -> Any:
        out = nl2.ndarray((128, 64), x.dtype, buffer=nl2.shared_hbm)
        beyond = x.ap([[64, 128], [1, 64]], offset=32)
        nisa2.dma_copy(out, beyond if used else x)
        return out

    assert rules(run_newer(kernel, ROWS, False)) == []
    outcome = run_newer(kernel, ROWS, True)
    assert rules(outcome) == ["out-of-bounds"]
    assert outcome.recorder.findings[0].lanes == 32
    assert np.array_equal(outcome.result.reshape(-1)[:-32], ROWS.reshape(-1)[32:])


# -- what ended in an error -------------------------------------------------------------------


def test_a_tensor_compares_with_none_in_a_kernel(run_older: Run, run_newer: Run) -> None:
    def kernel(x: Any, bias: Any = None) -> tuple[bool, ...]:
        return (x != None, x == None, bias != None)  # noqa: E711 - what kernels write

    assert run_older(kernel, ROWS).result == (True, False, False)
    assert run_newer(kernel, ROWS).result == (True, False, False)


def test_a_single_element_is_loaded_as_a_tile_of_one_element(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((1, 1), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=nl.load(x[2, 3]) * 2.0)
        return out

    assert run_older(kernel, ROWS).result.tolist() == [[ROWS[2, 3] * 2]]


# -- types of results -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "other", "expected"),
    [
        (nl.float16, 1.2, nl.float32),
        (nl.float16, np.float16(1.2), nl.float16),
        (nl.bfloat16, 2, nl.bfloat16),
        (nl.int8, 2, nl.int32),
        (nl.int8, np.int8(2), nl.int8),
        (nl.int32, 1.5, nl.float32),
        (nl.int32, np.uint32(2), nl.float32),
        (nl.float32, np.float64(2), nl.float32),
    ],
)
def test_python_numbers_count_as_int32_or_float32_in_promotion(
    run_older: Run, dtype: Any, other: Any, expected: Any
) -> None:
    def kernel(x: Any) -> Any:
        sum_, product = nl.add(nl.load(x), other), nl.load(x) * other
        assert (sum_.dtype, product.dtype) == (expected, expected)
        out = nl.ndarray(x.shape, dtype=expected, buffer=nl.shared_hbm)
        nl.store(out, value=sum_)
        return out

    x = np.arange(8, dtype=np.float32)[:, None].astype(dtype)

    result = (x.astype(np.float32) + np.float32(other)).astype(expected)
    assert np.array_equal(run_older(kernel, x).result, result)
