"""Tensors as grids of tiles and of blocks, and other views and names of the newer interface."""

from typing import Any

import numpy as np

import kvtrace.addons.neuron.newer.isa as nisa
import kvtrace.addons.neuron.newer.language as nl
import kvtrace.addons.neuron.older.isa as older_isa
import kvtrace.addons.neuron.older.language as older_nl
from tests.addons.neuron.conftest import Run

X = np.arange(3 * 200 * 70, dtype=np.float32).reshape(3, 200, 70)


def test_a_view_of_another_type_has_the_bits(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        tile = nl.sbuf.view(x.dtype, x.shape)
        assert tile.name == "tile"
        nisa.dma_copy(tile, x)
        bits = tile.view(nl.int32)
        nisa.tensor_scalar(bits, bits, nl.bitwise_and, 0x7FFFFFFF)
        out = nl.MemoryRegion.shared_hbm.view(dtype=x.dtype, size=x.shape)
        nisa.dma_copy(out, tile)
        return out

    outcome = run_newer(kernel, -X[0, :128])

    assert np.array_equal(outcome.result, X[0, :128])
    assert outcome.recorder.findings == []


def test_older_instructions_accept_a_name(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        out = older_nl.ndarray(x.shape, x.dtype, older_nl.shared_hbm, name="out")
        tile = older_nl.load(x, name="load")
        older_nl.store(out, older_isa.tensor_scalar(tile, np.add, 1.0, name="add"), name="store")
        return out

    assert np.array_equal(run_older(kernel, X[0, :128]).result, X[0, :128] + 1)
