"""Registers, dynamic loops and offsets of the newer interface, and MX formats."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
from kvtrace.addons.neuron import dtypes
from tests.addons.neuron.conftest import Run


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
