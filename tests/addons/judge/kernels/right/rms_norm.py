"""A normalization of rows in bfloat16, computed in float32."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, weight, out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    inside = i < columns
    values = tl.load(x + row * columns + i, mask=inside, other=0.0).to(tl.float32)
    scale = 1 / tl.sqrt(tl.sum(values * values, axis=0) / columns + eps)
    result = values * scale * tl.load(weight + i, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * columns + i, result.to(out.dtype.element_ty), mask=inside)


def rms_norm(x, weight, eps=1e-6):
    x, weight = x.contiguous(), weight.contiguous()
    out = torch.empty_like(x)
    columns = x.shape[1]
    kernel[(x.shape[0],)](x, weight, out, columns, eps, BLOCK=triton.next_power_of_2(columns))
    return out
