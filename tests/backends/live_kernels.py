"""Kernels for tests of judging while a program runs."""

import triton
import triton.language as tl


@triton.jit
def loaded(source, offsets):
    return tl.load(source + offsets)  # no mask


@triton.jit
def copy(source, result, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(result + offsets, loaded(source, offsets), mask=offsets < count)


@triton.jit
def copy_on_purpose(source, result, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(source + offsets)  # kvtrace: ignore[out-of-bounds] the allocator pads
    tl.store(result + offsets, values, mask=offsets < count)


@triton.jit
def gather(source, chosen, result, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    indices = tl.load(chosen + offsets, mask=offsets < count, other=0)
    tl.store(result + offsets, tl.load(source + indices), mask=offsets < count)


@triton.autotune(configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 512})], key=[])
@triton.jit
def tuned(source, result, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(result + offsets, tl.load(source + offsets), mask=offsets < count)


@triton.jit
def asserting(chosen, result, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    indices = tl.load(chosen + offsets)
    tl.device_assert(indices < 1000, "an index is too large")
    tl.store(result + offsets, indices)


@triton.jit
def unused(source, BLOCK: tl.constexpr):
    tl.load(source + tl.arange(0, BLOCK))


@triton.jit
def chase(following, values, out, STEP: tl.constexpr):
    position = 0
    total = 0.0
    while (position != 9) & (total < 32):
        total += STEP + tl.load(values + position)
        position = tl.load(following + position)
    tl.store(out, total)
