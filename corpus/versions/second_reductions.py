"""Versions of reductions and products by a second author: orders, identities, padding."""

# ruff: noqa: SIM102, SIM108 - kernels of one signature, written as authors do

from typing import Any

import torch
import triton
import triton.language as tl

from corpus.questions.inputs import FLOATS, blank, floats
from corpus.questions.versions import Level, Pair, cases_of

ROWS, N, WIDE = 8, 48, 64


@triton.jit
def added(a, b):
    return a + b


@triton.jit
def of_rows(
    x, w, out, n, N: tl.constexpr, WIDE: tl.constexpr, HOW: tl.constexpr, NEW: tl.constexpr
):
    row = tl.program_id(0)
    cols = tl.arange(0, WIDE)
    mask = cols < N
    v = tl.load(x + row * N + cols, mask=mask, other=0.0)
    r = v
    if HOW == "chunks":
        if NEW:
            total = tl.zeros([16], tl.float32)
            for begin in range(0, N, 16):
                total += tl.load(x + row * N + begin + tl.arange(0, 16))
            r = v - tl.sum(total)
        else:
            r = v - tl.sum(v)
    elif HOW == "backwards":
        total = 0.0
        for k in range(N):
            total += tl.load(x + row * N + (N - 1 - k if NEW else k))
        r = v * total
    elif HOW == "mean of quotients":
        r = v * 0.0 + (tl.sum(v / 48.0) if NEW else tl.sum(v) / 48.0)
    elif HOW == "shifted variance":
        mean = tl.sum(v) / N
        if NEW:
            d = tl.where(mask, v - tl.load(x + row * N), 0.0)
            variance = tl.sum(d * d) / N - (tl.sum(d) / N) * (tl.sum(d) / N)
        else:
            d = tl.where(mask, v - mean, 0.0)
            variance = tl.sum(d * d) / N
        r = v * 0.0 + variance
    elif HOW == "padded variance":
        mean = tl.sum(v) / N
        d = v - mean if NEW else tl.where(mask, v - mean, 0.0)
        r = v * 0.0 + tl.sum(d * d) / N
    elif HOW == "other":
        p = tl.load(x + row * N + cols, mask=mask, other=1.0)
        r = v - (tl.sum(tl.where(mask, p, 0.0)) if NEW else tl.sum(v))
    elif HOW == "padded maximum":
        p = v if NEW else tl.where(mask, v, -float("inf"))
        r = v - tl.max(p)
    elif HOW == "softmax":
        p = tl.where(mask, v, -float("inf"))
        e = tl.exp(p) if NEW else tl.exp(p - tl.max(p))
        r = e / tl.sum(e)
    elif HOW == "normalized late":
        p = tl.where(mask, v, -float("inf"))
        e = tl.exp(p - tl.max(p))
        weight = tl.load(w + cols, mask=mask, other=0.0)
        if NEW:
            r = v * 0.0 + tl.sum(e * weight) / tl.sum(e)
        else:
            r = v * 0.0 + tl.sum(e / tl.sum(e) * weight)
    elif HOW == "first tie":
        p = tl.where(mask, v, -float("inf"))
        if NEW:
            position = tl.max(tl.where(p == tl.max(p), cols, -1))
        else:
            position = tl.argmax(p, 0)
        r = v + position
    elif HOW == "half sum":
        h = v.to(tl.float16) if NEW else v
        r = v * 0.0 + tl.sum(h)
    elif HOW == "scan":
        r = tl.associative_scan(v, 0, added) if NEW else tl.cumsum(v, 0)
    elif HOW == "scan of halves":
        first = tl.where(cols < 32, v, 0.0)
        second = tl.where(cols < 32, 0.0, v)
        if NEW:
            r = tl.cumsum(first, 0) + tl.cumsum(second, 0)
        else:
            r = tl.cumsum(v, 0)
    elif HOW == "exclusive scan":
        r = tl.cumsum(v, 0) - v if NEW else tl.cumsum(v, 0)
    elif HOW == "eps inside":
        square = tl.sum(v * v) / N
        r = v / (tl.sqrt(square) + 1e-3) if NEW else v / tl.sqrt(square + 1e-3)
    elif HOW == "padded mean":
        r = v - tl.sum(v) / (WIDE if NEW else N)
    elif HOW == "squared norm":
        s = tl.sqrt(tl.sum(v * v))
        r = v * 0.0 + (s * s if NEW else tl.sum(v * v))
    elif HOW == "weights moved":
        weight = tl.load(w + (N - 1 - cols if NEW else cols), mask=mask, other=0.0)
        r = v * weight
    elif HOW == "largest of parts":
        p = tl.where(mask, v, -float("inf"))
        parts = tl.max(tl.reshape(p, (8, 8)), axis=1)
        r = v * 0.0 + (tl.max(parts) if NEW else tl.max(p))
    tl.store(out + row * N + cols, r, mask=mask)


