"""One kernel, launched at 5,000 sizes: as many unique calls, which differ in sizes only."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale(source, result, size, factor, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < size
    tl.store(result + index, tl.load(source + index, mask=mask) * factor, mask=mask)


source, result = torch.zeros(2, 1 << 17, device="cuda")
for size in range(1001, 1001 + 17 * 5000, 17):
    grid = (triton.cdiv(size, 256),)
    scale[grid](source[:size], result[:size], size, 2.0, BLOCK=256)
