"""Kernels in several forms, whose results a diff finds the same or not."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def normed(x, y, N, EDIT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = x + tl.program_id(0) * N + at
    if EDIT == "rounded":
        values = tl.load(row, mask=at < N, other=0.0).to(tl.float16).to(tl.float32)
    else:
        values = tl.load(row, mask=at < N, other=0.0)
    square = tl.sum(values * values, 0) / N + 1e-6
    if EDIT == "divided":
        normed = values / tl.sqrt(square)
    elif EDIT == "outside":
        normed = values * (libdevice.rsqrt(square - 1e-6) + 1e-6)
    else:
        normed = values * libdevice.rsqrt(square)
    tl.store(y + tl.program_id(0) * N + at, normed, mask=at < N)


@triton.jit
def softmax(x, y, N, EDIT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    other = 0.0 if EDIT == "other" else float("-inf")
    values = tl.load(x + tl.program_id(0) * N + at, mask=at < N, other=other)
    if EDIT != "no maximum":
        values -= tl.max(values, 0)
    numerator = tl.exp(values)
    tl.store(y + tl.program_id(0) * N + at, numerator / tl.sum(numerator, 0), mask=at < N)


@triton.jit
def last_row(x, y, N, STORES: tl.constexpr, FORM: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    if FORM == "row":
        values = tl.load(x + row * N + at, mask=at < N, other=0.0)
    else:
        values = tl.load(x + (at + row * N), mask=at < N, other=0.0)
    is_stored = (at < N) & (row == tl.num_programs(0) - 1) if STORES == "last" else at < N
    tl.store(y + at, values, mask=is_stored)


@triton.jit
def floored(x, y, N, FLOOR: tl.constexpr, FORM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + tl.program_id(0) * N + at, mask=at < N, other=FLOOR)
    largest = tl.max(values, 0)
    powers = tl.where(at < N, tl.exp(values - largest), 0.0)
    if FORM == "softmax":
        result = powers / tl.sum(powers, 0)
    elif FORM == "logarithm":
        result = tl.log(tl.sum(powers, 0)) + largest
    else:
        result = powers / tl.maximum(tl.sum(powers, 0), 1e-30)
    tl.store(y + tl.program_id(0) * N + at, result, mask=at < N)


@triton.jit
def added(a, b, c, y, N, FORM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    p = tl.load(a + at, mask=at < N)
    q = tl.load(b + at, mask=at < N)
    r = tl.load(c + at, mask=at < N)
    if FORM == "subtracted first":
        result = (p - r) + q
    elif FORM == "added first":
        result = (p + q) - r
    elif FORM == "factored":
        result = q * (p - r)
    elif FORM == "expanded":
        result = q * p - q * r
    elif FORM == "multiplied":
        result = p * q + r
    elif FORM == "fused":
        result = tl.fma(p, q, r)
    tl.store(y + at, result, mask=at < N)


@triton.jit
def accumulated(x, y, begin, N, FORM: tl.constexpr, BLOCK: tl.constexpr):
    at = begin + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < N, other=0.0)
    before = tl.load(y + at, mask=at < N, other=0.0)
    tl.store(y + at, values + before if FORM == "swapped" else before + values, mask=at < N)


@triton.jit
def overwritten(x, y, N, FORM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < N
    values = tl.load(x + at, mask=inside, other=0.0)
    first, second = (values * values, values) if FORM == "exchanged" else (values, values * values)
    if FORM != "once":
        tl.store(y + at, first, mask=inside)
    tl.store(y + (tl.num_programs(0) * N - 1 - at if FORM == "turned" else at), second, mask=inside)


@triton.jit
def finite(x, y, N, FORM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < N
    values = tl.load(x + at, mask=inside, other=0.0)
    if FORM == "product":
        result = values * (values > 0).to(tl.float32)
    elif FORM == "moments":
        mean = tl.sum(values, 0) / N
        result = tl.sum(values * values, 0) / N - mean * mean + values * 0
    elif FORM == "variance":
        distance = tl.where(inside, values - tl.sum(values, 0) / N, 0.0)
        result = tl.sum(distance * distance, 0) / N + values * 0
    elif FORM == "choice":
        result = tl.where(values > 0, values, 0.0)
    else:
        moved = tl.load(x + at, mask=inside, other=-1e30 if FORM == "number" else float("-inf"))
        result = values * 0.0 + 1 / tl.sum(tl.exp(moved - tl.max(moved, 0)), 0)
    tl.store(y + at, result, mask=inside)
