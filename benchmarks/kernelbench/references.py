"""Plain kernels of operators, with a program per element or row; arguments: inputs, output.

Functions of one number are arguments of kernels, so that a wrong twin is another function.
"""
# ruff: noqa: ARG001 — each takes what its kernel passes to any

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _larger(x, y):
    """Return the larger of x and y, NaN if either is NaN, as torch does."""
    return tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def _smaller(x, y):
    return tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def _max(x):
    return tl.reduce(x, 0, _larger)


@triton.jit
def _min(x):
    return tl.reduce(x, 0, _smaller)


@triton.jit
def pointwise(x, out, n, F: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < n).to(tl.float32)
    tl.store(out + offsets, F(value), mask=offsets < n)


@triton.jit
def two(x, y, out, n, F: tl.constexpr, BLOCK: tl.constexpr):
    """Store F(x, y) for the elements of two tensors."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    first, second = tl.load(x + offsets, mask=offsets < n), tl.load(y + offsets, mask=offsets < n)
    tl.store(out + offsets, F(first, second), mask=offsets < n)


@triton.jit
def along(x, out, length, step, F: tl.constexpr, BLOCK: tl.constexpr):
    """Reduce `length` elements that are `step` apart, for each of `step` columns of a batch."""
    column, batch = tl.program_id(0), tl.program_id(1)
    lanes = tl.arange(0, BLOCK)
    value = tl.load(x + batch * length * step + lanes * step + column, mask=lanes < length)
    tl.store(out + batch * step + column, F(value, lanes < length, length))


@triton.jit
def rows(x, out, length, F: tl.constexpr, BLOCK: tl.constexpr):
    """Store F of each row of `length` elements, one row per program."""
    lanes = tl.arange(0, BLOCK)
    mask = lanes < length
    value = tl.load(x + tl.program_id(0) * length + lanes, mask=mask)
    tl.store(out + tl.program_id(0) * length + lanes, F(value, mask, length), mask=mask)


@triton.jit
def columns(x, out, length, step, F: tl.constexpr, BLOCK: tl.constexpr):
    """Store F of each column of `length` elements that are `step` apart."""
    column, batch = tl.program_id(0), tl.program_id(1)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < length
    at = batch * length * step + lanes * step + column
    tl.store(out + at, F(tl.load(x + at, mask=mask), mask, length), mask=mask)


@triton.jit
def pooled(
    x, out, width, steps, stride, padding, MORE: tl.constexpr, KIND: tl.constexpr,
    SIZE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Pool windows of a row; KIND is "max" or "mean" (of all of a window, padding included)."""
    row, to = tl.program_id(0), tl.arange(0, BLOCK)
    total = tl.full((BLOCK,), float("-inf") if KIND == "max" else 0.0, tl.float32)
    for tap in tl.static_range(SIZE + MORE):
        at = to * stride + tap - padding
        mask = (at >= 0) & (at < width) & (to < steps)
        other = float("-inf") if KIND == "max" else 0.0
        value = tl.load(x + row * width + at, mask=mask, other=other)
        total = _larger(total, value) if KIND == "max" else total + value
    if KIND == "mean":
        total = total / SIZE
    tl.store(out + row * steps + to, total, mask=to < steps)


