"""Kernels before and after a change, which `refactored.py` pairs."""

import triton
import triton.language as tl


@triton.jit
def rms_norm(x, w, out, M, N):
    row, at = tl.program_id(0), tl.arange(0, 256)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    scale = tl.rsqrt(tl.sum(value * value, 0) / N + 1e-6)
    tl.store(out + row * N + at, value * scale * tl.load(w + at, at < N, other=0.0), at < N)


@triton.jit
def rms_norm_renamed(source, weight, target, rows, columns):
    r, lanes = tl.program_id(0), tl.arange(0, 256)
    v = tl.load(source + r * columns + lanes, lanes < columns, other=0.0)
    inverse = tl.rsqrt(tl.sum(v * v, 0) / columns + 1e-6)
    g = tl.load(weight + lanes, lanes < columns, other=0.0)
    tl.store(target + r * columns + lanes, v * inverse * g, lanes < columns)


@triton.jit
def rms_norm_masks(x, w, out, M, N):
    row, at = tl.program_id(0), tl.arange(0, 256)
    outside = at >= N
    value = tl.load(x + row * N + at, outside == 0, other=0.0)
    scale = tl.rsqrt(tl.sum(value * value, 0) / N + 1e-6)
    weight = tl.load(w + at, at <= N - 1, other=0.0)
    tl.store(out + row * N + at, value * scale * weight, (at + 1 <= N) & (row < M))


@triton.jit
def _power(value, N, eps):
    return tl.sum(value * value, 0) / N + eps


@triton.jit
def _normalized(value, N, eps):
    return value * tl.rsqrt(_power(value, N, eps))


@triton.jit
def rms_norm_functions(x, w, out, M, N):
    row, at = tl.program_id(0), tl.arange(0, 256)
    value = _normalized(tl.load(x + row * N + at, at < N, other=0.0), N, 1e-6)
    tl.store(out + row * N + at, value * tl.load(w + at, at < N, other=0.0), at < N)


@triton.jit
def rms_norm_pointers(x, w, out, M, N):
    at = tl.arange(0, 256)
    x += tl.program_id(0) * N
    out += tl.program_id(0) * N
    value = tl.load(x + at, at < N, other=0.0)
    scale = tl.rsqrt(tl.sum(value * value, 0) / N + 1e-6)
    tl.store(out + at, value * scale * tl.load(w + at, at < N, other=0.0), at < N)


@triton.jit
def rms_norm_where(x, w, out, M, N):
    row, at = tl.program_id(0), tl.arange(0, 256)
    value = tl.where(at < N, tl.load(x + row * N + tl.minimum(at, N - 1)), 0.0)
    scale = tl.rsqrt(tl.sum(value * value, 0) / N + 1e-6)
    tl.store(out + row * N + at, value * scale * tl.load(w + at, at < N, other=0.0), at < N)


@triton.jit
def rms_norm_commuted(x, w, out, M, N):
    row, at = tl.program_id(0), tl.arange(0, 256)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    scale = tl.rsqrt(1e-6 + tl.sum(value * value, 0) / N)
    tl.store(out + row * N + at, tl.load(w + at, at < N, other=0.0) * (scale * value), at < N)


@triton.jit
def rms_norm_tiles(x, w, out, M, N):
    row, at = tl.program_id(0) * 4 + tl.arange(0, 4), tl.arange(0, 256)
    place, mask = row[:, None] * N + at[None], (row[:, None] < M) & (at[None] < N)
    value = tl.load(x + place, mask, other=0.0)
    scale = tl.rsqrt(tl.sum(value * value, 1) / N + 1e-6)
    weight = tl.load(w + at, at < N, other=0.0)
    tl.store(out + place, value * scale[:, None] * weight[None], mask)


@triton.jit
def rms_norm_persistent(x, w, out, M, N):
    at = tl.arange(0, 256)
    weight = tl.load(w + at, at < N, other=0.0)
    for row in range(tl.program_id(0), M, tl.num_programs(0)):
        value = tl.load(x + row * N + at, at < N, other=0.0)
        scale = tl.rsqrt(tl.sum(value * value, 0) / N + 1e-6)
        tl.store(out + row * N + at, value * scale * weight, at < N)


