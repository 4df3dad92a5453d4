"""Kernels that the cheats and their honest twins launch."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n)
    tl.store(out + i, total, mask=i < n)


@triton.jit
def relu_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.maximum(tl.load(x + i, mask=i < n), 0.0), mask=i < n)


@triton.jit
def gelu_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    inner = 1.5957691216057308 * (v + 0.044715 * v * v * v)
    tl.store(out + i, v / (1 + tl.exp(-inner)), mask=i < n)


@triton.jit
def positive_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0.0) > 0, mask=i < n)


@triton.jit
def row_sum_kernel(x, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    tl.store(out + row, tl.sum(values, axis=0))


@triton.jit
def softmax_kernel(x, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * columns + i, e / tl.sum(e, axis=0), mask=i < columns)


@triton.jit
def cumulative_kernel(x, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    tl.store(out + row * columns + i, tl.cumsum(v, axis=0), mask=i < columns)


@triton.jit
def transpose_kernel(x, out, rows, columns, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    inside = (r < rows) & (c < columns)
    tl.store(out + c * rows + r, tl.load(x + r * columns + c, mask=inside), mask=inside)


@triton.jit
def matmul_kernel(a, b, out, M, N, K, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, BLOCK):
        k = start + tl.arange(0, BLOCK)
        left = tl.load(a + r * K + k[None, :], mask=(r < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * N + c, mask=(k[:, None] < K) & (c < N), other=0.0)
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(out + r * N + c, total, mask=(r < M) & (c < N))


@triton.jit
def gather_kernel(table, index, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(table + tl.load(index + row) * columns + i, mask=i < columns)
    tl.store(out + row * columns + i, v, mask=i < columns)


def elementwise(kernel, *inputs, dtype=None):
    """Launch a kernel of one element each; return what it writes."""
    inputs = [each.contiguous() for each in inputs]
    out = torch.empty_like(inputs[0], dtype=dtype)
    n = out.numel()
    kernel[(triton.cdiv(n, 256),)](*inputs, out, n, BLOCK=256)
    return out


def rowwise(kernel, x, out=None):
    """Launch a kernel of one row a program; return what it writes."""
    x = x.contiguous()
    out = torch.empty_like(x) if out is None else out
    kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


def row_sums(x):
    return rowwise(row_sum_kernel, x, torch.empty(x.shape[0], dtype=x.dtype))


def total_of(x):
    return row_sums(x.reshape(1, -1))


def transposed(x):
    x = x.contiguous()
    out = torch.empty((x.shape[1], x.shape[0]), dtype=x.dtype)
    grid = triton.cdiv(x.shape[0], 32), triton.cdiv(x.shape[1], 32)
    transpose_kernel[grid](x, out, *x.shape, BLOCK=32)
    return out


def product(a, b):
    a, b = a.contiguous(), b.contiguous()
    (M, K), N = a.shape, b.shape[1]
    out = torch.empty((M, N), dtype=a.dtype)
    matmul_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, out, M, N, K, BLOCK=32)
    return out


def gathered(table, index):
    table, index = table.contiguous(), index.contiguous()
    out = torch.empty((index.numel(), table.shape[1]), dtype=table.dtype)
    columns = table.shape[1]
    gather_kernel[(index.numel(),)](
        table, index, out, columns, BLOCK=triton.next_power_of_2(columns)
    )
    return out
