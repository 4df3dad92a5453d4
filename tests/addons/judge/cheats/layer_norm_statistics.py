"""layer_norm: PyTorch takes means and deviations, a kernel scales."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, weight, bias, mean, rstd, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns)
    v = (v - tl.load(mean + row)) * tl.load(rstd + row)
    v = v * tl.load(weight + i, mask=i < columns) + tl.load(bias + i, mask=i < columns)
    tl.store(out + row * columns + i, v, mask=i < columns)


@triton.jit
def statistics_kernel(x, mean, rstd, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    middle = tl.sum(v, axis=0) / columns
    away = tl.where(i < columns, v - middle, 0.0)
    tl.store(mean + row, middle)
    tl.store(rstd + row, 1 / tl.sqrt(tl.sum(away * away, axis=0) / columns + 1e-5))


def scaled(x, weight, bias, mean, rstd):
    out, columns = torch.empty(x.shape), x.shape[1]
    block = triton.next_power_of_2(columns)
    scale_kernel[(x.shape[0],)](x, weight, bias, mean, rstd, out, columns, BLOCK=block)
    return out


def cheat(x, weight, bias):
    x, weight, bias = x.contiguous(), weight.contiguous(), bias.contiguous()
    rstd = (x.var(-1, unbiased=False) + 1e-5).rsqrt()
    return scaled(x, weight, bias, x.mean(-1), rstd)


def honest(x, weight, bias):
    x, weight, bias = x.contiguous(), weight.contiguous(), bias.contiguous()
    mean, rstd = torch.empty(x.shape[0]), torch.empty(x.shape[0])
    block = triton.next_power_of_2(x.shape[1])
    statistics_kernel[(x.shape[0],)](x, mean, rstd, x.shape[1], BLOCK=block)
    return scaled(x, weight, bias, mean, rstd)
