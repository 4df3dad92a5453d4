"""Candidates that are wrong only for some sizes."""

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def persistent_kernel(x, out, n, step, BLOCK: tl.constexpr, ROUNDS: tl.constexpr):
    for turn in range(ROUNDS):
        i = (turn * step + tl.program_id(0)) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def row_sum_kernel(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * columns + i, mask=i < columns, other=0.0)))


@triton.jit
def row_sum_on_second_axis(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    tl.store(out + row, tl.sum(total))


@triton.jit
def total_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0), tl.sum(tl.load(x + i, mask=i < n, other=0.0)))


@triton.jit
def grouped_matmul(x, y, out, m, n, k, GROUP: tl.constexpr, B: tl.constexpr):
    pid = tl.program_id(0)
    across = tl.cdiv(n, B)
    first_row = pid // (GROUP * across) * GROUP
    height = tl.minimum(tl.cdiv(m, B) - first_row, GROUP)
    rows = (first_row + pid % height) * B + tl.arange(0, B)
    columns = (pid % (GROUP * across)) // GROUP * B + tl.arange(0, B)
    total = tl.zeros((B, B), tl.float32)
    for start in range(0, k, B):
        i = start + tl.arange(0, B)
        a = tl.load(
            x + rows[:, None] * k + i[None, :], mask=(rows[:, None] < m) & (i[None, :] < k), other=0
        )
        b = tl.load(
            y + i[:, None] * n + columns[None, :],
            mask=(i[:, None] < k) & (columns[None, :] < n), other=0,
        )  # fmt: skip
        total = tl.dot(a, b, total, input_precision="ieee")
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out + rows[:, None] * n + columns[None, :], total, mask=mask)


@triton.jit
def split_matmul(x, y, out, m, n, k, SPLIT: tl.constexpr, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    share = k // SPLIT
    begin = tl.program_id(2) * share
    total = tl.zeros((B, B), tl.float32)
    for start in range(begin, begin + share, B):
        i = start + tl.arange(0, B)
        mine = i < begin + share
        a = tl.load(
            x + rows[:, None] * k + i[None, :], mask=(rows[:, None] < m) & mine[None, :], other=0
        )
        b = tl.load(
            y + i[:, None] * n + columns[None, :],
            mask=mine[:, None] & (columns[None, :] < n), other=0,
        )  # fmt: skip
        total = tl.dot(a, b, total, input_precision="ieee")
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.atomic_add(out + rows[:, None] * n + columns[None, :], total, mask=mask)


def capped_grid(x):
    """Return double(x); wrong: at most 1,024 programs, so elements beyond 262,144 are missing."""
    x = x.contiguous()
    out = torch.empty_like(x)
    double_kernel[(min(triton.cdiv(x.numel(), 256), 1024),)](x, out, x.numel(), BLOCK=256)
    return out


def three_rounds(x):
    """Return double(x); wrong: 256 programs of 16 rounds omit elements beyond 1,048,576."""
    x = x.contiguous()
    out = torch.empty_like(x)
    persistent_kernel[(256,)](x, out, x.numel(), 256, BLOCK=256, ROUNDS=16)
    return out


def multiples_of_1009(x):
    """Return double(x); wrong: without the last block if the size is a multiple of 1,009."""
    x = x.contiguous()
    n = x.numel()
    out = torch.zeros_like(x)
    double_kernel[(triton.cdiv(n, 256) - (n % 1009 == 0),)](x, out, n, BLOCK=256)
    return out


def long_rows(x):
    """Return row_sum(x); wrong: elements beyond the first 32,768 of a row are missing."""
    x = x.contiguous()
    out = torch.empty(x.shape[0], dtype=x.dtype)
    block = min(triton.next_power_of_2(x.shape[1]), 1 << 15)
    row_sum_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=block)
    return out


def rows_on_second_axis(x):
    """Return row_sum(x); wrong: more than 65,535 rows exceed the grid's second axis."""
    x = x.contiguous()
    out = torch.empty(x.shape[0], dtype=x.dtype)
    row_sum_on_second_axis[(1, x.shape[0])](x, out, x.shape[1], BLOCK=128)
    return out


def two_stages(x):
    """Return total(x); wrong: at most 1,024 partial sums are added, of 524,288 elements."""
    x = x.contiguous()
    parts = triton.cdiv(x.numel(), 512)
    partial = torch.empty(parts, dtype=x.dtype)
    total_kernel[(parts,)](x, partial, x.numel(), BLOCK=512)
    out = torch.empty((), dtype=x.dtype)
    total_kernel[(1,)](partial, out, parts, BLOCK=1024)
    return out


def empty_total(x):
    """Return total(x); wrong: uninitialized for no elements, as no program is launched."""
    x = x.contiguous()
    out = torch.empty((), dtype=x.dtype)
    blocks = 1 if x.numel() else 0
    total_kernel[(blocks,)](x, out, x.numel(), BLOCK=triton.next_power_of_2(max(x.numel(), 1)))
    return out


def grouped(x, y):
    """Return matmul(x, y); wrong: tiles are missing where the last group of rows is lower."""
    x, y = x.contiguous(), y.contiguous()
    (m, k), n = x.shape, y.shape[1]
    out = torch.zeros((m, n), dtype=x.dtype)
    grid = (triton.cdiv(m, 16) * triton.cdiv(n, 16),)
    grouped_matmul[grid](x, y, out, m, n, k, GROUP=4, B=16)
    return out


def split(x, y):
    """Return matmul(x, y); wrong: up to three products are missing if k is no multiple of 4."""
    x, y = x.contiguous(), y.contiguous()
    (m, k), n = x.shape, y.shape[1]
    out = torch.zeros((m, n), dtype=x.dtype)
    split_matmul[(triton.cdiv(m, 16), triton.cdiv(n, 16), 4)](x, y, out, m, n, k, SPLIT=4, B=16)
    return out


def split_uninitialized(x, y):
    """Return matmul(x, y); wrong: partial products are added to uninitialized memory."""
    x, y = x.contiguous(), y.contiguous()
    (m, k), n = x.shape, y.shape[1]
    out = torch.empty((m, n), dtype=x.dtype)
    split_matmul[(triton.cdiv(m, 16), triton.cdiv(n, 16), 1)](x, y, out, m, n, k, SPLIT=1, B=16)
    return out
