"""Correct kernels without findings, each with a variant that violates a rule."""

from typing import Any

import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.isa as nisa
import kvtrace.addons.neuron.older.language as nl
from tests.addons.neuron.conftest import Run

ROWS = np.arange(128 * 64, dtype=np.float32).reshape(128, 64) / 64


def rules(outcome: Any) -> list[str]:
    return [finding.rule for finding in outcome.recorder.findings]


# -- capacities -------------------------------------------------------------------------------


@pytest.mark.parametrize("filled", [False, True])
@pytest.mark.parametrize("together", ["", "affine_range", "sequential_range"])
def test_blocks_of_psum_are_in_use_one_by_one(run_older: Run, filled: bool, together: str) -> None:
    def kernel(a: Any, b: Any) -> Any:
        out = nl.ndarray((16, 128, 512), nl.float32, buffer=nl.shared_hbm)
        left, right = nl.load(a), nl.load(b)
        make = nl.zeros if filled else nl.ndarray
        sums = make((16, nl.par_dim(128), 512), nl.float32, buffer=nl.psum)
        numbers = getattr(nl, together or "affine_range")
        for i in numbers(16):
            sums[i] += nisa.nc_matmul(left, right)
            if not together:
                nl.store(out[i], value=nl.copy(sums[i]))
        if together:
            for i in numbers(16):
                nl.store(out[i], value=nl.copy(sums[i]))
        return out

    rng = np.random.default_rng(0)
    a, b = rng.random((128, 128), np.float32), rng.random((128, 512), np.float32)

    outcome = run_older(kernel, a, b)

    assert np.allclose(outcome.result, np.stack([a.T @ b] * 16), rtol=1e-5)
    # Loops whose iterations need nothing of each other can be fused, as Neuron's compiler does.
    assert rules(outcome) == (["psum-capacity"] if together == "sequential_range" else [])


# -- memories ---------------------------------------------------------------------------------


