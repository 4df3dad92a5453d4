"""Kernels whose programs race, or not, on the rows that they write."""

import triton
import triton.language as tl


@triton.jit
def doubled_in_place(x, C: tl.constexpr):
    at = tl.program_id(0) * C + tl.arange(0, C)
    tl.store(x + at, tl.load(x + at) * 2)


@triton.jit
def counted(x, out, count, C: tl.constexpr):
    at = tl.program_id(0) * C + tl.arange(0, C)
    tl.store(out + at, tl.load(x + at) * 2)
    tl.store(count, tl.program_id(0))
