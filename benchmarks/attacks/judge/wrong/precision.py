"""Candidates with too little precision, or with approximations."""

import torch
import triton
import triton.language as tl
from kernels import over
from triton.language.extra import libdevice


@triton.jit
def cut_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bits = (tl.load(x + i, mask=i < n) * 2).to(tl.int32, bitcast=True) & -16
    tl.store(out + i, bits.to(tl.float32, bitcast=True), mask=i < n)


@triton.jit
def norm_without_eps(x, weight, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    mean = tl.sum(v * v, 0) / n
    again = mean.to(tl.int32, bitcast=True).to(tl.float32, bitcast=True)
    w = tl.load(weight + i, mask=i < n)
    tl.store(out + row * n + i, v * tl.rsqrt(again) * w, mask=i < n)


@triton.jit
def eps_outside(x, weight, bias, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    mean = tl.sum(v, 0) / n
    centered = tl.where(i < n, v - mean, 0.0)
    deviation = tl.sqrt(tl.sum(centered * centered, 0) / n) + eps
    y = centered / deviation * tl.load(weight + i, mask=i < n) + tl.load(bias + i, mask=i < n)
    tl.store(out + row * n + i, y, mask=i < n)


@triton.jit
def by_n(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    centered = tl.where(i < n, v - tl.sum(v, 0) / n, 0.0)
    tl.store(out + row, tl.sqrt(tl.sum(centered * centered, 0) / n))


@triton.jit
def mean_of_block(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    tl.store(out + row, tl.sum(v, 0) / BLOCK)


@triton.jit
def erf_of_five_terms(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    z = tl.abs(v) * 0.7071067811865476
    t = 1.0 / (1.0 + 0.3275911 * z)
    p = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    erf = 1.0 - p * tl.exp(-z * z)
    tl.store(out + i, 0.5 * v * (1.0 + tl.where(v < 0, -erf, erf)), mask=i < n)


@triton.jit
def fast_tanh(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    inner = 0.7978845608028654 * (v + 0.044715 * v * v * v)
    tl.store(out + i, 0.5 * v * (1.0 + libdevice.tanh(inner)), mask=i < n)


@triton.jit
def product(x, y, out, m, n, k, KIND: tl.constexpr, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B, B), tl.float16 if KIND == "sixteen" else tl.float32)
    for start in range(0, k, B):
        i = start + tl.arange(0, B)
        a = tl.load(
            x + rows[:, None] * k + i[None, :],
            mask=(rows[:, None] < m) & (i[None, :] < k),
            other=0.0,
        )
        b = tl.load(
            y + i[:, None] * n + columns[None, :],
            mask=(i[:, None] < k) & (columns[None, :] < n),
            other=0.0,
        )
        if KIND == "bf16":
            total = tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16), total)
        elif KIND == "fp8":
            total = tl.dot(a.to(tl.float8e4nv), b.to(tl.float8e4nv), total)
        elif KIND == "sixteen":
            total = tl.dot(a, b, total, out_dtype=tl.float16)
        else:
            total = tl.dot(a, b, total, input_precision="ieee")
    to = out + rows[:, None] * n + columns[None, :]
    tl.store(to, total.to(out.dtype.element_ty), mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def narrow(x, scratch, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(scratch + i, tl.load(x + i, mask=i < n).to(tl.bfloat16), mask=i < n)


@triton.jit
def widen_again(scratch, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.exp(tl.load(scratch + i, mask=i < n).to(tl.float32)), mask=i < n)


@triton.jit
def unshifted(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    e = tl.where(i < n, tl.exp(tl.load(x + row * n + i, mask=i < n, other=0.0)), 0.0)
    tl.store(out + row * n + i, tl.log(e / tl.sum(e, 0)), mask=i < n)


def _by_rows(kernel, x, out, *more):
    x = x.contiguous()
    kernel[(x.shape[0],)](x, *more, out, x.shape[-1], BLOCK=triton.next_power_of_2(x.shape[-1]))
    return out


def _product(x, y, kind):
    x, y = x.contiguous(), y.contiguous()
    (m, k), n = x.shape, y.shape[1]
    out = torch.empty((m, n), dtype=x.dtype, device=x.device)
    product[(triton.cdiv(m, 32), triton.cdiv(n, 32))](x, y, out, m, n, k, KIND=kind, B=32)
    return out


def four_bits_less(x):
    """Return double(x); wrong: the last four bits of each result are cleared."""
    return over(cut_kernel, x)


def norm_forgets_eps(x, weight, eps=1e-6):
    """Return rms_norm(x, weight, eps); wrong: without eps, hidden by integer operations."""
    return _by_rows(norm_without_eps, x, torch.empty(x.shape, device=x.device), weight.contiguous())


def eps_beside_root(x, weight, bias, eps=1e-5):
    """Return layer_norm(x, weight, bias, eps); wrong: eps is added to the root, not below it."""
    x = x.contiguous()
    out = torch.empty_like(x)
    n = x.shape[1]
    eps_outside[(x.shape[0],)](
        x, weight.contiguous(), bias.contiguous(), out, n, eps, BLOCK=triton.next_power_of_2(n)
    )
    return out


def deviation_of_all(x):
    """Return deviation(x); wrong: divides by n, PyTorch by n - 1."""
    return _by_rows(by_n, x, torch.empty(x.shape[0], device=x.device))


def mean_by_block(x):
    """Return row_mean(x); wrong: divides by the block's size, which is right for powers of two."""
    return _by_rows(mean_of_block, x, torch.empty(x.shape[0], device=x.device))


def gelu_of_polynomial(x):
    """Return gelu(x); wrong: the error function is approximated, up to 1.5e-7."""
    return over(erf_of_five_terms, x)


def gelu_of_tanh(x):
    """Return gelu(x); wrong: approximated by tanh instead of the error function."""
    return over(fast_tanh, x)


def factors_of_bf16(x, y):
    """Return matmul(x, y); wrong: float32 factors are rounded to bfloat16."""
    return _product(x, y, "bf16")


def factors_of_fp8(x, y):
    """Return matmul(x, y); wrong: bfloat16 factors are rounded to 8 bits."""
    return _product(x, y, "fp8")


def sum_of_fp16(x, y):
    """Return matmul(x, y); wrong: 2,048 products are added in float16."""
    return _product(x, y, "sixteen")


def scratch_of_bf16(x):
    """Return exp(x); wrong: float32 numbers are stored in a bfloat16 tensor between kernels."""
    x = x.contiguous()
    scratch = torch.empty(x.shape, dtype=torch.bfloat16, device=x.device)
    out = torch.empty_like(x)
    n = x.numel()
    narrow[(triton.cdiv(n, 256),)](x, scratch, n, BLOCK=256)
    widen_again[(triton.cdiv(n, 256),)](scratch, out, n, BLOCK=256)
    return out


def log_of_softmax(x):
    """Return log_softmax(x); wrong: softmax is not shifted, so large numbers give infinity."""
    return _by_rows(unshifted, x, torch.empty(x.shape, device=x.device))
