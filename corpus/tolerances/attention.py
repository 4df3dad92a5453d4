"""Kernels of attention, softmax and gated chunks."""

import numpy as np
import torch
import triton
import triton.language as tl

from corpus.questions.tolerances import Attack, Launch, cases

HALF = 2.0**-11
BF16 = 2.0**-8


@triton.jit
def flash(
    q,
    k,
    v,
    out,
    scale,
    S: tl.constexpr,
    D: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    WINDOW: tl.constexpr,
    STALE: tl.constexpr,
    KEEP: tl.constexpr,
    LOG2E: tl.constexpr,
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    head = tl.program_id(1) * S * D
    query = tl.load(q + head + m[:, None] * D + d[None, :])
    largest = tl.full((BM,), -float("inf"), tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    accumulator = tl.zeros((BM, D), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BM, BN):
        n = start + tl.arange(0, BN)
        key = tl.load(k + head + n[None, :] * D + d[:, None])
        scores = tl.dot(query, key, input_precision="ieee") * (scale * LOG2E)
        seen = (n[None, :] <= m[:, None]) & (m[:, None] - n[None, :] < WINDOW)
        scores = tl.where(seen, scores, -1e30)
        larger = tl.maximum(largest, tl.max(scores, 1))
        alpha = tl.exp2(largest - larger)
        powers = tl.exp2(scores - larger[:, None])
        if STALE:
            last = start + BN >= (tl.program_id(0) + 1) * BM
            weight = weight * tl.where(last, 1.0, alpha) + tl.sum(powers, 1)
        else:
            weight = weight * alpha + tl.sum(powers, 1)
        value = tl.load(v + head + n[:, None] * D + d[None, :])
        if KEEP == "fp8":
            powers = powers.to(tl.float8e4nv).to(tl.float32)
        accumulator = accumulator * alpha[:, None]
        accumulator += tl.dot(powers.to(value.dtype), value, input_precision="ieee")
        largest = larger
    done = accumulator / weight[:, None]
    tl.store(out + head + m[:, None] * D + d[None, :], done.to(out.dtype.element_ty))


def draw_flash(dtype=torch.float16, window=1 << 20, stale=False, keep="", log2e=1.4426950408889634):
    def draw(generator):
        shape = (2, 256, 64)
        q, k, v = (torch.randn(shape, generator=generator).to(dtype) for _ in range(3))
        arguments = {"q": q, "k": k, "v": v, "out": torch.zeros(shape, dtype=dtype), "scale": 0.125}
        meta = {"S": 256, "D": 64, "BM": 64, "BN": 64, "WINDOW": window}
        meta |= {"STALE": stale, "KEEP": keep, "LOG2E": log2e}
        return Launch(arguments, (4, 2), meta=meta)

    return draw


def windowed(size):
    def attention(q, k, v):
        scores = q @ k.transpose(-1, -2) * 0.125
        positions = torch.arange(q.shape[1])
        off = positions[:, None] - positions[None, :]
        scores = scores.masked_fill((off < 0) | (off >= size), -float("inf"))
        return torch.softmax(scores, -1) @ v

    return attention


causal = windowed(1 << 20)


@triton.jit
def merge_parts(part, lse, out, SPLITS: tl.constexpr, D: tl.constexpr, SAFE: tl.constexpr):
    row = tl.program_id(0)
    split = tl.arange(0, SPLITS)
    d = tl.arange(0, D)
    weight = tl.load(lse + row * SPLITS + split)
    if SAFE:
        weight = weight - tl.max(weight)
    weight = tl.exp(weight)
    values = tl.load(part + (row * SPLITS + split[:, None]) * D + d[None, :])
    merged = tl.sum(values * weight[:, None], 0) / tl.sum(weight)
    tl.store(out + row * D + d, merged)


def draw_parts(safe):
    def draw(generator):
        lse = torch.randn(16, 8, generator=generator) * 3
        lse[7] += 95
        arguments = {
            "part": torch.randn(16, 8, 64, generator=generator),
            "lse": lse,
            "out": torch.zeros(16, 64),
        }
        return Launch(arguments, (16,), meta={"SPLITS": 8, "D": 64, "SAFE": safe})

    return draw


def merged(part, lse):
    return (part * torch.softmax(lse, -1)[..., None]).sum(1)


@triton.jit
def masked_softmax(x, keep, out, N: tl.constexpr, GUARD: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, N)
    seen = tl.load(keep + row * N + lanes) != 0
    value = tl.where(seen, tl.load(x + row * N + lanes), -float("inf"))
    largest = tl.max(value)
    if GUARD:
        largest = tl.where(largest == -float("inf"), 0.0, largest)
    powers = tl.exp(value - largest)
    total = tl.sum(powers)
    if GUARD:
        total = tl.where(total == 0, 1.0, total)
    tl.store(out + row * N + lanes, powers / total)


def draw_masked(guard):
    def draw(generator):
        keep = (torch.rand(16, 128, generator=generator) < 0.5).to(torch.int32)
        keep[11] = 0
        arguments = {
            "x": torch.randn(16, 128, generator=generator),
            "keep": keep,
            "out": torch.zeros(16, 128),
        }
        return Launch(arguments, (16,), meta={"N": 128, "GUARD": guard})

    return draw


def softmax_or_zero(x, keep):
    return torch.softmax(x.masked_fill(keep == 0, -float("inf")), -1).nan_to_num(0.0)


@triton.jit
def gated_chunk(q, k, g, out, C: tl.constexpr, D: tl.constexpr, APART: tl.constexpr):
    # A = tril(q k^T * exp(G_i - G_j)), G the running sum of log decays.
    chunk = tl.program_id(0)
    c = tl.arange(0, C)
    d = tl.arange(0, D)
    at = (chunk * C + c[:, None]) * D + d[None, :]
    query = tl.load(q + at)
    key = tl.load(k + at)
    decay = tl.cumsum(tl.load(g + chunk * C + c), 0)
    if APART:
        query = query * tl.exp(decay)[:, None]
        key = key * tl.exp(-decay)[:, None]
        scores = tl.dot(query, tl.trans(key), input_precision="ieee")
    else:
        scores = tl.dot(query, tl.trans(key), input_precision="ieee")
        scores = scores * tl.exp(tl.minimum(decay[:, None] - decay[None, :], 0.0))
    scores = tl.where(c[:, None] >= c[None, :], scores, 0.0)
    tl.store(out + (chunk * C + c[:, None]) * C + c[None, :], scores)


def draw_gated(apart, strength):
    def draw(generator):
        arguments = {
            "q": torch.randn(4 * 64, 32, generator=generator),
            "k": torch.randn(4 * 64, 32, generator=generator),
            "g": -torch.rand(4 * 64, generator=generator) * strength,
            "out": torch.zeros(4, 64, 64),
        }
        return Launch(arguments, (4,), meta={"C": 64, "D": 32, "APART": apart})

    return draw


def gated(q, k, g):
    decay = g.reshape(4, 64).cumsum(-1)
    off = decay[:, :, None] - decay[:, None, :]
    scores = q.reshape(4, 64, 32) @ k.reshape(4, 64, 32).transpose(-1, -2)
    return (scores * torch.exp(off.clamp(max=0))).tril()


def gated_in_order(q, k, g):
    # torch's float32 cumsum on the CPU adds in float64.
    decay = torch.from_numpy(np.cumsum(g.reshape(4, 64).numpy(), -1, dtype=np.float32))
    off = decay[:, :, None] - decay[:, None, :]
    scores = q.reshape(4, 64, 32) @ k.reshape(4, 64, 32).transpose(-1, -2)
    return (scores * torch.exp(off.clamp(max=0))).tril()


ATTACKS = [
    Attack("flash: fp16", True, "usual", flash, draw_flash(), causal, unit=HALF, alone=True),
    Attack("flash: fp32", True, "usual, ieee", flash, draw_flash(torch.float32), causal),
    Attack(
        "flash: window off by one",
        False,
        "sees one key too many",
        flash,
        draw_flash(window=65),
        windowed(64),
        unit=HALF,
    ),
    Attack(
        "flash: stale weight in the last block",
        False,
        "the sum of powers is not rescaled in the last block",
        flash,
        draw_flash(stale=True),
        causal,
        unit=HALF,
    ),
    Attack(
        "flash: powers in fp8",
        False,
        "bfloat16 in and out; powers are kept in eight bits",
        flash,
        draw_flash(torch.bfloat16, keep="fp8"),
        causal,
        unit=BF16 / 4,
    ),
    Attack(
        "flash: 1.4427 for log2(e)",
        False,
        "float32; each power is off by parts in 10^6 of its exponent",
        flash,
        draw_flash(torch.float32, log2e=1.4427),
        causal,
    ),
    Attack(
        "merge of splits", True, "flash decoding", merge_parts, draw_parts(True), merged, alone=True
    ),
    Attack(
        "merge of splits: no maximum",
        False,
        "exp(95) overflows in one row",
        merge_parts,
        draw_parts(False),
        merged,
        alone=True,
    ),
    Attack(
        "softmax: a row is masked out",
        False,
        "NaN where zeros are expected",
        masked_softmax,
        draw_masked(False),
        softmax_or_zero,
    ),
    Attack(
        "softmax: a row is masked out, guarded",
        True,
        "zeros",
        masked_softmax,
        draw_masked(True),
        softmax_or_zero,
    ),
    Attack(
        "gated chunk: strong decay apart",
        False,
        "exp(-G) overflows where exp(G) underflows",
        gated_chunk,
        draw_gated(True, 4.0),
        gated,
    ),
    Attack(
        "gated chunk: strong decay, differences",
        True,
        "exp(G_i - G_j) is at most 1",
        gated_chunk,
        draw_gated(False, 4.0),
        gated,
        good=gated_in_order,
    ),
    Attack(
        "gated chunk: mild decay apart",
        True,
        "factors of e^6 cancel without loss",
        gated_chunk,
        draw_gated(True, 0.2),
        gated,
        good=gated_in_order,
        alone=True,
    ),
]

CASES = cases(ATTACKS)
