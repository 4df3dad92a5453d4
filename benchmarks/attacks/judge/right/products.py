"""Products and attention in blocks."""

import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(x, y, out, m, n, k, B: tl.constexpr, PRECISION: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B, B), tl.float32)
    for start in range(0, k, B):
        i = start + tl.arange(0, B)
        mask = (rows[:, None] < m) & (i[None, :] < k)
        a = tl.load(x + rows[:, None] * k + i[None, :], mask=mask, other=0.0)
        mask = (i[:, None] < k) & (columns[None, :] < n)
        b = tl.load(y + i[:, None] * n + columns[None, :], mask=mask, other=0.0)
        total = tl.dot(a, b, total, input_precision=PRECISION)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out + rows[:, None] * n + columns[None, :], total.to(out.dtype.element_ty), mask=mask)


@triton.jit
def attention_kernel(q, k, v, out, length, scale, D: tl.constexpr, B: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) * length * D
    rows = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    mine = head + rows[:, None] * D + d[None, :]
    query = tl.load(q + mine, mask=rows[:, None] < length, other=0.0)
    top = tl.full((B,), float("-inf"), tl.float32)
    total = tl.zeros((B,), tl.float32)
    result = tl.zeros((B, D), tl.float32)
    for start in range(0, length, B):
        i = start + tl.arange(0, B)
        theirs = head + i[:, None] * D + d[None, :]
        key = tl.load(k + theirs, mask=i[:, None] < length, other=0.0)
        value = tl.load(v + theirs, mask=i[:, None] < length, other=0.0)
        scores = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
        scores = tl.where(i[None, :] < length, scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp(scores - higher[:, None])
        less = tl.exp(top - higher)
        total = total * less + tl.sum(p, 1)
        result = result * less[:, None]
        result += tl.dot(p.to(value.dtype), value, input_precision="ieee")
        top = higher
    result = result / total[:, None]
    tl.store(out + mine, result.to(out.dtype.element_ty), mask=rows[:, None] < length)


def matmul(x, y):
    """Return `matmul` of x, y, by a kernel: right."""
    x, y = x.contiguous(), y.contiguous()
    (m, k), n = x.shape, y.shape[1]
    out = torch.empty((m, n), dtype=x.dtype, device=x.device)
    precision = "ieee" if x.dtype == torch.float32 else "tf32"
    product_kernel[(triton.cdiv(m, 32), triton.cdiv(n, 32))](
        x, y, out, m, n, k, B=32, PRECISION=precision
    )
    return out


def matmul_of_fp8(x, y):
    """Return `matmul_of_fp8` of x, y, by a kernel: right."""
    x, y = x.contiguous(), y.contiguous()
    (m, k), n = x.shape, y.shape[1]
    out = torch.empty((m, n), dtype=torch.float32, device=x.device)
    product_kernel[(triton.cdiv(m, 32), triton.cdiv(n, 32))](
        x, y, out, m, n, k, B=32, PRECISION="tf32"
    )
    return out


def attention(q, k, v):
    """Return `attention` of q, k, v, by a kernel: right."""
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    batch, heads, length, d = q.shape
    if k.shape != q.shape or v.shape != q.shape or d < 16 or d & (d - 1):
        raise ValueError("equal shapes, and a power of two of channels from 16 on")
    out = torch.empty_like(q)
    attention_kernel[(triton.cdiv(length, 32), batch * heads)](
        q, k, v, out, length, d**-0.5, D=d, B=32
    )
    return out