@triton.jit
def pooled_2d(
    x, out, height, width, stride, padding, down, across, KIND: tl.constexpr,
    SIZE: tl.constexpr, SKIPPED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Store the pooled square windows of an image; the output is `down` by `across`."""
    image, row, to = tl.program_id(0), tl.program_id(1), tl.arange(0, BLOCK)
    total = tl.full((BLOCK,), float("-inf") if KIND == "max" else 0.0, tl.float32)
    for i in tl.static_range(SIZE):
        for j in tl.static_range(SIZE - SKIPPED):
            y, at = row * stride + i - padding, to * stride + j - padding
            mask = (y >= 0) & (y < height) & (at >= 0) & (at < width) & (to < across)
            other = float("-inf") if KIND == "max" else 0.0
            value = tl.load(x + (image * height + y) * width + at, mask=mask, other=other)
            total = _larger(total, value) if KIND == "max" else total + value
    if KIND == "mean":
        total = total / (SIZE * SIZE)
    tl.store(out + (image * down + row) * across + to, total, mask=to < across)


@triton.jit
def product(
    a, b, out, m, n, k, am, ak, bk, bn, batch_a, batch_b, LEFT: tl.constexpr,
    BLOCK: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    """Multiply two matrices, one element of the product a program; LEFT terms are left out.

    KEEP is "upper" or "lower" where the rest of the product is 0.
    """
    row, column, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < k - LEFT
    first = tl.load(a + batch * batch_a + row * am + lanes * ak, mask=mask, other=0.0)
    second = tl.load(b + batch * batch_b + lanes * bk + column * bn, mask=mask, other=0.0)
    total = tl.sum(first * second, axis=0)
    if KEEP == "upper":
        total = tl.where(column >= row, total, 0.0)
    if KEEP == "lower":
        total = tl.where(column <= row, total, 0.0)
    tl.store(out + (batch * m + row) * n + column, total)


@triton.jit
def scaled_rows(a, b, out, n, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    """Multiply each row of b by its number in a: a diagonal matrix times b."""
    row, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    factor = tl.load(a + (row if OTHER == 0 else row // 2))
    tl.store(out + row * n + lanes, factor * tl.load(b + row * n + lanes, mask=lanes < n),
             mask=lanes < n)  # fmt: skip


@triton.jit
def summed_up(x, out, length, REVERSE: tl.constexpr, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    """Store cumulative sums of a row, from either end, without the last SHIFT elements."""
    row, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    at = length - 1 - lanes if REVERSE else lanes
    mask = lanes < length - SHIFT
    total = tl.cumsum(tl.load(x + row * length + at, mask=mask, other=0.0), axis=0)
    tl.store(out + row * length + at, total, mask=lanes < length)


@triton.jit
def affine_rows(x, weight, bias, out, length, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    """Store the layer norm of each row with weight and bias; WRONG is a mistake in it."""
    row, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    mask = lanes < length
    value = tl.load(x + row * length + lanes, mask=mask, other=0.0)
    mean = tl.sum(value, axis=0) / length
    centered = tl.where(mask, value - mean, 0.0)
    variance = tl.sum(centered * centered, axis=0) / (length - WRONG)
    normal = centered * libdevice.rsqrt(variance + 1e-5)
    normal = normal * tl.load(weight + lanes, mask=mask) + tl.load(bias + lanes, mask=mask)
    tl.store(out + row * length + lanes, normal, mask=mask)


@triton.jit
def averaged(x, y, out, n, F: tl.constexpr, BLOCK: tl.constexpr):
    """Store the mean of F(x, y) over all elements of two tensors."""
    lanes = tl.arange(0, BLOCK)
    mask = lanes < n
    terms = F(tl.load(x + lanes, mask=mask), tl.load(y + lanes, mask=mask))
    tl.store(out, tl.sum(tl.where(mask, terms, 0.0), axis=0) / n)


# -- of one number ------------------------------------------------------------------------------


@triton.jit
def relu(x):
    return _larger(x, 0.0)


@triton.jit
def relu_wrong(x):
    return _larger(x, 1e-30)


@triton.jit
def leaky_relu(x):
    return tl.where(x > 0, x, x * 0.01)


@triton.jit
def leaky_relu_wrong(x):
    return tl.where(x > 0, x, x * 0.02)


@triton.jit
def sigmoid(x):
    return tl.sigmoid(x)


@triton.jit
def sigmoid_wrong(x):
    return 1.0 / (1.0 + libdevice.exp(x))


@triton.jit
def tanh(x):
    return libdevice.tanh(x)


@triton.jit
def tanh_wrong(x):
    return libdevice.tanh(-x)


@triton.jit
def swish(x):
    return x * tl.sigmoid(x)


@triton.jit
def swish_wrong(x):
    return x * tl.sigmoid(1.702 * x)


@triton.jit
def gelu(x):
    return x * 0.5 * (libdevice.erf(x * 0.7071067811865476) + 1)


@triton.jit
def gelu_wrong(x):
    return x * 0.5 * (libdevice.erf(x * 0.7071067811865476) - 1)


@triton.jit
def gelu_by_tanh(x):
    cubed = x * x * x
    return x * 0.5 * (libdevice.tanh((x + cubed * 0.044715) * 0.7978845608028654) + 1.0)


@triton.jit
def gelu_by_tanh_wrong(x):
    cubed = x * x * x
    return x * 0.5 * (libdevice.tanh((x + cubed * 0.044715) * 0.7978845608028654 + 1.0))


@triton.jit
def selu(x):
    scaled = x * 1.0507009873554805
    return tl.where(x > 0, scaled, libdevice.expm1(x) * 1.7580993408473766)


@triton.jit
def selu_wrong(x):
    scaled = x * 1.0507009873554805
    return tl.where(x > 0, scaled, libdevice.exp(x) * 1.7580993408473766)


@triton.jit
def hard_sigmoid(x):
    return _smaller(_larger(x + 3.0, 0.0), 6.0) * 0.16666666666666666


@triton.jit
def hard_sigmoid_wrong(x):
    return _smaller(_larger(x + 2.5, 0.0), 6.0) * 0.16666666666666666


@triton.jit
def softplus(x):
    return tl.where(x * 1.0 > 20.0, x, libdevice.log1p(libdevice.exp(x * 1.0)) * 1.0)


@triton.jit
def softplus_wrong(x):
    return tl.where(x * 1.0 > 2.0, x, libdevice.log1p(libdevice.exp(x * 1.0)) * 1.0)


@triton.jit
def softsign(x):
    return x / (tl.abs(x) + 1)


@triton.jit
def softsign_wrong(x):
    return x / (x + 1)


@triton.jit
def elu(x):
    return tl.where(x > 0, x * 1.0, libdevice.expm1(x * 1.0) * 1.0)


@triton.jit
def elu_wrong(x):
    return tl.where(x > 0, x * 1.0, libdevice.expm1(x * 1.0) * 2.0)


@triton.jit
def hard_tanh(x):
    return _smaller(_larger(x, -1.0), 1.0)


@triton.jit
def hard_tanh_wrong(x):
    return _smaller(_larger(x, 0.0), 1.0)


@triton.jit
def scaled(x):
    return x * 3.14


@triton.jit
def scaled_wrong(x):
    return x * 3.141


# -- of some numbers ----------------------------------------------------------------------------


@triton.jit
def sum_of(x, inside, length):
    return tl.sum(tl.where(inside, x, 0.0), axis=0)


@triton.jit
def sum_wrong(x, inside, length):
    return tl.sum(tl.where(tl.arange(0, x.shape[0]) < length - 1, x, 0.0), axis=0)


@triton.jit
def mean_of(x, inside, length):
    return tl.sum(tl.where(inside, x, 0.0), axis=0) / length


@triton.jit
def mean_wrong(x, inside, length):
    return tl.sum(tl.where(inside, x, 0.0), axis=0) / x.shape[0]


@triton.jit
def max_of(x, inside, length):
    return _max(tl.where(inside, x, float("-inf")))


@triton.jit
def max_wrong(x, inside, length):
    return _max(tl.where(inside, x, 0.0))


@triton.jit
def min_of(x, inside, length):
    return _min(tl.where(inside, x, float("inf")))


@triton.jit
def min_wrong(x, inside, length):
    return _min(tl.where(inside, x, 0.0))


@triton.jit
def _first_nan(x, inside, otherwise):
    is_nan = tl.where(inside & (x != x), 1, 0)
    return tl.where(tl.max(is_nan, axis=0) == 1, tl.argmax(is_nan, axis=0), otherwise)


@triton.jit
def argmax_of(x, inside, length):
    extreme = tl.argmax(tl.where(inside, x, float("-inf")), axis=0)
    return _first_nan(x, inside, extreme).to(tl.int64)


@triton.jit
def argmax_wrong(x, inside, length):
    extreme = tl.argmax(tl.where(inside, x, 0.0), axis=0)
    return _first_nan(x, inside, extreme).to(tl.int64)


@triton.jit
def argmin_of(x, inside, length):
    extreme = tl.argmin(tl.where(inside, x, float("inf")), axis=0)
    return _first_nan(x, inside, extreme).to(tl.int64)


@triton.jit
def argmin_wrong(x, inside, length):
    extreme = tl.argmin(tl.where(inside, x, 0.0), axis=0)
    return _first_nan(x, inside, extreme).to(tl.int64)


@triton.jit
def softmax(x, inside, length):
    x = tl.where(inside, x, float("-inf"))
    exponents = libdevice.exp(x - _max(x))
    return exponents / tl.sum(exponents, axis=0)


@triton.jit
def softmax_wrong(x, inside, length):
    x = tl.where(inside, x, 0.0)
    exponents = libdevice.exp(x - _max(x))
    return exponents / tl.sum(exponents, axis=0)


@triton.jit
def log_softmax(x, inside, length):
    x = tl.where(inside, x, float("-inf"))
    shifted = x - _max(x)
    return shifted - tl.log(tl.sum(libdevice.exp(shifted), axis=0))


@triton.jit
def log_softmax_wrong(x, inside, length):
    x = tl.where(inside, x, float("-inf"))
    return x - tl.log(tl.sum(libdevice.exp(x - _max(x)), axis=0))


@triton.jit
def rms_norm(x, inside, length):
    squares = tl.sum(tl.where(inside, x * x, 0.0), axis=0)
    return x / tl.sqrt_rn(squares / length + 1e-5)


@triton.jit
def rms_norm_wrong(x, inside, length):
    squares = tl.sum(tl.where(inside, x * x, 0.0), axis=0)
    return x / (tl.sqrt_rn(squares / length) + 1e-5)


@triton.jit
def instance_norm(x, inside, length):
    mean = tl.sum(tl.where(inside, x, 0.0), axis=0) / length
    centered = tl.where(inside, x - mean, 0.0)
    return centered * libdevice.rsqrt(tl.sum(centered * centered, axis=0) / length + 1e-5)


@triton.jit
def instance_norm_wrong(x, inside, length):
    mean = tl.sum(tl.where(inside, x, 0.0), axis=0) / length
    centered = tl.where(inside, x - mean, 0.0)
    return centered * libdevice.rsqrt(tl.sum(centered * centered, axis=0) / length + 1e-6)


@triton.jit
def l1_norm(x, inside, length):
    return x / (tl.sum(tl.where(inside, tl.abs(x), 0.0), axis=0) / length)


@triton.jit
def l1_norm_wrong(x, inside, length):
    return x / (tl.sum(tl.where(inside, x, 0.0), axis=0) / length)


@triton.jit
def l2_norm(x, inside, length):
    return x / tl.sqrt_rn(tl.sum(tl.where(inside, x * x, 0.0), axis=0))


@triton.jit
def l2_norm_wrong(x, inside, length):
    return x / tl.sum(tl.where(inside, x * x, 0.0), axis=0)


# -- of two numbers -----------------------------------------------------------------------------


@triton.jit
def squared_error(x, y):
    return (x - y) * (x - y)


@triton.jit
def squared_error_wrong(x, y):
    return (x - y) * (x + y)


@triton.jit
def huber(x, y):
    apart = tl.abs(x - y)
    return tl.where(apart < 1.0, apart * apart * 0.5 * 1.0, apart - 0.5)


@triton.jit
def huber_wrong(x, y):
    apart = tl.abs(x - y)
    return tl.where(apart < 1.0, apart * apart * 0.5 * 1.0, apart - 0.4)


@triton.jit
def hinge(x, y):
    return _larger(1 - x * y, 0.0)


@triton.jit
def hinge_wrong(x, y):
    return _larger(1 + x * y, 0.0)


@triton.jit
def divergence(x, y):
    """Return the terms of the Kullback-Leibler divergence: log probabilities x, probabilities y."""
    entropy = tl.where(y == 0, 0.0, y * tl.log(y))
    return tl.where(libdevice.isnan(y).to(tl.int1), float("nan"), entropy) - y * x


@triton.jit
def divergence_wrong(x, y):
    return tl.where(y == 0, 0.0, y * tl.log(y)) - x