@triton.jit
def rms_norm_two_stores(x, w, out, M, N):
    row, at = tl.program_id(0), tl.arange(0, 256)
    value = tl.load(x + row * N + at, at < N, other=0.0)
    scale = tl.rsqrt(tl.sum(value * value, 0) / N + 1e-6)
    result = value * scale * tl.load(w + at, at < N, other=0.0)
    tl.store(out + row * N + at, result, at < N // 2)
    tl.store(out + row * N + at, result, (at >= N // 2) & (at < N))


@triton.jit
def rms_norm_wide(x, w, out, M, N):
    row, at = tl.program_id(0).to(tl.int64), tl.arange(0, 256)
    value = tl.load(x + row * N + at, at < N, other=0.0).to(tl.float32).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, 0) / N + 1e-6)
    tl.store(out + row * N + at, value * scale * tl.load(w + at, at < N, other=0.0), at < N)


@triton.jit
def rms_norm_block_pointers(x, w, out, M, N):
    row, at = tl.program_id(0), tl.arange(0, 256)
    source = tl.make_block_ptr(x, (M, N), (N, 1), (row, 0), (1, 256), (1, 0))
    target = tl.make_block_ptr(out, (M, N), (N, 1), (row, 0), (1, 256), (1, 0))
    value = tl.load(source, boundary_check=(0, 1), padding_option="zero").reshape(256)
    scale = tl.rsqrt(tl.sum(value * value, 0) / N + 1e-6)
    result = value * scale * tl.load(w + at, at < N, other=0.0)
    tl.store(target, result.reshape(1, 256), boundary_check=(0, 1))


@triton.jit
def loop_sum(x, w, out, M, N):
    row, total = tl.program_id(0), tl.zeros((32,), tl.float32)
    for first in range(0, N, 32):
        at = first + tl.arange(0, 32)
        total += tl.load(x + row * N + at, at < N, other=0.0) * tl.load(w + at, at < N, other=0.0)
    tl.store(out + row * N, tl.sum(total, 0))


@triton.jit
def loop_sum_peeled(x, w, out, M, N):
    row, total, lanes = tl.program_id(0), tl.zeros((32,), tl.float32), tl.arange(0, 32)
    whole = N // 32 * 32
    for first in range(0, whole, 32):
        at = first + lanes
        total += tl.load(x + row * N + at) * tl.load(w + at)
    at = whole + lanes
    total += tl.load(x + row * N + at, at < N, other=0.0) * tl.load(w + at, at < N, other=0.0)
    tl.store(out + row * N, tl.sum(total, 0))


@triton.jit
def loop_sum_hoisted(x, w, out, M, N):
    row, total, lanes = tl.program_id(0), tl.zeros((32,), tl.float32), tl.arange(0, 32)
    base = x + row * N
    for step in range(tl.cdiv(N, 32)):
        mask = lanes < N - step * 32
        total += tl.load(base + lanes, mask, other=0.0) * tl.load(w + lanes, mask, other=0.0)
        base += 32
        w += 32
    tl.store(out + row * N, tl.sum(total, 0))


@triton.jit
def loop_sum_unrolled(x, w, out, M, N):
    row, total = tl.program_id(0), tl.zeros((32,), tl.float32)
    for step in tl.static_range(7):
        at = step * 32 + tl.arange(0, 32)
        total += tl.load(x + row * N + at, at < N, other=0.0) * tl.load(w + at, at < N, other=0.0)
    tl.store(out + row * N, tl.sum(total, 0))


@triton.jit
def loop_sum_literal(x, w, out, M, N):
    row, total = tl.program_id(0), tl.zeros((32,), tl.float32)
    for first in range(0, 200, 32):
        at = first + tl.arange(0, 32)
        value = tl.load(x + row * 200 + at, at < 200, other=0.0)
        total += value * tl.load(w + at, at < 200, other=0.0)
    tl.store(out + row * 200, tl.sum(total, 0))


@triton.jit
def loop_sum_while(x, w, out, M, N):
    row, total, first = tl.program_id(0), tl.zeros((32,), tl.float32), 0
    while first < N:
        at = first + tl.arange(0, 32)
        total += tl.load(x + row * N + at, at < N, other=0.0) * tl.load(w + at, at < N, other=0.0)
        first += 32
    tl.store(out + row * N, tl.sum(total, 0))


@triton.jit
def loop_sum_guarded(x, w, out, M, N):
    row, total = tl.program_id(0), tl.zeros((32,), tl.float32)
    if row >= M:
        return
    for first in range(0, N, 32):
        at = first + tl.arange(0, 32)
        term = tl.load(w + at, at < N, other=0.0) * tl.load(x + row * N + at, at < N, other=0.0)
        total = term + total
    tl.store(out + row * N, tl.sum(total, 0))


@triton.jit
def loop_sum_reversed(x, w, out, M, N):
    row, total = tl.program_id(0), tl.zeros((32,), tl.float32)
    for step in range(tl.cdiv(N, 32)):
        at = (tl.cdiv(N, 32) - 1 - step) * 32 + tl.arange(0, 32)
        total += tl.load(x + row * N + at, at < N, other=0.0) * tl.load(w + at, at < N, other=0.0)
    tl.store(out + row * N, tl.sum(total, 0))


@triton.jit
def loop_sum_each(x, w, out, M, N):
    row, total = tl.program_id(0), 0.0
    for first in range(0, N, 32):
        at = first + tl.arange(0, 32)
        value = tl.load(x + row * N + at, at < N, other=0.0)
        total += tl.sum(value * tl.load(w + at, at < N, other=0.0), 0)
    tl.store(out + row * N, total)


@triton.jit
def scaled_sum(x, w, out, M, N):
    row, at = tl.program_id(0), tl.arange(0, 256)
    value, factor = tl.load(x + row * N + at, at < N, other=0.0), tl.load(w)
    tl.store(
        out + row * N + at, tl.load(x + row * N + at, at < N) + tl.sum(value * factor, 0), at < N
    )


@triton.jit
def scaled_sum_hoisted(x, w, out, M, N):
    factor, at = tl.load(w), tl.arange(0, 256)
    mask, place = at < N, tl.program_id(0) * N + at
    value = tl.load(x + place, mask, other=0.0)
    tl.store(out + place, value + tl.sum(value * factor, 0), mask)


@triton.jit
def softmax(x, w, out, M, N):
    row, at = tl.program_id(0), tl.arange(0, 256)
    value = tl.load(x + row * N + at, at < N, other=-float("inf"))
    power = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * N + at, power / tl.sum(power, 0), at < N)