@triton.jit
def of_products(x, w, out, n, K: tl.constexpr, HOW: tl.constexpr, NEW: tl.constexpr):
    rows, cols = tl.arange(0, 16), tl.arange(0, 16)
    total = tl.zeros([16, 16], tl.float32)
    bias = tl.load(w + cols)[None, :]
    step: tl.constexpr = 16 if HOW == "steps" and NEW else 32
    precision: tl.constexpr = "tf32" if HOW == "tf32" and NEW else "ieee"
    if HOW == "bias first":
        if NEW:
            total += bias
    for begin in range(0, K - 32 if HOW == "last step" and NEW else K, step):
        deep = begin + tl.arange(0, step)
        a = tl.load(x + rows[:, None] * K + deep[None, :])
        b = tl.load(w + deep[:, None] * 16 + cols[None, :])
        if HOW == "scaled factor":
            if NEW:
                a *= 0.3
        if HOW == "half factors":
            if NEW:
                a, b = a.to(tl.float16), b.to(tl.float16)
        if HOW == "stale" and NEW:
            total = tl.dot(a, b, input_precision=precision)
        else:
            total = tl.dot(a, b, total, input_precision=precision)
    if HOW == "bias first":
        if not NEW:
            total += bias
    if HOW == "scaled factor":
        if not NEW:
            total *= 0.3
    if HOW == "transposed" and NEW:
        tl.store(out + cols[None, :] * 16 + rows[:, None], total)
    else:
        tl.store(out + rows[:, None] * 16 + cols[None, :], total)


def rows_pair(how: str, truth: Level, why: str, **options: Any) -> Pair:
    """Return a pair of kernels that compute rows, by the variant `how`."""

    def tensors(kind: str) -> list[torch.Tensor]:
        return [floats(kind, ROWS, N), floats("random", N, seed=1), blank(ROWS, N)]

    constexprs = {"N": N, "WIDE": WIDE, "HOW": how}
    grids = ((ROWS,), (ROWS,))
    return Pair(
        f"2 rows {how}", truth, why, of_rows, tensors, (ROWS,), grids, constexprs, **options
    )


def products_pair(how: str, truth: Level, why: str, **options: Any) -> Pair:
    """Return a pair of kernels that multiply matrices, by the variant `how`."""

    def tensors(kind: str) -> list[torch.Tensor]:
        return [floats(kind, 16, 64), floats(kind, 64, 16, seed=1), blank(16, 16)]

    constexprs, grids = {"K": 64, "HOW": how}, ((1,), (1,))
    return Pair(
        f"2 products {how}", truth, why, of_products, tensors, (16,), grids, constexprs, FLOATS[:5],
        **options,
    )  # fmt: skip


SAME, SUMS, EXACT, DIFFERENT = Level.SAME, Level.SUMS, Level.EXACT, Level.DIFFERENT
PAIRS = [
    rows_pair("chunks", SUMS, "a sum in chunks of 16"),
    rows_pair("backwards", SUMS, "a sum from the end"),
    rows_pair("mean of quotients", EXACT, "each number is divided, or the sum"),
    rows_pair("shifted variance", EXACT, "a variance about the first number"),
    rows_pair("padded variance", DIFFERENT, "lanes past the end count the mean's square"),
    rows_pair("other", SAME, "what is loaded past the end is replaced"),
    rows_pair("padded maximum", DIFFERENT, "lanes past the end count 0, rows may be negative"),
    rows_pair("softmax", DIFFERENT, "without its maximum 100 overflows"),
    rows_pair("normalized late", EXACT, "divided after the sum"),
    rows_pair("first tie", DIFFERENT, "the last of equal numbers instead of the first"),
    rows_pair("half sum", DIFFERENT, "numbers are summed in half precision"),
    rows_pair("scan", SAME, "a scan with the same sum"),
    rows_pair("scan of halves", SUMS, "two scans are added"),
    rows_pair("exclusive scan", DIFFERENT, "each sum without its own number"),
    rows_pair("eps inside", DIFFERENT, "eps beside the root instead of inside"),
    rows_pair("padded mean", DIFFERENT, "divided by the lanes instead of the numbers"),
    rows_pair("squared norm", EXACT, "the square of a root"),
    rows_pair("weights moved", DIFFERENT, "weights from the end"),
    rows_pair("largest of parts", SUMS, "a maximum of maxima", read=True),
    products_pair("steps", SUMS, "shorter steps of K", read=True),
    products_pair("tf32", DIFFERENT, "factors are cut to tf32"),
    products_pair("bias first", SUMS, "the bias is where the sum begins"),
    products_pair("last step", DIFFERENT, "the last step is left out"),
    products_pair("scaled factor", EXACT, "a factor is scaled instead of the product"),
    products_pair("half factors", DIFFERENT, "factors in half precision"),
    products_pair("stale", DIFFERENT, "only the last step is kept"),
    products_pair("transposed", DIFFERENT, "the result lies the other way"),
]

CASES = cases_of(PAIRS)
