"""Kernels whose autotuner, or the operator around them, says what they change; most of it is so."""

import torch
import triton
import triton.language as tl

BLOCKS = [triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})]


@triton.autotune(configs=BLOCKS, key=["n"])
@triton.jit
def added(x, y, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(y + lanes, mask=lanes < n) + tl.load(x + lanes, mask=lanes < n)
    tl.store(y + lanes, total, mask=lanes < n)  # violation: read and then changed


@triton.autotune(configs=BLOCKS, key=["n"], restore_value=["y"])
@triton.jit
def added_and_restored(x, y, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(y + lanes, mask=lanes < n) + tl.load(x + lanes, mask=lanes < n)
    tl.store(y + lanes, total, mask=lanes < n)  # proven


@triton.autotune(configs=BLOCKS, key=["n"])
@triton.jit
def copied(x, y, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + lanes, tl.load(x + lanes, mask=lanes < n), mask=lanes < n)  # proven


@triton.jit
def doubled(x, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)


@triton.jit
def tripled(x, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.load(x + lanes, mask=lanes < n) * 3, mask=lanes < n)  # inside of an op


@torch.library.custom_op("declared::double", mutates_args=("x",))
def double(x: torch.Tensor) -> torch.Tensor:
    doubled[(2,)](x, x.numel(), BLOCK=64)
    return x.clone()


@torch.library.custom_op("declared::triple", mutates_args=())
def triple(x: torch.Tensor) -> torch.Tensor:
    tripled[(2,)](x, x.numel(), BLOCK=64)
    return x.clone()


if __name__ == "__main__":
    x, y = torch.ones(100), torch.zeros(100)
    for kernel in (added, added_and_restored, copied):
        kernel[lambda given: (triton.cdiv(100, given["BLOCK"]),)](x, y, 100)
    double(x)
    triple(x)
