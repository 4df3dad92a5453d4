"""On-chip memory of NKI calls as plain data."""

from pathlib import Path

import numpy as np
import pytest

import kvtrace
from kvtrace.addons.neuron.views.on_chip import Flow, OnChipCall, on_chip_calls
from kvtrace.schema.trace import open_trace
from tests.addons.neuron.kernels.products import product_hoisted, product_into


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> tuple[OnChipCall, ...]:
    out: Path = tmp_path_factory.mktemp("on_chip") / "out"
    with kvtrace.capture(out):
        product_hoisted(np.ones((256, 128), np.float32), np.ones((256, 512), np.float32))
        product_into(np.ones((256, 128), np.float32), np.ones((256, 512), np.float32))
    trace = open_trace(out)
    return on_chip_calls(trace, trace.select())


def test_flows_are_bytes_between_memories(calls: tuple[OnChipCall, ...]) -> None:
    tile, left, right = 128 * 512 * 4, 256 * 128 * 4, 256 * 512 * 4

    assert calls[0].flows == (
        Flow("hbm", "sbuf", left + right, 4),
        Flow("psum", "sbuf", tile, 1),
        Flow("sbuf", "hbm", tile, 1),
        Flow("sbuf", "psum", 2 * tile, 2),
    )
    assert calls[1].flows == calls[0].flows


def test_usage_is_the_sum_over_tiles_in_use(calls: tuple[OnChipCall, ...]) -> None:
    sbuf, psum = calls[0].usage

    # While multiplying: two left tiles of 512 bytes per partition, two right tiles of 2,048
    assert (sbuf.peak, sbuf.unit, sbuf.limit) == (2 * 512 + 2 * 2048, "bytes", 212_984)
    assert (psum.peak, psum.unit, psum.limit) == (1, "banks", 8)
    assert sbuf.amounts[-1] == psum.amounts[-1] == 0
    assert sbuf.orders[-1] == calls[0].executed


def test_tiles_have_the_names_of_the_program(calls: tuple[OnChipCall, ...]) -> None:
    names = {(tile.space, tile.name) for tile in calls[0].tiles}

    assert names == {("sbuf", "a"), ("sbuf", "b"), ("psum", "total"), ("sbuf", "rounded")}


def test_engines_have_sums_of_their_ops(calls: tuple[OnChipCall, ...]) -> None:
    work = {engine.engine: engine for engine in calls[1].engines}

    assert set(work) == {"dma", "tensor", "vector"}
    assert work["tensor"].flops == 2 * 256 * 128 * 512
    assert (work["dma"].executions, work["tensor"].executions) == (5, 2)


def test_a_trace_without_nki_calls_has_no_on_chip_calls(tmp_path: Path) -> None:
    with kvtrace.capture(tmp_path / "out"):
        kvtrace.mark("nothing")
    trace = open_trace(tmp_path / "out")

    assert on_chip_calls(trace, trace.select()) == ()
