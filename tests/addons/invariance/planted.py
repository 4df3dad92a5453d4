"""Pairs of kernels: one whose row is independent of the batch, and one with a planted fault.

Most faults occur in serving: a heuristic by the number of rows, a split sum, another path for the
tail, a padded row in a sum. `launch(kernel, rows, position)` launches a kernel of a pair on a batch
whose row `position` is always the same, and returns the output.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl

from tests.addons.invariance.inputs import tensor

Launch = Callable[..., torch.Tensor]
WIDTH, DEPTH, COLUMNS, LENGTH = 300, 256, 32, 40


@dataclass(frozen=True)
class Planted:
    """A pair of kernels.

    Attributes:
        name: the kernels' result, and the fault.
        kind: split, block, atomic, leak, tail or mixed.
        right: the kernel whose rows depend on themselves alone, by one tree.
        wrong: the kernel with the fault.
        launch: launches a kernel: `launch(kernel, rows, position=0)`.
        sizes: numbers of rows for which the fault shows.
    """

    name: str
    kind: str
    right: Any
    wrong: Any
    launch: Launch
    sizes: tuple[int, int] = (1, 40)


def _batch(rows: int, position: int, *shape: int, seed: int = 1) -> torch.Tensor:
    """Return (rows, *shape) random numbers whose row `position` is the same in every batch."""
    batch = 3 * tensor(rows, *shape, seed=1000 * seed + rows)
    batch[position] = tensor(*shape, seed=seed)
    return batch


def product(kernel: Any, rows: int, position: int = 0) -> torch.Tensor:
    """Launch `x @ w` of (rows, 256) by (256, 32); return the output."""
    x, w = _batch(rows, position, DEPTH), tensor(DEPTH, COLUMNS, seed=2)
    out = torch.zeros_like(x[:, :COLUMNS].contiguous())
    kernel[lambda meta: (triton.cdiv(rows, meta["BLOCK_M"]), meta.get("SPLIT", 1))](
        x, w, out, rows, DEPTH
    )
    return out


def rowwise(kernel: Any, rows: int, position: int = 0) -> torch.Tensor:
    """Launch a function of rows of 300, with weights, in tiles of BLOCK_M rows."""
    x, w = _batch(rows, position, WIDTH), tensor(WIDTH, seed=2)
    out = torch.zeros_like(x)
    kernel[lambda meta: (triton.cdiv(rows, meta["BLOCK_M"]),)](x, w, out, rows, WIDTH)
    return out


def sums(kernel: Any, rows: int, position: int = 0) -> torch.Tensor:
    """Launch sums of 300 values, eight a row, each in PARTS programs."""
    x = _batch(rows, position, 8, WIDTH)
    out = torch.zeros_like(x[..., 0].contiguous())
    kernel[lambda meta: (8 * rows, meta.get("PARTS", 1))](x, out, rows, WIDTH)
    return out


def attention(kernel: Any, rows: int, position: int = 0) -> torch.Tensor:
    """Launch one query per sequence; the observed sequence has 40 keys, others up to 60."""
    lengths = torch.tensor([41 + 7 * row % 20 for row in range(rows)], device="cpu")
    lengths[position] = LENGTH
    longest = int(lengths.max())
    q, k, v = (tensor(rows, *shape, seed=rows) for shape in ((32,), (longest, 32), (longest, 32)))
    for seed, whole in enumerate((k, v), 3):
        whole[position, :LENGTH] = tensor(LENGTH, 32, seed=seed)
    q[position] = tensor(32, seed=5)
    out = torch.zeros_like(q)
    kernel[(rows,)](q, k, v, out, lengths.int().to(q.device), rows, longest)
    return out


def fixed(**values: int) -> Any:
    """Return a decorator that sets constants independent of the arguments."""
    return triton.heuristics({key: lambda _, value=value: value for key, value in values.items()})


def by_rows(name: str, few: int, many: int, **values: int) -> Any:
    """Return a decorator that sets constants, one of them by the number of rows."""
    chosen = {key: lambda _, value=value: value for key, value in values.items()}
    chosen[name] = lambda given: few if given["M"] < 16 else many
    return triton.heuristics(chosen)


@triton.jit
def _product(x, w, out, M, K, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr, SPLIT: tl.constexpr):
    m, n = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, 32)
    total = tl.zeros((BLOCK_M, 32), tl.float32)
    for first in range(tl.program_id(1) * BLOCK_K, K, BLOCK_K * SPLIT):
        k = first + tl.arange(0, BLOCK_K)
        left = tl.load(x + m[:, None] * K + k[None], m[:, None] < M, other=0.0)
        total = tl.dot(left, tl.load(w + k[:, None] * 32 + n[None]), total)
    if SPLIT == 1:
        tl.store(out + m[:, None] * 32 + n[None], total, m[:, None] < M)
    else:
        tl.atomic_add(out + m[:, None] * 32 + n[None], total, m[:, None] < M)


@triton.jit
def _product_halves(x, w, out, M, K, BLOCK_M: tl.constexpr, HALVES: tl.constexpr):
    m, n = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, 32)
    result = tl.zeros((BLOCK_M, 32), tl.float32)
    for half in tl.static_range(HALVES):
        total = tl.zeros((BLOCK_M, 32), tl.float32)
        for first in range(half * (K // HALVES), (half + 1) * (K // HALVES), 32):
            k = first + tl.arange(0, 32)
            left = tl.load(x + m[:, None] * K + k[None], m[:, None] < M, other=0.0)
            total = tl.dot(left, tl.load(w + k[:, None] * 32 + n[None]), total)
        result += total
    tl.store(out + m[:, None] * 32 + n[None], result, m[:, None] < M)


@triton.jit
def _product_tail(x, w, out, M, K, BLOCK_M: tl.constexpr, TAIL: tl.constexpr):
    m, n = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, 32)
    total = tl.zeros((BLOCK_M, 32), tl.float32)
    if TAIL and (tl.program_id(0) + 1) * BLOCK_M > M:
        for first in range(0, K, 16):
            k = first + tl.arange(0, 16)
            left = tl.load(x + m[:, None] * K + k[None], m[:, None] < M, other=0.0)
            total = tl.dot(left, tl.load(w + k[:, None] * 32 + n[None]), total)
    else:
        for first in range(0, K, 64):
            k = first + tl.arange(0, 64)
            left = tl.load(x + m[:, None] * K + k[None], m[:, None] < M, other=0.0)
            total = tl.dot(left, tl.load(w + k[:, None] * 32 + n[None]), total)
    tl.store(out + m[:, None] * 32 + n[None], total, m[:, None] < M)


@triton.jit
def _product_persistent(x, w, out, M, K, BLOCK_M: tl.constexpr, RESET: tl.constexpr):
    n, total = tl.arange(0, 32), tl.zeros((BLOCK_M, 32), tl.float32)
    if tl.program_id(0) == 0:
        for tile in range(tl.cdiv(M, BLOCK_M)):
            m = tile * BLOCK_M + tl.arange(0, BLOCK_M)
            if RESET:
                total = tl.zeros((BLOCK_M, 32), tl.float32)
            for first in range(0, K, 32):
                k = first + tl.arange(0, 32)
                left = tl.load(x + m[:, None] * K + k[None], m[:, None] < M, other=0.0)
                total = tl.dot(left, tl.load(w + k[:, None] * 32 + n[None]), total)
            tl.store(out + m[:, None] * 32 + n[None], total, m[:, None] < M)


@triton.jit
def _product_stream(
    x, w, out, M, K, BLOCK_M: tl.constexpr, SPLIT: tl.constexpr, EVEN: tl.constexpr
):
    m, n = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, 32)
    share = K // SPLIT if EVEN else tl.minimum(K, tl.cdiv(tl.num_programs(0) * K, SPLIT * 32) * 32)
    begin = tl.program_id(1) * share
    total = tl.zeros((BLOCK_M, 32), tl.float32)
    for first in range(begin, tl.minimum(begin + share, K), 32):
        k = first + tl.arange(0, 32)
        left = tl.load(x + m[:, None] * K + k[None], m[:, None] < M, other=0.0)
        total = tl.dot(left, tl.load(w + k[:, None] * 32 + n[None]), total)
    tl.atomic_add(out + m[:, None] * 32 + n[None], total, m[:, None] < M)


@triton.jit
def _product_narrow(x, w, out, M, K, BLOCK_M: tl.constexpr, NARROW: tl.constexpr):
    m, n = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, 32)
    total = tl.zeros((BLOCK_M, 32), tl.float32)
    for first in range(0, K, 32):
        k = first + tl.arange(0, 32)
        left = tl.load(x + m[:, None] * K + k[None], m[:, None] < M, other=0.0)
        total = tl.dot(left, tl.load(w + k[:, None] * 32 + n[None]), total)
        if NARROW:
            total = total.to(tl.float16).to(tl.float32)
    tl.store(out + m[:, None] * 32 + n[None], total, m[:, None] < M)


@triton.jit
def _row_sum(x, out, M, N, BLOCK: tl.constexpr):
    row, total = tl.program_id(0), 0.0
    for first in range(0, N, BLOCK):
        at = first + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + row * N + at, at < N, other=0.0))
    tl.store(out + row, total)


@triton.jit
def _row_sum_parts(x, out, M, N, PARTS: tl.constexpr):
    row, total = tl.program_id(0), 0.0
    for first in range(tl.program_id(1) * 32, N, 32 * PARTS):
        at = first + tl.arange(0, 32)
        total += tl.sum(tl.load(x + row * N + at, at < N, other=0.0))
    tl.atomic_add(out + row, total)


@triton.jit
def _row_sum_branch(x, out, M, N, LIMIT: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, 512)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    tl.store(out + row, tl.sum(value, 0))
    if M > LIMIT:
        tl.store(out + row, tl.sum(tl.sum(value.reshape(16, 32), 1), 0))


@triton.jit
def _softmax(x, w, out, M, N, BLOCK_M: tl.constexpr, WHOLE: tl.constexpr):
    m, at = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, 512)
    mask = (m[:, None] < M) & (at[None] < N)
    value = tl.load(x + m[:, None] * N + at[None], mask, other=-float("inf"))
    top = tl.max(tl.max(value, 1), 0) if WHOLE else tl.max(value, 1)[:, None]
    power = tl.exp(value - top)
    tl.store(out + m[:, None] * N + at[None], power / tl.sum(power, 1)[:, None], mask)


@triton.jit
def _rms_norm(x, w, out, M, N, BLOCK_M: tl.constexpr, WHOLE: tl.constexpr):
    m, at = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, 512)
    mask = (m[:, None] < M) & (at[None] < N)
    value = tl.load(x + m[:, None] * N + at[None], mask, other=0.0)
    power = tl.sum(value * value, 1)[:, None] / N
    if WHOLE:
        power = tl.sum(tl.sum(value * value, 1), 0) / (N * tl.minimum(M, BLOCK_M))
    weight = tl.load(w + at, at < N, other=0.0)
    tl.store(out + m[:, None] * N + at[None], value * tl.rsqrt(power + 1e-6) * weight[None], mask)


@triton.jit
def _quantized(x, w, out, M, N, BLOCK_M: tl.constexpr, WHOLE: tl.constexpr):
    m, at = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, 512)
    mask = (m[:, None] < M) & (at[None] < N)
    value = tl.load(x + m[:, None] * N + at[None], mask, other=0.0)
    top = tl.max(tl.max(tl.abs(value), 1), 0) if WHOLE else tl.max(tl.abs(value), 1)[:, None]
    scale = top / 127.0
    tl.store(out + m[:, None] * N + at[None], tl.floor(value / scale + 0.5) * scale, mask)


@triton.jit
def _layer_norm(x, w, out, M, N, BLOCK_M: tl.constexpr, ONE_PASS: tl.constexpr):
    m, at = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, 512)
    mask = (m[:, None] < M) & (at[None] < N)
    value = tl.load(x + m[:, None] * N + at[None], mask, other=0.0)
    mean = tl.sum(value, 1)[:, None] / N
    apart = tl.where(at[None] < N, value - mean, 0.0)
    variance = tl.sum(apart * apart, 1)[:, None] / N
    if ONE_PASS and M > 16:
        variance = tl.sum(value * value, 1)[:, None] / N - mean * mean
    tl.store(out + m[:, None] * N + at[None], apart * tl.rsqrt(variance + 1e-5), mask)


@triton.jit
def _gradient(x, w, out, M, N, BLOCK_M: tl.constexpr, MEAN: tl.constexpr):
    m, at = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, 512)
    mask = (m[:, None] < M) & (at[None] < N)
    value = tl.load(x + m[:, None] * N + at[None], mask, other=-float("inf"))
    power = tl.exp(value - tl.max(value, 1)[:, None])
    share = power / tl.sum(power, 1)[:, None] - tl.where(at[None] == 7, 1.0, 0.0)
    if MEAN:
        share = share / M
    tl.store(out + m[:, None] * N + at[None], share, mask)


@triton.jit
def _centered(x, w, out, M, N, BLOCK_M: tl.constexpr, LEAK: tl.constexpr):
    m, at = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, 512)
    mask = (m[:, None] < M) & (at[None] < N)
    row = tl.minimum(m, M - 1) if LEAK else m
    value = tl.load(x + row[:, None] * N + at[None], (row[:, None] < M) & (at[None] < N), other=0.0)
    bias = tl.sum(tl.sum(value, 0), 0) * 1e-6 if LEAK else 0.0
    tl.store(out + m[:, None] * N + at[None], value * 3.0 + bias, mask)


@triton.jit
def _prefix(x, w, out, M, N, BLOCK_M: tl.constexpr, CHUNK: tl.constexpr):
    row, carried = tl.program_id(0), 0.0
    for first in range(0, N, CHUNK):
        at = first + tl.arange(0, CHUNK)
        value = tl.load(x + row * N + at, at < N, other=0.0)
        tl.store(out + row * N + at, carried + tl.cumsum(value, 0), at < N)
        carried += tl.sum(value, 0)


@triton.jit
def _decode(q, k, v, out, lengths, M, longest, PARTS: tl.constexpr, PADDED: tl.constexpr):
    row, d = tl.program_id(0), tl.arange(0, 32)
    length = tl.load(lengths + row)
    query, t = tl.load(q + row * 32 + d), tl.arange(0, 64 // PARTS)
    top, total, weighed = -float("inf"), 0.0, tl.zeros((32,), tl.float32)
    for part in tl.static_range(PARTS):
        at = part * (64 // PARTS) + t
        place = (row * longest + at[:, None]) * 32 + d[None]
        key = tl.load(k + place, at[:, None] < length, other=0.0)
        score = tl.sum(key * query[None], 1)
        score = tl.where(at < (longest if PADDED else length), score, -float("inf"))
        new = tl.maximum(top, tl.max(score, 0))
        power, scale = tl.exp(score - new), tl.exp(top - new)
        value = tl.load(v + place, at[:, None] < length, other=0.0)
        weighed = weighed * scale + tl.sum(power[:, None] * value, 0)
        total, top = total * scale + tl.sum(power, 0), new
    tl.store(out + row * 32 + d, weighed / total)


@triton.jit
def _pooled(q, k, v, out, lengths, M, longest, PADDED: tl.constexpr, TILE: tl.constexpr):
    row, d = tl.program_id(0), tl.arange(0, 32)
    length = tl.load(lengths + row)
    total = tl.zeros((32,), tl.float32)
    for first in range(0, longest, TILE):
        at = first + tl.arange(0, TILE)
        place = (row * longest + at[:, None]) * 32 + d[None]
        total += tl.sum(tl.load(k + place, at[:, None] < length, other=0.0), 0)
    tl.store(out + row * 32 + d, total / (longest if PADDED else length))


def _pair(
    name: str, kind: str, launch: Launch, kernel: Any, right: Any, wrong: Any,
    sizes: tuple[int, int] = (1, 40),
) -> Planted:  # fmt: skip
    return Planted(name, kind, right(kernel), wrong(kernel), launch, sizes)


TILES = {"BLOCK_M": 16}

PLANTED: tuple[Planted, ...] = (
    _pair("product, split-K by M", "split", product, _product,
          fixed(BLOCK_K=32, SPLIT=1, **TILES), by_rows("SPLIT", 4, 1, BLOCK_K=32, **TILES)),
    _pair("product, BLOCK_K by M", "block", product, _product,
          fixed(BLOCK_K=32, SPLIT=1, **TILES), by_rows("BLOCK_K", 128, 32, SPLIT=1, **TILES)),
    _pair("product, two accumulators by M", "split", product, _product_halves,
          fixed(HALVES=2, **TILES), by_rows("HALVES", 1, 2, **TILES)),
    _pair("product, a tail tile with a narrower K", "tail", product, _product_tail,
          fixed(TAIL=0, **TILES), fixed(TAIL=1, **TILES), (16, 1)),
    _pair("product, an accumulator that is not reset", "leak", product, _product_persistent,
          fixed(RESET=1, **TILES), fixed(RESET=0, **TILES)),
    _pair("product, stream-K shares by the number of tiles", "atomic", product, _product_stream,
          fixed(SPLIT=4, EVEN=1, **TILES), fixed(SPLIT=4, EVEN=0, **TILES)),
    _pair("product, half precision for many rows", "mixed", product, _product_narrow,
          fixed(NARROW=0, **TILES), by_rows("NARROW", 0, 1, **TILES)),
    _pair("row sum, block by M", "block", sums, _row_sum,
          fixed(BLOCK=128), by_rows("BLOCK", 512, 64)),
    _pair("row sum, atomic parts by M", "atomic", sums, _row_sum_parts,
          fixed(PARTS=1), by_rows("PARTS", 4, 1)),
    _pair("row sum, another shape for many rows", "block", sums, _row_sum_branch,
          fixed(LIMIT=1 << 30), fixed(LIMIT=16)),
    _pair("softmax, maximum of the whole tile", "leak", rowwise, _softmax,
          fixed(WHOLE=0, BLOCK_M=4), fixed(WHOLE=1, BLOCK_M=4)),
    _pair("RMS norm, power of the whole tile", "leak", rowwise, _rms_norm,
          fixed(WHOLE=0, BLOCK_M=4), fixed(WHOLE=1, BLOCK_M=4)),
    _pair("quantization, a scale per tile", "leak", rowwise, _quantized,
          fixed(WHOLE=0, BLOCK_M=4), fixed(WHOLE=1, BLOCK_M=4)),
    _pair("layer norm, one pass for many rows", "mixed", rowwise, _layer_norm,
          fixed(ONE_PASS=0, BLOCK_M=2), fixed(ONE_PASS=1, BLOCK_M=2)),
    _pair("cross entropy gradient, divided by rows", "mixed", rowwise, _gradient,
          fixed(MEAN=0, BLOCK_M=2), fixed(MEAN=1, BLOCK_M=2)),
    _pair("scaling, a repeated padding row in a tile's sum", "leak", rowwise, _centered,
          fixed(LEAK=0, BLOCK_M=4), fixed(LEAK=1, BLOCK_M=4)),
    _pair("prefix sum, chunk by M", "block", rowwise, _prefix,
          fixed(CHUNK=64, BLOCK_M=1), by_rows("CHUNK", 128, 32, BLOCK_M=1)),
    _pair("decoding attention, parts of keys by batch", "split", attention, _decode,
          fixed(PARTS=2, PADDED=0), by_rows("PARTS", 4, 1, PADDED=0)),
    _pair("decoding attention, padded keys take part", "leak", attention, _decode,
          fixed(PARTS=2, PADDED=0), fixed(PARTS=2, PADDED=1)),
    _pair("mean pooling, divided by the padded length", "leak", attention, _pooled,
          fixed(PADDED=0, TILE=16), fixed(PADDED=1, TILE=16)),
)  # fmt: skip
