"""Candidates that are wrong only for some sizes, strides or numbers."""

import torch
import triton
import triton.language as tl
from kernels import over, relu_kernel, softmax_kernel, softmax_of


@triton.jit
def rolled(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + (i - 3 + n) % n, mask=i < n)
    tl.store(out + row * n + i, v, mask=i < n)


@triton.jit
def half_of_tail(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n // BLOCK * BLOCK + 1, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + row * n + i, mask=i < n - (n % BLOCK == 1), other=0.0), 0)
    tl.store(out + row, total)


@triton.jit
def short_offsets(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n)
    tl.store(out + row * n + i, v * 2, mask=i < n)


@triton.jit
def many_programs(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    i = tl.arange(0, BLOCK)
    tl.store(out + row * n + i, tl.load(x + row * n + i, mask=i < n) * 2, mask=i < n)


def square_only(x):
    """Return softmax(x); wrong: the number of rows is used as the rows' length."""
    x = x.contiguous()
    out = torch.empty_like(x)
    n = x.shape[0]
    softmax_kernel[(x.shape[0],)](x, out, n, BLOCK=triton.next_power_of_2(n))
    return out


def at_most_sixty_four(x):
    """Return relu(x); wrong: at most 64 programs of 256 elements, so others are missing."""
    x = x.contiguous()
    out = torch.empty_like(x)
    relu_kernel[(min(triton.cdiv(x.numel(), 256), 64),)](x, out, x.numel(), BLOCK=256)
    return out


def torch_for_large(x):
    """Return softmax(x); cheating: torch computes where there are more than 104,979 elements."""
    if x.numel() > 3 * 7 * 4999:
        return torch.softmax(x, -1)
    return softmax_of(x)


def wrong_at_one_size(x):
    """Return relu(x); wrong: zeros if x has exactly 4,242 elements."""
    if x.numel() == 4242:
        x = torch.zeros_like(x)
    return over(relu_kernel, x)


def layout_of_transposed(x):
    """Return relu(x); wrong: written row by row into a result with a transposed input's strides."""
    out = torch.empty_like(x)
    rows = x.contiguous()
    relu_kernel[(triton.cdiv(x.numel(), 256),)](rows, out, x.numel(), BLOCK=256)
    return out


def shift_of_three(x, shift):
    """Return roll(x, shift); wrong: always shifted by 3."""
    x = x.contiguous()
    out = torch.empty_like(x)
    n = x.shape[-1]
    rolled[(x.shape[0],)](x, out, n, BLOCK=triton.next_power_of_2(n))
    return out


def last_of_tail(x):
    """Return row_sum(x); wrong: without the last block if it has one element."""
    x = x.contiguous()
    out = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    half_of_tail[(x.shape[0],)](x, out, x.shape[1], BLOCK=64)
    return out


def offsets_of_32_bits(x):
    """Return double(x); wrong: 32-bit offsets overflow at 3,000,000 rows of 1,000."""
    x = x.contiguous()
    out = torch.empty_like(x)
    short_offsets[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


def grid_beyond_device(x):
    """Return double(x); wrong: 70,000 programs on the grid's second axis (devices: 65,535)."""
    x = x.contiguous()
    out = torch.empty_like(x)
    many_programs[(1, x.shape[0])](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
