"""Candidates that are wrong on a device: false hints, races, limits."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_of_sixteens(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    start = tl.multiple_of(row * columns, 16)
    value = tl.load(x + start + i, mask=i < columns, other=0.0)
    tl.store(out + row, tl.sum(value))


@triton.jit
def row_sum_assumed(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.assume(columns % 16 == 0)
    tl.store(out + row, tl.sum(tl.load(x + row * columns + i, mask=i < columns, other=0.0)))


@triton.jit
def contiguous_lanes(x, out, n, stride, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.max_contiguous(tl.multiple_of(i * stride, BLOCK), BLOCK)
    tl.store(out + i, tl.load(x + at, mask=i < n) * 2, mask=i < n)


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def total_with_last(x, out, partial, arrived, n, parts, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + pid, tl.sum(tl.load(x + i, mask=i < n, other=0.0)))
    if pid == parts - 1:
        j = tl.arange(0, PARTS)
        tl.store(out, tl.sum(tl.load(partial + j, mask=j < parts, other=0.0)))


@triton.jit
def scatter_kernel(x, at, out, n, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    target = tl.load(at + row) * columns + i
    value = tl.load(out + target, mask=i < columns) + tl.load(
        x + row * columns + i, mask=i < columns
    )
    tl.store(out + target, value, mask=i < columns)


@triton.jit
def staged_sum(x, scratch, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    tl.store(scratch + row * BLOCK + i, value)
    mirrored = tl.load(scratch + row * BLOCK + (BLOCK - 1 - i))
    tl.store(out + row, tl.sum(value + mirrored) * 0.5)


def false_multiple(x):
    """Return row_sum(x); wrong: row starts are declared multiples of 16 for all sizes."""
    x = x.contiguous()
    out = torch.empty(x.shape[0], dtype=x.dtype)
    block = triton.next_power_of_2(x.shape[1])
    row_sum_of_sixteens[(x.shape[0],)](x, out, x.shape[1], BLOCK=block)
    return out


def false_assumption(x):
    """Return row_sum(x); wrong: assumes columns that are a multiple of 16."""
    x = x.contiguous()
    out = torch.empty(x.shape[0], dtype=x.dtype)
    block = triton.next_power_of_2(x.shape[1])
    row_sum_assumed[(x.shape[0],)](x, out, x.shape[1], BLOCK=block)
    return out


def false_contiguity(x):
    """Return double(x); wrong: addresses are declared contiguous where the stride is not 1."""
    out = torch.empty(x.shape, dtype=x.dtype)
    contiguous_lanes[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), x.stride(0), BLOCK=256)
    return out


def too_many_warps(x):
    """Return double(x); wrong: 64 warps, 2,048 threads, where a block has at most 1,024."""
    x = x.contiguous()
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 4096),)](x, out, x.numel(), BLOCK=4096, num_warps=64)
    return out


def last_program_adds(x):
    """Return total(x); wrong: the last program may add partial sums that are not stored yet."""
    x = x.contiguous()
    parts = triton.cdiv(x.numel(), 128)
    partial, out = torch.zeros(parts, dtype=x.dtype), torch.zeros((), dtype=x.dtype)
    arrived = torch.zeros(1, dtype=torch.int32)
    total_with_last[(parts,)](
        x, out, partial, arrived, x.numel(), parts, BLOCK=128,
        PARTS=triton.next_power_of_2(parts),
    )  # fmt: skip
    return out


def scatter_without_atomics(x, at, out):
    """Return scatter_add(x, at, out); wrong: programs add to the same row without atomics."""
    out = out.clone()
    x = x.contiguous()
    block = triton.next_power_of_2(x.shape[1])
    scatter_kernel[(x.shape[0],)](x, at.contiguous(), out, x.numel(), x.shape[1], BLOCK=block)
    return out


def scratch_without_barrier(x):
    """Return row_sum(x); wrong: no barrier between stores and loads of different threads."""
    x = x.contiguous()
    out = torch.empty(x.shape[0], dtype=x.dtype)
    block = max(triton.next_power_of_2(x.shape[1]), 512)
    scratch = torch.empty(x.shape[0] * block, dtype=x.dtype)
    staged_sum[(x.shape[0],)](x, scratch, out, x.shape[1], BLOCK=block)
    return out
