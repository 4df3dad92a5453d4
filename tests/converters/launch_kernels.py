"""Kernels whose accesses take every form that a layout has, for the tests of the launch view."""

import triton
import triton.language as tl


@triton.jit
def product(a, b, c, m, n, k, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, k, BLOCK):
        inner = start + tl.arange(0, BLOCK)
        left = tl.load(
            a + row[:, None] * k + inner[None, :],
            mask=(row[:, None] < m) & (inner[None, :] < k),
            other=0.0,
        )
        right = tl.load(
            b + column[:, None] * k + inner[None, :],
            mask=(column[:, None] < n) & (inner[None, :] < k),
            other=0.0,
        )
        total += tl.dot(left, tl.trans(right))  # the product
    target = c + row[:, None] * n + column[None, :]
    tl.store(target, total, mask=(row[:, None] < m) & (column[None, :] < n))


@triton.jit
def halved_volume(x, out, rows, columns, R: tl.constexpr, C: tl.constexpr):
    """One slice a program; the last program is one too many for `x`."""
    plane = tl.program_id(0)
    row, column = tl.arange(0, R), tl.arange(0, C)
    places = plane * rows * columns + row[:, None] * columns + column[None, :]
    mask = (row[:, None] < rows) & (column[None, :] < columns)
    value = tl.load(x + places, mask=mask)  # one slice too many
    tl.store(out + places, value * 0.5, mask=mask)


@triton.jit
def backwards(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + n - 1 - lanes, mask=lanes < n), mask=lanes < n)


@triton.jit
def banded(x, out, outer, inner, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for step in range(outer):
        for again in range(inner):
            total += tl.load(x + step * BLOCK + again * 3 + lanes % 7)  # runs
    tl.store(out + lanes * 2, total, mask=(lanes % 5) < 3)


@triton.jit
def gathered(x, index, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(index + lanes, mask=lanes < n, other=0)
    tl.store(out + lanes, tl.load(x + place, mask=lanes < n), mask=lanes < n)


@triton.jit
def filled(out, rows, columns, R: tl.constexpr, C: tl.constexpr):
    row = tl.program_id(1) * R + tl.arange(0, R)
    column = tl.program_id(0) * C + tl.arange(0, C)
    mask = (row[:, None] < rows) & (column[None, :] < columns)
    tl.store(out + row[:, None] * columns + column[None, :], tl.full((R, C), 1, tl.int8), mask=mask)


@triton.jit
def swept(out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.full((BLOCK,), 1, tl.int8), mask=lanes < n)
