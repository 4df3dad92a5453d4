"""Kernels whose launches are kept to be checked, by the way they go to memory."""

import triton
import triton.language as tl


@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    """Write over what it reads."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    total = tl.load(x + lanes, mask=inside) + tl.load(y + lanes, mask=inside)
    tl.store(out + lanes, total, mask=inside)


@triton.jit
def strided(x, out, n, x_step, out_step, BLOCK: tl.constexpr):
    """Copy with strides, which may be negative."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    tl.store(out + lanes * out_step, tl.load(x + lanes * x_step, mask=inside), mask=inside)


@triton.jit
def gather(x, index, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(index + lanes, mask=lanes < n, other=0)
    tl.store(out + lanes, tl.load(x + at, mask=lanes < n), mask=lanes < n)


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    """Add to one place from all programs."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + lanes, mask=lanes < n, other=0.0)))


@triton.jit
def until(x, limit, out, BLOCK: tl.constexpr):
    """Go on for as long as memory says."""
    lanes = tl.arange(0, BLOCK)
    found = tl.zeros([BLOCK], tl.float32)
    for _ in range(tl.load(limit)):
        found += tl.load(x + lanes)
    tl.store(out + tl.program_id(0) * BLOCK + lanes, found)


@triton.jit
def pointed(table, out, BLOCK: tl.constexpr):
    """Go where an address in memory leads."""
    lanes = tl.arange(0, BLOCK)
    source = tl.load(table).to(tl.pointer_type(tl.float32))
    tl.store(out + lanes, tl.load(source + lanes))


@triton.autotune([triton.Config({"BLOCK": block}) for block in (64, 128)], key=["n"])
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) + 1, mask=lanes < n)
