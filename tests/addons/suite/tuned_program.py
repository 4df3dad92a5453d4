"""Two kernels, one with an autotuner, each launched on a length that no block divides."""

import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": size}) for size in (64, 256)], key=["n"])
@triton.jit
def doubled(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)


@triton.jit
def summed(x, total, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + lanes, mask=lanes < n, other=0.0)))


x = torch.ones(1000, device="cuda")
doubled[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, torch.empty_like(x), 1000)
summed[(8,)](x, torch.zeros(1, device="cuda"), 1000, BLOCK=128)
