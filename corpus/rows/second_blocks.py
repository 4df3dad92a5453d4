"""Kernels by a second author, in which rows share a program, a loop or a launch."""

# ruff: noqa: SIM108 - kernels of one signature, written as authors do

from typing import Any

import torch
import triton
import triton.language as tl

from corpus.questions.rows import Batch, Outputs, case, shared

N, WIDE = 24, 32


def over_rows(kernel: Any, batch: Batch, tile: int = 1, **constexprs: Any) -> torch.Tensor:
    """Return a kernel's output for rows of floats, with one program per tile of rows."""
    x, out = batch.floats(N), batch.result(N)
    kernel[(triton.cdiv(batch.size, tile),)](x, out, batch.size, N, WIDE, **constexprs)
    return out


@triton.jit
def persistent(x, out, M, N, WIDE: tl.constexpr, CARRIED: tl.constexpr):
    cols = tl.arange(0, WIDE)
    top = -float("inf")
    for row in range(tl.program_id(0), M, tl.num_programs(0)):
        value = tl.load(x + row * N + cols, mask=cols < N, other=-float("inf"))
        if CARRIED:
            top = tl.maximum(top, tl.max(value))
        else:
            top = tl.max(value)
        tl.store(out + row * N + cols, value - top, mask=cols < N)


def persistently(batch: Batch, carried: bool) -> torch.Tensor:
    """Return the persistent kernel's output, launched with at most four programs."""
    x, out = batch.floats(N), batch.result(N)
    persistent[(min(4, batch.size),)](x, out, batch.size, N, WIDE, carried)
    return out


@case(right=True, why="each program takes every fourth row, with nothing carried")
def persistent_rows(batch: Batch) -> Outputs:
    return persistently(batch, False)


@case(right=False, why="the maximum of a program's earlier rows is carried")
def persistent_rows_stale_maximum(batch: Batch) -> Outputs:
    return persistently(batch, True)


@triton.jit
def quantized(x, out, M, N, WIDE: tl.constexpr, TOGETHER: tl.constexpr):
    rows = tl.program_id(0) * 4 + tl.arange(0, 4)
    cols = tl.arange(0, WIDE)
    offsets = rows[:, None] * N + cols[None, :]
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    value = tl.load(x + offsets, mask=mask, other=0.0)
    largest = tl.max(tl.abs(value), axis=1)
    if TOGETHER:
        largest = tl.zeros_like(largest) + tl.max(largest)
    scale = largest / 127.0 + 1e-10
    small = (value / scale[:, None]).to(tl.int8)
    tl.store(out + offsets, small.to(tl.float32) * scale[:, None], mask=mask)


@case(right=True, why="a scale for each row of the block")
def quantized_by_row(batch: Batch) -> Outputs:
    return over_rows(quantized, batch, 4, TOGETHER=False)


@case(right=False, why="a scale for the block of four rows")
def quantized_by_block(batch: Batch) -> Outputs:
    return over_rows(quantized, batch, 4, TOGETHER=True)


@triton.jit
def scanned(x, out, M, N, WIDE: tl.constexpr, AXIS: tl.constexpr):
    rows = tl.program_id(0) * 4 + tl.arange(0, 4)
    cols = tl.arange(0, WIDE)
    offsets = rows[:, None] * N + cols[None, :]
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    value = tl.load(x + offsets, mask=mask, other=0.0)
    tl.store(out + offsets, tl.cumsum(value, axis=AXIS), mask=mask)


@case(right=True, why="a scan along each row")
def scan_of_columns(batch: Batch) -> Outputs:
    return over_rows(scanned, batch, 4, AXIS=1)


@case(right=False, why="a scan down the rows of a block")
def scan_of_rows(batch: Batch) -> Outputs:
    return over_rows(scanned, batch, 4, AXIS=0)


@triton.jit
def sorted_block(x, out, M, N: tl.constexpr, DOWN: tl.constexpr):
    rows = tl.program_id(0) * 4 + tl.arange(0, 4)
    cols = tl.arange(0, N)
    offsets = rows[:, None] * N + cols[None, :]
    value = tl.load(x + offsets, mask=rows[:, None] < M, other=float("inf"))
    if DOWN:
        value = tl.trans(tl.sort(tl.trans(value)))
    else:
        value = tl.sort(value)
    tl.store(out + offsets, value, mask=rows[:, None] < M)


