"""wrong-result: keys past the end take part in the softmax."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(q, k, v, out, length, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + d[None, :], mask=rows[:, None] < length, other=0.0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    result = tl.zeros((BM, D), tl.float32)
    for start in range(0, length, BN):
        n = start + tl.arange(0, BN)
        key = tl.load(k + n[None, :] * D + d[:, None], mask=n[None, :] < length, other=0.0)
        value = tl.load(v + n[:, None] * D + d[None, :], mask=n[:, None] < length, other=0.0)
        scores = tl.dot(query, key) * scale
        new = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        old = tl.exp(top - new)
        total = total * old + tl.sum(weights, axis=1)
        result = result * old[:, None] + tl.dot(weights.to(value.dtype), value)
        top = new
    result = result / total[:, None]
    tl.store(
        out + rows[:, None] * D + d[None, :], result.to(out.dtype.element_ty),
        mask=rows[:, None] < length,
    )  # fmt: skip


def attention(q, k, v):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    if q.shape[1] not in (16, 32, 64, 128):
        raise ValueError("heads are 16, 32, 64 or 128 wide")
    out = torch.empty_like(q)
    length, width = q.shape
    kernel[(triton.cdiv(length, 32),)](q, k, v, out, length, width**-0.5, D=width, BM=32, BN=32)
    return out
