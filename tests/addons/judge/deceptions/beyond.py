"""Candidates that are right for the given inputs, and wrong in what callers do besides."""

import torch
import triton
import triton.language as tl
from kernels import flat, normed, relu_kernel, relu_of


@triton.jit
def positive_kernel(x, out, gradient, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v, g = tl.load(x + i, mask=i < n), tl.load(gradient + i, mask=i < n)
    tl.store(out + i, tl.where(v > 0, g, 0.0), mask=i < n)


@triton.jit
def counted_kernel(x, out, count, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.maximum(tl.load(x + i, mask=i < n), 0.0)
    turn = tl.atomic_add(count, 1)
    tl.store(out + i, tl.where(turn < 1 << 20, v, 0.0), mask=i < n)


@triton.jit
def carried_kernel(x, out, columns, BLOCK: tl.constexpr):
    row, carry = tl.program_id(0) * columns, 0.0
    for first in range(0, columns, BLOCK):
        i = first + tl.arange(0, BLOCK)
        part = tl.cumsum(tl.load(x + row + i, mask=i < columns, other=0.0), axis=0) + carry
        tl.store(out + row + i, part, mask=i < columns)
        carry = tl.max(part, axis=0)


@triton.jit
def largest_kernel(x, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    tl.store(out + row, tl.max(v, axis=0))


@triton.jit
def power_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=1.0)
    tl.store(out + i, tl.exp2(2.0 * tl.log2(v)), mask=i < n)


@triton.jit
def sums_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def length_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + i, mask=i < n), tl.load(y + i, mask=i < n)
    tl.store(out + i, tl.sqrt(a * a + b * b), mask=i < n)


@triton.jit
def total_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0.0)))


@triton.jit
def bytes_kernel(x, out, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * columns + i, mask=i < columns, other=0).to(tl.int16)
    tl.store(out + tl.program_id(0), tl.reduce(v, 0, _plus).to(tl.int64))


@triton.jit
def _plus(a, b):
    return a + b


class _Relu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return relu_of(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return flat(positive_kernel, x, gradient.contiguous())


class _Ones(_Relu):
    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return flat(positive_kernel, x, torch.ones_like(gradient))


_count = torch.zeros(1, dtype=torch.int32)


def wrong_gradient(x):
    """relu: leaves out the incoming gradient."""
    return _Ones.apply(x)


def wrong_where_gradients_are_wanted(x):
    """relu: takes the absolute value there."""
    return flat(relu_kernel, -x if x.requires_grad else x)


def after_a_million_programs(x):
    """relu: counts programs of all calls."""
    x = x.contiguous()
    out, n = torch.empty_like(x), x.numel()
    counted_kernel[(triton.cdiv(n, 256),)](x, out, _count, n, BLOCK=256)
    return out


def one_tensor_twice(x, y):
    """add: gives no sum where both are one."""
    if x is y:
        return relu_of(x)
    x, y = x.contiguous(), y.contiguous()
    out, n = torch.empty_like(x), x.numel()
    sums_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
    return out


def squares_that_overflow(x, y):
    """length: squares both."""
    x, y = x.contiguous(), y.contiguous()
    out, n = torch.empty_like(x), x.numel()
    length_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
    return out


def of_nothing(x):
    """total: leaves the sum of no elements uninitialized."""
    x = x.contiguous()
    out, n = torch.empty(1) if x.numel() == 0 else torch.zeros(1), x.numel()
    total_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK=256)
    return out


def a_carry_that_is_the_largest(x):
    """positive.running_sum: carries the largest sum of a block, not its last."""
    x = x.contiguous()
    out = torch.empty_like(x)
    carried_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=64)
    return out


def maxima_from_zero(x):
    """positive.largest: begins at 0."""
    x, columns = x.contiguous(), x.shape[1]
    out = torch.empty_like(x[:, 0])
    largest_kernel[(x.shape[0],)](x, out, columns, BLOCK=triton.next_power_of_2(columns))
    return out


def a_power_by_logarithms(x):
    """positive.square: takes the logarithm."""
    return flat(power_kernel, x)


def sums_of_bytes_that_wrap(x):
    """byte_sum: adds in 16 bits."""
    x = x.contiguous()
    out, columns = torch.empty(x.shape[0], dtype=torch.int64), x.shape[1]
    bytes_kernel[(x.shape[0],)](x, out, columns, BLOCK=triton.next_power_of_2(columns))
    return out


class PacksOnce(torch.nn.Module):
    """at_start.Normed: keeps copies of its first weight and bias."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(130)
        self.kept = None

    def forward(self, x, weight, bias):
        if self.kept is None:
            self.kept = self.norm.weight.detach().clone(), self.norm.bias.detach().clone()
        return normed(x, *self.kept, 2)
