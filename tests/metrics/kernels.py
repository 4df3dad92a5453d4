"""Small kernels with one property each, for tests of the passes."""

import triton
import triton.language as tl


@triton.jit
def copy(source, result, size, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < size
    tl.store(result + index, tl.load(source + index, mask=mask), mask=mask)


@triton.jit
def copy_without_mask(source, result, size, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(result + index, tl.load(source + index, mask=index < size))  # the store has none


@triton.jit
def read_before(source, result, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    tl.store(result + index, tl.load(source + index - 2))


@triton.jit
def gather(source, chosen, result, size, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < size
    where = tl.load(chosen + index, mask=mask, other=0)
    tl.store(result + index, tl.load(source + where, mask=mask), mask=mask)


@triton.jit
def row_sums(source, result, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        index = start + tl.arange(0, BLOCK)
        total += tl.load(source + row * columns + index, mask=index < columns, other=0.0)
    tl.store(result + row, tl.sum(total, axis=0))


@triton.jit
def copy_tiles(source, result, TILE: tl.constexpr):
    row, column = tl.program_id(0) * TILE, tl.program_id(1) * TILE
    result.store([row, column], source.load([row, column]))


@triton.jit
def corner_tile(source, result, first, TILE: tl.constexpr):
    lanes = tl.arange(0, TILE)
    tile = source.load([first, first])
    tl.store(result + lanes[:, None] * TILE + lanes[None, :], tile)


@triton.jit(debug=True)
def checked_gather(source, chosen, result, size, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < size
    where = tl.load(chosen + index, mask=mask, other=0)
    tl.device_assert(where < size, "the index is too large")
    tl.store(result + index, tl.load(source + where, mask=mask), mask=mask)
