"""Right elementwise kernels."""

import torch
import triton
import triton.language as tl


@triton.jit
def swish_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(out + i, (value * tl.sigmoid(value)).to(out.dtype.element_ty), mask=i < n)


@triton.jit
def geglu_kernel(gate, up, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(gate + i, mask=i < n, other=0.0).to(tl.float32)
    u = tl.load(up + i, mask=i < n, other=0.0).to(tl.float32)
    value = 0.5 * g * (1 + tl.erf(g * 0.7071067811865476)) * u
    tl.store(out + i, value.to(out.dtype.element_ty), mask=i < n)


@triton.jit
def where_kernel(mask, x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.load(mask + i, mask=i < n, other=0)
    a, b = tl.load(x + i, mask=i < n), tl.load(y + i, mask=i < n)
    tl.store(out + i, tl.where(kept != 0, a, b), mask=i < n)


@triton.jit
def scale_kernel(x, factor, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


@triton.jit
def bits_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + i, mask=i < n), tl.load(y + i, mask=i < n)
    tl.store(out + i, (a & b) ^ (a << 1), mask=i < n)


@triton.jit
def ceil_kernel(x, whole, rest, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(whole + i, tl.ceil(value), mask=i < n)
    tl.store(rest + i, value - tl.ceil(value), mask=i < n)


@triton.jit
def strided_kernel(x, bias, out, columns, s0, s1, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + row * s0 + i * s1, mask=i < columns)
    value += tl.load(bias + i, mask=i < columns)
    tl.store(out + row * columns + i, value, mask=i < columns)


@triton.jit
def outer_kernel(x, y, out, m, n, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.program_id(1) * B + tl.arange(0, B)
    value = tl.load(x + r, mask=r < m)[:, None] * tl.load(y + c, mask=c < n)[None, :]
    mask = (r < m)[:, None] & (c < n)[None, :]
    tl.store(out + r[:, None] * n + c[None, :], value, mask=mask)


@triton.jit
def transpose_kernel(x, out, m, n, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.program_id(1) * B + tl.arange(0, B)
    mask = (r < m)[:, None] & (c < n)[None, :]
    tile = tl.load(x + r[:, None] * n + c[None, :], mask=mask)
    turned = (c < n)[:, None] & (r < m)[None, :]
    tl.store(out + c[:, None] * m + r[None, :], tl.trans(tile), mask=turned)


@triton.jit
def rotary_kernel(x, cos, sin, out, half, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    a = tl.load(x + row * 2 * half + i, mask=i < half)
    b = tl.load(x + row * 2 * half + half + i, mask=i < half)
    c, s = (
        tl.load(cos + row * half + i, mask=i < half),
        tl.load(sin + row * half + i, mask=i < half),
    )
    tl.store(out + row * 2 * half + i, a * c - b * s, mask=i < half)
    tl.store(out + row * 2 * half + half + i, b * c + a * s, mask=i < half)


@triton.jit
def dequantize_kernel(q, scale, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    s = tl.load(scale + row)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        value = tl.load(q + row * columns + i, mask=i < columns).to(tl.float32)
        tl.store(out + row * columns + i, value * s, mask=i < columns)


@triton.jit
def copy_as_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n).to(out.dtype.element_ty), mask=i < n)


@triton.jit
def embedding_kernel(table, at, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    source = tl.load(at + row)
    value = tl.load(table + source * columns + i, mask=i < columns)
    tl.store(out + row * columns + i, value, mask=i < columns)


def swish(x):
    """Return `swish` of x, by a kernel: right."""
    x = x.contiguous()
    out = torch.empty_like(x)
    swish_kernel[(triton.cdiv(x.numel(), 512),)](x, out, x.numel(), BLOCK=512)
    return out


def geglu(gate, up):
    """Return `geglu` of gate, up, by a kernel: right."""
    gate, up = gate.contiguous(), up.contiguous()
    out = torch.empty_like(gate)
    geglu_kernel[(triton.cdiv(out.numel(), 512),)](gate, up, out, out.numel(), BLOCK=512)
    return out


def where(mask, x, y):
    """Return `where` of mask, x, y, by a kernel: right."""
    mask, x, y = mask.contiguous(), x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    where_kernel[(triton.cdiv(x.numel(), 128),)](mask, x, y, out, x.numel(), BLOCK=128)
    return out


def scale_(x, factor):
    """Scale x by factor in place by a kernel, also a strided x: right."""
    contiguous = x.contiguous()
    scale_kernel[(triton.cdiv(x.numel(), 256),)](contiguous, factor, x.numel(), BLOCK=256)
    if contiguous is not x:
        x.copy_(contiguous)


def bitwise(x, y):
    """Return `bitwise` of x, y, by a kernel: right."""
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    bits_kernel[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), BLOCK=256)
    return out


def ceil_parts(x):
    """Return `ceil_parts` of x, by a kernel: right."""
    x = x.contiguous()
    whole, rest = torch.empty_like(x), torch.empty_like(x)
    ceil_kernel[(triton.cdiv(x.numel(), 256),)](x, whole, rest, x.numel(), BLOCK=256)
    return whole, rest


def add_rows(x, bias):
    """Return `add_rows` of x, bias, by a kernel that uses x's strides: right."""
    out = torch.empty(x.shape, dtype=x.dtype)
    grid = (triton.cdiv(x.shape[1], 64), x.shape[0])
    strided_kernel[grid](x, bias.contiguous(), out, x.shape[1], x.stride(0), x.stride(1), BLOCK=64)
    return out


def outer(x, y):
    """Return `outer` of x, y, by a kernel: right."""
    x, y = x.contiguous(), y.contiguous()
    m, n = len(x), len(y)
    out = torch.empty((m, n), dtype=x.dtype)
    outer_kernel[(triton.cdiv(m, 32), triton.cdiv(n, 32))](x, y, out, m, n, B=32)
    return out


def transpose(x):
    """Return `transpose` of x, by a kernel: right."""
    x = x.contiguous()
    m, n = x.shape
    out = torch.empty((n, m), dtype=x.dtype)
    transpose_kernel[(triton.cdiv(m, 32), triton.cdiv(n, 32))](x, out, m, n, B=32)
    return out


def rotary(x, cos, sin):
    """Return `rotary` of x, cos, sin, by a kernel: right."""
    x, cos, sin = x.contiguous(), cos.contiguous(), sin.contiguous()
    out = torch.empty_like(x)
    half = x.shape[1] // 2
    block = triton.next_power_of_2(half)
    rotary_kernel[(x.shape[0],)](x, cos, sin, out, half, B=block)
    return out


def dequantize(q, scale):
    """Return `dequantize` of q, scale, by a kernel: right."""
    q, scale = q.contiguous(), scale.contiguous()
    out = torch.empty(q.shape, dtype=torch.float32)
    dequantize_kernel[(q.shape[0],)](q, scale, out, q.shape[1], BLOCK=64)
    return out


def cast(x):
    """Return `cast` of x, by a kernel: right."""
    x = x.contiguous()
    out = torch.empty(x.shape, dtype=torch.float8_e4m3fn)
    copy_as_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out


def embedding(table, at):
    """Return `embedding` of table, at, by a kernel: right."""
    table, at = table.contiguous(), at.contiguous()
    out = torch.empty((len(at), table.shape[1]), dtype=table.dtype)
    block = triton.next_power_of_2(table.shape[1])
    embedding_kernel[(len(at),)](table, at, out, table.shape[1], BLOCK=block)
    return out
