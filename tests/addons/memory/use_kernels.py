"""Kernels that use what they read as an index, or only some bits of it."""

import triton
import triton.language as tl


@triton.jit
def gathered_within(x, values, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    index = tl.load(x + lanes)
    tl.store(out + lanes, tl.load(values + index, mask=lanes < n, other=0.0))


@triton.jit
def scattered_within(x, values, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    index = tl.load(x + lanes)
    tl.store(out + index, tl.load(values + lanes), mask=lanes < n)


@triton.jit
def rows_within(x, values, out, n, BLOCK: tl.constexpr):
    """Rows of 4 elements, whose places wrap around for some indices of the padding."""
    row = tl.arange(0, BLOCK)
    at = tl.load(x + row)[:, None] * 4 + tl.arange(0, 4)[None, :]
    is_inside = (row < n)[:, None]
    place = row[:, None] * 4 + tl.arange(0, 4)[None, :]
    tl.store(out + place, tl.load(values + at, mask=is_inside, other=0.0), mask=is_inside)


@triton.jit
def gathered_by_one_more(x, values, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    index = tl.load(x + lanes)
    tl.store(out + lanes, tl.load(values + index, mask=lanes < n + 1, other=0.0))


@triton.jit
def gathered_by_block(x, values, out, n, BLOCK: tl.constexpr):
    """The index decides which elements lie within the bounds of the block."""
    first = tl.max(tl.load(x + tl.arange(0, BLOCK)), 0)
    block = tl.make_block_ptr(values, (n,), (1,), (first,), (BLOCK,), (0,))
    tl.store(out + tl.arange(0, BLOCK), tl.load(block, boundary_check=(0,), padding_option="zero"))