def test_a_transpose_without_an_engine_may_lie_in_sbuf(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((64, 64), nl.float32, buffer=nl.shared_hbm)
        tile = nl.load(x)
        nl.store(out, value=nisa.nc_matmul(nisa.nc_transpose(tile), tile))
        return out

    def by_the_tensor_engine(x: Any) -> Any:
        out = nl.ndarray((64, 64), nl.float32, buffer=nl.shared_hbm)
        tile = nl.load(x)
        turned = nisa.nc_transpose(tile, engine=nisa.tensor_engine)
        nl.store(out, value=nisa.nc_matmul(turned, tile))
        return out

    x = ROWS[:64].copy()

    outcome = run_older(kernel, x)
    assert np.allclose(outcome.result, x @ x, rtol=1e-5)
    assert rules(outcome) == []
    assert rules(run_older(by_the_tensor_engine, x)) == ["memory-space"]


# -- cores ------------------------------------------------------------------------------------


# -- masks ------------------------------------------------------------------------------------


def _padded(x: Any, rows: int, columns: int) -> Any:
    """Load a tensor into a part of a tile; nothing is written to the rest."""
    p, f = nl.mgrid[0:128, 0:64]
    tile = nl.ndarray((128, 64), x.dtype, buffer=nl.sbuf)
    tile[p, f] = nl.load(x[p, f], mask=(p < rows) & (f < columns))
    return tile


def test_a_masked_store_may_index_past_its_tile(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        p, f = nl.mgrid[0:128, 0:64]
        out = nl.ndarray((100, 50), x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        nl.store(out[p, f], value=tile[p, f], mask=(p < 100) & (f < 50))
        return out

    x = ROWS[:100, :50].copy()

    outcome = run_older(kernel, x)

    assert np.array_equal(outcome.result, x)
    assert rules(outcome) == []


COLUMNS = {
    "tensor_scalar": lambda t, c, mask: nisa.tensor_scalar(t, np.add, c, mask=mask),
    "activation": lambda t, c, mask: nisa.activation(nl.copy, t, bias=c, mask=mask),
    "scalar_tensor_tensor": lambda t, c, mask: nisa.scalar_tensor_tensor(
        data=t, op0=np.add, operand0=c, op1=np.multiply, operand1=t, mask=mask
    ),
    "add": lambda t, c, mask: nl.add(t, c, mask=mask),
}


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_masked_op_reads_only_active_rows_of_its_column(
    run_older: Run, name: str, masked: bool
) -> None:
    def kernel(x: Any, w: Any) -> Any:
        p, f = nl.mgrid[0:128, 0:64]
        rows, one = nl.mgrid[0:128, 0:1]
        column = nl.ndarray((128, 1), x.dtype, buffer=nl.sbuf)
        column[rows, one] = nl.load(w[rows, one], mask=rows < 100)
        tile = nl.load(x)
        result = COLUMNS[name](tile[p, f], column[rows, one], p < 100 if masked else None)
        out = nl.ndarray((100, 64), x.dtype, buffer=nl.shared_hbm)
        nl.store(out[p, f], value=result, mask=p < 100)
        return out

    outcome = run_older(kernel, ROWS, ROWS[:100, 1:2].copy())

    sums = ROWS[:100] + ROWS[:100, 1:2]
    expected = sums * ROWS[:100] if name == "scalar_tensor_tensor" else sums
    assert np.allclose(outcome.result, expected)
    assert rules(outcome) == ([] if masked else ["uninitialized-read"])


def test_a_masked_instruction_reduces_only_active_lanes(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        p, f = nl.mgrid[0:128, 0:64]
        out = nl.ndarray((100, 2), x.dtype, buffer=nl.shared_hbm)
        tile = _padded(x, 100, 50)
        total = nl.ndarray((100, 1), x.dtype, buffer=nl.sbuf)
        rows, one = nl.mgrid[0:128, 0:1]
        mask = (p < 100) & (f < 50)
        settings: Any = {"reduce_op": np.add, "mask": mask}
        nisa.activation_reduce(nl.square, tile[p, f], reduce_res=total[rows, one], **settings)
        nl.store(out[:, 0:1], value=total)
        nisa.tensor_scalar_reduce(
            data=tile[p, f],
            op0=np.multiply,
            operand0=2.0,
            reduce_op=np.max,
            reduce_res=total[rows, one],
            mask=mask,
        )
        nl.store(out[:, 1:2], value=total)
        return out

    x = ROWS[:100, :50].copy()

    outcome = run_older(kernel, x)

    expected = np.stack([(x * x).sum(axis=1), 2 * x.max(axis=1)], axis=1)
    assert np.allclose(outcome.result, expected, rtol=1e-5)
    assert rules(outcome) == []


def test_a_transpose_by_the_tensor_engine_keeps_its_type(run_newer: Run) -> None:
    def kernel(x: Any, identity: Any, keeps: bool) -> Any:
        dtype = x.dtype if keeps else nl2.float16
        turned = nl2.ndarray((32, 64), dtype, buffer=nl2.psum)
        nisa2.nc_matmul(turned, nl2.load(x), nl2.load(identity), is_transpose=True)
        out = nl2.ndarray((32, 64), nl2.float32, buffer=nl2.shared_hbm)
        tile = nl2.ndarray((32, 64), nl2.float32, buffer=nl2.sbuf)
        nisa2.tensor_copy(tile, turned)
        nisa2.dma_copy(out, tile)
        return out

    x = np.arange(64 * 32).reshape(64, 32).astype(nl2.bfloat16)
    identity = np.eye(64).astype(nl2.bfloat16)

    outcome = run_newer(kernel, x, identity, True)
    assert np.array_equal(outcome.result, x.T.astype(np.float32))
    assert outcome.recorder.findings == []
    broken = run_newer(kernel, x, identity, False)
    assert [finding.rule for finding in broken.recorder.findings] == ["engine-dtype"]
    assert run_newer(kernel, x, identity, True, target="trn1").recorder.findings != []


def test_an_engine_that_writes_to_device_memory_is_reported(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        out = nl2.ndarray(x.shape, x.dtype, buffer=nl2.shared_hbm)
        nisa2.tensor_scalar(out, nl2.load(x), nl2.add, 1.0)
        return out

    outcome = run_newer(kernel, np.zeros((32, 8), np.float32))

    assert [finding.message for finding in outcome.recorder.findings] == [
        "nisa.tensor_scalar writes to a tensor in device memory; store it with nisa.dma_copy"
    ]


# -- witnesses --------------------------------------------------------------------------------


def test_an_out_of_bounds_finding_names_the_violated_dimension(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        row, column = nl.arange(4)[:, None], nl.arange(8)[None, :]
        tile = nl.load(x[row + 2, column + 3])  # the first lane outside is (0, 5), by its column
        out = nl.ndarray((4, 8), nl.float32, buffer=nl.shared_hbm)
        nl.store(out, value=tile)
        return out

    finding = run_older(kernel, ROWS[:4, :8].copy()).recorder.findings[0]

    assert finding.lane == (0, 5)
    assert "index 8 of dimension 1 of 'x', which has 8 elements" in finding.message
    assert finding.address_offset == (2 * 8 + 8) * 4
