"""Launches at several sizes of the batch, of which each must be compared."""

import pytest
import torch
import triton
import triton.language as tl

from tests.addons.invariance.inputs import tensor
from tests.addons.invariance.judging import Judged


@triton.jit
def _swapped(x, out, M, SWAPPED: tl.constexpr, HALVES: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, 32)
    value = tl.load(x + row * 64 + tl.arange(0, 64))
    if HALVES:
        first, second = tl.split(value.reshape(32, 2))
        total = tl.sum(first) + tl.sum(second)
    else:
        total = tl.sum(value)
    place = tl.program_id(1) * 32 + (at ^ 5 if SWAPPED else at)
    tl.store(out + row * 64 + place, tl.full((32,), 1.0, tl.float32) * total)


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("rows", [1, 3])
def test_output_is_unproven_if_a_variant_is_not_compared(
    judged: Judged, rows: int, halves: bool
) -> None:
    def launch(swapped: bool) -> None:
        for count in (rows, 9):
            x = tensor(count, 64, seed=count)
            few = count == rows
            _swapped[(count, 2)](x, torch.empty_like(x), count, swapped and few, halves and few)

    (followed,) = judged(lambda: launch(False)).outputs
    (unfollowed,) = judged(lambda: launch(True)).outputs

    assert followed.verdict == ("depends" if halves else "proven")
    assert unfollowed.verdict == "unknown"
