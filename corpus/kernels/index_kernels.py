"""Kernels that read integers, for tests of what is recorded of them."""

import triton
import triton.language as tl


@triton.jit
def gather(source, chosen, result, count, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < count
    indices = tl.load(chosen + lanes, mask=inside, other=0)
    tl.store(result + lanes, tl.load(source + indices, mask=inside), mask=inside)


@triton.jit
def advance(chosen, result, count, BLOCK: tl.constexpr):
    """Writes the integers that it reads, which torch does not notice."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < count
    indices = tl.load(chosen + lanes, mask=inside, other=0)
    tl.store(result + indices, lanes, mask=inside)
    tl.store(chosen + lanes, (indices + 1) % count, mask=inside)


@triton.jit
def add(left, right, result, count, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < count
    total = tl.load(left + lanes, mask=inside) + tl.load(right + lanes, mask=inside)
    tl.store(result + lanes, total, mask=inside)


@triton.jit
def segment_sums(source, bounds, flags, result, BLOCK: tl.constexpr):
    """The bounds of a loop and the condition of a branch come from memory."""
    program = tl.program_id(0)
    total = 0.0
    for lane in range(tl.load(bounds + program), tl.load(bounds + program + 1)):
        total += tl.load(source + lane)
    if tl.load(flags + program) > 0:
        tl.store(result + program, total)


@triton.autotune(configs=[triton.Config({"BLOCK": size}) for size in (128, 256)], key=[])
@triton.jit
def tuned_gather(source, chosen, result, count, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < count
    indices = tl.load(chosen + lanes, mask=inside, other=0)
    tl.store(result + lanes, tl.load(source + indices, mask=inside), mask=inside)
