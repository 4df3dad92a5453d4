"""Formulas that are simpler under an element's mask, and proofs that depend on that."""

import pytest
import torch
import triton
import triton.language as tl

from tests.addons.invariance.inputs import tensor
from tests.addons.invariance.judging import Judged, is_proven


@triton.jit
def _exchanged(x, y, M, FLIPS: tl.constexpr, READ: tl.constexpr, N: tl.constexpr):
    row, at = tl.program_id(0) ^ FLIPS, tl.arange(0, N)
    read = row if READ == "own" else tl.program_id(0)
    value = tl.load(x + read * N + at, mask=(read < M) & (at < N), other=0.0)
    tl.store(y + row * N + at, value * 2, mask=(row < M) & (at < N))


@pytest.mark.parametrize(
    ("flips", "read", "right"), [(1, "own", True), (3, "own", True), (1, "other", False)]
)
def test_programs_that_swap_rows_are_proven_if_they_read_their_own_row(
    judged: Judged, flips: int, read: str, right: bool
) -> None:
    def launch(rows: int) -> None:
        x = tensor(rows, 16, seed=1)
        grid = (triton.cdiv(rows, 4) * 4,)
        _exchanged[grid](x, torch.empty_like(x), rows, flips, read, 16)

    assert is_proven(judged, launch, (3, 5, 12)) == right


@triton.jit
def _by_numbers(x, y, M, FACTOR: tl.constexpr, N: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    value = tl.load(x + row * N + at)
    if FACTOR == "one":
        value *= tl.where(M > 0, 1.0, 2.0) * (M // M) * tl.minimum(M, 1)
    else:
        value *= tl.where(M > 1, 1.0, 2.0) * tl.maximum(M, 1)
    tl.store(y + row * N + at, value)


@pytest.mark.parametrize(("factor", "right"), [("one", True), ("the number of rows", False)])
def test_condition_true_for_every_batch_size_is_no_dependence(
    judged: Judged, factor: str, right: bool
) -> None:
    def launch(rows: int) -> None:
        x = tensor(rows, 16, seed=1)
        _by_numbers[(rows,)](x, torch.empty_like(x), rows, factor, 16)

    assert is_proven(judged, launch, (3, 5, 12)) == right


@triton.jit(do_not_specialize=["switch"])
def _switched(x, y, switch, N: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    value = tl.load(x + row * N + at)
    tl.store(y + row * N + at, value * tl.where(switch > 0, 1.0, 2.0))


def test_scalar_recorded_as_1_may_be_a_switch(judged: Judged) -> None:
    def launch() -> None:
        for rows in (3, 5, 12):
            x = tensor(rows, 16, seed=1)
            _switched[(rows,)](x, torch.empty_like(x), 1, 16)

    (output,) = judged(launch).outputs

    assert output.scalars == ("switch",)


@triton.jit
def _sorted(x, y, M, ACROSS: tl.constexpr, ROWS: tl.constexpr, N: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    places = rows * N + tl.arange(0, N)[None, :]
    value = tl.load(x + places, mask=rows < M, other=float("inf"))
    value = tl.trans(tl.sort(tl.trans(value))) if ACROSS else tl.sort(value)
    tl.store(y + places, value, mask=rows < M)


@pytest.mark.parametrize("across", [False, True])
def test_rows_sorted_within_a_tile_are_independent(judged: Judged, across: bool) -> None:
    def launch(rows: int) -> None:
        x = tensor(rows, 8, seed=1)
        grid = (triton.cdiv(rows, 4),)
        _sorted[grid](x, torch.empty_like(x), rows, across, 4, 8)

    assert is_proven(judged, launch, (3, 5)) == (not across)


@triton.jit
def _divided(x, y, M, N, BLOCK: tl.constexpr):
    flat = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = flat - flat // N * N
    mask = (flat < M * N) & (column >= 0) & (column < N)
    tl.store(y + flat, tl.load(x + flat, mask=mask, other=0.0) * 3.0, mask=mask)


def test_remainder_of_division_by_an_argument_is_below_the_argument(judged: Judged) -> None:
    def launch(rows: int) -> None:
        x = tensor(rows, 20, seed=1)
        grid = (triton.cdiv(20 * rows, 64),)
        _divided[grid](x, torch.empty_like(x), rows, 20, 64)

    assert is_proven(judged, launch, (3, 5, 12))
