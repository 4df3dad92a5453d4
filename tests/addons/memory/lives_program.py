"""A program of four steps; in the third one, a kernel leaves out what the next one reads."""

import torch
import triton
import triton.language as tl

N, WRITTEN = 4096, 4064


@triton.jit
def scaled(source, target, n, written, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(source + lanes, mask=lanes < n)
    tl.store(target + lanes, values * 2, mask=lanes < written)


@triton.jit
def summed(source, target, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(source + lanes, mask=lanes < n, other=0.0)
    tl.store(target, tl.sum(values))


def step(x, written):
    y = torch.empty(N, device="cuda")  # the memory that is read
    scaled[(16,)](x, y, N, written, BLOCK=256)
    total = torch.empty(1, device="cuda")
    summed[(1,)](y, total, N, BLOCK=N)
    rest = torch.empty(1024, device="cuda")  # the memory that nobody reads
    scaled[(4,)](x, rest, 1024, 1000, BLOCK=256)
    return total


def main():
    x = torch.ones(N, device="cuda")
    weights = torch.zeros(1 << 16, device="cuda")
    for number in range(4):
        step(x, WRITTEN if number == 2 else N)
        weights += torch.rand(1 << 16, device="cuda")


if __name__ == "__main__":
    main()
