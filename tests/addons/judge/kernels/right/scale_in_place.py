"""A tensor that is meant to be written to."""

import triton
import triton.language as tl


@triton.jit
def kernel(x, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


def scale_in_place(x, factor):
    if not x.is_contiguous():
        raise ValueError("scale_in_place takes contiguous tensors")
    kernel[(triton.cdiv(x.numel(), 128),)](x, x.numel(), factor, BLOCK=128)
