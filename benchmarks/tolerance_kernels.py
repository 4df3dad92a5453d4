"""Kernels of the operations in Triton's tutorials, for benchmarks/tolerances.py and its mutants."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    total = tl.load(x + lanes, mask=mask) + tl.load(y + lanes, mask=mask)
    tl.store(out + lanes, total, mask=mask)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    given = tl.load(x + row * columns + lanes, mask=mask, other=-float("inf")).to(tl.float32)
    powers = tl.exp(given - tl.max(given, axis=0))
    share = powers / tl.sum(powers, axis=0)
    tl.store(out + row * columns + lanes, share, mask=mask)


@triton.jit
def layer_norm(x, weight, bias, out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    mean = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        mean += tl.load(x + row * columns + lanes, mask=lanes < columns, other=0.0).to(tl.float32)
    center = tl.sum(mean, axis=0) / columns
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        given = tl.load(x + row * columns + lanes, mask=lanes < columns, other=0.0).to(tl.float32)
        away = tl.where(lanes < columns, given - center, 0.0)
        squares += away * away
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    for start in range(0, columns, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        mask = lanes < columns
        given = tl.load(x + row * columns + lanes, mask=mask, other=0.0).to(tl.float32)
        factor = tl.load(weight + lanes, mask=mask)
        added = tl.load(bias + lanes, mask=mask)
        tl.store(out + row * columns + lanes, (given - center) * scale * factor + added, mask=mask)


@triton.jit
def matmul(left, right, out, rows, columns, inner, PRECISION: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, inner, BLOCK):
        k = start + tl.arange(0, BLOCK)
        a_mask = (row[:, None] < rows) & (k[None, :] < inner)
        b_mask = (k[:, None] < inner) & (column[None, :] < columns)
        a = tl.load(left + row[:, None] * inner + k[None, :], mask=a_mask, other=0.0)
        b = tl.load(right + k[:, None] * columns + column[None, :], mask=b_mask, other=0.0)
        total += tl.dot(a, b, input_precision=PRECISION)
    mask = (row[:, None] < rows) & (column[None, :] < columns)
    tl.store(out + row[:, None] * columns + column[None, :], total, mask=mask)


@triton.jit
def attention(q, k, v, out, length, scale, DEPTH: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    depth = tl.arange(0, DEPTH)
    query = tl.load(
        q + rows[:, None] * DEPTH + depth[None, :], mask=rows[:, None] < length, other=0
    )
    largest = tl.full([BLOCK], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    gathered = tl.zeros([BLOCK, DEPTH], dtype=tl.float32)
    for start in range(0, length, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns[:, None] < length
        keys = tl.load(k + columns[:, None] * DEPTH + depth[None, :], mask=mask, other=0)
        values = tl.load(v + columns[:, None] * DEPTH + depth[None, :], mask=mask, other=0)
        scores = tl.dot(query, tl.trans(keys), input_precision="ieee") * scale
        scores = tl.where(columns[None, :] < length, scores, -float("inf"))
        now = tl.maximum(largest, tl.max(scores, axis=1))
        powers = tl.exp(scores - now[:, None])
        kept = tl.exp(largest - now)
        total = total * kept + tl.sum(powers, axis=1)
        gathered = gathered * kept[:, None]
        gathered += tl.dot(powers.to(values.dtype), values, input_precision="ieee")
        largest = now
    gathered = gathered / total[:, None]
    tl.store(out + rows[:, None] * DEPTH + depth[None, :], gathered, mask=rows[:, None] < length)
