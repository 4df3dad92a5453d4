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


@triton.jit
def pairs(x, bits, out, n, TAKEN: tl.constexpr, BLOCK: tl.constexpr):
    """Two elements of 16 bits are read at once, and some bits of them are taken."""
    lanes = tl.arange(0, BLOCK)
    pair = tl.load(x.to(tl.pointer_type(tl.int32)) + lanes, mask=lanes < n, other=0)
    if TAKEN == "low":
        taken = pair & 0xFFFF
    elif TAKEN == "high":
        taken = pair >> 16
    elif TAKEN == "low after a sum":
        taken = (3 * pair + lanes) & 0xFFFF
    elif TAKEN == "low as a float":
        taken = (pair << 16).to(tl.float32, bitcast=True)
    elif TAKEN == "first and last byte":
        taken = (pair | 0x00010001) & -16776961
    elif TAKEN == "by data":
        taken = pair & tl.load(bits)
    else:
        taken = pair.to(tl.float32)
    tl.store(out + lanes, taken, mask=lanes < n)


@triton.jit
def window_of_ring(x, out, n, SLOTS: tl.constexpr, SUMMED: tl.constexpr, BLOCK: tl.constexpr):
    """Sums the last n slots of a ring, backward and around its end, or keeps the first of them."""
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for trip in range(n):
        slot = tl.load(x + (SLOTS - trip) % SLOTS * BLOCK + lanes)
        total += slot if SUMMED else tl.where(trip < 1, slot, 0.0)
    tl.store(out + lanes, total)


@triton.jit
def tiles_past_diagonal(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for tile in range(tl.minimum(tl.program_id(0) + 2, n // BLOCK)):
        column = tile * BLOCK + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + row[:, None] * n + column[None, :]), 1)
    tl.store(out + row, total)
