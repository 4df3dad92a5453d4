"""Kernels of which tests make suites, and a recording of them."""

from pathlib import Path

import torch
import triton
import triton.language as tl

import kvtrace


@triton.jit
def scale(x, out, n, factor, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * factor, mask=lanes < n)


@triton.jit
def gather(index, table, out, stride, BLOCK: tl.constexpr):
    row = tl.load(index + tl.program_id(0))
    lanes = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * BLOCK + lanes, tl.load(table + row * stride + lanes))


@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)


@triton.jit
def copy_block(source, target, BLOCK: tl.constexpr):
    target.store([0, 0], source.load([0, 0]))


def record(out: Path, tensors: str = "int") -> None:
    """Record launches: scale 5 times (3 of the same work), double twice, gather twice, a copy."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    x, large = torch.ones(1000), torch.ones(4096)
    with kvtrace.capture(out, tensors=tensors):
        for factor in (2.0, 3.0):
            scale[(4,)](x, torch.zeros(1000), 1000, factor, BLOCK=256)
        scale[(4,)](large[1024:3024].view(2, 1000)[0], torch.zeros(10, 100), 1000, 4.0, BLOCK=256)
        scale[(4,)](large[1:1001], torch.zeros(1000), 1000, 2.0, BLOCK=256)  # begins elsewhere
        scale[(4,)](x, torch.zeros(1000), 990, 2.0, BLOCK=256)
        for _ in range(2):
            double[(1,)](large, 100, BLOCK=128)
        for rows in ([1, 3, 0], [2, 2, 2]):
            index, table = torch.tensor(rows), torch.randn(4 * (sum(rows) + 10), 64)
            gather[(3,)](index, table, torch.zeros(3, 64), 64, BLOCK=64)
        blocks = [TensorDescriptor.from_tensor(torch.ones(32, 64), [32, 64]) for _ in range(2)]
        copy_block[(1,)](*blocks, BLOCK=32)
