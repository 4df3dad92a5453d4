"""Integers in memory: a row's own, where it ends, and another row's."""

import pytest
import torch
import triton
import triton.language as tl

from tests.addons.invariance.inputs import tensor
from tests.addons.invariance.judging import Judged, is_proven


@triton.jit
def _by_kind(x, kinds, out, NEXT: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, 32)
    value = tl.load(x + row * 32 + at)
    kind = tl.load(kinds + row + NEXT)
    tl.store(out + row * 32 + at, tl.where(kind > 3, value * 2, value))


@pytest.mark.parametrize("after", [0, 1])
def test_integer_loaded_for_another_row_is_a_dependence_on_other_rows(
    judged: Judged, after: int
) -> None:
    def launch(rows: int) -> None:
        x = tensor(rows, 32, seed=1)
        kinds = torch.full((rows + 1,), 5, dtype=torch.int32, device="cpu").to(x.device)
        _by_kind[(rows,)](x, kinds, torch.empty_like(x), after)

    assert is_proven(judged, launch) == (after == 0)


@triton.jit
def _lengths(x, starts, out, ENDS: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, 32)
    first, end = tl.load(starts + row), tl.load(starts + row + 1)
    total = tl.zeros((32,), tl.float32)
    for token in range(end if ENDS else end - first):
        total += tl.load(x + (first + token) * 32 + at)
    tl.store(out + row * 32 + at, total)


@pytest.mark.parametrize("ends", [False, True])
def test_difference_of_two_consecutive_offsets_is_the_rows_own_length(
    judged: Judged, ends: bool
) -> None:
    def launch(rows: int) -> None:
        x = tensor(4 * rows, 32, seed=1)
        starts = torch.arange(0, 4 * rows + 1, 4, dtype=torch.int32, device="cpu")
        _lengths[(rows,)](x, starts.to(x.device), torch.empty_like(x[:rows]), ends)

    assert is_proven(judged, launch) == (not ends)
