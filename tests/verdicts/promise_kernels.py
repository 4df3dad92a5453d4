"""Kernels whose sizes were promised wrongly: one off, by contents, by relations that were none."""

import triton
import triton.language as tl


@triton.jit
def one_off(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i <= n, other=0.0), mask=i < n)


@triton.jit
def copied(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def lost_tail(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i))


@triton.jit
def scattered(x, index, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.load(index + i, mask=i < n, other=0)
    tl.store(out + j, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def ragged(x, cu, out, WIDTH: tl.constexpr):
    """What is loaded only bounds a loop."""
    sequence = tl.program_id(0)
    first, last = tl.load(cu + sequence), tl.load(cu + sequence + 1)
    lanes = tl.arange(0, WIDTH)
    total = tl.zeros((WIDTH,), tl.float32)
    for token in range(first, last):
        total += tl.load(x + token * WIDTH + lanes)
    tl.store(out + sequence * WIDTH + lanes, total)


@triton.jit
def decode(q, kv_indptr, cache, out, heads, n, stride_page, WIDTH: tl.constexpr):
    """Batch and heads by two axes; `n` is a number of its own, and pages are rows of the cache."""
    sequence, head = tl.program_id(0), tl.program_id(1)
    lanes = tl.arange(0, WIDTH)
    begin, end = tl.load(kv_indptr + sequence), tl.load(kv_indptr + sequence + 1)
    at = (sequence * heads + head) * WIDTH + lanes
    total = tl.load(q + at) * n
    for page in range(begin, end):
        total += tl.load(cache + page * stride_page + lanes)
    tl.store(out + at, total)


@triton.jit
def flat_tiles(x, out, rows, columns, BLOCK: tl.constexpr):
    """One axis of the grid for tiles of two sizes."""
    across = tl.cdiv(columns, BLOCK)
    row = tl.program_id(0) // across
    column = (tl.program_id(0) % across) * BLOCK + tl.arange(0, BLOCK)
    if row < rows:
        at = row * columns + column
        tl.store(out + at, tl.load(x + at, mask=column < columns), mask=column < columns)
