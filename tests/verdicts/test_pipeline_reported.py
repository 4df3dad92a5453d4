"""Faults that users of Triton reported: in the TTGIR of a release that makes them, and mended."""

from pathlib import Path

import numpy as np
import pytest
import triton
import triton.language as tl

from tests.kernels.launched import Launched
from tests.kernels.staged import TARGETS
from tests.verdicts.pipelined import verdict

pytestmark = pytest.mark.usefixtures("free_driver")

FIXTURES = Path(__file__).parents[1] / "fixtures"


@triton.jit
def stored_if(index, flag, out, n, STAGES: tl.constexpr):
    yes = tl.load(flag) != 0
    for i in tl.range(0, n, num_stages=STAGES):
        at = tl.load(index + i + tl.arange(0, 1))
        if yes:
            tl.store(out + at, i + 1)


def test_a_use_in_a_branch_comes_after_the_next_copy():
    """Triton's #8139: 3.5.1 begins the next copy into the one buffer before it reads it."""
    found = verdict((FIXTURES / "triton35" / "stored_if.ttgir").read_text())

    assert found.verdict == "violation"
    assert found.message.startswith(
        "a copy (ttg.async_copy_global_to_local) writes the buffer of 1×1 i64 in iteration 0, to "
        "which the copy at line 8, begun before the loop, may still be in flight"
    )


@pytest.mark.skipif(
    tuple(map(int, triton.__version__.split(".")[:2])) < (3, 6),
    reason="this Triton makes that mistake",
)
@pytest.mark.parametrize("target", TARGETS)
def test_the_fixed_release_is_proven(target):
    inputs = {
        "index": np.arange(64), "flag": np.ones(1, np.int32), "out": np.zeros(64, np.int32),
        "n": 20,
    }  # fmt: skip
    launched = Launched(
        stored_if, inputs, ("out",), {"STAGES": 2},
        options={"target": TARGETS[target], "num_stages": 2},
    )  # fmt: skip

    ttgir = launched.ttgir()

    assert "ttg.async_copy_global_to_local" in ttgir
    assert verdict(ttgir).verdict == "proven"
