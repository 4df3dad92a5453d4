"""Pairs of kernels, before and after a change, with the true relation of their results."""

from __future__ import annotations

import triton
import triton.language as tl

from corpus.questions.version_traps import (
    LARGE,
    LOW,
    NANS,
    NEGATIVE,
    RANDOM,
    TINY,
    ZEROS,
    KernelVersions,
)


@triton.jit
def clamp(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, tl.minimum(tl.maximum(value, -1.0), 1.0), at < N)


@triton.jit
def clamp_exchanged(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, tl.maximum(tl.minimum(value, 1.0), -1.0), at < N)


@triton.jit
def copied(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, value * one, at < N)


@triton.jit
def copied_short(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N - 1, other=0.0)
    tl.store(out + row * N + at, value * one, at < N)


@triton.jit
def copied_but_one(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    value = tl.where((row == 11) & (at == 61), value * 1.0000001, value)
    tl.store(out + row * N + at, value * one, at < N)


@triton.jit
def copied_tiles(x, labels, out, M, N, one, two):
    rows, at = tl.program_id(0) * 4 + tl.arange(0, 4), tl.arange(0, 128)
    mask = (rows[:, None] < M) & (at[None] < N)
    value = tl.load(x + rows[:, None] * N + at[None], mask, other=0.0)
    tl.store(out + rows[:, None] * N + at[None], value * one, mask)


@triton.jit
def copied_pieces(x, labels, out, M, N, one, two):
    row = tl.program_id(0)
    for first in range(0, N, 32):
        at = first + tl.arange(0, 32)
        tl.store(out + row * N + at, one * tl.load(x + row * N + at, at < N, other=1.0), at < N)


@triton.jit
def stored_if_positive(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, value * 3.0, (at < N) & (value > 0.0))


@triton.jit
def stored_unless_negative(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, value * 3.0, (at < N) & (value >= 0.0))


@triton.jit
def branch_if_positive(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    if tl.load(x + row * N) > 0.0:
        tl.store(out + row * N + at, value * 3.0, at < N)


@triton.jit
def branch_unless_negative(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    if tl.load(x + row * N) >= 0.0:
        tl.store(out + row * N + at, value * 3.0, at < N)


@triton.jit
def ignoring(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    label = tl.load(labels + row)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    value = tl.where(label == -100, 0.0, value)
    tl.store(out + row * N + at, value, at < N)


@triton.jit
def not_ignoring(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, value, at < N)


@triton.jit
def halved_labels(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    half = tl.load(labels + row) >> 1
    tl.store(out + row * N + at, half.to(tl.float32) + tl.zeros((128,), tl.float32), at < N)


@triton.jit
def divided_labels(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    half = tl.load(labels + row) // 2
    tl.store(out + row * N + at, half.to(tl.float32) + tl.zeros((128,), tl.float32), at < N)


@triton.jit
def scaled_in_order(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, (value + one) * two, at < N)


@triton.jit
def scaled_exchanged(x, labels, out, M, N, two, one):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, (value + one) * two, at < N)


@triton.jit
def relu(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, tl.maximum(value, 0.0), at < N)


@triton.jit
def relu_chosen(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, tl.where(value < 0.0, 0.0, value), at < N)


@triton.jit
def size(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, tl.abs(value), at < N)


@triton.jit
def size_chosen(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, tl.where(value > 0.0, value, -value), at < N)


@triton.jit
def softmax(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=-float("inf"))
    power = tl.exp(value - tl.max(value))
    tl.store(out + row * N + at, power / tl.sum(power), at < N)


@triton.jit
def softmax_of_sums(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=-float("inf"))
    power = tl.exp(value - tl.max(value))
    total = tl.sum(tl.sum(power.reshape(8, 16), 1), 0)
    tl.store(out + row * N + at, power / total, at < N)


@triton.jit
def softmax_padded(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=-88.0)
    power = tl.exp(value - tl.max(value))
    tl.store(out + row * N + at, power / tl.sum(power), at < N)


@triton.jit
def variance(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    mean = tl.sum(value) / N
    apart = tl.where(at < N, value - mean, 0.0)
    tl.store(out + row * N + at, tl.sum(apart * apart) / N + tl.zeros((128,), tl.float32), at < N)


@triton.jit
def variance_one_pass(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    mean = tl.sum(value) / N
    found = tl.sum(value * value) / N - mean * mean
    tl.store(out + row * N + at, found + tl.zeros((128,), tl.float32), at < N)


@triton.jit
def variance_unbiased(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    mean = tl.sum(value) / N
    apart = tl.where(at < N, value - mean, 0.0)
    found = tl.sum(apart * apart) / (N - 1)
    tl.store(out + row * N + at, found + tl.zeros((128,), tl.float32), at < N)


@triton.jit
def summed(x, labels, out, M, N, one, two):
    row, total = tl.program_id(0), 0.0
    for first in range(0, N, 32):
        at = first + tl.arange(0, 32)
        total += tl.sum(tl.load(x + row * N + at, at < N, other=0.0))
    at = tl.arange(0, 128)
    tl.store(out + row * N + at, total + tl.zeros((128,), tl.float32), at < N)


@triton.jit
def summed_unrolled(x, labels, out, M, N, one, two):
    row, total = tl.program_id(0), 0.0
    for number in tl.static_range(4):
        at = number * 32 + tl.arange(0, 32)
        total += tl.sum(tl.load(x + row * N + at, at < N, other=0.0))
    at = tl.arange(0, 128)
    tl.store(out + row * N + at, total + tl.zeros((128,), tl.float32), at < N)


@triton.jit
def summed_backwards(x, labels, out, M, N, one, two):
    row, total = tl.program_id(0), 0.0
    for number in range(4):
        at = (3 - number) * 32 + tl.arange(0, 32)
        total += tl.sum(tl.load(x + row * N + at, at < N, other=0.0))
    at = tl.arange(0, 128)
    tl.store(out + row * N + at, total + tl.zeros((128,), tl.float32), at < N)


@triton.jit
def summed_whole_blocks(x, labels, out, M, N, one, two):
    row, total = tl.program_id(0), 0.0
    for first in range(0, N // 32 * 32, 32):
        at = first + tl.arange(0, 32)
        total += tl.sum(tl.load(x + row * N + at))
    at = tl.arange(0, 128)
    tl.store(out + row * N + at, total + tl.zeros((128,), tl.float32), at < N)


@triton.jit
def summed_scaled(x, labels, out, M, N, one, two):
    row, total = tl.program_id(0), 0.0
    for first in range(0, N, 32):
        at = first + tl.arange(0, 32)
        total += tl.sum(tl.load(x + row * N + at, at < N, other=0.0) * 0.3)
    at = tl.arange(0, 128)
    tl.store(out + row * N + at, total / 0.3 + tl.zeros((128,), tl.float32), at < N)


@triton.jit
def running(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, tl.cumsum(value, 0), at < N)


@triton.jit
def running_pieces(x, labels, out, M, N, one, two):
    row, before = tl.program_id(0), 0.0
    for first in range(0, N, 32):
        at = first + tl.arange(0, 32)
        value = tl.load(x + row * N + at, at < N, other=0.0)
        tl.store(out + row * N + at, before + tl.cumsum(value, 0), at < N)
        before += tl.sum(value)


@triton.jit
def running_backwards(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, tl.cumsum(value, 0, reverse=True), at < N)


@triton.jit
def rounded_early(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0).to(tl.bfloat16).to(tl.float32)
    tl.store(out + row * N + at, value * one, at < N)


@triton.jit
def power_of_two(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, tl.exp2(value * 1.4426950408889634), at < N)


@triton.jit
def power_of_e(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, tl.exp(value), at < N)


@triton.jit
def doubled(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, value * 2.0, at < N)


@triton.jit
def added_twice(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, value + value, at < N)


@triton.jit
def halves(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 64)
    first = tl.load(x + row * N + at, at < N, other=0.0)
    second = tl.load(x + row * N + 64 + at, at + 64 < N, other=0.0)
    tl.store(out + row * N + at, first * one, at < N)
    tl.store(out + row * N + 64 + at, second * one, at + 64 < N)


@triton.jit
def halves_overlapping(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 64)
    first = tl.load(x + row * N + at, at < N, other=0.0)
    second = tl.load(x + row * N + 63 + at, at + 63 < N, other=0.0)
    tl.store(out + row * N + at, first * one, at < N)
    tl.store(out + row * N + 63 + at, second * two, at + 63 < N)


@triton.jit
def ended_by_label(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    end = tl.load(labels + row)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, value, (at < N) & (at < end))


@triton.jit
def ended_by_label_included(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    end = tl.load(labels + row)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, value, (at < N) & (at <= end - 1) & (end >= 0))


@triton.jit
def sorted_up(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=float("inf"))
    tl.store(out + row * N + at, tl.sort(value), at < N)


@triton.jit
def sorted_down(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=-float("inf"))
    tl.store(out + row * N + at, tl.sort(value, descending=True), at < N)


@triton.jit
def sorted_negated(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=float("inf"))
    tl.store(out + row * N + at, -tl.sort(-value, descending=True), at < N)


@triton.jit
def first_rows(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    eps = tl.where(row < 13, 1e-6, 1.0000002e-6)
    tl.store(out + row * N + at, value * tl.rsqrt(tl.sum(value * value) / N + eps), at < N)


@triton.jit
def all_rows(x, labels, out, M, N, one, two):
    row, at = tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row * N + at, value * tl.rsqrt(tl.sum(value * value) / N + 1e-6), at < N)


@triton.jit
def all_rows_from_behind(x, labels, out, M, N, one, two):
    row, at = M - 1 - tl.program_id(0), tl.arange(0, 128)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    scale = tl.rsqrt(1e-6 + tl.sum(value * value) / N)
    tl.store(out + row * N + at, scale * value, at < N)


CASES: tuple[KernelVersions, ...] = (
    KernelVersions("min and max exchanged", "differs", clamp, clamp_exchanged, (RANDOM, NANS)),
    KernelVersions("last column left out", "differs", copied, copied_short),
    KernelVersions("one element apart", "differs", copied, copied_but_one),
    KernelVersions("stored at zero, too", "differs", stored_if_positive, stored_unless_negative,
             (RANDOM, ZEROS)),
    KernelVersions("reached at zero, too", "differs", branch_if_positive, branch_unless_negative,
             (RANDOM, ZEROS)),
    KernelVersions("no label ignored", "differs", ignoring, not_ignoring, (RANDOM, NEGATIVE)),
    KernelVersions("a shift for a division", "differs", halved_labels, divided_labels,
             (RANDOM, NEGATIVE)),
    KernelVersions("two floats exchanged", "differs", scaled_in_order, scaled_exchanged),
    KernelVersions("relu by a choice", "differs", relu, relu_chosen, (RANDOM, NANS)),
    KernelVersions("a size by a choice", "bits", size, size_chosen, (RANDOM, ZEROS)),
    KernelVersions("padding takes part", "differs", softmax, softmax_padded, (RANDOM, LOW)),
    KernelVersions("divided by one less", "differs", variance, variance_unbiased),
    KernelVersions("the last block left out", "differs", summed, summed_whole_blocks),
    KernelVersions("a running sum backwards", "differs", running, running_backwards),
    KernelVersions("rounded to bfloat16", "differs", copied, rounded_early),
    KernelVersions("the base of the power", "exact", power_of_e, power_of_two),
    KernelVersions("overlapping halves", "differs", copied, halves_overlapping),
    KernelVersions("sorted the other way", "differs", sorted_up, sorted_down),
    KernelVersions("eps of three rows", "differs", all_rows, first_rows, (RANDOM, TINY)),
    KernelVersions("variance in one pass", "exact", variance, variance_one_pass, (RANDOM, LARGE)),
    KernelVersions("scaled and divided again", "exact", summed, summed_scaled),
    KernelVersions("sums by eighths", "sums", softmax, softmax_of_sums),
    KernelVersions("blocks from behind", "sums", summed, summed_backwards),
    KernelVersions("running sums of pieces", "sums", running, running_pieces),
    KernelVersions("four rows a program", "bits", copied, copied_tiles, (RANDOM,), (1, 4)),
    KernelVersions("pieces of a row", "bits", copied, copied_pieces),
    KernelVersions("a loop unrolled", "bits", summed, summed_unrolled),
    KernelVersions("two halves", "bits", copied, halves),
    KernelVersions("added to itself", "bits", doubled, added_twice, (RANDOM, LARGE, ZEROS)),
    KernelVersions("a length compared otherwise", "bits", ended_by_label, ended_by_label_included,
             (RANDOM, NEGATIVE)),
    KernelVersions("rows from behind", "bits", all_rows, all_rows_from_behind),
    KernelVersions("the same masked store", "bits", stored_if_positive, stored_if_positive),
    KernelVersions("the same branch", "bits", branch_if_positive, branch_if_positive),
    KernelVersions("sorted by the negatives", "bits", sorted_up, sorted_negated),
    KernelVersions("labels ignored as before", "bits", ignoring, ignoring),
    KernelVersions("the same running sum", "bits", running, running),
)  # fmt: skip
