"""Kernels whose conditions for all shapes are told from one another."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, result, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    total = tl.load(x + index, mask=mask) + tl.load(y + index, mask=mask)
    tl.store(result + index, total, mask=mask)


@triton.jit
def softmax(x, result, x_stride, result_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    values = tl.load(x + row * x_stride + lanes, mask=mask, other=-float("inf"))
    shares = tl.exp(values - tl.max(values, axis=0))
    tl.store(result + row * result_stride + lanes, shares / tl.sum(shares, axis=0), mask=mask)


@triton.jit
def softmax_of_whole_blocks(x, result, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + lanes)
    tl.store(result + row * stride + lanes, tl.exp(values))


@triton.jit
def matmul(
    a, b, c, rows, columns, inner, a_row, a_inner, b_inner, b_column, c_row,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, inner, BK):
        depth = start + tl.arange(0, BK)
        left = tl.load(
            a + row[:, None] * a_row + depth[None, :] * a_inner,
            mask=(row[:, None] < rows) & (depth[None, :] < inner),
        )
        right = tl.load(
            b + depth[:, None] * b_inner + column[None, :] * b_column,
            mask=(depth[:, None] < inner) & (column[None, :] < columns),
        )
        total += tl.dot(left, right)
    mask = (row[:, None] < rows) & (column[None, :] < columns)
    tl.store(c + row[:, None] * c_row + column[None, :], total, mask=mask)


@triton.jit
def row_sums(x, result, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * stride + lanes, mask=lanes < columns, other=0.0)
    tl.store(result + row, tl.sum(total, axis=0))


@triton.jit
def row_sums_one_block_too_far(x, result, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns + 1, BLOCK):
        total += tl.load(x + row * stride + start + tl.arange(0, BLOCK))
    tl.store(result + row, tl.sum(total, axis=0))


@triton.jit
def heads(x, result, count, batch_stride, head_stride, BLOCK: tl.constexpr):
    batch = tl.program_id(0) // count
    head = tl.program_id(0) % count
    lanes = tl.arange(0, BLOCK)
    place = batch * batch_stride + head * head_stride + lanes
    tl.store(result + place, tl.load(x + place))


@triton.jit
def wrapped_rows(x, result, rows, stride, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    row = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)) % rows
    place = row[:, None] * stride + tl.arange(0, WIDTH)[None, :]
    tl.store(result + place, tl.load(x + place))


@triton.jit
def left_neighbour(x, result, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + index - 1, mask=index < n)
    tl.store(result + index, value, mask=index < n)


@triton.jit
def last_first(x, result, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + n - 1 - index, mask=index < n)
    tl.store(result + index, value, mask=index < n)


@triton.jit
def clamped(x, result, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + tl.minimum(index, n - 1))
    tl.store(result + index, value)


@triton.jit
def if_large(x, result, n, least, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    if n > least:
        tl.store(result + lanes, tl.load(x + n + lanes))


@triton.jit
def block_pointers(x, result, rows, columns, stride, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_block_ptr(
        x, (rows, columns), (stride, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0)
    )
    target = tl.make_block_ptr(
        result, (rows, columns), (stride, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0)
    )
    value = tl.load(source, boundary_check=(0, 1))
    tl.store(target, value, boundary_check=(0, 1))


@triton.jit
def gather(x, indices, result, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    chosen = tl.load(indices + lanes, mask=lanes < n)
    tl.store(result + lanes, tl.load(x + chosen, mask=lanes < n), mask=lanes < n)
