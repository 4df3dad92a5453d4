"""Kernels of matrix products, quantized or not, distances, losses."""

import torch
import triton
import triton.language as tl

from corpus.questions.tolerances import Attack, Launch, cases

HALF = 2.0**-11


@triton.jit
def block_scaled(
    a, b, sa, sb, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, HOW: tl.constexpr
):
    # DeepSeek's layout: a scale for 128 columns of a row of a, and for a block of 128 x 128 of b.
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    accumulator = tl.zeros((M, N), tl.float32)
    for step in range(K // 128):
        k = step * 128 + tl.arange(0, 128)
        left = tl.load(a + m[:, None] * K + k[None, :])
        right = tl.load(b + k[:, None] * N + n[None, :])
        partial = tl.dot(left, right)
        at = step
        if HOW == "stale":
            at = tl.maximum(step - 1, 0) if step == K // 128 - 1 else step
        scale = tl.load(sa + m * (K // 128) + at)[:, None] * tl.load(sb + step)
        if HOW == "once":
            accumulator += partial
        else:
            accumulator += partial * scale
    if HOW == "once":
        accumulator *= tl.load(sa + m * (K // 128))[:, None] * tl.load(sb)
    tl.store(out + m[:, None] * N + n[None, :], accumulator.to(out.dtype.element_ty))


def draw_block_scaled(how, spread=0.02):
    def draw(generator):
        def scales(*shape):
            return 0.01 * (1 + spread * torch.rand(shape, generator=generator))

        def narrow(*shape):
            return (torch.randn(shape, generator=generator) * 60).to(torch.float8_e4m3fn)

        arguments = {
            "a": narrow(32, 512),
            "b": narrow(512, 64),
            "sa": scales(32, 4),
            "sb": scales(4),
            "out": torch.zeros(32, 64, dtype=torch.bfloat16),
        }
        return Launch(arguments, (1,), meta={"M": 32, "N": 64, "K": 512, "HOW": how})

    return draw


def block_scaled_product(a, b, sa, sb):
    wide = a * sa.repeat_interleave(128, 1)
    return wide @ (b * sb.repeat_interleave(128)[:, None])


@triton.jit
def gemm(
    a,
    b,
    out,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    BK: tl.constexpr,
    HOW: tl.constexpr,
):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    accumulator = tl.zeros((M, N), tl.float32)
    steps = K // BK if HOW == "no tail" else tl.cdiv(K, BK)
    for step in range(steps):
        k = step * BK + tl.arange(0, BK)
        left = tl.load(a + m * K + k[None, :], mask=k[None, :] < K, other=0.0)
        right = tl.load(b + k[:, None] * N + n, mask=k[:, None] < K, other=0.0)
        if HOW == "tf32":
            accumulator = tl.dot(left, right, accumulator)
        elif HOW == "tf32x3":
            accumulator = tl.dot(left, right, accumulator, input_precision="tf32x3")
        elif HOW == "split 3":
            l0 = left.to(tl.bfloat16)
            l1 = (left - l0).to(tl.bfloat16)
            l2 = (left - l0 - l1).to(tl.bfloat16)
            r0 = right.to(tl.bfloat16)
            r1 = (right - r0).to(tl.bfloat16)
            r2 = (right - r0 - r1).to(tl.bfloat16)
            small = tl.dot(l1, r1) + tl.dot(l0, r2) + tl.dot(l2, r0)
            accumulator += small + tl.dot(l0, r1) + tl.dot(l1, r0) + tl.dot(l0, r0)
        elif HOW == "split 2":
            l0 = left.to(tl.bfloat16)
            l1 = (left - l0).to(tl.bfloat16)
            r0 = right.to(tl.bfloat16)
            r1 = (right - r0).to(tl.bfloat16)
            accumulator += tl.dot(l0, r1) + tl.dot(l1, r0) + tl.dot(l0, r0)
        elif HOW == "split 1":
            l0 = left.to(tl.bfloat16)
            l1 = (left - l0).to(tl.bfloat16)
            accumulator += tl.dot(l1, right.to(tl.bfloat16)) + tl.dot(l0, right.to(tl.bfloat16))
        elif HOW == "bits":
            accumulator = tl.dot(left, right, accumulator, input_precision="ieee")
            bits = accumulator.to(tl.int32, bitcast=True) & -65536
            accumulator = bits.to(tl.float32, bitcast=True)
        else:
            accumulator = tl.dot(left, right, accumulator, input_precision="ieee")
    tl.store(out + m * N + n, accumulator.to(out.dtype.element_ty))


def draw_gemm(how, k=512, dtype=torch.float32, out=torch.float32):
    def draw(generator):
        arguments = {
            "a": torch.randn(32, k, generator=generator).to(dtype),
            "b": torch.randn(k, 64, generator=generator).to(dtype),
            "out": torch.zeros(32, 64, dtype=out),
        }
        return Launch(arguments, (1,), meta={"M": 32, "N": 64, "K": k, "BK": 64, "HOW": how})

    return draw


def product(a, b):
    return a @ b


@triton.jit
def int8_gemm(
    a, b, sa, sb, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SWAP: tl.constexpr
):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    accumulator = tl.zeros((M, N), tl.int32)
    for start in range(0, K, 64):
        k = start + tl.arange(0, 64)
        left = tl.load(a + m[:, None] * K + k[None, :])
        right = tl.load(b + k[:, None] * N + n[None, :])
        accumulator += tl.dot(left, right, out_dtype=tl.int32)
    rows = tl.load(sa + m)
    columns = tl.load(sb + (n if not SWAP else tl.where(n == N - 1, 0, n)))
    scaled = accumulator.to(tl.float32) * rows[:, None] * columns[None, :]
    tl.store(out + m[:, None] * N + n[None, :], scaled.to(tl.bfloat16))


def draw_int8(swap):
    def draw(generator):
        def whole(*shape):
            return torch.randint(-127, 128, shape, generator=generator, dtype=torch.int8)

        arguments = {
            "a": whole(32, 2048),
            "b": whole(2048, 64),
            "sa": torch.rand(32, generator=generator) * 0.01 + 0.01,
            "sb": torch.rand(64, generator=generator) * 0.01 + 0.01,
            "out": torch.zeros(32, 64, dtype=torch.bfloat16),
        }
        return Launch(arguments, (1,), meta={"M": 32, "N": 64, "K": 2048, "SWAP": swap})

    return draw


def int8_product(a, b, sa, sb):
    integer_product = (a.double() @ b.double()).to(sa.dtype)
    return integer_product * sa[:, None] * sb


@triton.jit
def distances(x, y, out, N: tl.constexpr, D: tl.constexpr, EXPAND: tl.constexpr):
    i = tl.program_id(0)
    n = tl.arange(0, N)
    d = tl.arange(0, D)
    left = tl.load(x + i * D + d)
    right = tl.load(y + n[:, None] * D + d[None, :])
    if EXPAND:
        cross = tl.sum(left[None, :] * right, 1)
        square = tl.sum(left * left) + tl.sum(right * right, 1) - 2 * cross
        square = tl.maximum(square, 0.0)
    else:
        off = right - left[None, :]
        square = tl.sum(off * off, 1)
    tl.store(out + i * N + n, tl.sqrt(square))


def draw_distances(expand):
    def draw(generator):
        center = torch.randn(64, generator=generator) * 10
        arguments = {
            "x": center + torch.randn(16, 64, generator=generator) * 0.05,
            "y": center + torch.randn(64, 64, generator=generator) * 0.05,
            "out": torch.zeros(16, 64),
        }
        return Launch(arguments, (16,), meta={"N": 64, "D": 64, "EXPAND": expand})

    return draw


def distance(x, y):
    return (x[:, None] - y[None]).pow(2).sum(-1).sqrt()


@triton.jit
def softmax_backward(p, dp, out, N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    weight = tl.load(p + row * N + lanes)
    given = tl.load(dp + row * N + lanes)
    delta = tl.sum(weight * given)
    tl.store(out + row * N + lanes, weight * (given - delta))


def draw_backward(generator):
    x = torch.randn(16, 512, generator=generator) * 4
    arguments = {
        "p": torch.softmax(x, -1),
        "dp": torch.randn(16, 512, generator=generator),
        "out": torch.zeros(16, 512),
    }
    return Launch(arguments, (16,), meta={"N": 512})


@triton.jit
def cross_entropy(x, label, out, N: tl.constexpr, MASKED: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes)
    index = tl.load(label + row)
    if MASKED:
        # Gaps to the label's logit: log1p of the sum of the others' powers.
        chosen = tl.sum(tl.where(lanes == index, value, 0.0))
        others = tl.where(lanes == index, 0.0, tl.exp(value - chosen))
        rest = tl.sum(others)
        one = 1.0 + rest
        loss = tl.where(one == 1.0, rest, tl.log(one) * rest / tl.where(one == 1.0, 1.0, one - 1.0))
    else:
        largest = tl.max(value)
        loss = tl.log(tl.sum(tl.exp(value - largest))) + largest - tl.load(x + row * N + index)
    tl.store(out + row, loss)


def draw_labels(masked, sure=0.0):
    def draw(generator):
        x = torch.randn(32, 1024, generator=generator)
        label = torch.randint(0, 1024, (32,), generator=generator)
        x[torch.arange(32), label] += sure
        arguments = {"x": x, "label": label, "out": torch.zeros(32)}
        return Launch(arguments, (32,), meta={"N": 1024, "MASKED": masked})

    return draw


def entropy(x, label):
    return torch.nn.functional.cross_entropy(x, label, reduction="none")


def entropy_by_sum(x, label):
    largest = x.max(-1).values
    powers = (x - largest[:, None]).exp().sum(-1).log()
    return powers + largest - x.gather(-1, label[:, None])[:, 0]


ATTACKS = [
    Attack(
        "fp8 gemm: block scales",
        True,
        "float32 sums; rounding to bfloat16",
        block_scaled,
        draw_block_scaled("right"),
        block_scaled_product,
        unit=2.0**-12,
        alone=True,
    ),
    Attack(
        "fp8 gemm: stale scale in the last block",
        False,
        "the last block's scale is that before it, which differs by a percent",
        block_scaled,
        draw_block_scaled("stale"),
        block_scaled_product,
        unit=2.0**-12,
    ),
    Attack(
        "fp8 gemm: first scale for all",
        False,
        "scales differ by a percent",
        block_scaled,
        draw_block_scaled("once"),
        block_scaled_product,
        unit=2.0**-12,
    ),
    Attack(
        "gemm: tf32 where refused",
        False,
        "the default precision of tl.dot, with tf32=False",
        gemm,
        draw_gemm("tf32"),
        product,
        grants={"tf32": False},
    ),
    Attack(
        "gemm: tf32 where granted",
        True,
        "tf32=True",
        gemm,
        draw_gemm("tf32"),
        product,
        unit=HALF,
        grants={"tf32": True},
    ),
    Attack(
        "gemm: tf32x3", True, "nearly float32", gemm, draw_gemm("tf32x3"), product, unit=2.0**-21
    ),
    Attack(
        "gemm: three bf16 parts",
        True,
        "six products of 8-bit parts hold 24 bits",
        gemm,
        draw_gemm("split 3"),
        product,
        alone=True,
    ),
    Attack(
        "gemm: two bf16 parts",
        False,
        "16 of 24 bits",
        gemm,
        draw_gemm("split 2"),
        product,
        alone=True,
    ),
    Attack("gemm: one bf16 part of b", False, "8 bits", gemm, draw_gemm("split 1"), product),
    Attack(
        "gemm: sum cut by bits",
        False,
        "the running sum loses its lower 16 bits at each step",
        gemm,
        draw_gemm("bits", 4096, torch.bfloat16, torch.bfloat16),
        product,
        alone=True,
    ),
    Attack(
        "gemm: no tail",
        False,
        "K = 1,000 in blocks of 64",
        gemm,
        draw_gemm("no tail", 1000),
        product,
    ),
    Attack("gemm: tail", True, "masked", gemm, draw_gemm("ieee", 1000), product, alone=True),
    Attack("int8 gemm", True, "whole sums, two scales", int8_gemm, draw_int8(False), int8_product),
    Attack(
        "int8 gemm: last column's scale",
        False,
        "the last column takes the first one's scale",
        int8_gemm,
        draw_int8(True),
        int8_product,
    ),
    Attack(
        "distances: expanded",
        False,
        "|x|^2 + |y|^2 - 2xy of near points",
        distances,
        draw_distances(True),
        distance,
        alone=True,
    ),
    Attack(
        "distances: of differences",
        True,
        "stable",
        distances,
        draw_distances(False),
        distance,
        alone=True,
    ),
    Attack(
        "softmax backward",
        True,
        "dp - delta cancels for large weights, in the problem",
        softmax_backward,
        draw_backward,
        lambda p, dp: p * (dp - (p * dp).sum(-1, keepdim=True)),
        alone=True,
    ),
    Attack(
        "cross entropy",
        True,
        "log-sum-exp less the logit",
        cross_entropy,
        draw_labels(False),
        entropy,
        alone=True,
    ),
    Attack(
        "cross entropy: sure labels",
        True,
        "as all libraries compute it",
        cross_entropy,
        draw_labels(False, 18.0),
        entropy,
        good=entropy_by_sum,
        alone=True,
    ),
    Attack(
        "cross entropy: log1p of gaps",
        True,
        "better than usual",
        cross_entropy,
        draw_labels(True, 18.0),
        entropy,
        alone=True,
    ),
]

CASES = cases(ATTACKS)
