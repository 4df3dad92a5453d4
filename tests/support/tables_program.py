"""Kernels that reach tensors through tables of addresses; record it with KVTRACE_MEMORY=on."""

import torch
import triton
import triton.language as tl


@triton.jit
def gathered(table, out, n, B: tl.constexpr):
    """Proven: each program reads the tensor of its entry within bounds."""
    p, o = tl.program_id(0), tl.arange(0, B)
    source = tl.load(table + p).to(tl.pointer_type(tl.float32))
    tl.store(out + p * n + o, tl.load(source + o, mask=o < n, other=0.0), mask=o < n)


@triton.jit
def by_number(address, out, n, B: tl.constexpr):
    """Proven: the address is an argument."""
    source, o = address.to(tl.pointer_type(tl.float32)), tl.arange(0, B)
    tl.store(out + o, tl.load(source + o, mask=o < n, other=0.0), mask=o < n)


@triton.jit
def without_mask(table, out, n, B: tl.constexpr):
    """A violation: 14 lanes read past each tensor."""
    p, o = tl.program_id(0), tl.arange(0, B)
    source = tl.load(table + p).to(tl.pointer_type(tl.float32))
    tl.store(out + p * n + o, tl.load(source + o), mask=o < n)


@triton.jit
def scattered(table, x, n, B: tl.constexpr):
    """Proven: each program writes a tensor of its own."""
    p, o = tl.program_id(0), tl.arange(0, B)
    target = tl.load(table + p).to(tl.pointer_type(tl.float32))
    tl.store(target + o, tl.load(x + p * n + o, mask=o < n, other=0.0), mask=o < n)


@triton.jit
def scattered_twice(table, x, n, B: tl.constexpr):
    """A race: two programs write one tensor."""
    p, o = tl.program_id(0), tl.arange(0, B)
    target = tl.load(table + p // 2).to(tl.pointer_type(tl.float32))
    tl.store(target + o, tl.load(x + p * n + o, mask=o < n, other=0.0), mask=o < n)


@triton.jit
def into_argument(table, x, n, B: tl.constexpr):
    """A race: the first entry is x, which other programs read."""
    p, o = tl.program_id(0), tl.arange(0, B)
    target = tl.load(table + p).to(tl.pointer_type(tl.float32))
    tl.store(target + o, tl.load(x + o, mask=o < n, other=0.0) + 1, mask=o < n)


@triton.jit
def from_argument(table, x, B: tl.constexpr):
    """A race: each program writes its part of x, whose first part all read through the table."""
    p, o = tl.program_id(0), tl.arange(0, B)
    source = tl.load(table + p).to(tl.pointer_type(tl.float32))
    tl.store(x + p * B + o, tl.load(source + o) + 1)


@triton.jit
def flipped(table, B: tl.constexpr):
    """A race of lanes, both ways through the table."""
    o = tl.arange(0, B)
    tensor = tl.load(table).to(tl.pointer_type(tl.float32))
    tl.store(tensor + o, tl.load(tensor + B - 1 - o))


@triton.jit
def computed(table, out, n, B: tl.constexpr):
    """Unknown: what is added to an address as an integer may lead into a neighbor."""
    p, o = tl.program_id(0), tl.arange(0, B)
    source = (tl.load(table + p) + o.to(tl.int64) * 4).to(tl.pointer_type(tl.float32))
    tl.store(out + p * n + o, tl.load(source, mask=o < n, other=0.0), mask=o < n)


if __name__ == "__main__":
    device = torch.device("cuda")
    tensors = [torch.ones(50, device=device) for _ in range(4)]
    table = torch.tensor([tensor.data_ptr() for tensor in tensors], device=device)
    out = torch.zeros(200, device=device)
    for kernel in (gathered, without_mask, scattered, scattered_twice, computed):
        kernel[(4,)](table, out, 50, B=64)
    by_number[(1,)](tensors[1].data_ptr(), out, 50, B=64)
    x = torch.arange(1024.0, device=device)
    itself = torch.tensor([x.data_ptr()] * 4, device=device)
    from_argument[(4,)](itself, x, B=64)
    flipped[(1,)](itself, B=1024)
    into_argument[(4,)](table, tensors[0], 50, B=64)
