"""The classic missing mask: the last block reads and writes past the end of its tensors.

    KVTRACE=out python examples/out_of_bounds.py
    kvtrace sanitize out

On a GPU this usually passes unnoticed, because the allocator rounds sizes up.
"""

import torch
import triton
import triton.language as tl
from launch_device import choose_device

BLOCK = 256


@triton.jit
def double(source, result, size, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(source + index)  # the defect: no mask=index < size
    tl.store(result + index, value * 2, mask=index < size)


def main():
    device = choose_device()
    source = torch.arange(1000, dtype=torch.float32, device=device)
    result = torch.empty_like(source)
    double[(triton.cdiv(source.numel(), BLOCK),)](source, result, source.numel(), BLOCK=BLOCK)
    torch.testing.assert_close(result, source * 2)
    print("the result is right, which is why nobody noticed")


if __name__ == "__main__":
    main()
