"""Pairs about sums, scans, products of matrices and normalizations."""

# ruff: noqa: PIE808, SIM108 - kernels of one signature, written as authors do

from typing import Any

import torch
import triton
import triton.language as tl

from corpus.questions.inputs import blank, floats
from corpus.questions.versions import Level, Pair, cases_of

ROWS, WIDTH = 4, 64
REAL = ("random", "integers", "tiny", "equal", "negative")
"""Kinds without overflow: here sums of squares stay finite."""


def rows(kind: str) -> list[torch.Tensor]:
    """Return rows and an output of their shape."""
    return [floats(kind, ROWS, WIDTH), blank(ROWS, WIDTH)]


def row_pair(
    name: str, truth: Level, why: str, kernel: Any, width: int = WIDTH, **more: Any
) -> Pair:
    """Return a pair of kernels from an input's rows to an output's rows."""

    def tensors(kind: str) -> list[torch.Tensor]:
        return [floats(kind, ROWS, width), blank(ROWS, width)]

    return Pair(
        name, truth, why, kernel, tensors, (width,), ((ROWS,), (ROWS,)), {"BLOCK": 64}, **more
    )


@triton.jit
def axes_exchanged(x, out, N, BLOCK: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.reshape(tl.load(x + row * N + i), (8, BLOCK // 8))
    if NEW:
        r = tl.sum(tl.sum(v, 0), 0)
    else:
        r = tl.sum(tl.sum(v, 1), 0)
    tl.store(out + row * N + i, tl.zeros((BLOCK,), tl.float32) + r)


@triton.jit
def other_axis(x, out, N, BLOCK: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.reshape(tl.load(x + row * N + i), (8, 8))
    if NEW:
        r = tl.sum(v, 0)
    else:
        r = tl.sum(v, 1)
    tl.store(out + row * N + tl.arange(0, 8), r)


@triton.jit
def lowest_for_infinity(x, out, N, BLOCK: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    if NEW:
        v = tl.load(x + row * N + i, mask=i < N, other=-3.0e38)
    else:
        v = tl.load(x + row * N + i, mask=i < N, other=float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * N + i, e / tl.sum(e, 0), mask=i < N)


@triton.jit
def online_softmax(x, out, N, BLOCK: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i)
    if NEW:
        m = tl.max(tl.load(x + row * N + tl.arange(0, 16)), 0)
        s = tl.sum(tl.exp(tl.load(x + row * N + tl.arange(0, 16)) - m), 0)
        for start in range(16, N, 16):
            w = tl.load(x + row * N + start + tl.arange(0, 16))
            new = tl.maximum(m, tl.max(w, 0))
            s = s * tl.exp(m - new) + tl.sum(tl.exp(w - new), 0)
            m = new
        r = tl.exp(v - m) / s
    else:
        e = tl.exp(v - tl.max(v, 0))
        r = e / tl.sum(e, 0)
    tl.store(out + row * N + i, r)


@triton.jit
def welford(x, out, N, BLOCK: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i)
    if NEW:
        mean = 0.0
        m2 = 0.0
        count = 0.0
        for k in range(0, N):
            w = tl.load(x + row * N + k)
            count += 1.0
            delta = w - mean
            mean += delta / count
            m2 += delta * (w - mean)
        r = m2 / N
    else:
        mean = tl.sum(v, 0) / N
        r = tl.sum((v - mean) * (v - mean), 0) / N
    tl.store(out + row * N + i, tl.zeros((BLOCK,), tl.float32) + r)


@triton.jit
def epsilon_in_mean(x, out, N, BLOCK: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i)
    if NEW:
        r = v * tl.rsqrt((tl.sum(v * v, 0) + 1e-3) / N)
    else:
        r = v * tl.rsqrt(tl.sum(v * v, 0) / N + 1e-3)
    tl.store(out + row * N + i, r)


@triton.jit
def epsilon_outside(x, out, N, BLOCK: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i)
    if NEW:
        r = v / (tl.sqrt(tl.sum(v * v, 0) / N) + 1e-5)
    else:
        r = v / tl.sqrt(tl.sum(v * v, 0) / N + 1e-5)
    tl.store(out + row * N + i, r)


@triton.jit
def scan_from_behind(x, out, N, BLOCK: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i)
    if NEW:
        r = tl.sum(v, 0) - tl.cumsum(v, 0) + v
    else:
        r = tl.cumsum(v, 0, reverse=True)
    tl.store(out + row * N + i, r)


@triton.jit
def scan_exclusive(x, out, N, BLOCK: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i)
    if NEW:
        r = tl.cumsum(tl.flip(v, 0), 0)
    else:
        r = tl.flip(tl.cumsum(v, 0), 0)
    tl.store(out + row * N + i, r)


@triton.jit
def recur(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def recur_swapped(a1, b1, a2, b2):
    return a1 * a2, b2 * a1 + b1


@triton.jit
def recurrence(x, out, N, BLOCK: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i)
    if NEW:
        h = 0.0
        for k in range(0, N):
            w = tl.load(x + row * N + k)
            h = h * (w * 0.5) + w
            tl.store(out + row * N + k, h)
    else:
        _, r = tl.associative_scan((v * 0.5, v), 0, recur)
        tl.store(out + row * N + i, r)


@triton.jit
def recurrence_swapped(x, out, N, BLOCK: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i)
    if NEW:
        _, r = tl.associative_scan((v * 0.5, v), 0, recur_swapped)
    else:
        _, r = tl.associative_scan((v * 0.5, v), 0, recur)
    tl.store(out + row * N + i, r)


@triton.jit
def mean_of_block(x, out, N, BLOCK: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i, mask=i < N, other=0.0)
    if NEW:
        r = v - tl.sum(v, 0) / BLOCK
    else:
        r = v - tl.sum(v, 0) / N
    tl.store(out + row * N + i, r, mask=i < N)


@triton.jit
def tail_dropped(x, out, N, BLOCK: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    s = tl.zeros((16,), tl.float32)
    if NEW:
        for k in range(0, N // 16):
            s += tl.load(x + row * N + k * 16 + tl.arange(0, 16))
    else:
        for k in range(0, tl.cdiv(N, 16)):
            i = k * 16 + tl.arange(0, 16)
            s += tl.load(x + row * N + i, mask=i < N, other=0.0)
    tl.store(out + row * N, tl.sum(s, 0))


@triton.jit
def compensated(x, out, N, BLOCK: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    s = 0.0
    c = 0.0
    for k in range(0, N):
        v = tl.load(x + row * N + k)
        if NEW:
            y = v - c
            t = s + y
            c = (t - s) - y
            s = t
        else:
            s += v
    tl.store(out + row * N, s)


@triton.jit
def log_sum_exp(x, out, N, BLOCK: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    v = tl.load(x + row * N + tl.arange(0, BLOCK))
    if NEW:
        m = tl.max(v, 0)
        r = m + tl.log(tl.sum(tl.exp(v - m), 0))
    else:
        r = tl.log(tl.sum(tl.exp(v), 0))
    tl.store(out + row * N, r)


@triton.jit
def stopped_early(x, out, N, BLOCK: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    s = 0.0
    k = 0
    if NEW:
        while (k < N) & (s < 100.0):
            s += tl.load(x + row * N + k)
            k += 1
    else:
        while k < N:
            s += tl.load(x + row * N + k)
            k += 1
    tl.store(out + row * N, s)


@triton.jit
def product(a, b, out, K: tl.constexpr, BLOCK: tl.constexpr, HOW: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, 16)
    acc = tl.zeros((16, 16), tl.float32)
    for start in range(0, K, BLOCK):
        k = start + tl.arange(0, BLOCK)
        v = tl.load(a + i[:, None] * K + k[None, :])
        w = tl.load(b + k[:, None] * 16 + i[None, :])
        if NEW:
            if HOW == "outside":
                acc += tl.dot(v, w, input_precision="ieee")
            elif HOW == "tf32":
                acc = tl.dot(v, w, acc, input_precision="tf32")
            elif HOW == "transposed":
                acc += tl.trans(tl.dot(tl.trans(w), tl.trans(v), input_precision="ieee"))
            elif HOW == "backward":
                acc += tl.dot(tl.trans(w), tl.trans(v), input_precision="ieee")
            else:
                acc += tl.sum(v[:, :, None] * w[None, :, :], 1)
        else:
            if HOW == "tf32":
                acc = tl.dot(v, w, acc, input_precision="ieee")
            elif HOW == "transposed":
                acc += tl.dot(v, w, input_precision="ieee")
            else:
                acc = tl.dot(v, w, acc, input_precision="ieee")
    tl.store(out + i[:, None] * 16 + i[None, :], acc)


@triton.jit
def attention(q, k, v, out, NEW: tl.constexpr):
    i = tl.arange(0, 16)
    offsets = i[:, None] * 16 + i[None, :]
    a = tl.load(q + offsets)
    b = tl.load(k + offsets)
    c = tl.load(v + offsets)
    if NEW:
        r = tl.dot(a, tl.dot(tl.trans(b), c, input_precision="ieee"), input_precision="ieee")
    else:
        r = tl.dot(tl.dot(a, tl.trans(b), input_precision="ieee"), c, input_precision="ieee")
    tl.store(out + offsets, r)


def product_pair(
    name: str, truth: Level, why: str, how: str, blocks: tuple[int, int], **more: Any
) -> Pair:
    """Return a pair of kernels that multiply matrices, by the variant `how`."""

    def tensors(kind: str) -> list[torch.Tensor]:
        return [floats(kind, 16, 64), floats(kind, 64, 16, seed=1), blank(16, 16)]

    sizes = ({"BLOCK": blocks[0]}, {"BLOCK": blocks[1]})
    return Pair(
        name,
        truth,
        why,
        product,
        tensors,
        (),
        ((1,), (1,)),
        {"K": 64, "HOW": how},
        sizes=sizes,
        **more,
    )


PAIRS = [
    row_pair("axes_exchanged", Level.SUMS, "all of a row, columns or rows first", axes_exchanged),
    row_pair("other_axis", Level.DIFFERENT, "columns, not rows, of a square", other_axis),
    row_pair(
        "lowest_for_infinity",
        Level.DIFFERENT,
        "rows of -inf alone, masked lanes",
        lowest_for_infinity,
        50,
    ),
    row_pair("online_softmax", Level.EXACT, "a running maximum", online_softmax),
    row_pair("welford", Level.EXACT, "mean and squares in one pass", welford),
    row_pair("epsilon_in_mean", Level.DIFFERENT, "a 64th of epsilon", epsilon_in_mean),
    row_pair("epsilon_outside", Level.DIFFERENT, "epsilon outside the root", epsilon_outside),
    row_pair(
        "scan_from_behind",
        Level.SUMS,
        "the total less what is before",
        scan_from_behind,
        kinds=REAL,
    ),
    row_pair("scan_exclusive", Level.DIFFERENT, "flipped before or after", scan_exclusive),
    row_pair("recurrence", Level.EXACT, "a scan, or step by step", recurrence),
    row_pair("recurrence_swapped", Level.DIFFERENT, "the other factor", recurrence_swapped),
    row_pair("mean_of_block", Level.DIFFERENT, "lanes of padding counted", mean_of_block, 50),
    row_pair("tail_dropped", Level.DIFFERENT, "two of 50 columns", tail_dropped, 50),
    row_pair("no_tail", Level.SAME, "64 columns have no tail", tail_dropped),
    row_pair("compensated", Level.SUMS, "what is lost is added later", compensated),
    row_pair("log_sum_exp", Level.EXACT, "the maximum cancels", log_sum_exp),
    row_pair("stopped_early", Level.DIFFERENT, "sums beyond 100 stop", stopped_early),
    product_pair(
        "summed_outside", Level.SAME, "Triton joins the sum with the product", "outside", (16, 16)
    ),
    product_pair("tiles_of_k", Level.SUMS, "K in steps of 16 or 32", "outside", (16, 32)),
    product_pair("tf32", Level.DIFFERENT, "operands are rounded", "tf32", (16, 16), read=True),
    product_pair(
        "transposed", Level.SUMS, "the transposed product of the transposed", "transposed", (16, 16)
    ),
    product_pair("transposed_once", Level.DIFFERENT, "not transposed back", "backward", (16, 16)),
    product_pair(
        "broadcast_product",
        Level.DIFFERENT,
        "Triton makes it a product in tf32",
        "sum",
        (16, 16),
        read=True,
    ),
    Pair(
        "attention",
        Level.EXACT,
        "(q k) v or q (k v)",
        attention,
        lambda kind: [*(floats(kind, 16, 16, seed=s) for s in range(3)), blank(16, 16)],
        (),
        ((1,), (1,)),
    ),
]

CASES = cases_of(PAIRS)
