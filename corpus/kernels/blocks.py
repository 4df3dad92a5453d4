"""Kernels that reduce, scan, order, reshape and multiply blocks, one op of the language each."""

import triton
import triton.language as tl


@triton.jit
def reduced(x, out, NAME: tl.constexpr, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    base = tl.program_id(0) * M * N
    block = tl.load(x + base + m[:, None] * N + n[None, :])
    result = getattr(tl, NAME)(block, axis=AXIS)
    if AXIS == 0:
        tl.store(out + tl.program_id(0) * N + n, result)
    else:
        tl.store(out + tl.program_id(0) * M + m, result)


@triton.jit
def reduced_to_one(x, out, NAME: tl.constexpr, N: tl.constexpr):
    block = tl.load(x + tl.program_id(0) * N + tl.arange(0, N))
    tl.store(out + tl.program_id(0), getattr(tl, NAME)(block, axis=0))


@triton.jit
def _any_nan(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def reduced_with_nan(x, out, N: tl.constexpr):
    block = tl.load(x + tl.program_id(0) * N + tl.arange(0, N))
    tl.store(out + tl.program_id(0), tl.reduce(block, 0, _any_nan))


@triton.jit
def _multiplied(a, b):
    return a * b


@triton.jit
def product_of_all(x, out, N: tl.constexpr):
    block = tl.load(x + tl.program_id(0) * N + tl.arange(0, N))
    tl.store(out + tl.program_id(0), tl.reduce(block, 0, _multiplied))


@triton.jit
def _added(a, b):
    return a + b


@triton.jit
def sum_of_all(x, out, N: tl.constexpr):
    block = tl.load(x + tl.program_id(0) * N + tl.arange(0, N))
    tl.store(out + tl.program_id(0), tl.reduce(block, 0, _added))


@triton.jit
def _welford(mean_1, m2_1, weight_1, mean_2, m2_2, weight_2):
    delta = mean_2 - mean_1
    weight = weight_1 + weight_2
    share = weight_2 / weight
    return mean_1 + delta * share, m2_1 + m2_2 + delta * delta * weight_1 * share, weight


@triton.jit
def mean_and_variance(x, mean_out, variance_out, N: tl.constexpr):
    """A reduction of three tensors at once."""
    block = tl.load(x + tl.program_id(0) * N + tl.arange(0, N))
    zero = tl.zeros_like(block)
    mean, m2, weight = tl.reduce((block, zero, zero + 1), 0, _welford)
    tl.store(mean_out + tl.program_id(0), mean)
    tl.store(variance_out + tl.program_id(0), m2 / weight)


@triton.jit
def scanned(
    x, out, NAME: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr, M: tl.constexpr,
    N: tl.constexpr,
):  # fmt: skip
    m, n = tl.arange(0, M), tl.arange(0, N)
    place = tl.program_id(0) * M * N + m[:, None] * N + n[None, :]
    tl.store(out + place, getattr(tl, NAME)(tl.load(x + place), axis=AXIS, reverse=REVERSE))


@triton.jit
def _last(a, b):
    return b


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def _segmented(a, flag_a, b, flag_b):
    """A sum that begins anew at every flag."""
    return tl.where(flag_b != 0, b, a + b), flag_a | flag_b


@triton.jit
def scanned_by(x, flags, out, KIND: tl.constexpr, REVERSE: tl.constexpr, N: tl.constexpr):
    place = tl.program_id(0) * N + tl.arange(0, N)
    block = tl.load(x + place)
    if KIND == "larger":
        result = tl.associative_scan(block, 0, _larger, reverse=REVERSE)
    elif KIND == "last":
        result = tl.associative_scan(block, 0, _last, reverse=REVERSE)
    else:
        tl.static_assert(KIND == "segmented")
        both = (block, tl.load(flags + place))
        result, _ = tl.associative_scan(both, 0, _segmented, reverse=REVERSE)
    tl.store(out + place, result)


@triton.jit
def ordered(x, out, NAME: tl.constexpr, DOWN: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    place = m[:, None] * N + n[None, :]
    tl.store(out + place, getattr(tl, NAME)(tl.load(x + place), descending=DOWN))


@triton.jit
def largest_few(x, out, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    block = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(out + m[:, None] * K + k[None, :], tl.topk(block, K))


@triton.jit
def merged(x, out, M: tl.constexpr, N: tl.constexpr):
    """Rows that rise and then fall, put in order."""
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + place, tl.bitonic_merge(tl.load(x + place)))


@triton.jit
def flipped(x, out, DIM: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + place, tl.flip(tl.load(x + place), DIM))


@triton.jit
def rearranged(x, y, out, KIND: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """One op that moves elements; `out` has room for two blocks."""
    m, n = tl.arange(0, M), tl.arange(0, N)
    place = m[:, None] * N + n[None, :]
    a, b = tl.load(x + place), tl.load(y + place)
    if KIND == "trans":
        r = tl.trans(a)
    elif KIND == "T":
        r = a.T
    elif KIND == "permute":
        r = tl.permute(tl.reshape(a, (M, 2, N // 2)), (2, 0, 1))
    elif KIND == "reshape":
        r = tl.reshape(a, (M // 2, 2, N))
    elif KIND == "view":
        r = tl.view(a, (N, M))
    elif KIND == "ravel":
        r = tl.ravel(a)
    elif KIND == "join":
        r = tl.join(a, b)
    elif KIND == "split":
        left, right = tl.split(tl.reshape(a, (M, N // 2, 2)))
        r = tl.join(right, left)
    elif KIND == "interleave":
        r = tl.interleave(a, b)
    elif KIND == "cat":
        r = tl.cat(tl.ravel(a), tl.ravel(b), can_reorder=True)
    elif KIND == "broadcast":
        r = tl.broadcast_to(tl.expand_dims(tl.sum(a, axis=1), 1), (M, N))
    elif KIND == "broadcast of two":
        r, _ = tl.broadcast(tl.max(a, axis=0)[None, :], a)
    elif KIND == "expand_dims":
        r = tl.expand_dims(a, 1)
    elif KIND == "zeros_like":
        r = tl.zeros_like(a)
    else:
        tl.static_assert(KIND == "full")
        r = tl.full((M, N), 7, a.dtype)
    flat = tl.reshape(r, (r.numel,))
    tl.store(out + tl.arange(0, r.numel), flat)


@triton.jit
def swizzled(out_i, out_j, M: tl.constexpr, N: tl.constexpr, GROUP: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    new_i, new_j = tl.swizzle2d(i, j, M, N, GROUP)
    tl.store(out_i + i * N + j, new_i)
    tl.store(out_j + i * N + j, new_j)


@triton.jit
def gathered(x, index, out, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + place, tl.gather(tl.load(x + place), tl.load(index + place), AXIS))


@triton.jit
def counted(x, mask, out, MASKED: tl.constexpr, N: tl.constexpr, BINS: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    if MASKED:
        bins = tl.histogram(tl.load(x + lanes), BINS, mask=tl.load(mask + lanes) != 0)
    else:
        bins = tl.histogram(tl.load(x + lanes), BINS)
    tl.store(out + tl.program_id(0) * BINS + tl.arange(0, BINS), bins)


@triton.jit
def product(
    a, b, c, out, PRECISION: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + m[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * N + n[None, :])
    start = tl.load(c + m[:, None] * N + n[None, :])
    if PRECISION == "":
        total = tl.dot(left, right, start, out_dtype=c.dtype.element_ty)
    else:
        total = tl.dot(left, right, start, input_precision=PRECISION, out_dtype=c.dtype.element_ty)
    tl.store(out + m[:, None] * N + n[None, :], total)


@triton.jit
def batch_product(a, b, out, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, m = tl.arange(0, B)[:, None, None], tl.arange(0, M)
    n, k = tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + i * M * K + m[None, :, None] * K + k[None, None, :])
    right = tl.load(b + i * K * N + k[None, :, None] * N + n[None, None, :])
    total = tl.dot(left, right, input_precision="ieee")
    tl.store(out + i * M * N + m[None, :, None] * N + n[None, None, :], total)


@triton.jit
def scaled_product(
    a, a_scale, b, b_scale, out, A: tl.constexpr, B: tl.constexpr, A_DEPTH: tl.constexpr,
    B_DEPTH: tl.constexpr, WITH_A: tl.constexpr, WITH_B: tl.constexpr, M: tl.constexpr,
    N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """A_DEPTH and B_DEPTH: rows of bytes along K (half of K where two values share a byte)."""
    m, n, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    ka, kb = tl.arange(0, A_DEPTH), tl.arange(0, B_DEPTH)
    left = tl.load(a + m[:, None] * A_DEPTH + ka[None, :])
    right = tl.load(b + kb[:, None] * N + n[None, :])
    left_scale = None
    right_scale = None
    if WITH_A:
        left_scale = tl.load(a_scale + m[:, None] * (K // 32) + s[None, :])
    if WITH_B:
        right_scale = tl.load(b_scale + n[:, None] * (K // 32) + s[None, :])
    total = tl.dot_scaled(left, left_scale, A, right, right_scale, B)
    tl.store(out + m[:, None] * N + n[None, :], total)


@triton.jit
def scaled_product_packed_along_rows(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Two rows of the left operand, and two columns of the right one, share a byte."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    half_m, half_n = tl.arange(0, M // 2), tl.arange(0, N // 2)
    left = tl.load(a + half_m[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * (N // 2) + half_n[None, :])
    scale = tl.full((M, K // 32), 127, tl.uint8)
    other = tl.full((N, K // 32), 128, tl.uint8)
    total = tl.dot_scaled(
        left, scale, "e2m1", right, other, "e2m1", lhs_k_pack=False, rhs_k_pack=False
    )
    tl.store(out + m[:, None] * N + n[None, :], total)
