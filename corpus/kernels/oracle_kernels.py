"""Small kernels of which a device may make several results, or which nothing can be said of."""

import triton
import triton.language as tl


@triton.jit
def fused(a, b, c, out, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + lanes, tl.load(a + lanes) * tl.load(b + lanes) + tl.load(c + lanes))


@triton.jit
def excused(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes) * 2)  # kvtrace: ignore[wrong-result] a known defect


@triton.jit
def row_sums(x, out, N: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out + row, tl.sum(tl.load(x + row * N + tl.arange(0, N)), axis=0))


@triton.jit
def running_sums(x, out, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + lanes, tl.cumsum(tl.load(x + lanes), axis=0))


@triton.jit
def grown(x, y, out, N: tl.constexpr):
    """Approximate functions one after the other."""
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + lanes, tl.exp(tl.load(x + lanes)) / tl.sqrt(tl.load(y + lanes)))


@triton.jit
def composed(x, y, out, N: tl.constexpr):
    """Functions of functions, whose errors grow, and cancel in a difference."""
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    a, b = tl.load(x + lanes), tl.load(y + lanes)
    left = tl.log(tl.abs(a) + 1.0) * tl.sin(b)
    right = tl.exp(-tl.abs(a)) / (b * b + 1.0)
    tl.store(out + lanes, tl.where(a > b, left - right, tl.sqrt(tl.abs(left)) + right))


@triton.jit
def scaled(x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Tiles of a matrix, doubled: nothing is rounded."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    column = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    inside = (row < rows) & (column < columns)
    place = row * columns + column
    tl.store(out + place, tl.load(x + place, mask=inside) * 2, mask=inside)


@triton.jit
def branching(x, y, out, N: tl.constexpr):
    """A sum decides which way is gone."""
    lanes = tl.arange(0, N)
    total = tl.sum(tl.load(x + lanes), axis=0)
    found = tl.load(y + lanes)
    if total > 0.0:
        found = found * 2
    tl.store(out + lanes, found)


@triton.jit
def addressed(x, y, out, N: tl.constexpr):
    """A sum decides where is written."""
    lanes = tl.arange(0, N)
    start = tl.sum(tl.load(x + lanes), axis=0).to(tl.int32)
    tl.store(out + start + lanes, tl.load(y + lanes))


@triton.jit
def beyond(x, out, N: tl.constexpr):
    """Reads one element after its tensor."""
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes + 1))


@triton.jit
def spilled(x, short, out, N: tl.constexpr):
    """Stores beyond one of its tensors."""
    lanes = tl.arange(0, N)
    values = tl.load(x + lanes)
    tl.store(out + lanes, values)
    tl.store(short + lanes, values)


@triton.jit
def undefined(a, b, x, quotient, remainder, shifted, whole, N: tl.constexpr):
    """What the IR leaves open for some operands."""
    lanes = tl.arange(0, N)
    left, right = tl.load(a + lanes), tl.load(b + lanes)
    tl.store(quotient + lanes, left // right)
    tl.store(remainder + lanes, left % right)
    tl.store(shifted + lanes, left << right)
    tl.store(whole + lanes, tl.load(x + lanes).to(tl.int32))


@triton.jit
def _grown(a, b):
    return tl.exp(a), b * b


@triton.jit
def mapped(x, y, out, other, N: tl.constexpr):
    lanes = tl.arange(0, N)
    first, second = tl.map_elementwise(_grown, tl.load(x + lanes), tl.load(y + lanes))
    tl.store(out + lanes, first)
    tl.store(other + lanes, second)


@triton.jit
def row_softmax(x, out, columns, N: tl.constexpr):
    row, lanes = tl.program_id(0), tl.arange(0, N)
    inside = lanes < columns
    found = tl.load(x + row * columns + lanes, mask=inside, other=-float("inf"))
    powers = tl.exp(found - tl.max(found, axis=0))
    tl.store(out + row * columns + lanes, powers / tl.sum(powers, axis=0), mask=inside)


@triton.jit
def tiled_product(
    a, b, out, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    """Tiles that a loop loads, which Triton pipelines."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        left = tl.load(
            a + rows[:, None] * k + (start + inner)[None, :],
            mask=(rows[:, None] < m) & ((start + inner)[None, :] < k), other=0.0,
        )  # fmt: skip
        right = tl.load(
            b + (start + inner)[:, None] * n + columns[None, :],
            mask=((start + inner)[:, None] < k) & (columns[None, :] < n), other=0.0,
        )  # fmt: skip
        total = tl.dot(left, right, total)
    place = rows[:, None] * n + columns[None, :]
    tl.store(out + place, total, mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def described_product(
    a, b, out, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    """The same by descriptors, which Hopper copies by itself."""
    left = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [k, n], [n, 1], [BK, BN])
    target = tl.make_tensor_descriptor(out, [m, n], [n, 1], [BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        total = tl.dot(left.load([row, start]), right.load([start, column]), total)
    target.store([row, column], total)


@triton.jit
def summed_product(a, b, out, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A product of tiles one of which is summed as well, in registers."""
    rows, columns, inner = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    total, beside = tl.zeros((BM, BN), tl.float32), 0.0
    for start in range(0, k, BK):
        left = tl.load(a + rows[:, None] * k + (start + inner)[None, :])
        right = tl.load(b + (start + inner)[:, None] * BN + columns[None, :])
        beside += tl.sum(right.to(tl.float32))
        total = tl.dot(left, right, total)
    tl.store(out + rows[:, None] * BN + columns[None, :], total + beside)
