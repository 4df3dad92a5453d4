"""Sums, means, variances, scans and counts: in every order, and with one number wrong."""

import numpy as np
import torch
import triton
import triton.language as tl

from benchmarks.attacks.tolerances.attack import Attack, Launch


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
        part = tl.dot(tl.load(a + m * K + k[None, :]), tl.load(b + k[:, None] * N + n))
        kept = tl.load(where).to(tl.float32)
        tl.store(where, (kept + part).to(tl.bfloat16))
        tl.debug_barrier()


@triton.jit
def accumulate_in_registers(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    kept = tl.zeros((M, N), tl.float32)
    for start in range(0, K, 32):
        k = start + tl.arange(0, 32)
        kept += tl.dot(tl.load(a + m * K + k[None, :]), tl.load(b + k[:, None] * N + n))
    tl.store(out + m * N + n, kept.to(tl.bfloat16))


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


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def running_sum(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    carry = 0.0
    for start in range(0, N, BLOCK):
        mask = start + lanes < N
        value = tl.load(x + row * N + start + lanes, mask=mask, other=0.0)
        sums = tl.associative_scan(value, 0, add) + carry
        tl.store(out + row * N + start + lanes, sums, mask=mask)
        carry += tl.sum(value)


@triton.jit
def running_sum_exclusive_last(x, out, N, BLOCK: tl.constexpr):
    # The last block of one row forgets the carry of the block before it.
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    carry = 0.0
    before = 0.0
    for start in range(0, N, BLOCK):
        mask = start + lanes < N
        value = tl.load(x + row * N + start + lanes, mask=mask, other=0.0)
        stale = (row == 2) & (start + BLOCK >= N)
        sums = tl.cumsum(value, 0) + tl.where(stale, before, carry)
        tl.store(out + row * N + start + lanes, sums, mask=mask)
        before = carry
        carry += tl.sum(value)


def draw_scan(generator):
    arguments = {
        "x": torch.randn(4, 3000, generator=generator),
        "out": torch.zeros(4, 3000),
    }
    return Launch(arguments, (4,), meta={"N": 3000, "BLOCK": 512})


def sequential_sums(x):
    # torch's float32 cumsum on the CPU adds in float64.
    return torch.from_numpy(np.cumsum(x.numpy(), -1, dtype=np.float32))


@triton.jit
def pair(decay_a, value_a, decay_b, value_b):
    return decay_a * decay_b, value_a * decay_b + value_b


@triton.jit
def linear_recurrence(x, a, out, N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes)
    decay = tl.load(a + row * N + lanes)
    _, state = tl.associative_scan((decay, value), 0, pair)
    tl.store(out + row * N + lanes, state)


@triton.jit
def linear_recurrence_by_division(x, a, out, N: tl.constexpr):
    # h = A * cumsum(x / A) with A the product of decays, which underflows.
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + row * N + lanes)
    product = tl.cumprod(tl.load(a + row * N + lanes), 0)
    tl.store(out + row * N + lanes, product * tl.cumsum(value / product, 0))


def draw_recurrence(generator):
    arguments = {
        "x": torch.randn(4, 256, generator=generator),
        "a": torch.rand(4, 256, generator=generator) * 0.4 + 0.4,
        "out": torch.zeros(4, 256),
    }
    return Launch(arguments, (4,), meta={"N": 256})


def recurrence(x, a):
    states = []
    state = torch.zeros_like(x[:, 0])
    for step in range(x.shape[1]):
        state = state * a[:, step] + x[:, step]
        states.append(state)
    return torch.stack(states, 1)


def draw_cancelling(generator):
    half = torch.randn(4, 25_000, generator=generator)
    noise = torch.randn(4, 25_000, generator=generator) * 1e-3
    x = torch.cat([half, -half + noise], 1)[:, torch.randperm(50_000, generator=generator)]
    return Launch(
        {"x": x.contiguous(), "out": torch.zeros(4)}, (4, 49), meta={"N": 50_000, "BLOCK": 1024}
    )


@triton.jit
def mean_by_block(x, out, N, BLOCK: tl.constexpr):
    # Averages the means of blocks, as if the last block were full.
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    means = 0.0
    blocks = 0
    for start in tl.range(0, N, BLOCK, num_stages=3):
        mask = start + lanes < N
        value = tl.load(x + row * N + start + lanes, mask=mask, other=0.0)
        means += tl.sum(value) / tl.minimum(BLOCK, N - start)
        blocks += 1
    tl.store(out + row, means / blocks)


def draw_positive(generator):
    arguments = {"x": torch.rand(8, 2000, generator=generator) + 1, "out": torch.zeros(8)}
    return Launch(arguments, (8,), meta={"N": 2000, "BLOCK": 1024})


@triton.jit
def median(x, out, N: tl.constexpr, AT: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.sort(tl.load(x + row * N + lanes))
    tl.store(out + row, tl.sum(tl.where(lanes == AT, value, 0.0)))


def draw_median(at):
    def draw(generator):
        arguments = {"x": torch.randn(8, 512, generator=generator), "out": torch.zeros(8)}
        return Launch(arguments, (8,), meta={"N": 512, "AT": at})

    return draw


@triton.jit
def count_bins(x, out, N, BLOCK: tl.constexpr, BINS: tl.constexpr, CLAMP: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + lanes, mask=lanes < N, other=0)
    if CLAMP:
        counts = tl.histogram(value, BINS)
    else:
        counts = tl.histogram(value, BINS, mask=lanes < N)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


def draw_counts(clamp):
    def draw(generator):
        x = torch.randint(0, 64, (5000,), generator=generator, dtype=torch.int32)
        arguments = {"x": x, "out": torch.zeros(64, dtype=torch.int32)}
        meta = {"N": 5000, "BLOCK": 1024, "BINS": 64, "CLAMP": clamp}
        return Launch(arguments, (5,), meta=meta)

    return draw


def bins(x):
    return torch.bincount(x.long(), minlength=64)


@triton.jit
def ids_through_floats(ids, offset, out, N, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(ids + lanes, mask=lanes < N, other=0)
    tl.store(out + lanes, (value.to(tl.float32) + offset).to(tl.int64), mask=lanes < N)


def draw_ids(generator):
    ids = torch.randint(0, 1 << 25, (1000,), generator=generator)
    arguments = {"ids": ids, "offset": 3, "out": torch.zeros(1000, dtype=torch.int64)}
    return Launch(arguments, (4,), meta={"N": 1000, "BLOCK": 256})


@triton.jit
def two_product_dot(x, y, out, N: tl.constexpr):
    # Ogita, Rump and Oishi's Dot2: products and sums with their errors, added at the end.
    row = tl.program_id(0)
    lanes = tl.arange(0, 64)
    total = tl.zeros((64,), tl.float32)
    lost = tl.zeros((64,), tl.float32)
    for start in range(0, N, 64):
        left = tl.load(x + row * N + start + lanes)
        right = tl.load(y + row * N + start + lanes)
        product = left * right
        product_lost = tl.fma(left, right, -product)
        larger = total + product
        back = larger - total
        sum_lost = (total - (larger - back)) + (product - back)
        total = larger
        lost += product_lost + sum_lost
    tl.store(out + row, tl.sum(total + lost))


def draw_dot(generator):
    arguments = {
        "x": torch.randn(8, 4096, generator=generator),
        "y": torch.randn(8, 4096, generator=generator),
        "out": torch.zeros(8),
    }
    return Launch(arguments, (8,), meta={"N": 4096})


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
    Attack(
        "scan: carry between blocks",
        True,
        "usual",
        running_sum,
        draw_scan,
        lambda x: x.cumsum(-1),
        good=sequential_sums,
    ),
    Attack(
        "scan: last block's carry is stale",
        False,
        "one row's tail",
        running_sum_exclusive_last,
        draw_scan,
        lambda x: x.cumsum(-1),
    ),
    Attack(
        "recurrence: scan of pairs",
        True,
        "associative",
        linear_recurrence,
        draw_recurrence,
        recurrence,
        alone=True,
    ),
    Attack(
        "recurrence: by division",
        False,
        "the product of decays underflows; x / A overflows",
        linear_recurrence_by_division,
        draw_recurrence,
        recurrence,
    ),
    Attack(
        "mean: of block means",
        False,
        "the last block is not full",
        mean_by_block,
        draw_positive,
        lambda x: x.mean(-1),
    ),
    Attack(
        "median: by sorting",
        True,
        "the lower one, as torch's",
        median,
        draw_median(255),
        lambda x: x.median(-1).values,
    ),
    Attack(
        "median: the upper one",
        False,
        "off by one in the sorted row",
        median,
        draw_median(256),
        lambda x: x.median(-1).values,
    ),
    Attack("histogram: masked", True, "whole numbers", count_bins, draw_counts(False), bins),
    Attack(
        "histogram: counts absent lanes",
        False,
        "120 lanes of the tail land in bin 0",
        count_bins,
        draw_counts(True),
        bins,
    ),
    Attack(
        "ids: through float32",
        False,
        "numbers above 2^24 lose their last bit",
        ids_through_floats,
        draw_ids,
        lambda ids, offset: ids + offset,
    ),
    Attack(
        "dot: compensated",
        True,
        "twice the precision; its corrections are zero in exact arithmetic",
        two_product_dot,
        draw_dot,
        lambda x, y: (x * y).sum(-1),
        alone=True,
    ),
]
