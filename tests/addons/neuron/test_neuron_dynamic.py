"""Registers, dynamic loops and offsets of the newer interface, and MX formats."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.errors import NkiError
from tests.addons.neuron.conftest import Run

DATA = np.arange(40 * 16, dtype=np.float32).reshape(40, 16)


def test_registers_bound_loops_and_slices(run_newer: Run) -> None:
    def kernel(x: Any, count: Any) -> Any:
        register = nisa2.register_alloc()
        nisa2.register_load(register, count)
        total = nl2.zeros((8, 16), dtype=nl2.float32, buffer=nl2.sbuf)
        for i in nl2.dynamic_range(register):
            here = nisa2.register_alloc(i * 8)
            nisa2.tensor_tensor(
                dst=total, data1=total, data2=nl2.load(x[nl2.ds(here, 8), :]), op=nl2.add
            )
        while register:
            nisa2.register_move(register, int(register) - 1)
        out = nl2.ndarray((8, 16), dtype=nl2.float32, buffer=nl2.shared_hbm)
        nisa2.dma_copy(dst=out, src=total)
        return out

    outcome = run_newer(kernel, DATA, np.array([[3]], np.int32))

    assert np.array_equal(outcome.result, DATA[:24].reshape(3, 8, 16).sum(axis=0))
    assert outcome.recorder.findings == []


@pytest.mark.parametrize("outside", [False, True])
def test_rows_are_gathered_by_offsets_of_each_partition(run_newer: Run, outside: bool) -> None:
    rows = np.array([[3], [39], [0], [7]], np.int32)
    if outside:
        rows[1] = 40

    def kernel(x: Any, row_numbers: Any) -> Any:
        indices = nl2.load(row_numbers)
        tile = nl2.ndarray((4, 16), dtype=x.dtype, buffer=nl2.sbuf)
        source = x.ap(pattern=[[16, 4], [1, 16]], vector_offset=indices, indirect_dim=0)
        nisa2.dma_copy(dst=tile, src=source)
        out = nl2.ndarray((4, 16), dtype=x.dtype, buffer=nl2.shared_hbm)
        nisa2.dma_copy(dst=out, src=tile)
        return out

    outcome = run_newer(kernel, DATA, rows)

    inside = rows[:, 0] < 40
    assert np.array_equal(outcome.result[inside], DATA[rows[inside, 0]])
    rules = [finding.rule for finding in outcome.recorder.findings]
    assert rules == (["out-of-bounds", "undefined-lanes"] if outside else [])


def test_rows_out_of_bounds_are_skipped_with_oob_mode_skip(run_newer: Run) -> None:
    def kernel(x: Any, row_numbers: Any) -> Any:
        out = nl2.zeros((40, 16), dtype=x.dtype, buffer=nl2.shared_hbm)
        indices = nl2.load(row_numbers)
        target = out.ap(pattern=[[16, 3], [1, 16]], vector_offset=indices, indirect_dim=0)
        nisa2.dma_copy(dst=target, src=nl2.load(x), oob_mode=nisa2.oob_mode.skip)
        return out

    rows = np.array([[5], [41], [2]], np.int32)
    outcome = run_newer(kernel, DATA[:3], rows)

    expected = np.zeros((40, 16), np.float32)
    expected[5], expected[2] = DATA[0], DATA[2]
    assert np.array_equal(outcome.result, expected)
    assert outcome.recorder.findings == []


@pytest.mark.parametrize("element", ["float8_e4m3fn", "float8_e5m2"])
def test_groups_of_32_share_a_scale(run_newer: Run, element: str) -> None:
    random = np.random.default_rng(3)
    source = (random.standard_normal((64, 16)) * np.exp2(random.integers(-9, 9, (64, 1)))).astype(
        ml_dtypes.bfloat16
    )

    def kernel(x: Any) -> Any:
        tile = nl2.load(x)
        packed = nl2.ndarray((64, 4), getattr(nl2, f"{element}_x4"), buffer=nl2.sbuf)
        scales = nl2.zeros((64, 4), nl2.uint8, buffer=nl2.sbuf)
        nisa2.quantize_mx(dst=packed, src=tile, dst_scale=scales)
        bits = nl2.ndarray((64, 16), nl2.uint8, buffer=nl2.shared_hbm)
        scales_out = nl2.ndarray((64, 4), nl2.uint8, buffer=nl2.shared_hbm)
        nisa2.dma_copy(dst=bits, src=packed.view(nl2.uint8))
        nisa2.dma_copy(dst=scales_out, src=scales)
        return bits, scales_out

    bits, scales = run_newer(kernel, source, target="trn3").result

    # The scales of 32 partitions lie in the first four of them, one for 8 partitions by 4 values
    rows = [0, 1, 2, 3, 32, 33, 34, 35]
    factors = np.exp2(scales[rows].astype(np.float64) - 127).repeat(8, axis=0).repeat(4, axis=1)
    values = bits.view(getattr(dtypes, element)).astype(np.float64) * factors
    wide = source.astype(np.float64)
    largest = np.abs(wide).reshape(8, 8, 4, 4).max(axis=(1, 3)).repeat(8, axis=0).repeat(4, axis=1)
    step = {"float8_e4m3fn": 2.0**-4, "float8_e5m2": 2.0**-3}[element]
    assert np.all(np.abs(values - wide) <= largest * step)
    assert not scales[4:32].any()


@pytest.mark.parametrize("pair", [0, 3, 19])
def test_an_offset_counts_along_the_dimensions_of_the_view(run_newer: Run, pair: int) -> None:
    def kernel(x: Any, offset: Any) -> Any:
        register = nisa2.register_alloc()
        nisa2.register_load(register, offset)
        pairs = x.reshape(20, 2, 16)
        tile = nl2.ndarray((2, 16), dtype=x.dtype, buffer=nl2.sbuf)
        source = pairs.ap(pattern=[[16, 2], [1, 16]], scalar_offset=register, indirect_dim=0)
        nisa2.dma_copy(dst=tile, src=source)
        inner = nl2.ndarray((1, 16), dtype=x.dtype, buffer=nl2.sbuf)
        last = pairs.ap(pattern=[[16, 1], [1, 16]], scalar_offset=1, indirect_dim=1)
        nisa2.dma_copy(dst=inner, src=last)
        outs = (nl2.ndarray((2, 16), x.dtype, buffer=nl2.shared_hbm),
                nl2.ndarray((1, 16), x.dtype, buffer=nl2.shared_hbm))  # fmt: skip
        nisa2.dma_copy(outs[0], tile)
        nisa2.dma_copy(outs[1], inner)
        return outs

    outcome = run_newer(kernel, DATA, np.array([[pair]], np.int32))

    assert np.array_equal(outcome.result[0], DATA[2 * pair : 2 * pair + 2])
    assert np.array_equal(outcome.result[1], DATA[1:2])
    assert outcome.recorder.findings == []


def test_an_indirect_dim_out_of_range_is_an_error(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        return x.ap(pattern=[[16, 2], [1, 16]], scalar_offset=1, indirect_dim=2)

    with pytest.raises(NkiError, match="indirect_dim is 2, but the tensor has 2 dimensions"):
        run_newer(kernel, DATA)
