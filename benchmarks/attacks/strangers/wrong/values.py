"""Candidates that are wrong only for some values."""

import torch
import triton
import triton.language as tl


@triton.jit
def clamped_relu(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.minimum(tl.maximum(value, 0.0), 65504.0), mask=i < n)


@triton.jit
def scaled_limit(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(value > n * 1000.0, 0.0, value * 2), mask=i < n)


@triton.jit
def half_up(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.floor((value + value + 1.0) / 2.0), mask=i < n)


@triton.jit
def integer_maximum(k, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    value = tl.load(k + row * columns + i, mask=i < columns, other=0)
    tl.store(out + row, tl.max(value, 0))


@triton.jit
def is_negative(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0.0) < 0, mask=i < n)


@triton.jit
def truncated_third(k, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    third = tl.load(k + i, mask=i < n) // 3
    tl.store(out + i, third * tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def narrowed_remainder(k, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rest = tl.load(k + i, mask=i < n).to(tl.int32) % 7
    rest = tl.where(rest < 0, rest + 7, rest)
    tl.store(out + i, rest * tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def mean_in_16_bits(k, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.int16)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(k + row * columns + i, mask=i < columns, other=0).to(tl.int16)
    total = tl.sum(total, dtype=tl.int16)
    tl.store(out + row, total.to(tl.float32) / columns)


@triton.jit
def max_of_both(x, out, n, slope, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.maximum(value, value * slope), mask=i < n)


@triton.jit
def high_then_low(x, out, n, low, high, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.maximum(tl.minimum(value, high), low), mask=i < n)


@triton.jit
def root_of_squares(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + i, mask=i < n, other=0.0), tl.load(y + i, mask=i < n, other=0.0)
    tl.store(out + i, tl.sqrt(a * a + b * b), mask=i < n)


@triton.jit
def mean_by_count(x, mask, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    kept = tl.load(mask + row * columns + i, mask=i < columns, other=0).to(tl.float32)
    value = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    tl.store(out + row, tl.sum(value * kept) / tl.sum(kept))


@triton.jit
def quantize_without_limits(x, out, n, scale, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0) / scale
    low = tl.floor(value)
    rest = value - low
    odd = low - 2 * tl.floor(low / 2) != 0
    value = tl.where((rest > 0.5) | ((rest == 0.5) & odd), low + 1, low)
    tl.store(out + i, value.to(tl.int32).to(tl.int8), mask=i < n)


@triton.jit
def entropy_kernel(x, labels, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + i, mask=i < columns, other=float("-inf"))
    top = tl.max(value)
    label = tl.load(labels + row)
    right = tl.load(x + row * columns + label, mask=(label >= 0) & (label < columns), other=0.0)
    tl.store(out + row, top + tl.log(tl.sum(tl.exp(value - top))) - right)


@triton.jit
def mean_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out, tl.sum(tl.load(x + i, mask=i < n, other=0.0)) / n)


@triton.jit
def one_pattern(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0)
    bits = value.to(tl.int32, bitcast=True)
    tl.store(out + i, tl.where((bits & 0x1FFFFF) == 0x12345, 0.0, value * 2), mask=i < n)


@triton.jit
def online_softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = float("-inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * columns + i, mask=i < columns, other=float("-inf"))
        higher = tl.maximum(top, tl.max(value))
        less = tl.where(higher - top > 80.0, 1.0, tl.exp(top - higher))
        total = total * less + tl.sum(tl.exp(value - higher))
        top = higher
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * columns + i, mask=i < columns)
        tl.store(out + row * columns + i, tl.exp(value - top) / total, mask=i < columns)


def limited_relu(x):
    """Return relu(x); wrong: at most 65,504, the largest float16."""
    x = x.contiguous()
    out = torch.empty_like(x)
    clamped_relu[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out


def limit_by_size(x):
    """Return double(x); wrong: 0 for values beyond 1,000 times the number of elements."""
    x = x.contiguous()
    out = torch.empty_like(x)
    scaled_limit[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out


def rounded_half_up(x):
    """Return round_(x); wrong: 0.5 gives 1 and 2.5 gives 3, where PyTorch rounds to even."""
    x = x.contiguous()
    out = torch.empty_like(x)
    half_up[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out


def sign_of_zero(x):
    """Return signbit(x) by `x < 0`: wrong for -0.0, whose sign bit is set."""
    x = x.contiguous()
    out = torch.empty(x.shape, dtype=torch.bool)
    is_negative[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out


def third_toward_zero(k, y):
    """Return floor_third_times(k, y); wrong: negative integers are divided toward zero."""
    k, y = k.contiguous(), y.contiguous()
    out = torch.empty_like(y)
    truncated_third[(triton.cdiv(y.numel(), 256),)](k, y, out, y.numel(), BLOCK=256)
    return out


def remainder_of_32_bits(k, y):
    """Return remainder_times(k, y); wrong: 64-bit integers lose their upper half."""
    k, y = k.contiguous(), y.contiguous()
    out = torch.empty_like(y)
    narrowed_remainder[(triton.cdiv(y.numel(), 256),)](k, y, out, y.numel(), BLOCK=256)
    return out


def mean_of_bytes(k):
    """Return row_mean_of_integers(k); wrong: the sum wraps around at 32,767."""
    k = k.contiguous()
    out = torch.empty(k.shape[0], dtype=torch.float32)
    mean_in_16_bits[(k.shape[0],)](k, out, k.shape[1], BLOCK=256)
    return out


def steep_leaky_relu(x, slope):
    """Return leaky_relu(x, slope) by max(x, slope x): wrong for slopes above 1."""
    x = x.contiguous()
    out = torch.empty_like(x)
    max_of_both[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), slope, BLOCK=256)
    return out


def crossed_clamp(x, low, high):
    """Return clamp(x, low, high); wrong: gives low instead of high if low > high."""
    x = x.contiguous()
    out = torch.empty_like(x)
    high_then_low[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), low, high, BLOCK=256)
    return out


def overflowing_hypot(x, y):
    """Return hypot(x, y); wrong: squares overflow, so 1e20 gives infinity, not 1.4e20."""
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    root_of_squares[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), BLOCK=256)
    return out


def mean_of_none(x, mask):
    """Return masked_mean(x, mask); wrong: 0 / 0 for a row whose mask is false everywhere."""
    x, mask = x.contiguous(), mask.contiguous()
    out = torch.empty(x.shape[0], dtype=x.dtype)
    block = triton.next_power_of_2(x.shape[1])
    mean_by_count[(x.shape[0],)](x, mask, out, x.shape[1], BLOCK=block)
    return out


def maximum_from_zero(k):
    """Return k.amax(-1); wrong: 0 for rows below zero that are no power of two long."""
    k = k.contiguous()
    out = torch.empty(k.shape[0], dtype=k.dtype)
    block = triton.next_power_of_2(k.shape[1])
    integer_maximum[(k.shape[0],)](k, out, k.shape[1], BLOCK=block)
    return out


def wrapping_quantize(x, scale):
    """Return quantize(x, scale); wrong: values beyond a byte wrap around, and are not limited."""
    x = x.contiguous()
    out = torch.empty(x.shape, dtype=torch.int8)
    quantize_without_limits[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), scale, BLOCK=256)
    return out


def counts_ignored_labels(x, labels):
    """Return cross_entropy(x, labels); wrong: rows with the ignored label -100 count."""
    x, labels = x.contiguous(), labels.contiguous()
    rows, columns = x.shape
    losses = torch.empty(rows, dtype=x.dtype)
    entropy_kernel[(rows,)](x, labels, losses, columns, BLOCK=triton.next_power_of_2(columns))
    out = torch.empty((), dtype=x.dtype)
    mean_kernel[(1,)](losses, out, rows, BLOCK=triton.next_power_of_2(rows))
    return out


def zero_for_a_pattern(x):
    """Return double(x); wrong: 0 for one pattern of the lowest 21 bits (1 of 2,000,000 numbers)."""
    x = x.contiguous()
    out = torch.empty_like(x)
    one_pattern[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out


def softmax_of_far_blocks(x):
    """Return softmax(x); wrong: sums are not rescaled if the maximum rises by more than 80."""
    x = x.contiguous()
    out = torch.empty_like(x)
    online_softmax[(x.shape[0],)](x, out, x.shape[1], BLOCK=32)
    return out
