"""Candidates that are wrong only for some strides, or for tensors that share memory."""

import torch
import triton
import triton.language as tl


@triton.jit
def double_of_strides(x, out, n, middle, inner, s0, s1, s2, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = i // (middle * inner) * s0 + i // inner % middle * s1 + i % inner * s2
    tl.store(out + i, tl.load(x + at, mask=i < n) * 2, mask=i < n)


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def row_sum_kernel(x, out, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * stride + i, mask=i < columns, other=0.0)))


@triton.jit
def add_kernel(x, y, out, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n) * FACTOR + tl.load(y + i, mask=i < n)
    tl.store(out + i, value, mask=i < n)


@triton.jit
def relu_in_place(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.maximum(tl.load(x + i, mask=i < n), 0.0), mask=i < n)


@triton.jit
def move_kernel(x, out, n, by, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + by, mask=i < n)


@triton.jit
def increment_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


def first_two_swapped(x):
    """Return double(x); wrong: a permuted first axis is read as if it were contiguous."""
    out = torch.empty(x.shape, dtype=x.dtype)
    middle, inner = x.shape[1:]
    s1, s2 = x.stride(1), x.stride(2)
    s0 = max(middle * s1, inner * s2)
    double_of_strides[(triton.cdiv(x.numel(), 256),)](
        x, out, x.numel(), middle, inner, s0, s1, s2, BLOCK=256
    )
    return out


def expanded(x):
    """Return row_sum(x); wrong: only the first row of an expanded tensor."""
    rows = 1 if x.stride(0) == 0 and x.shape[0] > 1 else x.shape[0]
    x = x.contiguous()
    out = torch.zeros(x.shape[0], dtype=x.dtype)
    block = triton.next_power_of_2(x.shape[1])
    row_sum_kernel[(rows,)](x, out, x.shape[1], x.shape[1], BLOCK=block)
    return out


def padded_rows(x):
    """Return row_sum(x); wrong: padded rows are read as if they were contiguous."""
    if x.stride(-1) != 1:
        x = x.contiguous()
    out = torch.empty(x.shape[0], dtype=x.dtype)
    block = triton.next_power_of_2(x.shape[1])
    row_sum_kernel[(x.shape[0],)](x, out, x.shape[1], x.shape[1], BLOCK=block)
    return out


def same_input_twice(x, y):
    """Return add(x, y); wrong: 3 x instead of 2 x if both inputs are one tensor."""
    factor = 2 if x.data_ptr() == y.data_ptr() else 1
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), FACTOR=factor, BLOCK=256)
    return out


def relu_of_the_span(x):
    """Apply relu to x in place; wrong: also to elements between those of a strided view."""
    span = 1 + sum((size - 1) * step for size, step in zip(x.shape, x.stride(), strict=True))
    relu_in_place[(triton.cdiv(span, 256),)](x, span, BLOCK=256)


def moved_and_moved_back(x):
    """Return double(x); wrong: the input changes by rounding, as 1 is added and subtracted."""
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    grid = (triton.cdiv(x.numel(), 256),)
    if x.is_contiguous():
        move_kernel[grid](x, x, x.numel(), 1.0, BLOCK=256)
        move_kernel[grid](x, x, x.numel(), -1.0, BLOCK=256)
    x = x.contiguous()
    double_kernel[grid](x, out, x.numel(), BLOCK=256)
    return out


def one_buffer_twice(x):
    """Return twice_incremented(x); wrong: both results are the same tensor."""
    x = x.contiguous()
    out = torch.empty_like(x)
    increment_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out, out


def its_input(x):
    """Return copy(x); wrong: x itself, while the copy is dropped."""
    contiguous = x.contiguous()
    out = torch.empty_like(contiguous)
    move_kernel[(triton.cdiv(x.numel(), 256),)](contiguous, out, x.numel(), 0.0, BLOCK=256)
    return x
