"""Right kernels of matrix products and attention."""

import torch
import triton
import triton.language as tl


@triton.jit
def strided_matmul(x, y, out, m, n, k, x0, x1, y0, y1, GROUP: tl.constexpr, B: tl.constexpr):
    pid = tl.program_id(0)
    down, across = tl.cdiv(m, B), tl.cdiv(n, B)
    first_row = pid // (GROUP * across) * GROUP
    height = tl.minimum(down - first_row, GROUP)
    rows = (first_row + pid % (GROUP * across) % height) * B + tl.arange(0, B)
    columns = pid % (GROUP * across) // height * B + tl.arange(0, B)
    total = tl.zeros(
        (B, B), out.dtype.element_ty if out.dtype.element_ty == tl.int32 else tl.float32
    )
    for start in range(0, k, B):
        i = start + tl.arange(0, B)
        mask = (rows[:, None] < m) & (i[None, :] < k)
        a = tl.load(x + rows[:, None] * x0 + i[None, :] * x1, mask=mask, other=0)
        mask = (i[:, None] < k) & (columns[None, :] < n)
        b = tl.load(y + i[:, None] * y0 + columns[None, :] * y1, mask=mask, other=0)
        total = tl.dot(a, b, total, input_precision="ieee", out_dtype=total.dtype)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out + rows[:, None] * n + columns[None, :], total.to(out.dtype.element_ty), mask=mask)


@triton.jit
def split_kernel(x, y, out, m, n, k, SPLIT: tl.constexpr, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B, B), tl.float32)
    for start in range(tl.program_id(2) * B, k, SPLIT * B):
        i = start + tl.arange(0, B)
        mask = (rows[:, None] < m) & (i[None, :] < k)
        a = tl.load(x + rows[:, None] * k + i[None, :], mask=mask, other=0.0)
        mask = (i[:, None] < k) & (columns[None, :] < n)
        b = tl.load(y + i[:, None] * n + columns[None, :], mask=mask, other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.atomic_add(out + rows[:, None] * n + columns[None, :], total, mask=mask)


@triton.jit
def causal_kernel(q, k, v, out, length, scale, D: tl.constexpr, B: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) * length * D
    rows = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    mine = head + rows[:, None] * D + d[None, :]
    query = tl.load(q + mine, mask=rows[:, None] < length, other=0.0)
    top = tl.full((B,), float("-inf"), tl.float32)
    total = tl.zeros((B,), tl.float32)
    result = tl.zeros((B, D), tl.float32)
    for start in range(0, tl.minimum(length, (tl.program_id(0) + 1) * B), B):
        i = start + tl.arange(0, B)
        theirs = head + i[:, None] * D + d[None, :]
        key = tl.load(k + theirs, mask=i[:, None] < length, other=0.0)
        value = tl.load(v + theirs, mask=i[:, None] < length, other=0.0)
        scores = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
        scores = tl.where(i[None, :] <= rows[:, None], scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp2((scores - higher[:, None]) * 1.4426950408889634)
        less = tl.exp2((top - higher) * 1.4426950408889634)
        total = total * less + tl.sum(p, 1)
        result = tl.dot(p.to(value.dtype), value, result * less[:, None], input_precision="ieee")
        top = higher
    result = (result / total[:, None]).to(out.dtype.element_ty)
    tl.store(out + mine, result, mask=rows[:, None] < length)


def matmul(x, y):
    """Return `matmul` of x, y, by a kernel: right, by strides."""
    (m, k), n = x.shape, y.shape[1]
    out = torch.empty((m, n), dtype=x.dtype)
    grid = (triton.cdiv(m, 16) * triton.cdiv(n, 16),)
    strided_matmul[grid](x, y, out, m, n, k, *x.stride(), *y.stride(), GROUP=4, B=16)
    return out


def int8_matmul(x, y):
    """Return `int8_matmul` of x, y, by a kernel: right."""
    (m, k), n = x.shape, y.shape[1]
    out = torch.empty((m, n), dtype=torch.int32)
    grid = (triton.cdiv(m, 32) * triton.cdiv(n, 32),)
    strided_matmul[grid](x, y, out, m, n, k, *x.stride(), *y.stride(), GROUP=2, B=32)
    return out


def split(x, y):
    """Return x @ y by a kernel with split k: right."""
    x, y = x.contiguous(), y.contiguous()
    (m, k), n = x.shape, y.shape[1]
    out = torch.zeros((m, n), dtype=x.dtype)
    split_kernel[(triton.cdiv(m, 16), triton.cdiv(n, 16), 3)](x, y, out, m, n, k, SPLIT=3, B=16)
    return out


def causal_attention(q, k, v):
    """Return `causal_attention` of q, k, v, by a kernel: right."""
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    out = torch.empty_like(q)
    batch, heads, length, width = q.shape
    grid = (triton.cdiv(length, 32), batch * heads)
    causal_kernel[grid](q, k, v, out, length, width**-0.5, D=width, B=32)
    return out


class Linear(torch.nn.Module):
    """Layer that multiplies by its weight with a kernel: right."""

    def __init__(self, inner, outer):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(outer, inner))

    def forward(self, x):
        return matmul(x, self.weight.T)
