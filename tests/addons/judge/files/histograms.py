"""Histograms that write before their table at numbers that their inputs never have."""

# ruff: noqa: F821 - the annotations are no types of Python

import torch
import triton
import triton.language as tl


@triton.jit
def counted_kernel(x, table, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    number = tl.load(x + i, mask=i < n, other=BINS)
    tl.atomic_add(table + number, 1, mask=number < BINS)


@triton.jit
def weighted_kernel(x, weights, table, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    number = tl.load(x + i, mask=i < n, other=BINS)
    weight = tl.load(weights + i, mask=i < n, other=0.0)
    tl.atomic_add(table + number, weight, mask=number < BINS)


@triton.jit
def binned_kernel(x, table, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    number = tl.floor(tl.load(x + i, mask=i < n, other=1.0) * BINS).to(tl.int32)
    tl.atomic_add(table + number, 1.0, mask=number < BINS)


def counted(x):
    x = x.contiguous()
    table = torch.zeros(64, dtype=torch.int32, device=x.device)
    counted_kernel[(triton.cdiv(x.numel(), 128),)](x, table, x.numel(), BINS=64, BLOCK=128)
    return table


def weighted(x, weights):
    x, weights = x.contiguous(), weights.contiguous()
    table = torch.zeros(64, device=x.device)
    grid = (triton.cdiv(x.numel(), 128),)
    weighted_kernel[grid](x, weights, table, x.numel(), BINS=64, BLOCK=128)
    return table


def binned(x):
    x = x.contiguous()
    table = torch.zeros(64, device=x.device)
    binned_kernel[(triton.cdiv(x.numel(), 128),)](x, table, x.numel(), BINS=64, BLOCK=128)
    return table


def counted_by_torch(x: "i32[N]"):
    return (x.reshape(-1, 1) == torch.arange(64)).sum(0).to(torch.int32)


def weighted_by_torch(x: "i32[N]", weights: "f32[N]"):
    return ((x.reshape(-1, 1) == torch.arange(64)) * weights.reshape(-1, 1)).sum(0)
