"""Rows that a guard leaves out at sizes that no launch had, and data of packed neighbors."""

from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from tests.addons.invariance.inputs import tensor
from tests.addons.invariance.judging import Judged, is_proven, verdicts


@triton.jit
def _guarded(x, y, M, N: tl.constexpr, ROWS: tl.constexpr, GUARD: tl.constexpr):
    tile = tl.program_id(0)
    rows = tile * ROWS + tl.arange(0, ROWS)[:, None]
    at = tl.arange(0, N)[None, :]
    stored = rows < M
    if GUARD == "whole tiles":
        stored &= tile * ROWS + ROWS <= M
    elif GUARD == "a quotient that is cut":
        stored = tile < M // ROWS
    elif GUARD == "a quotient that is rounded up":
        stored &= tile < tl.cdiv(M, ROWS)
    elif GUARD == "all but a sixteenth":
        stored &= rows < M - M // 16
    elif GUARD == "a constant":
        stored &= rows < 24
    value = tl.load(x + rows * N + at, mask=rows < M, other=0.0)
    tl.store(y + rows * N + at, value * 2, mask=stored & (at < N))


@pytest.mark.parametrize(
    ("guard", "right"),
    [
        ("the number of rows", True),
        ("a quotient that is rounded up", True),
        ("whole tiles", False),
        ("a quotient that is cut", False),
        ("all but a sixteenth", False),
        ("a constant", False),
    ],
)
def test_guard_that_leaves_out_a_row_is_a_dependence(
    judged: Judged, guard: str, right: bool
) -> None:
    def launch() -> None:
        for rows in (4, 8, 12):
            x = tensor(rows, 16, seed=1)
            _guarded[(rows // 4,)](x, torch.empty_like(x), rows, 16, 4, guard)

    found = judged(launch)

    assert (verdicts(found) == {"proven"}) == right
    if guard in ("whole tiles", "a quotient that is cut"):  # of a number that is the rows'
        assert verdicts(found) == {"depends"}
        assert any(why.what == "row 0 of 1 is not stored" for why in found.outputs[0].reasons)


@triton.jit
def _by_columns(x, y, M, N, LIMIT: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * N + at, mask=at < N, other=0.0)
    tl.store(y + row * N + at, value * 2, mask=(at < N) & (row < (N if LIMIT else M)))


@pytest.mark.parametrize("by_columns", [False, True])
def test_column_count_is_not_taken_as_a_row_count(judged: Judged, by_columns: bool) -> None:
    def launch() -> None:
        for rows in (3, 5):
            x = tensor(rows, 20, seed=1)
            _by_columns[(rows,)](x, torch.empty_like(x), rows, 20, by_columns, 32)

    found = judged(launch)

    assert verdicts(found) == {"depends" if by_columns else "proven"}
    assert not by_columns or any("row 20 of 21" in why.what for why in found.outputs[0].reasons)


@triton.jit
def _weighted(x, weights, y, period, N: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    weight = tl.load(weights + row % period * N + at)
    tl.store(y + row * N + at, tl.load(x + row * N + at) * weight)


@pytest.mark.parametrize(("sizes", "right"), [((3, 6, 12), True), ((3, 5, 12), False)])
def test_rows_of_incomplete_sequences_are_proven(
    judged: Judged, sizes: tuple[int, ...], right: bool
) -> None:
    def launch(rows: int) -> None:
        x = tensor(rows, 16, seed=1)
        _weighted[(rows,)](x, tensor(3, 16, seed=2), torch.empty_like(x), 3, 16)

    assert is_proven(judged, launch, sizes) == right


@triton.jit
def _packed(
    x, begins, y, LATER: tl.constexpr, BEFORE: tl.constexpr, MASK: tl.constexpr,
    BEYOND: tl.constexpr = 0, WIDTH: tl.constexpr = 1,
):  # fmt: skip
    row = tl.program_id(0)
    begin, end = tl.load(begins + row), tl.load(begins + row + LATER)
    at = begin - BEFORE + tl.arange(0, 16)
    mask = at < end + BEYOND if MASK else at >= 0
    columns = tl.arange(0, WIDTH)[None, :]
    value = tl.load(x + at[:, None] * 2 + columns, mask=mask[:, None], other=0.0)
    tl.store(y + row, tl.sum(value))


@triton.jit
def _packed_in_steps(x, begins, y, MASK: tl.constexpr):
    row = tl.program_id(0)
    begin, end = tl.load(begins + row), tl.load(begins + row + 1)
    total = tl.zeros([8], tl.float32)
    for first in range(begin, end, 8):
        at = first + tl.arange(0, 8)
        if MASK:
            total += tl.load(x + at, mask=at < end, other=0.0)
        else:
            total += tl.load(x + at)
    tl.store(y + row, tl.sum(total))


def _launch_packed(kernel: Any = _packed, **settings: Any) -> None:
    for rows in (3, 5, 9):
        lengths = [1, *((4 + 7 * row % 11) for row in range(rows)), 3]
        x = tensor(400, seed=1)
        begins = torch.tensor(lengths, device="cpu").cumsum(0).to(torch.int32).to(x.device)
        kernel[(rows,)](x, begins, torch.empty_like(x[:rows]), **settings)


@pytest.mark.parametrize(
    ("settings", "right"),
    [
        ({"LATER": 1, "BEFORE": 0, "MASK": True}, True),
        ({"LATER": 2, "BEFORE": 0, "MASK": True}, False),
        ({"LATER": 1, "BEFORE": 1, "MASK": True}, False),
        ({"LATER": 1, "BEFORE": 0, "MASK": False}, False),
        ({"LATER": 1, "BEFORE": 0, "MASK": True, "WIDTH": 2}, True),
        ({"LATER": 1, "BEFORE": 0, "MASK": True, "WIDTH": 4}, False),
        ({"LATER": 1, "BEFORE": 0, "MASK": True, "BEYOND": 1}, False),
        ({"kernel": _packed_in_steps, "MASK": True}, True),
        ({"kernel": _packed_in_steps, "MASK": False}, False),
    ],
    ids=[
        "to its end",
        "to the end of the next",
        "from before its begin",
        "without an end",
        "all columns",
        "columns of the next",
        "one beyond its end",
        "steps",
        "whole steps",
    ],
)
def test_packed_rows_are_proven_only_if_read_between_begin_and_end(
    judged: Judged, settings: dict[str, Any], right: bool
) -> None:
    assert (verdicts(judged(lambda: _launch_packed(**settings))) == {"proven"}) == right


@triton.jit
def _transposed(x, scales, y, stride, N: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    scale = tl.load(scales + row + at // 8 * stride)
    tl.store(y + row * N + at, tl.load(x + row * N + at) * scale)


def test_column_major_scales_are_the_rows_own_data(judged: Judged) -> None:
    def launch(rows: int) -> None:
        x, scales = tensor(rows, 16, seed=1), tensor(2, rows, seed=2).t()
        _transposed[(rows,)](x, scales, torch.empty_like(x), rows, 16)

    assert is_proven(judged, launch, (3, 5, 12))


@triton.jit
def _three_begins(begins, y):
    row = tl.program_id(0)
    before = tl.load(begins + row + 1) - tl.load(begins + row)
    tl.store(y + row, before * 100 + tl.load(begins + row + 2) - tl.load(begins + row + 1))


def test_lengths_of_two_rows_are_a_dependence_on_other_rows(judged: Judged) -> None:
    def launch(rows: int) -> None:
        begins = torch.arange(0, 4 * rows + 8, 4, dtype=torch.int32, device="cpu")
        begins = begins.to(tensor(1, seed=1).device)
        _three_begins[(rows,)](begins, torch.empty_like(begins[:rows]))

    assert not is_proven(judged, launch, (3, 5, 9))


@triton.jit
def _halves(x, begins, y, N: tl.constexpr):
    row = tl.program_id(0)
    begin = tl.load(begins + row)
    length = tl.load(begins + row + 1) - begin
    token, at = tl.arange(0, 8)[:, None], tl.arange(0, N)[None, :]
    place = (begin + token) * 2 * N + at
    low = tl.load(x + place, mask=token < length, other=0.0)
    high = tl.load(x + place + N, mask=token < length, other=0.0)
    tl.store(y + place, low - high, mask=token < length)
    tl.store(y + place + N, low + high, mask=token < length)


def test_two_stores_masked_by_the_rows_length_are_proven(judged: Judged) -> None:
    def launch(rows: int) -> None:
        x = tensor(4 * rows, 32, seed=1)
        begins = torch.arange(0, 4 * rows + 1, 4, dtype=torch.int32, device="cpu")
        _halves[(rows,)](x, begins.to(x.device), torch.empty_like(x), 16)

    assert is_proven(judged, launch, (3, 5, 9))


@triton.jit
def _product(a, b, c, M, SUM: tl.constexpr, ROWS: tl.constexpr):
    rows, at = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, 16)
    left = tl.load(a + rows[:, None] * 16 + at[None, :], mask=rows[:, None] < M, other=0.0)
    if SUM:
        left = left - tl.sum(left, 1)[:, None]
    result = tl.dot(left, tl.load(b + at[:, None] * 16 + at[None, :]))
    tl.store(c + rows[:, None] * 16 + at[None, :], result, mask=rows[:, None] < M)


@pytest.mark.parametrize(
    ("warps", "sums", "right"),
    [((4, 8), False, True), ((4, 8), True, False), ((2, 8), False, False)],
)
def test_multiples_of_four_warps_do_not_reorder_a_product(
    judged: Judged, warps: tuple[int, int], sums: bool, right: bool
) -> None:
    def launch() -> None:
        for rows, count in zip((16, 48), warps, strict=True):
            a = tensor(rows, 16, seed=1)
            grid = (rows // 16,)
            _product[grid](
                a, tensor(16, 16, seed=2), torch.empty_like(a), rows, sums, 16, num_warps=count
            )

    assert (verdicts(judged(launch)) == {"proven"}) == right