def sort_block(batch: Batch, down: bool) -> torch.Tensor:
    """Return blocks of four rows of eight numbers, sorted down columns or along rows."""
    x, out = batch.floats(8), batch.result(8)
    sorted_block[(triton.cdiv(batch.size, 4),)](x, out, batch.size, 8, down)
    return out


@case(right=True, why="each row is sorted")
def sort_of_each_row(batch: Batch) -> Outputs:
    return sort_block(batch, False)


@case(right=False, why="each column of a block is sorted: rows are exchanged")
def sort_across_rows(batch: Batch) -> Outputs:
    return sort_block(batch, True)


@triton.jit
def batch_norm(x, mean, out, M, N, WIDE: tl.constexpr, TRAINING: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, WIDE)
    mask = cols < N
    value = tl.load(x + row * N + cols, mask=mask, other=0.0)
    if TRAINING:
        center = tl.zeros([WIDE], tl.float32)
        for other in range(M):
            center += tl.load(x + other * N + cols, mask=mask, other=0.0)
        center /= M
    else:
        center = tl.load(mean + cols, mask=mask, other=0.0)
    tl.store(out + row * N + cols, value - center, mask=mask)


def normed_over_batch(batch: Batch, training: bool) -> torch.Tensor:
    """Return rows minus each column's mean, of the batch if `training`."""
    x, out = batch.floats(N), batch.result(N)
    batch_norm[(batch.size,)](x, shared(N), out, batch.size, N, WIDE, training)
    return out


@case(right=True, why="the running mean is a weight")
def batch_norm_when_serving(batch: Batch) -> Outputs:
    return normed_over_batch(batch, False)


@case(right=False, why="the mean of all rows is subtracted")
def batch_norm_when_training(batch: Batch) -> Outputs:
    return normed_over_batch(batch, True)


