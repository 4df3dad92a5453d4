"""Kernels whose loads go out of bounds and then decide something else."""

import triton
import triton.language as tl


@triton.jit
def gather(ids, table, result, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(ids + at)
    tl.store(result + at, tl.load(table + index))


@triton.jit
def gather_of_gather(ids, links, table, result, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    link = tl.load(links + tl.load(ids + at) % 8)
    tl.store(result + at, tl.load(table + link))


@triton.jit
def gather_clamped(ids, table, result, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.minimum(tl.maximum(tl.load(ids + at), 0), size - 1)
    tl.store(result + at, tl.load(table + index))


@triton.jit
def divide(ids, result, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(result + at, 100 // tl.load(ids + at))


@triton.jit
def asserting(ids, result, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(ids + at)
    tl.device_assert(index > 0, "no index is zero")
    tl.store(result + at, index)


@triton.jit
def scatter(ids, result, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(result + tl.load(ids + at), at)
