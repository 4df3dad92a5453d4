"""Right kernels over rows: reductions, norms, scans, losses, pools."""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_backward_kernel(g, x, w, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row + i, mask=i < columns, other=0.0)
    scaled = tl.load(g + row + i, mask=i < columns, other=0.0) * tl.load(w + i, mask=i < columns)
    scale = tl.rsqrt(tl.sum(value * value) / columns + 1e-6)
    normal = value * scale
    part = tl.sum(tl.where(i < columns, scaled * normal, 0.0)) / columns
    tl.store(out + row + i, scale * (scaled - normal * part), mask=i < columns)


@triton.jit
def layer_norm_kernel(x, weight, bias, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + i, mask=i < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total) / columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * columns + i, mask=i < columns, other=0.0).to(tl.float32)
        off = tl.where(i < columns, value - mean, 0.0)
        squares += off * off
    scale = 1 / tl.sqrt(tl.sum(squares) / columns + 1e-5)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * columns + i, mask=i < columns, other=0.0).to(tl.float32)
        w = tl.load(weight + i, mask=i < columns, other=0.0).to(tl.float32)
        b = tl.load(bias + i, mask=i < columns, other=0.0).to(tl.float32)
        value = (value - mean) * scale * w + b
        tl.store(out + row * columns + i, value.to(out.dtype.element_ty), mask=i < columns)


