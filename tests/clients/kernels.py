"""Small kernels for clients to look at."""

import triton
import triton.language as tl


@triton.jit
def scale(source, result, size, factor, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < size
    value = tl.load(source + index, mask=mask)
    tl.store(result + index, tl.exp(value) * factor, mask=mask)


@triton.jit
def row_sums(source, result, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        total += tl.load(source + row * columns + start + tl.arange(0, BLOCK))
    tl.store(result + row, tl.sum(total, axis=0))
