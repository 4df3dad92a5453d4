"""Kernels of sums, variances and log-sum-exp: in every order, and with one wrong number."""

import torch
import triton
import triton.language as tl

from corpus.questions.tolerances import Attack, Launch, cases


def draw_long(generator):
    arguments = {"x": torch.randn(4, 50_000, generator=generator), "out": torch.zeros(4)}
    return Launch(arguments, (4,), meta={"N": 50_000, "BLOCK": 1024})


@triton.jit
def kahan(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    lost = tl.zeros((BLOCK,), tl.float32)
    start = 0
    while start < N:
        index = start + lanes
        value = tl.load(x + row * N + index, mask=index < N, other=0.0) - lost
        larger = total + value
        lost = (larger - total) - value
        total = larger
        start += BLOCK
    tl.store(out + row, tl.sum(total))


@triton.jit
def backwards_one_by_one(x, out, N, BLOCK: tl.constexpr):
    # 16 chains, from the end: an unusual order, and a good one.
    row = tl.program_id(0)
    lanes = tl.arange(0, 16)
    total = tl.zeros((16,), tl.float32)
    for step in range(N // 16 - 1, -1, -1):
        total += tl.load(x + row * N + step * 16 + lanes)
    tl.store(out + row, tl.sum(total))


def draw_chains(generator):
    arguments = {"x": torch.randn(4, 8192, generator=generator), "out": torch.zeros(4)}
    return Launch(arguments, (4,), meta={"N": 8192, "BLOCK": 16})


@triton.jit
def split_atomics(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    index = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + row * N + index, mask=index < N, other=0.0)
    tl.atomic_add(out + row, tl.sum(value), sem="relaxed")


@triton.jit
def split_overlap(x, out, N, BLOCK: tl.constexpr):
    # The last part begins one number too early.
    row = tl.program_id(0)
    part = tl.program_id(1)
    last = part == tl.num_programs(1) - 1
    index = part * BLOCK + tl.arange(0, BLOCK) - tl.where(last, 1, 0)
    value = tl.load(x + row * N + index, mask=index < N, other=0.0)
    tl.atomic_add(out + row, tl.sum(value), sem="relaxed")


def draw_split(generator):
    launch = draw_long(generator)
    return Launch(launch.arguments, (4, 49), meta=launch.meta)


def total(x):
    return x.sum(-1)


@triton.jit
def merge(mean_a, square_a, count_a, mean_b, square_b, count_b):
    count = count_a + count_b
    part = tl.where(count == 0, 0.0, count_b / tl.where(count == 0, 1.0, count))
    delta = mean_b - mean_a
    return (
        mean_a + delta * part,
        square_a + square_b + delta * delta * count_a * part,
        count,
    )


@triton.jit
def welford(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mean = tl.zeros((BLOCK,), tl.float32)
    square = tl.zeros((BLOCK,), tl.float32)
    count = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        mask = start + lanes < N
        value = tl.load(x + row * N + start + lanes, mask=mask, other=0.0)
        more = count + 1
        delta = value - mean
        mean = tl.where(mask, mean + delta / more, mean)
        square = tl.where(mask, square + delta * (value - mean), square)
        count = tl.where(mask, more, count)
    mean, square, count = tl.reduce((mean, square, count), 0, merge)
    tl.store(out + row, square / count)


@triton.jit
def welford_full_count(x, out, N, BLOCK: tl.constexpr):
    # Merges blocks; the last one counts lanes that are not there.
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mean = 0.0
    square = 0.0
    count = 0.0
    for start in range(0, N, BLOCK):
        mask = start + lanes < N
        value = tl.load(x + row * N + start + lanes, mask=mask, other=0.0)
        held = tl.sum(mask.to(tl.float32))
        center = tl.sum(value) / held
        off = tl.where(mask, value - center, 0.0)
        mean, square, count = merge(mean, square, count, center, tl.sum(off * off), BLOCK * 1.0)
    tl.store(out + row, square / N)


def draw_offset(generator):
    arguments = {"x": torch.randn(8, 10_000, generator=generator) + 300, "out": torch.zeros(8)}
    return Launch(arguments, (8,), meta={"N": 10_000, "BLOCK": 1024})


def variance(x):
    return x.var(-1, correction=0)


@triton.jit
def shifted_variance(x, out, N, BLOCK: tl.constexpr):
    # E[(x - s)^2] - E[x - s]^2 with the first number for s: looks naive, and is stable.
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    shift = tl.load(x + row * N)
    first = tl.zeros((BLOCK,), tl.float32)
    second = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        mask = start + lanes < N
        value = tl.load(x + row * N + start + lanes, mask=mask, other=0.0)
        value = tl.where(mask, value - shift, 0.0)
        first += value
        second += value * value
    mean = tl.sum(first) / N
    tl.store(out + row, tl.sum(second) / N - mean * mean)


@triton.jit
def bessel(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    first = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        first += tl.load(x + row * N + start + lanes, mask=start + lanes < N, other=0.0)
    mean = tl.sum(first) / N
    second = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        value = tl.load(x + row * N + start + lanes, mask=start + lanes < N, other=mean) - mean
        second += value * value
    tl.store(out + row, tl.sum(second) / (N - 1))


@triton.jit
def accumulate_in_output(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    # The running sum lives in the bfloat16 result.
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    where = out + m * N + n
    for start in range(0, K, 32):
        k = start + tl.arange(0, 32)
        partial = tl.dot(tl.load(a + m * K + k[None, :]), tl.load(b + k[:, None] * N + n))
        kept = tl.load(where).to(tl.float32)
        tl.store(where, (kept + partial).to(tl.bfloat16))
        tl.debug_barrier()


@triton.jit
def accumulate_in_registers(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    accumulator = tl.zeros((M, N), tl.float32)
    for start in range(0, K, 32):
        k = start + tl.arange(0, 32)
        accumulator += tl.dot(tl.load(a + m * K + k[None, :]), tl.load(b + k[:, None] * N + n))
    tl.store(out + m * N + n, accumulator.to(tl.bfloat16))


def draw_gemm(generator):
    arguments = {
        "a": torch.randn(32, 4096, generator=generator).bfloat16(),
        "b": torch.randn(4096, 32, generator=generator).bfloat16(),
        "out": torch.zeros(32, 32, dtype=torch.bfloat16),
    }
    return Launch(arguments, (1,), meta={"M": 32, "N": 32, "K": 4096})


@triton.jit
def squares_in_int32(x, out, N: tl.constexpr):
    row = tl.program_id(0)
    value = tl.load(x + row * N + tl.arange(0, N)).to(tl.int32)
    tl.store(out + row, tl.sum(value * value).to(tl.float32))


@triton.jit
def squares_in_int64(x, out, N: tl.constexpr):
    row = tl.program_id(0)
    value = tl.load(x + row * N + tl.arange(0, N)).to(tl.int64)
    tl.store(out + row, tl.sum(value * value).to(tl.float32))


def draw_shorts(generator):
    x = torch.randint(-1800, 1800, (8, 2048), generator=generator, dtype=torch.int16)
    x[5] = torch.randint(-3000, 3000, (2048,), generator=generator, dtype=torch.int16)
    return Launch({"x": x, "out": torch.zeros(8)}, (8,), meta={"N": 2048})


def squares(x):
    return (x.double() ** 2).sum(-1)


@triton.jit
def streaming_lse(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    largest = -float("inf")
    kept = 0.0
    for start in range(0, N, BLOCK):
        index = start + lanes
        value = tl.load(x + row * N + index, mask=index < N, other=-float("inf"))
        larger = tl.maximum(largest, tl.max(value))
        kept = kept * tl.exp(largest - larger) + tl.sum(tl.exp(value - larger))
        largest = larger
    tl.store(out + row, largest + tl.log(kept))


@triton.jit
def streaming_lse_stale(x, out, N, BLOCK: tl.constexpr):
    # The sum is not rescaled where the last block has the maximum.
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    largest = -float("inf")
    kept = 0.0
    for start in range(0, N, BLOCK):
        index = start + lanes
        value = tl.load(x + row * N + index, mask=index < N, other=-float("inf"))
        larger = tl.maximum(largest, tl.max(value))
        old = kept if start + BLOCK >= N else kept * tl.exp(largest - larger)
        kept = old + tl.sum(tl.exp(value - larger))
        largest = larger
    tl.store(out + row, largest + tl.log(kept))


def draw_logits(generator):
    x = torch.randn(8, 5000, generator=generator) * 3
    x[0, :1500] = -float("inf")
    x[1] = -float("inf")
    x[1, 4321] = 2.5
    x[2, 4990] = 40.0
    return Launch({"x": x, "out": torch.zeros(8)}, (8,), meta={"N": 5000, "BLOCK": 1024})


def draw_logits_finite(generator):
    x = torch.randn(8, 5000, generator=generator) * 3
    x[6, 4990] = 14.0
    return Launch({"x": x, "out": torch.zeros(8)}, (8,), meta={"N": 5000, "BLOCK": 1024})


def draw_cancelling(generator):
    half = torch.randn(4, 25_000, generator=generator)
    noise = torch.randn(4, 25_000, generator=generator) * 1e-3
    x = torch.cat([half, -half + noise], 1)[:, torch.randperm(50_000, generator=generator)]
    return Launch(
        {"x": x.contiguous(), "out": torch.zeros(4)}, (4, 49), meta={"N": 50_000, "BLOCK": 1024}
    )


ATTACKS = [
    Attack("sum: Kahan", True, "compensated", kahan, draw_long, total, alone=True),
    Attack(
        "sum: backwards in 16 chains",
        True,
        "an order like any other",
        backwards_one_by_one,
        draw_chains,
        total,
        alone=True,
    ),
    Attack("sum: atomics", True, "split over programs", split_atomics, draw_split, total),
    Attack(
        "sum: parts overlap by one",
        False,
        "one number counts twice, another is left out",
        split_overlap,
        draw_split,
        total,
    ),
    Attack(
        "sum: cancels by itself",
        True,
        "the problem is near zero; any order is off as much",
        split_atomics,
        draw_cancelling,
        total,
        alone=True,
    ),
    Attack("variance: Welford", True, "stable", welford, draw_offset, variance, alone=True),
    Attack(
        "variance: merge counts absent lanes",
        False,
        "the last block weighs too much",
        welford_full_count,
        draw_offset,
        variance,
    ),
    Attack(
        "variance: shifted by the first",
        True,
        "shifted data: a textbook algorithm that looks naive",
        shifted_variance,
        draw_offset,
        variance,
        alone=True,
    ),
    Attack(
        "variance: N - 1 in place of N",
        False,
        "off by one part in 10,000",
        bessel,
        draw_offset,
        variance,
    ),
    Attack(
        "gemm: sum in the bf16 result",
        False,
        "128 roundings to bfloat16, through memory",
        accumulate_in_output,
        draw_gemm,
        lambda a, b: a @ b,
        alone=True,
    ),
    Attack(
        "gemm: sum in registers",
        True,
        "float32 sums of bfloat16 products",
        accumulate_in_registers,
        draw_gemm,
        lambda a, b: a @ b,
        alone=True,
    ),
    Attack(
        "squares of int16 in int32",
        False,
        "the sum of one row wraps around",
        squares_in_int32,
        draw_shorts,
        squares,
    ),
    Attack(
        "squares of int16 in int64", True, "wide enough", squares_in_int64, draw_shorts, squares
    ),
    Attack(
        "log-sum-exp: streaming",
        True,
        "the reference in one pass",
        streaming_lse,
        draw_logits_finite,
        lambda x: torch.logsumexp(x, -1),
        alone=True,
    ),
    Attack(
        "log-sum-exp: stale in the last block",
        False,
        "wrong where the last block has the maximum, in some rows",
        streaming_lse_stale,
        draw_logits_finite,
        lambda x: torch.logsumexp(x, -1),
    ),
    Attack(
        "log-sum-exp: leading -inf",
        False,
        "-inf - -inf in the first block makes NaN of rows whose result is finite",
        streaming_lse,
        draw_logits,
        lambda x: torch.logsumexp(x, -1),
    ),
]

CASES = cases(ATTACKS)