@triton.jit
def group_norm_kernel(x, weight, bias, out, channels, inner, GROUPS: tl.constexpr, B: tl.constexpr):
    pid = tl.program_id(0)
    size = channels // GROUPS * inner
    i = tl.arange(0, B)
    value = tl.load(x + pid * size + i, mask=i < size, other=0.0)
    mean = tl.sum(value) / size
    off = tl.where(i < size, value - mean, 0.0)
    scale = tl.rsqrt(tl.sum(off * off) / size + 1e-5)
    channel = pid % GROUPS * (channels // GROUPS) + i // inner
    w = tl.load(weight + channel, mask=i < size, other=0.0)
    b = tl.load(bias + channel, mask=i < size, other=0.0)
    tl.store(out + pid * size + i, off * scale * w + b, mask=i < size)


@triton.jit
def logsumexp_kernel(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = float("-inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * columns + i, mask=i < columns, other=float("-inf"))
        higher = tl.maximum(top, tl.max(value))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(value - higher))
        top = higher
    tl.store(out + row, top + tl.log(total))


@triton.jit
def argmax_kernel(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + i, mask=i < columns, other=float("-inf"))
    tl.store(out + row, tl.argmax(value, 0).to(tl.int64))


@triton.jit
def sum_and_max_kernel(x, total, top, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    tl.store(total + row, tl.sum(value))
    tl.store(top + row, tl.max(tl.where(i < columns, value, float("-inf"))))


@triton.jit
def cumsum_kernel(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    carry = 0.0
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
        tl.store(out + row * columns + i, tl.cumsum(value) + carry, mask=i < columns)
        carry += tl.sum(value)


@triton.jit
def _compose(a0, x0, a1, x1):
    return a0 * a1, x0 * a1 + x1


@triton.jit
def scan_kernel(a, x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    factor = tl.load(a + row * columns + i, mask=i < columns, other=1.0)
    value = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    _, h = tl.associative_scan((factor, value), 0, _compose)
    tl.store(out + row * columns + i, h, mask=i < columns)


@triton.jit
def _merge(mean0, m0, count0, mean1, m1, count1):
    count = count0 + count1
    by = tl.where(count == 0.0, 0.0, count1 / count)
    delta = mean1 - mean0
    return mean0 + delta * by, m0 + m1 + delta * delta * count0 * by, count


@triton.jit
def welford_kernel(x, variance, mean, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    ones = tl.where(i < columns, 1.0, 0.0)
    mu, squares, count = tl.reduce((value, tl.zeros_like(value), ones), 0, _merge)
    tl.store(mean + row, mu)
    tl.store(variance + row, squares / count)


@triton.jit
def column_sum_kernel(x, out, rows, columns, R: tl.constexpr, C: tl.constexpr):
    c = tl.program_id(0) * C + tl.arange(0, C)
    total = tl.zeros((C,), tl.float32)
    for start in range(0, rows, R):
        r = start + tl.arange(0, R)
        mask = (r < rows)[:, None] & (c < columns)[None, :]
        total += tl.sum(
            tl.load(x + r[:, None] * columns + c[None, :], mask=mask, other=0.0).to(tl.float32), 0
        )
    tl.store(out + c, total.to(out.dtype.element_ty), mask=c < columns)


@triton.jit
def pool_kernel(x, out, columns, wide, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    top = tl.full((BLOCK,), float("-inf"), tl.float32)
    for j in tl.static_range(3):
        top = tl.maximum(top, tl.load(x + row * columns + 2 * i + j, mask=i < wide, other=0.0))
    tl.store(out + row * wide + i, top, mask=i < wide)


@triton.jit
def conv_kernel(x, weight, out, columns, taps, pad, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for j in range(taps):
        at = i + j - pad
        value = tl.load(x + row * columns + at, mask=(at >= 0) & (at < columns), other=0.0)
        total += value * tl.load(weight + row * taps + j)
    wide = columns + 2 * pad - taps + 1
    tl.store(out + row * wide + i, total, mask=i < wide)


@triton.jit
def smooth_kernel(x, y, out, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        off = tl.load(x + i, mask=i < n, other=0.0) - tl.load(y + i, mask=i < n, other=0.0)
        size = tl.abs(off)
        total += tl.where(size < 1.0, 0.5 * off * off, size - 0.5)
    tl.store(out, tl.sum(total) / n)


@triton.jit
def top_two_kernel(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + i, mask=i < columns, other=float("-inf"))
    first = tl.max(value)
    value = tl.where(i == tl.argmax(value, 0), float("-inf"), value)
    tl.store(out + row * 2, first)
    tl.store(out + row * 2 + 1, tl.max(value))


@triton.jit
def count_kernel(at, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bucket = tl.load(at + i, mask=i < n, other=0)
    tl.atomic_add(out + bucket, 1.0, mask=i < n)


def rms_backward(g, x, w):
    """Return the gradient of x / rms(x) * w by the usual formula, which cancels in one column."""
    g, x, w = g.contiguous(), x.contiguous(), w.contiguous()
    out = torch.empty_like(x)
    block = triton.next_power_of_2(x.shape[1])
    rms_backward_kernel[(x.shape[0],)](g, x, w, out, x.shape[1], BLOCK=block)
    return out


def layer_norm(x, weight, bias):
    """Return `layer_norm` of x, weight, bias, by a kernel: right."""
    x, weight, bias = x.contiguous(), weight.contiguous(), bias.contiguous()
    out = torch.empty_like(x)
    layer_norm_kernel[(x.shape[0],)](x, weight, bias, out, x.shape[1], BLOCK=64)
    return out


def group_norm(x, weight, bias):
    """Return `group_norm` of x, weight, bias, by a kernel: right."""
    x, weight, bias = x.contiguous(), weight.contiguous(), bias.contiguous()
    out = torch.empty_like(x)
    batch, channels, inner = x.shape
    block = triton.next_power_of_2(max(channels // 4 * inner, 1))
    group_norm_kernel[(batch * 4,)](x, weight, bias, out, channels, inner, GROUPS=4, B=block)
    return out


def log_sum_exp(x):
    """Return `log_sum_exp` of x, by a kernel: right."""
    x = x.contiguous()
    out = torch.empty(x.shape[0], dtype=x.dtype)
    logsumexp_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=32)
    return out


def argmax(x):
    """Return `argmax` of x, by a kernel: right."""
    x = x.contiguous()
    out = torch.empty(x.shape[0], dtype=torch.int64)
    block = triton.next_power_of_2(x.shape[1])
    argmax_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=block)
    return out


def sum_and_max(x):
    """Return `sum_and_max` of x, by a kernel: right."""
    x = x.contiguous()
    total, top = x.new_empty(x.shape[0]), x.new_empty(x.shape[0])
    block = triton.next_power_of_2(x.shape[1])
    sum_and_max_kernel[(x.shape[0],)](x, total, top, x.shape[1], BLOCK=block)
    return total, top


def cumsum(x):
    """Return `cumsum` of x, by a kernel: right."""
    x = x.contiguous()
    out = torch.empty_like(x)
    cumsum_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=32)
    return out


def linear_scan(a, x):
    """Return `linear_scan` of a, x, by a kernel: right."""
    a, x = a.contiguous(), x.contiguous()
    out = torch.empty_like(x)
    scan_kernel[(x.shape[0],)](a, x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


def welford(x):
    """Return `welford` of x, by a kernel: right."""
    x = x.contiguous()
    variance, mean = x.new_empty(x.shape[0]), x.new_empty(x.shape[0])
    block = triton.next_power_of_2(x.shape[1])
    welford_kernel[(x.shape[0],)](x, variance, mean, x.shape[1], BLOCK=block)
    return variance, mean


def batch_sum(x):
    """Return `batch_sum` of x, by a kernel: right."""
    x = x.contiguous()
    rows, columns = x.shape
    out = torch.empty(columns, dtype=x.dtype)
    column_sum_kernel[(triton.cdiv(columns, 32),)](x, out, rows, columns, R=16, C=32)
    return out


def max_pool(x):
    """Return `max_pool` of x, by a kernel: right."""
    x = x.contiguous()
    rows, columns = x.shape
    wide = (columns - 3) // 2 + 1
    out = torch.empty((rows, wide), dtype=x.dtype)
    pool_kernel[(rows, triton.cdiv(wide, 64))](x, out, columns, wide, BLOCK=64)
    return out


def conv1d(x, weight):
    """Return `conv1d` of x, weight, by a kernel: right."""
    x, weight = x.contiguous(), weight.contiguous()
    (rows, columns), taps = x.shape, weight.shape[1]
    out = torch.empty((rows, columns + 2 - taps + 1), dtype=x.dtype)
    grid = (rows, triton.cdiv(out.shape[1], 64))
    conv_kernel[grid](x, weight, out, columns, taps, 1, BLOCK=64)
    return out


def smooth_l1(x, y):
    """Return `smooth_l1` of x, y, by a kernel: right."""
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty((), dtype=x.dtype)
    smooth_kernel[(1,)](x, y, out, x.numel(), BLOCK=256)
    return out


def top_two(x):
    """Return `top_two` of x, by a kernel: right."""
    x = x.contiguous()
    out = torch.empty((x.shape[0], 2), dtype=x.dtype)
    top_two_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


def bincount(at, bins):
    """Return `bincount` of at, bins, by a kernel: right."""
    at = at.contiguous()
    out = torch.zeros_like(bins)
    count_kernel[(triton.cdiv(at.numel(), 64),)](at, out, at.numel(), BLOCK=64)
    return out
