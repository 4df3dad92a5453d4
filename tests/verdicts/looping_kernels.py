"""Kernels whose loops count to the end of int32, or from there on."""

import triton
import triton.language as tl


@triton.jit
def summed(x, y, n, B: tl.constexpr):
    total = tl.zeros([B], tl.float32)
    for k in range(0, n, B):
        at = k + tl.arange(0, B)
        total += tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + tl.arange(0, B), total)


@triton.jit
def summed_wide(x, y, n, B: tl.constexpr):
    total = tl.zeros([B], tl.float32)
    for k in range(0, n.to(tl.int64), B):
        at = k + tl.arange(0, B)
        total += tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + tl.arange(0, B), total)


@triton.jit
def copied_by_grid(x, y, n, B: tl.constexpr):
    for k in range(tl.program_id(0) * B, n, tl.num_programs(0) * B):
        at = k + tl.arange(0, B)
        tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def picked(x, y, first, n, s):
    total = 0.0
    for k in range(first, n, s):
        total += tl.load(x + k)
    tl.store(y, total)


@triton.jit
def unrolled(x, y, n, B: tl.constexpr):
    total = tl.zeros([B], tl.float32)
    for part in tl.static_range(4):
        at = part * B + tl.arange(0, B)
        total += tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + tl.arange(0, B), total)


@triton.jit
def nested(x, y, rows, columns, B: tl.constexpr):
    for row in range(rows):
        for k in tl.range(0, columns, B):
            at = k + tl.arange(0, B)
            values = tl.load(x + row * B + at % B, mask=at < columns)
            tl.store(y + row * B + at % B, values, mask=at < columns)


@triton.jit
def downward(x, y, n, B: tl.constexpr):
    total = tl.zeros([B], tl.float32)
    for k in range(n, 0, -B):
        at = k - 1 - tl.arange(0, B)
        total += tl.load(x + at, mask=at >= 0, other=0.0)
    tl.store(y + tl.arange(0, B), total)


@triton.jit
def strided(x, y, n, s, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, tl.load(x + i * s, mask=i < n), mask=i < n)


@triton.jit
def either_way(x, y, s):
    i = tl.arange(0, 16)
    tl.store(y + i, tl.load(x + 50 + i * s, i < 10, 0))


@triton.jit
def following(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i + 1, mask=i + 1 < n, other=0.0), mask=i < n)


@triton.jit
def around(x, y, n, m, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i % n, mask=i < m), mask=i < m)


@triton.jit
def around_constant(x, y, m, K: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i % K, mask=i < m), mask=i < m)


@triton.jit
def halved(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    half = n // 2
    pair = tl.load(x + i, mask=i < half) + tl.load(x + half + i, mask=i < half)
    tl.store(y + i, pair, mask=i < half)