@triton.jit
def softmax_parts(x, w, out, M, N):
    row, at = tl.program_id(0), tl.arange(0, 256)
    place = x + row * N + at
    top = tl.max(tl.load(place, at < N, other=-float("inf")), 0)
    total = tl.sum(tl.exp(tl.load(place, at < N, other=-float("inf")) - top), 0)
    tl.store(out + row * N + at, tl.exp(tl.load(place, at < N) - top) / total, at < N)


@triton.jit
def _matmul(x, w, out, M, K, BLOCK: tl.constexpr):
    m, total = tl.arange(0, 16), tl.zeros((16, 16), tl.float32)
    for first in range(0, K, BLOCK):
        k = first + tl.arange(0, BLOCK)
        left, right = tl.load(x + m[:, None] * K + k[None]), tl.load(w + k[:, None] * 16 + m[None])
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(out + m[:, None] * 16 + m[None], total)


matmul, matmul_narrow = (triton.heuristics({"BLOCK": lambda _, n=n: n})(_matmul) for n in (32, 16))


@triton.jit
def matmul_transposed(x, w, out, M, K):
    m, total = tl.arange(0, 16), tl.zeros((16, 16), tl.float32)
    for first in range(0, K, 32):
        k = first + tl.arange(0, 32)
        left, right = tl.load(x + m[:, None] * K + k[None]), tl.load(w + m[:, None] + k[None] * 16)
        total = tl.dot(left, tl.trans(right), total, input_precision="ieee")
    tl.store(out + m[:, None] * 16 + m[None], total)


@triton.jit
def matmul_pointers(x, w, out, M, K):
    m, k, total = tl.arange(0, 16), tl.arange(0, 32), tl.zeros((16, 16), tl.float32)
    x += m[:, None] * K + k[None]
    w += k[:, None] * 16 + m[None]
    for _ in range(tl.cdiv(K, 32)):
        total = tl.dot(tl.load(x), tl.load(w), total, input_precision="ieee")
        x += 32
        w += 32 * 16
    tl.store(out + m[:, None] * 16 + m[None], total)


@triton.jit
def leaky(x, w, out, M, N):
    at = tl.program_id(0) * N + tl.arange(0, 256)
    value = tl.load(x + at, tl.arange(0, 256) < N, other=0.0)
    tl.store(out + at, tl.where(value > 0, value, value * 0.01), tl.arange(0, 256) < N)


@triton.jit
def leaky_steeper(x, w, out, M, N):
    at = tl.program_id(0) * N + tl.arange(0, 256)
    value = tl.load(x + at, tl.arange(0, 256) < N, other=0.0)
    tl.store(out + at, tl.where(value > 0, value, value * 0.02), tl.arange(0, 256) < N)


@triton.jit
def largest(x, w, out, M, N):
    at = tl.arange(0, 256)
    value = tl.load(x + tl.program_id(0) * N + at, at < N, other=float("-inf"))
    tl.store(out + tl.program_id(0) * N + at, value - tl.max(value, 0), at < N)


@triton.jit
def largest_by_tiles(x, w, out, M, N):
    row, at = x + tl.program_id(0) * N, tl.arange(0, 256)
    most = tl.full((64,), float("-inf"), tl.float32)
    for start in range(0, 256, 64):
        here = start + tl.arange(0, 64)
        most = tl.maximum(most, tl.load(row + here, here < N, other=float("-inf")))
    value = tl.load(row + at, at < N)
    tl.store(out + tl.program_id(0) * N + at, value - tl.max(most, 0), at < N)


@triton.jit
def largest_and_zero(x, w, out, M, N):
    at = tl.arange(0, 256)
    value = tl.load(x + tl.program_id(0) * N + at, at < N, other=0.0)
    tl.store(out + tl.program_id(0) * N + at, value - tl.max(value, 0), at < N)
