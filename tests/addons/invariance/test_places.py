"""Outputs whose elements are found by digits, sums of blocks, masks and index tensors."""

import pytest
import torch
import triton
import triton.language as tl

from tests.addons.invariance.inputs import tensor
from tests.addons.invariance.judging import Judged, is_proven, verdicts


@triton.jit
def _heads(q, kv, out, lse, stride, VALID: tl.constexpr, ACTIVE: tl.constexpr, OTHER: tl.constexpr):
    row, group = tl.program_id(0), tl.program_id(1)
    lanes = tl.arange(0, 16)
    heads, columns = group * VALID + lanes, tl.arange(0, 64)
    mask = lanes < ACTIVE
    place = row * stride + heads[:, None] * 64 + columns[None]
    value = tl.load(q + place, mask[:, None], other=0.0)
    taken = tl.num_programs(0) - 1 - row if OTHER else row
    value *= tl.load(kv + taken * 128 + group * 64 + columns)[None]
    tl.store(out + place, value, mask[:, None])
    tl.store(lse + (row * stride + heads * 64) // 64, tl.sum(value, 1), mask)


@pytest.mark.parametrize(
    ("active", "other", "proven"),
    [
        (4, False, True),
        (5, False, False),  # which of two programs writes a head is open
        (4, True, False),
    ],
)
def test_mask_that_ends_lanes_at_the_next_block_determines_the_block(
    judged: Judged, active: int, other: bool, proven: bool
) -> None:
    def launch(rows: int) -> None:
        q, kv = tensor(rows, 8, 64, seed=1), tensor(rows, 128, seed=2)
        _heads[(rows, 2)](q, kv, torch.empty_like(q), q[..., 0].clone(), 512, 4, active, other)

    assert is_proven(judged, launch) == proven


@triton.jit
def _digits(x, out, ROWS: tl.constexpr, WHICH: tl.constexpr):
    index = tl.program_id(0)
    tile, row, head = index // (2 * ROWS), index % (2 * ROWS) // 2, index % (2 * ROWS) % 2
    at = tile * 16 + tl.arange(0, 16)
    scale = (tile, row, head)[WHICH] + 1.0
    tl.store(out + row * 128 + at * 2 + head, tl.load(x + row * 128 + at * 2 + head) * scale)


@pytest.mark.parametrize(("which", "proven"), [(0, True), (1, False), (2, True)])
def test_only_a_scale_by_the_row_part_of_the_program_number_is_not_proven(
    judged: Judged, which: int, proven: bool
) -> None:
    def launch(rows: int) -> None:
        x = tensor(rows, 64, 2, seed=1)
        _digits[(4 * 2 * rows,)](x, torch.empty_like(x), rows, which)

    assert is_proven(judged, launch) == proven


@triton.jit
def _columns_first(x, out, stride, TILES: tl.constexpr, SCALED: tl.constexpr):
    index = tl.program_id(0)
    column, tile = index // TILES, index % TILES
    rows = tile * 16 + tl.arange(0, 16)
    value = tl.load(x + rows * stride + column)
    tl.store(out + rows * stride + column, value * (tile + 1.0) if SCALED else value)


@pytest.mark.parametrize("scaled", [False, True])
def test_scaling_by_a_tile_number_is_a_dependence_on_the_row(judged: Judged, scaled: bool) -> None:
    def launch(tiles: int) -> None:
        x = tensor(16 * tiles, 5, seed=1)
        _columns_first[(5 * tiles,)](x, torch.empty_like(x), 5, tiles, scaled)

    assert is_proven(judged, launch, (2, 4)) == (not scaled)


@triton.jit
def _experts(
    x, w, tokens, experts, out, N, blocks, GROUP: tl.constexpr, NEXT: tl.constexpr,
    SHIFT: tl.constexpr,
):  # fmt: skip
    index, columns = tl.program_id(0), tl.cdiv(N, 16)
    group = index // (GROUP * columns)
    size = min(blocks - group * GROUP, GROUP)
    block = group * GROUP + index % (GROUP * columns) % size
    column = index % (GROUP * columns) // size
    token = tl.load(tokens + block * 16 + tl.arange(0, 16))
    taken = tl.load(tokens + block * 16 + tl.arange(0, 16) + NEXT)
    expert = tl.load(experts + block + SHIFT)
    n, k = column * 16 + tl.arange(0, 16), tl.arange(0, 32)
    left = tl.load(x + taken[:, None] * 32 + k[None])
    right = tl.load(w + expert * 32 * N + k[:, None] * N + n[None], n[None] < N)
    tl.store(out + token[:, None] * N + n[None], tl.dot(left, right), n[None] < N)


@pytest.mark.parametrize(("after", "shift"), [(0, 0), (1, 0), (0, 1)])
def test_grouped_tiles_of_gathered_rows_have_rows_of_the_index_tensor(
    judged: Judged, after: int, shift: int
) -> None:
    def launch(blocks: int) -> None:
        rows = 16 * blocks
        x, w = tensor(rows, 32, seed=1), tensor(2, 32, 40, seed=2)
        tokens = torch.arange(rows + 1, dtype=torch.int32, device="cpu").to(x.device) % rows
        experts = torch.zeros(blocks + 1, dtype=torch.int32, device="cpu").to(x.device)
        out = torch.empty_like(x[:, :1]).expand(rows, 40).contiguous()
        _experts[(3 * blocks,)](x, w, tokens, experts, out, 40, blocks, 4, after, shift)

    assert is_proven(judged, launch, (2, 6)) == (after == shift == 0)


@triton.jit
def _quarters(x, out, stride, FIRST: tl.constexpr, READ: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    if part >= FIRST:
        at = part * 16 - FIRST * 16 + tl.arange(0, 16)
        tl.store(out + row * stride + at, tl.load(x + row * stride + at + READ) * 2)


@pytest.mark.parametrize("read", [0, 16])
def test_constant_begin_of_an_index_is_part_of_the_coordinate(judged: Judged, read: int) -> None:
    def launch(rows: int) -> None:
        x = tensor(rows + 1, 32, seed=1)[:rows]
        _quarters[(rows, 6)](x, torch.empty_like(x), 32, 4, read)

    assert is_proven(judged, launch) == (read == 0)


@triton.jit
def _row_of_blocks(x, out, WIDTH: tl.constexpr, BLOCK: tl.constexpr, NEIGHBOR: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    at = part * BLOCK + tl.arange(0, BLOCK)
    taken = (tl.num_programs(0) - 1 - row if NEIGHBOR else row) + part
    value = tl.load(x + taken * WIDTH + at, at < WIDTH, other=0.0)
    tl.store(out + row * tl.cdiv(WIDTH, BLOCK) + part, tl.sum(value))


@pytest.mark.parametrize("neighbor", [0, 1])
def test_of_two_grid_axes_with_equal_steps_the_single_program_is_ignored(
    judged: Judged, neighbor: int
) -> None:
    def launch(rows: int) -> None:
        x = tensor(rows, 40, seed=1)
        _row_of_blocks[(rows, 1)](x, torch.empty_like(x[:, :1]), 40, 64, neighbor)

    assert is_proven(judged, launch) == (neighbor == 0)


@triton.jit
def _split(x, out, M, WIDTH: tl.constexpr, FLIPPED: tl.constexpr):
    part, lanes = tl.program_id(0), tl.arange(0, 16)
    k = part * 32 + tl.arange(0, 32)
    value = tl.load(x + lanes[:, None] * WIDTH + k[None], lanes[:, None] < M, other=0.0)
    first, second = tl.split(value.reshape(16, 16, 2))
    total = tl.sum(first, 1) + tl.sum(second, 1) if FLIPPED else tl.sum(first + second, 1)
    tl.store(out + part * M + lanes, total, lanes < M)


@pytest.mark.parametrize("flipped", [False, True])
def test_single_row_is_compared_if_its_stride_equals_another_axis_stride(
    judged: Judged, flipped: bool
) -> None:
    def launch() -> None:
        for rows in (1, 3, 9):
            x = tensor(rows, 64, seed=rows)
            out = torch.empty(2, rows, device=x.device)
            _split[(2,)](x, out, rows, 64, flipped and rows == 1)

    found = verdicts(judged(launch))
    assert found == ({"violation"} if flipped else {"proven"})


@triton.jit
def _either(x, kinds, out, M, BY_SIZE: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, 32)
    kind, value = tl.load(kinds + row), tl.load(x + row * 32 + at)
    if kind < (M if BY_SIZE else 4):
        tl.store(out + row * 32 + at, value)
    else:
        tl.store(out + row * 32 + at, value * 2)


@pytest.mark.parametrize("by_size", [False, True])
def test_row_count_that_chooses_between_stores_is_a_dependence(
    judged: Judged, by_size: bool
) -> None:
    def launch(rows: int) -> None:
        x = tensor(rows, 32, seed=1)
        kinds = torch.full((rows,), 5, dtype=torch.int32, device="cpu").to(x.device)
        _either[(rows,)](x, kinds, torch.empty_like(x), rows, by_size)

    assert is_proven(judged, launch) == (not by_size)
