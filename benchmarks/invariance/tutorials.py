"""Cases of short kernels as in Triton's tutorials; the tile sizes of some depend on M."""

import torch
import triton
import triton.language as tl

from benchmarks.invariance.batch import Batch, Results, Size, case

LARGE: tuple[Size, ...] = ((1, 0), (9, 5), (70, 41))


@triton.jit
def _add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


@case("tutorials", "rows", "elementwise: no sum")
def vector_add(batch: Batch) -> Results:
    x, y = batch.per_row(100), batch.per_row(100)
    out = torch.empty_like(x)
    _add[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), BLOCK=256)
    return {"out": batch.observed(out)}


@triton.jit
def _softmax(x, out, stride, columns, rows, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        value = tl.load(x + row * stride + at, at < columns, other=-float("inf"))
        power = tl.exp(value - tl.max(value, 0))
        tl.store(out + row * stride + at, power / tl.sum(power, 0), at < columns)


@case("tutorials", "rows", "four persistent programs share the rows; a row's sum is one block")
def persistent_softmax(batch: Batch) -> Results:
    x = batch.per_row(300)
    out = torch.empty_like(x)
    _softmax[(min(4, batch.rows),)](x, out, 300, 300, batch.rows, BLOCK=512)
    return {"out": batch.observed(out)}


@triton.jit
def _matmul(a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
            SPLIT_K: tl.constexpr):  # fmt: skip
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for first in range(tl.program_id(2) * BLOCK_K, K, BLOCK_K * SPLIT_K):
        k = first + tl.arange(0, BLOCK_K)
        left = tl.load(a + m[:, None] * K + k[None], (m[:, None] < M) & (k[None] < K), other=0.0)
        right = tl.load(b + k[:, None] * N + n[None], (k[:, None] < K) & (n[None] < N), other=0.0)
        total = tl.dot(left, right, total)
    place, inside = c + m[:, None] * N + n[None], (m[:, None] < M) & (n[None] < N)
    if SPLIT_K == 1:
        tl.store(place, total, inside)
    else:
        tl.atomic_add(place, total, inside)


def product(batch: Batch, rows: int, depth: int, split: int) -> Results:
    x, w = batch.per_row(256), batch.shared(256, 32)
    out = torch.zeros(batch.rows, 32)
    _matmul[(triton.cdiv(batch.rows, rows), 1, split)](
        x, w, out, batch.rows, 32, 256, BLOCK_M=rows, BLOCK_N=32, BLOCK_K=depth, SPLIT_K=split
    )
    return {"c": batch.observed(out)}


@case("tutorials", "rows", "fixed tiles", sizes=LARGE)
def matmul(batch: Batch) -> Results:
    return product(batch, 32, 64, 1)


@case("tutorials", "rows", "BLOCK_M by M: no sum crosses it", sizes=LARGE)
def matmul_block_m(batch: Batch) -> Results:
    return product(batch, 16 if batch.rows < 16 else 64, 64, 1)


@case("tutorials", "rows", "BLOCK_K by M", invariant=False, sizes=LARGE)
def matmul_block_k(batch: Batch) -> Results:
    return product(batch, 32, 128 if batch.rows < 16 else 32, 1)


@case("tutorials", "rows", "split-K by M, parts added by atomics", invariant=False, sizes=LARGE)
def matmul_split_k(batch: Batch) -> Results:
    return product(batch, 16, 32, 4 if batch.rows < 16 else 1)


@triton.jit
def _column_sums(x, out, rows, columns, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for first in range(0, rows, BLOCK_M):
        m = first + tl.arange(0, BLOCK_M)
        mask = (m[:, None] < rows) & (n[None] < columns)
        total += tl.load(x + m[:, None] * columns + n[None], mask, other=0.0)
    tl.store(out + n, tl.sum(total, 0), n < columns)


@case("tutorials", "rows", "a sum over the rows themselves", invariant=False)
def column_sums(batch: Batch) -> Results:
    out = torch.empty(50)
    _column_sums[(1,)](batch.per_row(50), out, batch.rows, 50, BLOCK_M=16, BLOCK_N=64)
    return {"out": out}
