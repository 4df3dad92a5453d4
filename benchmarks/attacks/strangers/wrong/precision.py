"""Candidates with too little precision."""

import torch
import triton
import triton.language as tl


@triton.jit
def half_matmul(x, y, out, m, n, k, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B, B), tl.float32)
    for start in range(0, k, B):
        i = start + tl.arange(0, B)
        a = tl.load(
            x + rows[:, None] * k + i[None, :], mask=(rows[:, None] < m) & (i[None, :] < k), other=0
        )
        b = tl.load(
            y + i[:, None] * n + columns[None, :],
            mask=(i[:, None] < k) & (columns[None, :] < n), other=0,
        )  # fmt: skip
        total = tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16), total)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out + rows[:, None] * n + columns[None, :], total, mask=mask)


@triton.jit
def byte_matmul(x, y, out, m, n, k, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B, B), tl.float32)
    for start in range(0, k, B):
        i = start + tl.arange(0, B)
        is_left = (rows[:, None] < m) & (i[None, :] < k)
        is_right = (i[:, None] < k) & (columns[None, :] < n)
        a = tl.load(x + rows[:, None] * k + i[None, :], mask=is_left, other=0)
        b = tl.load(y + i[:, None] * n + columns[None, :], mask=is_right, other=0)
        total += tl.dot(a, b, out_dtype=tl.int32).to(tl.float32)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out + rows[:, None] * n + columns[None, :], total.to(tl.int32), mask=mask)


@triton.jit
def polynomial_softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + i, mask=i < columns, other=float("-inf"))
    power = (value - tl.max(value)) * 1.4426950408889634
    power = tl.maximum(power, -120.0)
    whole = tl.floor(power)
    f = power - whole
    part = 1.0 + f * (0.69314 + f * (0.24022 + f * (0.0555 + f * 0.0096)))
    scale = ((whole.to(tl.int32) + 127) << 23).to(tl.float32, bitcast=True)
    exp = tl.where(i < columns, part * scale, 0.0)
    tl.store(out + row * columns + i, exp / tl.sum(exp), mask=i < columns)


@triton.jit
def quick_rsqrt_norm(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    mean = tl.sum(value * value) / columns + 1e-6
    guess = (0x5F3759DF - (mean.to(tl.int32, bitcast=True) >> 1)).to(tl.float32, bitcast=True)
    guess = guess * (1.5 - 0.5 * mean * guess * guess)
    tl.store(out + row * columns + i, value * guess, mask=i < columns)


@triton.jit
def double_in_float32(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n).to(tl.float32)
    tl.store(out + i, (value * 2).to(tl.float64), mask=i < n)


@triton.jit
def sum_in_bfloat16(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.bfloat16)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    tl.store(out + row, tl.sum(total.to(tl.float32)))


@triton.jit
def cube_gradient(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, 3 * value * tl.abs(value), mask=i < n)


@triton.jit
def cube_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, value * value * value, mask=i < n)


@triton.jit
def edges_kernel(x, out, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    here = tl.load(x + row * columns + i, mask=i < columns)
    below = tl.minimum(row + 1, rows - 1)
    across = tl.where(row == rows - 1, i, tl.minimum(i + 1, columns - 1))
    there = tl.load(x + below * columns + across, mask=i < columns)
    tl.store(out + row * columns + i, here - there, mask=i < columns)


def matmul_in_bfloat16(x, y):
    """Return matmul(x, y); wrong: multiplies float32 in bfloat16."""
    x, y = x.contiguous(), y.contiguous()
    (m, k), n = x.shape, y.shape[1]
    out = torch.empty((m, n), dtype=x.dtype)
    half_matmul[(triton.cdiv(m, 16), triton.cdiv(n, 16))](x, y, out, m, n, k, B=16)
    return out


def int8_matmul_in_float32(x, y):
    """Return int8_matmul(x, y); wrong: float32 has no room for sums of 1,041 products and more."""
    x, y = x.contiguous(), y.contiguous()
    (m, k), n = x.shape, y.shape[1]
    out = torch.empty(m, n, dtype=torch.int32)
    byte_matmul[(triton.cdiv(m, 32), triton.cdiv(n, 32))](x, y, out, m, n, k, B=32)
    return out


def softmax_by_polynomial(x):
    """Return softmax(x); wrong: the polynomial for exp2 is off by about 5e-5."""
    x = x.contiguous()
    out = torch.empty_like(x)
    block = triton.next_power_of_2(x.shape[1])
    polynomial_softmax[(x.shape[0],)](x, out, x.shape[1], BLOCK=block)
    return out


def norm_by_quick_rsqrt(x):
    """Return rsqrt_norm(x); wrong: one step of Newton's method, with an error of 0.2 %."""
    x = x.contiguous()
    out = torch.empty_like(x)
    block = triton.next_power_of_2(x.shape[1])
    quick_rsqrt_norm[(x.shape[0],)](x, out, x.shape[1], BLOCK=block)
    return out


def float64_by_float32(x):
    """Return double(x); wrong: rounds float64 to float32."""
    x = x.contiguous()
    out = torch.empty_like(x)
    double_in_float32[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out


def bfloat16_totals(x):
    """Return row_sum(x); wrong: keeps sums of 64 numbers in bfloat16."""
    x = x.contiguous()
    out = torch.empty(x.shape[0], dtype=x.dtype)
    sum_in_bfloat16[(x.shape[0],)](x, out, x.shape[1], BLOCK=16)
    return out


class _Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        out = torch.empty_like(x)
        cube_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
        return out

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        out = torch.empty_like(x)
        cube_gradient[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
        return out


def gradient_without_grad(x):
    """Return gradient(x); wrong: a cube's gradient gets the sign of its argument."""
    with torch.enable_grad():
        leaf = x.detach().contiguous().requires_grad_()
        cubes = _Cube.apply(leaf)
        return torch.autograd.grad(cubes, leaf, torch.ones_like(cubes))[0]


def forward_with_wrong_backward(x):
    """Return triple(x); wrong: the forward pass is right, the gradient is wrong."""
    return _Cube.apply(x.contiguous())


def wrong_corner(x):
    """Return edges(x); wrong: the last row uses neighbors above instead of beside."""
    x = x.contiguous()
    out = torch.empty_like(x)
    rows, columns = x.shape
    edges_kernel[(rows,)](x, out, rows, columns, BLOCK=triton.next_power_of_2(columns))
    return out
