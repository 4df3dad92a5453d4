"""The tiny kernels whose launches are timed."""

import triton
import triton.language as tl


@triton.jit
def add3(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(o + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def add10(a, b, c, d, e, f, g, h, k, o, n, s0, s1, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    total = tl.load(a + i, mask=mask) + tl.load(b + i, mask=mask) + tl.load(c + i, mask=mask)
    total += tl.load(d + i, mask=mask) + tl.load(e + i, mask=mask) + tl.load(f + i, mask=mask)
    total += tl.load(g + i, mask=mask) + tl.load(h + i, mask=mask) + tl.load(k + i, mask=mask)
    tl.store(o + i, total * (s0 + s1), mask=mask)


@triton.jit
def scale_rows(
    o,
    o_stride,
    x,
    x_stride,
    weight,
    bias,
    factors,
    factors_stride,
    columns,
    epsilon,
    offset,
    ACCUMULATE: tl.constexpr,
    AFFINE: tl.constexpr,
    MODE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < columns
    values = tl.load(x + row * x_stride + i, mask=mask, other=0.0).to(ACCUMULATE)
    factor = 1.0 / tl.sqrt(tl.sum(values * values) / columns + epsilon)
    if MODE == "keep":
        tl.store(factors + row * factors_stride, factor)
    values *= factor
    if AFFINE:
        values *= tl.load(weight + i, mask=mask) + offset
    if bias is not None:
        values += tl.load(bias + i, mask=mask)
    tl.store(o + row * o_stride + i, values, mask=mask)
