"""A kernel with several ops on one tensor."""

import triton
import triton.language as tl


@triton.jit
def add_halves(source, result, count, half, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mask = at < count
    first = tl.load(source + at, mask=mask, other=0.0)
    second = tl.load(source + half + at, mask=mask, other=0.0)
    tl.store(result + at, first + second, mask=mask)
