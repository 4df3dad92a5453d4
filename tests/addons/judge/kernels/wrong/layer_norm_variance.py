"""wrong-result: lanes past the end count in the variance."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, weight, bias, out, step, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    inside = i < columns
    values = tl.load(x + row * step + i, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(values, axis=0) / columns
    centered = values - mean
    scale = 1 / tl.sqrt(tl.sum(centered * centered, axis=0) / columns + eps)
    result = centered * scale * tl.load(weight + i, mask=inside, other=0.0)
    result += tl.load(bias + i, mask=inside, other=0.0)
    tl.store(out + row * columns + i, result, mask=inside)


def layer_norm(x, weight, bias, eps=1e-5):
    weight, bias = weight.contiguous(), bias.contiguous()
    x = x if x.stride(1) == 1 else x.contiguous()
    out = torch.empty(x.shape, dtype=x.dtype)
    kernel[(x.shape[0],)](
        x, weight, bias, out, x.stride(0), x.shape[1], eps,
        BLOCK=triton.next_power_of_2(x.shape[1]),
    )  # fmt: skip
    return out