@triton.jit
def refined(x, out, M, TILE: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    square = tl.abs(tl.load(x + rows, mask=rows < M, other=1.0)) + 0.01
    root = square * 0.0 + 1.0
    trips = 0
    while (tl.max(tl.abs(root * root - square)) > 0.05) & (trips < 12):
        root = 0.5 * (root + square / root)
        trips += 1
    tl.store(out + rows, root, mask=rows < M)


def refine(batch: Batch, tile: int) -> torch.Tensor:
    """Return square roots by Newton's method, iterated until all rows of a tile converge."""
    x, out = batch.floats(), batch.result()
    refined[(triton.cdiv(batch.size, tile),)](x, out, batch.size, tile)
    return out


@case(right=True, why="each row is refined until it has converged")
def newton_of_a_row(batch: Batch) -> Outputs:
    return refine(batch, 1)


@case(right=False, why="all rows of a tile are refined until the slowest has converged")
def newton_of_a_tile(batch: Batch) -> Outputs:
    return refine(batch, 4)


@triton.jit
def flat_bias(x, bias, out, count, N, BLOCK: tl.constexpr, BY_LANE: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    offsets = tl.program_id(0) * BLOCK + lanes
    column = lanes % N if BY_LANE else offsets % N
    value = tl.load(x + offsets, mask=offsets < count) + tl.load(bias + column)
    tl.store(out + offsets, value * tl.sigmoid(value), mask=offsets < count)


def flatly(batch: Batch, by_lane: bool) -> torch.Tensor:
    """Return the output of programs for 32 numbers each, while rows have 24."""
    x, out = batch.floats(N), batch.result(N)
    grid = (triton.cdiv(batch.size * N, 32),)
    flat_bias[grid](x, shared(N), out, batch.size * N, N, 32, by_lane)
    return out


@case(right=True, why="a flat launch finds its column by the flat offset")
def flat_silu_with_bias(batch: Batch) -> Outputs:
    return flatly(batch, False)


@case(right=False, why="a flat launch finds its column by the lane, and rows are not blocks")
def flat_silu_bias_by_lane(batch: Batch) -> Outputs:
    return flatly(batch, True)


@triton.jit
def flat_maximum(x, out, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < count, other=-float("inf"))
    tl.store(out + offsets, value - tl.max(value), mask=offsets < count)


@case(right=False, why="a block of 32 flat numbers has its maximum subtracted, rows have 24")
def flat_block_maximum(batch: Batch) -> Outputs:
    x, out = batch.floats(N), batch.result(N)
    flat_maximum[(triton.cdiv(batch.size * N, 32),)](x, out, batch.size * N, 32)
    return out


@case(right=True, why="a block of 32 flat numbers is a row of 32")
def flat_block_is_a_row(batch: Batch) -> Outputs:
    x, out = batch.floats(32), batch.result(32)
    flat_maximum[(batch.size,)](x, out, batch.size * 32, 32)
    return out


@triton.jit
def exchanged(x, out, M, N, WIDE: tl.constexpr):
    row = tl.program_id(0) ^ 1
    cols = tl.arange(0, WIDE)
    mask = (cols < N) & (row < M)
    tl.store(out + row * N + cols, tl.exp(tl.load(x + row * N + cols, mask=mask)), mask=mask)


@case(right=False, why="neighbors are exchanged, and the last of an odd number is not stored")
def neighbors_exchanged(batch: Batch) -> Outputs:
    return over_rows(exchanged, batch)


@case(right=True, why="neighbors are exchanged in a grid of an even number of programs")
def neighbors_exchanged_in_pairs(batch: Batch) -> Outputs:
    x, out = batch.floats(N), batch.result(N)
    exchanged[(batch.size + batch.size % 2,)](x, out, batch.size, N, WIDE)
    return out


@triton.jit
def products_of_rows(x, w, out, M, N: tl.constexpr, OWN: tl.constexpr):
    rows = tl.program_id(0) * 16 + tl.arange(0, 16)
    cols = tl.arange(0, N)
    mask = rows[:, None] < M
    a = tl.load(x + rows[:, None] * N + cols[None, :], mask=mask, other=0.0)
    b = tl.load(w + cols[:, None] * 16 + tl.arange(0, 16)[None, :])
    scores = tl.dot(a, b if OWN else tl.trans(a), input_precision="ieee")
    tl.store(out + rows[:, None] * 16 + tl.arange(0, 16)[None, :], scores, mask=mask)


def products(batch: Batch, own: bool) -> torch.Tensor:
    """Return products of tiles of rows with weights, or with the tile itself."""
    x, out = batch.floats(16), batch.result(16)
    grid = (triton.cdiv(batch.size, 16),)
    products_of_rows[grid](x, shared(16, 16), out, batch.size, 16, own)
    return out


@case(right=True, why="a product with weights, rows padded with zeros to a tile")
def product_of_a_padded_tile(batch: Batch) -> Outputs:
    return products(batch, True)


@case(right=False, why="the rows of a tile are multiplied with each other")
def product_of_rows_with_rows(batch: Batch) -> Outputs:
    return products(batch, False)


@triton.jit
def masked_by_data(x, gate, out, M, N, WIDE: tl.constexpr, SHIFT: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, WIDE)
    open_ = tl.load(gate + (row + SHIFT) % M) > 0
    value = tl.load(x + row * N + cols, mask=cols < N, other=0.0)
    tl.store(out + row * N + cols, value, mask=(cols < N) & open_)


def gated(batch: Batch, shift: int) -> torch.Tensor:
    """Return an output in which only rows with an open gate, that of row + `shift`, are stored."""
    x, gate, out = batch.floats(N), batch.floats(tag=3), batch.result(N)
    masked_by_data[(batch.size,)](x, gate, out, batch.size, N, WIDE, shift)
    return out


@case(right=True, why="a row's own gate says whether it is stored")
def stored_by_own_gate(batch: Batch) -> Outputs:
    return gated(batch, 0)


@case(right=False, why="the next row's gate says whether a row is stored")
def stored_by_neighbors_gate(batch: Batch) -> Outputs:
    return gated(batch, 1)


@triton.jit
def last_row(x, out, M, N, WIDE: tl.constexpr, CAPPED: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, WIDE)
    value = tl.load(x + row * N + cols, mask=cols < N, other=0.0)
    if CAPPED == 1:
        value = tl.where(row == M - 1, tl.minimum(value, 0.1), value)
    elif CAPPED == 2:
        value = tl.where(row < M, tl.minimum(value, 0.1), 0.0)
    tl.store(out + row * N + cols, value, mask=cols < N)


@case(right=False, why="the last row is capped")
def cap_of_the_last_row(batch: Batch) -> Outputs:
    return over_rows(last_row, batch, CAPPED=1)


@case(right=True, why="a choice by the row's number that all rows of the batch pass")
def cap_of_all_rows(batch: Batch) -> Outputs:
    return over_rows(last_row, batch, CAPPED=2)


CASES = [value for value in list(globals().values()) if type(value).__name__ == "Case"]
