"""Kernels with one defect each, and what is unknown or meant: the findings view's tests."""

import triton
import triton.language as tl


@triton.jit
def copied(source, result, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(result + index, tl.load(source + index))  # neither has a mask


@triton.jit
def fetched(source, place, size):
    return tl.load(source + place, mask=place <= size)  # one too far


@triton.jit
def inlining(source, result, size, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    values = fetched(source, index, size)
    tl.store(result + index, values, mask=index < size)


@triton.jit
def gathered(source, places, result, size, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    place = tl.load(places + index, mask=index < size, other=0)
    tl.store(result + index, tl.load(source + place, mask=index < size), mask=index < size)


@triton.jit
def gathered_twice(source, places, result, size, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    place = tl.load(places + index, mask=index < size, other=0)
    value = tl.load(source + place, mask=index < size)
    tl.store(result + index, 2 * value, mask=index < size)


@triton.jit
def colliding(source, result, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(result + tl.arange(0, BLOCK), tl.load(source + index))


@triton.jit
def padded(source, result, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    values = tl.load(source + index)  # kvtrace: ignore[out-of-bounds] the allocator pads
    tl.store(result + index, values, mask=index < 100)
