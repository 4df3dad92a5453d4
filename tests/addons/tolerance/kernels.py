"""Kernels of this room's tests: right ones, and such with one mistake."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    given = tl.load(x + row * columns + lanes, mask=mask, other=-float("inf"))
    powers = tl.exp(given - tl.max(given, axis=0))
    tl.store(out + row * columns + lanes, powers / tl.sum(powers, axis=0), mask=mask)


@triton.jit
def softmax_without_last(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    given = tl.load(x + row * columns + lanes, mask=lanes < columns - 1, other=-float("inf"))
    powers = tl.exp(given - tl.max(given, axis=0))
    tl.store(out + row * columns + lanes, powers / tl.sum(powers, axis=0), mask=mask)


@triton.jit
def normalized(x, out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    given = tl.load(x + row * columns + lanes, mask=mask, other=0.0)
    scale = tl.rsqrt(tl.sum(given * given, axis=0) / columns + eps)
    tl.store(out + row * columns + lanes, given * scale, mask=mask)


@triton.jit
def normalized_without_eps(x, out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    given = tl.load(x + row * columns + lanes, mask=mask, other=0.0)
    scale = tl.rsqrt(tl.sum(given * given, axis=0) / columns)
    tl.store(out + row * columns + lanes, given * scale, mask=mask)


@triton.jit
def product(left, right, out, inner, TYPE: tl.constexpr, PRECISION: tl.constexpr, B: tl.constexpr):
    row, column = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    total = tl.zeros((B, B), dtype=TYPE)
    for start in range(0, inner, B):
        a = tl.load(left + row * inner + start + column)
        b = tl.load(right + (start + row) * B + column)
        total = (total + tl.dot(a, b, input_precision=PRECISION)).to(TYPE)
    tl.store(out + row * B + column, total)


@triton.jit
def both_moments(x, mean, square, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    given = tl.load(x + row * columns + lanes, mask=lanes < columns, other=0.0)
    tl.store(mean + row, tl.sum(given, axis=0) / columns)
    tl.store(square + row, tl.sum(given * given, axis=0) / columns)


def rows(columns=1000):
    """Return eight random rows, and an output tensor."""
    torch.manual_seed(0)
    return torch.randn(8, columns), torch.zeros(8, columns)


def factors(inner=512, dtype=torch.float32):
    """Return the two factors of a product, and an output tensor."""
    torch.manual_seed(0)
    left, right = torch.randn(32, inner).to(dtype), torch.randn(inner, 32).to(dtype)
    return left, right, torch.zeros(32, 32, dtype=dtype)


@triton.jit
def softmax_without_maximum(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    powers = tl.exp(tl.load(x + row * columns + lanes, mask=mask, other=-float("inf")))
    tl.store(out + row * columns + lanes, powers / tl.sum(powers, axis=0), mask=mask)


@triton.jit
def naive_variance(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    given = tl.load(x + row * columns + lanes, mask=lanes < columns, other=0.0).to(tl.float32)
    mean = tl.sum(given, axis=0) / columns
    tl.store(out + row, tl.sum(given * given, axis=0) / columns - mean * mean)


@triton.jit
def variance(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    given = tl.load(x + row * columns + lanes, mask=mask, other=0.0).to(tl.float32)
    given = tl.where(mask, given - tl.sum(given, axis=0) / columns, 0.0)
    tl.store(out + row, tl.sum(given * given, axis=0) / columns)


@triton.jit
def by_halves(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    bits = tl.load(x.to(tl.pointer_type(tl.int16)) + 2 * lanes + 1)
    tl.store(out + lanes, bits.to(tl.float32) * 0.3)


@triton.jit
def silu(x, out, count, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    given = tl.load(x + lanes, mask=lanes < count, other=0.0)
    tl.store(out + lanes, given * tl.sigmoid(given), mask=lanes < count)


@triton.jit
def exponential(x, out, count, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.exp(tl.load(x + lanes, mask=lanes < count)), mask=lanes < count)


@triton.jit
def absorbed(x, out, count, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    given = tl.load(x + lanes, mask=lanes < count, other=0.0)
    other = 42.0 + given
    stored = ((tl.maximum(given, 0.0) - other + 1e30) - 1e30) + other
    tl.store(out + lanes, stored, mask=lanes < count)


@triton.jit
def wide_product(left, right, out, inner, IN_PLACE: tl.constexpr, TYPE: tl.constexpr):
    row, column = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    total = tl.zeros((32, 32), dtype=tl.float32)
    for start in range(0, inner, 32):
        a = tl.load(left + row * inner + start + column)
        b = tl.load(right + (start + row) * 32 + column)
        total = tl.dot(a, b, total) if IN_PLACE else total + tl.dot(a, b)
        total = total.to(TYPE).to(tl.float32)
    tl.store(out + row * 32 + column, total)


@triton.jit
def cross_entropy(x, labels, out, columns, OFF: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, mask=at < columns, other=float("-inf"))
    largest = tl.max(value)
    total = largest + tl.log(tl.sum(tl.exp(value - largest)))
    tl.store(out + row, total - tl.load(x + row * columns + tl.load(labels + row)) + OFF)


@triton.jit
def log_of_one_more(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < count, other=1.0)
    near = 1 + value
    is_one = near == 1
    ratio = tl.log(near) * value / tl.where(is_one, 1.0, near - 1)
    tl.store(out + at, tl.where(is_one, value, ratio), mask=at < count)
