"""Kernels about shapes, reductions, scans and wrapping integers."""

import triton
import triton.language as tl


@triton.jit
def rearranged(x, out, M: tl.constexpr, N: tl.constexpr):
    """Transposed, reshaped, split and joined: a permutation of one tile per program."""
    pid = tl.program_id(0)
    m, n = tl.arange(0, M), tl.arange(0, N)
    tile = tl.load(x + pid * M * N + m[:, None] * N + n[None, :])
    halves = tl.reshape(tl.trans(tile), (N, M // 2, 2))
    even, odd = tl.split(halves)
    joined = tl.join(odd, even)
    flat = tl.reshape(joined, (M * N,))
    tl.store(out + pid * M * N + tl.arange(0, M * N), flat)


@triton.jit
def permuted(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    lanes = tl.arange(0, A * B * C)
    block = tl.reshape(tl.load(x + lanes), (A, B, C))
    tl.store(out + lanes, tl.reshape(tl.permute(block, (2, 0, 1)), (A * B * C,)))


@triton.jit
def joined_ends(x, y, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    both = tl.cat(tl.load(x + lanes), tl.load(y + lanes), can_reorder=True)
    tl.store(out + tl.arange(0, 2 * N), both)


@triton.jit
def _maximum(a, b):
    return tl.maximum(a, b)


@triton.jit
def _affine(a, b, c, d):
    """Composition of x -> a x + b and x -> c x + d: associative, not commutative."""
    return a * c, b * c + d


@triton.jit
def reductions(
    x, total, largest, where_largest, smallest, where_smallest, all_xor, columns,
    M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr,
):  # fmt: skip
    m, n = tl.arange(0, M), tl.arange(0, N)
    block = tl.load(x + m[:, None] * columns + n[None, :])
    rest = tl.arange(0, N if AXIS == 0 else M)
    tl.store(total + rest, tl.sum(block, axis=AXIS))
    peak, place = tl.max(block, axis=AXIS, return_indices=True)
    tl.store(largest + rest, peak)
    tl.store(where_largest + rest, place)
    low, low_place = tl.min(block, axis=AXIS, return_indices=True)
    tl.store(smallest + rest, low)
    tl.store(where_smallest + rest, low_place)
    tl.store(all_xor + rest, tl.xor_sum(block.to(tl.int32), axis=AXIS))


@triton.jit
def scans(x, y, sums, products, peaks, slopes, offsets, N: tl.constexpr, REVERSE: tl.constexpr):
    pid = tl.program_id(0)
    lanes = pid * N + tl.arange(0, N)
    a, b = tl.load(x + lanes), tl.load(y + lanes)
    tl.store(sums + lanes, tl.cumsum(a, axis=0, reverse=REVERSE))
    tl.store(products + lanes, tl.cumprod(a, axis=0, reverse=REVERSE))
    tl.store(peaks + lanes, tl.associative_scan(a, 0, _maximum, reverse=REVERSE))
    slope, offset = tl.associative_scan((a, b), 0, _affine, reverse=REVERSE)
    tl.store(slopes + lanes, slope)
    tl.store(offsets + lanes, offset)


@triton.jit
def counted(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    pid = tl.program_id(0)
    lanes = pid * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    values = tl.load(x + lanes, mask=mask, other=0)
    tl.store(out + pid * BINS + tl.arange(0, BINS), tl.histogram(values, BINS, mask=mask))


@triton.jit
def gathered(x, index, out, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    offset = m[:, None] * N + n[None, :]
    tl.store(out + offset, tl.gather(tl.load(x + offset), tl.load(index + offset), AXIS))


@triton.jit
def sorted_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    offset = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + offset, tl.sort(tl.load(x + offset)))


@triton.jit
def wrapped_sums(out, a, b, c, d, BLOCK: tl.constexpr):
    """32-bit sums and products that may leave their width anywhere."""
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    rows = (pid + a) * b
    columns = lanes * c - d
    block = rows + columns[None, :] + columns[:, None]
    product = (rows + lanes) * (columns + a)
    quotient = (rows + columns) // 7 + (rows + columns) % 7
    compared = (rows + columns < d).to(tl.int32) + (columns - rows > b).to(tl.int32) * 2
    limited = tl.minimum(rows + lanes, columns) - tl.maximum(rows, columns + d)
    base = out + pid * (BLOCK * BLOCK + 4 * BLOCK)
    tl.store(base + lanes[:, None] * BLOCK + lanes[None, :], block)
    base += BLOCK * BLOCK
    tl.store(base + lanes, product)
    tl.store(base + BLOCK + lanes, quotient)
    tl.store(base + 2 * BLOCK + lanes, compared)
    tl.store(base + 3 * BLOCK + lanes, limited)


@triton.jit
def batched_product(a, b, out, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, m = tl.arange(0, B)[:, None, None], tl.arange(0, M)
    n, k = tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + i * M * K + m[None, :, None] * K + k[None, None, :])
    right = tl.load(b + i * K * N + k[None, :, None] * N + n[None, None, :])
    total = tl.dot(left, right, input_precision="ieee")
    tl.store(out + i * M * N + m[None, :, None] * N + n[None, None, :], total)


@triton.jit
def product_of(a, b, c, out, PRECISION: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    offset = lanes[:, None] * N + lanes[None, :]
    start = tl.load(c + offset)
    left, right = tl.load(a + offset), tl.load(b + offset)
    if PRECISION == "integer":
        tl.store(out + offset, tl.dot(left, right, start, out_dtype=tl.int32))
    else:
        tl.store(out + offset, tl.dot(left, right, start, input_precision=PRECISION))
