"""Kernels of scans, counts, medians, and unusual sums."""

import numpy as np
import torch
import triton
import triton.language as tl

from corpus.questions.tolerances import Attack, Launch, cases


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
    counts = tl.histogram(value, BINS) if CLAMP else tl.histogram(value, BINS, mask=lanes < N)
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

CASES = cases(ATTACKS)
