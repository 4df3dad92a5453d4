"""Kernels to attack derived tolerances with: half are right, half wrong in ways that tests miss."""

import triton
import triton.language as tl


@triton.jit
def _row(x, columns, other, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    return tl.load(x + tl.program_id(0) * columns + lanes, mask=lanes < columns, other=other)


@triton.jit
def _to_row(out, columns, values, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * columns + lanes, values, mask=lanes < columns)


@triton.jit
def layer_norm_two_pass(x, out, columns, eps, BLOCK: tl.constexpr):
    v = _row(x, columns, 0.0, BLOCK)
    centered = v - tl.sum(v, 0) / columns
    centered = tl.where(tl.arange(0, BLOCK) < columns, centered, 0.0)
    scale = tl.rsqrt(tl.sum(centered * centered, 0) / columns + eps)
    _to_row(out, columns, centered * scale, BLOCK)


@triton.jit
def layer_norm_one_pass(x, out, columns, eps, BLOCK: tl.constexpr):
    v = _row(x, columns, 0.0, BLOCK)
    mean = tl.sum(v, 0) / columns
    scale = tl.rsqrt(tl.sum(v * v, 0) / columns - mean * mean + eps)
    _to_row(out, columns, (v - mean) * scale, BLOCK)


@triton.jit
def layer_norm_unbiased(x, out, columns, eps, BLOCK: tl.constexpr):
    v = _row(x, columns, 0.0, BLOCK)
    centered = v - tl.sum(v, 0) / columns
    centered = tl.where(tl.arange(0, BLOCK) < columns, centered, 0.0)
    scale = tl.rsqrt(tl.sum(centered * centered, 0) / (columns - 1) + eps)
    _to_row(out, columns, centered * scale, BLOCK)


@triton.jit
def layer_norm_unmasked(x, out, columns, eps, BLOCK: tl.constexpr):
    v = _row(x, columns, 0.0, BLOCK)
    centered = v - tl.sum(v, 0) / columns
    scale = tl.rsqrt(tl.sum(centered * centered, 0) / columns + eps)
    _to_row(out, columns, centered * scale, BLOCK)


@triton.jit
def variance_shifted(x, out, columns, BLOCK: tl.constexpr):
    v = _row(x, columns, 0.0, BLOCK)
    first = tl.load(x + tl.program_id(0) * columns)
    v = tl.where(tl.arange(0, BLOCK) < columns, v - first, 0.0)
    mean = tl.sum(v, 0) / columns
    tl.store(out + tl.program_id(0), tl.sum(v * v, 0) / columns - mean * mean)


@triton.jit
def variance_naive(x, out, columns, BLOCK: tl.constexpr):
    v = _row(x, columns, 0.0, BLOCK)
    mean = tl.sum(v, 0) / columns
    tl.store(out + tl.program_id(0), tl.sum(v * v, 0) / columns - mean * mean)


@triton.jit
def covariance_naive(x, y, out, columns, BLOCK: tl.constexpr):
    v, w = _row(x, columns, 0.0, BLOCK), _row(y, columns, 0.0, BLOCK)
    means = (tl.sum(v, 0) / columns) * (tl.sum(w, 0) / columns)
    tl.store(out + tl.program_id(0), tl.sum(v * w, 0) / columns - means)


@triton.jit
def covariance_centered(x, y, out, columns, BLOCK: tl.constexpr):
    mask = tl.arange(0, BLOCK) < columns
    v, w = _row(x, columns, 0.0, BLOCK), _row(y, columns, 0.0, BLOCK)
    v = tl.where(mask, v - tl.sum(v, 0) / columns, 0.0)
    w = tl.where(mask, w - tl.sum(w, 0) / columns, 0.0)
    tl.store(out + tl.program_id(0), tl.sum(v * w, 0) / columns)


@triton.jit
def log_sum_exp(x, out, columns, BLOCK: tl.constexpr):
    v = _row(x, columns, -float("inf"), BLOCK)
    largest = tl.max(v, 0)
    tl.store(out + tl.program_id(0), largest + tl.log(tl.sum(tl.exp(v - largest), 0)))


@triton.jit
def softmax_online(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    lanes = tl.arange(0, BLOCK)
    largest, total = -float("inf"), 0.0
    for start in range(0, columns, BLOCK):
        mask = start + lanes < columns
        v = tl.load(x + row + start + lanes, mask=mask, other=-float("inf"))
        now = tl.maximum(largest, tl.max(v, 0))
        total = total * tl.exp(largest - now) + tl.sum(tl.exp(v - now), 0)
        largest = now
    for start in range(0, columns, BLOCK):
        mask = start + lanes < columns
        v = tl.load(x + row + start + lanes, mask=mask, other=-float("inf"))
        tl.store(out + row + start + lanes, tl.exp(v - largest) / total, mask=mask)


@triton.jit
def softmax_plain(x, out, columns, BLOCK: tl.constexpr):
    powers = tl.exp(_row(x, columns, -float("inf"), BLOCK))
    _to_row(out, columns, powers / tl.sum(powers, 0), BLOCK)


@triton.jit
def softmax_filled_with_zero(x, out, columns, BLOCK: tl.constexpr):
    v = _row(x, columns, 0.0, BLOCK)
    powers = tl.exp(v - tl.max(v, 0))
    _to_row(out, columns, powers / tl.sum(powers, 0), BLOCK)


@triton.jit
def softmax_without_last_store(x, out, columns, BLOCK: tl.constexpr):
    v = _row(x, columns, -float("inf"), BLOCK)
    powers = tl.exp(v - tl.max(v, 0))
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns - 1
    tl.store(out + tl.program_id(0) * columns + lanes, powers / tl.sum(powers, 0), mask=mask)


@triton.jit
def log_softmax(x, out, columns, BLOCK: tl.constexpr):
    v = _row(x, columns, -float("inf"), BLOCK)
    largest = tl.max(v, 0)
    total = tl.log(tl.sum(tl.exp(v - largest), 0))
    _to_row(out, columns, v - largest - total, BLOCK)


@triton.jit
def cross_entropy(x, labels, out, columns, BLOCK: tl.constexpr):
    v = _row(x, columns, -float("inf"), BLOCK)
    row = tl.program_id(0)
    chosen = tl.load(x + row * columns + tl.load(labels + row))
    largest = tl.max(v, 0)
    tl.store(out + row, largest + tl.log(tl.sum(tl.exp(v - largest), 0)) - chosen)


@triton.jit
def elementwise(x, out, n, FORMULA: tl.constexpr, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + places, mask=places < n, other=0.0)
    if FORMULA == "tanh":
        r = 1.0 - 2.0 / (tl.exp(2.0 * v) + 1.0)
    elif FORMULA == "gelu":
        inner = 0.7978845608028654 * (v + 0.044715 * v * v * v)
        r = 0.5 * v * (1.0 + (1.0 - 2.0 / (tl.exp(2.0 * inner) + 1.0)))
    elif FORMULA == "gelu, wrong constant":
        inner = 0.7978845608028654 * (v + 0.0447 * v * v * v)
        r = 0.5 * v * (1.0 + (1.0 - 2.0 / (tl.exp(2.0 * inner) + 1.0)))
    elif FORMULA == "silu":
        r = v * tl.sigmoid(v)
    elif FORMULA == "softplus":
        r = tl.maximum(v, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(v)))
    elif FORMULA == "softplus, plain":
        r = tl.log(1.0 + tl.exp(v))
    elif FORMULA == "exp":
        r = tl.exp(v)
    elif FORMULA == "sigmoid of exp":
        r = tl.exp(v) / (1.0 + tl.exp(v))
    elif FORMULA == "1 - cos":
        r = 1.0 - tl.cos(v)
    elif FORMULA == "2 sin²":
        r = 2.0 * tl.sin(0.5 * v) * tl.sin(0.5 * v)
    elif FORMULA == "log(1 + x)":
        r = tl.log(1.0 + v)
    elif FORMULA == "exp - 1":
        r = tl.exp(v) - 1.0
    elif FORMULA == "expanded":
        r = ((((((v - 7.0) * v + 21.0) * v - 35.0) * v + 35.0) * v - 21.0) * v + 7.0) * v - 1.0
    elif FORMULA == "power":
        d = v - 1.0
        r = d * d * d * d * d * d * d
    elif FORMULA == "absorbed relu":
        g = 42.0 + v
        r = ((tl.maximum(v, 0.0) - g + 1e30) - 1e30) + g
    elif FORMULA == "rounded":
        r = (v * 1.5).to(tl.bfloat16).to(tl.float32)
    elif FORMULA == "e8m0":
        r = v * 0.5
    tl.store(out + places, r, mask=places < n)


@triton.jit
def series_of_exp(x, out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + places, mask=places < n, other=0.0)
    term = tl.full((BLOCK,), 1.0, tl.float32)
    total = term
    for k in range(1, 80):
        term = term * v / k
        total += term
    tl.store(out + places, total, mask=places < n)


@triton.jit
def pairs(x, y, out, n, FORMULA: tl.constexpr, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = places < n
    v = tl.load(x + places, mask=mask, other=1.0)
    w = tl.load(y + places, mask=mask, other=1.0)
    if FORMULA == "root":
        r = 0.5 * (-v + tl.sqrt(v * v - 4.0 * w))
    elif FORMULA == "root, stable":
        r = -2.0 * w / (v + tl.sqrt(v * v - 4.0 * w))
    elif FORMULA == "hypotenuse":
        r = tl.sqrt(v * v + w * w)
    elif FORMULA == "hypotenuse, scaled":
        large = tl.maximum(tl.abs(v), tl.abs(w))
        small = tl.minimum(tl.abs(v), tl.abs(w)) / large
        r = large * tl.sqrt(1.0 + small * small)
    elif FORMULA == "difference of squares":
        r = v * v - w * w
    elif FORMULA == "product of sum and difference":
        r = (v - w) * (v + w)
    tl.store(out + places, r, mask=mask)


@triton.jit
def distances(x, y, out, columns, EXPANDED: tl.constexpr, BLOCK: tl.constexpr):
    v, w = _row(x, columns, 0.0, BLOCK), _row(y, columns, 0.0, BLOCK)
    if EXPANDED:
        r = tl.sum(v * v, 0) + tl.sum(w * w, 0) - 2.0 * tl.sum(v * w, 0)
    else:
        r = tl.sum((v - w) * (v - w), 0)
    tl.store(out + tl.program_id(0), r)


@triton.jit
def entropy(x, out, columns, GUARDED: tl.constexpr, BLOCK: tl.constexpr):
    p = _row(x, columns, 1.0, BLOCK)
    mask = tl.where(p > 0, p, 1.0) if GUARDED else p
    terms = p * tl.log(mask)
    tl.store(out + tl.program_id(0), -tl.sum(terms, 0))


@triton.jit
def rms_norm(x, out, columns, eps, HAS_EPS: tl.constexpr, BLOCK: tl.constexpr):
    v = _row(x, columns, 0.0, BLOCK).to(tl.float32)
    square = tl.sum(v * v, 0) / columns
    scale = tl.rsqrt(square + eps) if HAS_EPS else tl.rsqrt(square)
    _to_row(out, columns, v * scale, BLOCK)


@triton.jit
def mean(x, out, columns, BY_BLOCK: tl.constexpr, BLOCK: tl.constexpr):
    v = _row(x, columns, 0.0, BLOCK).to(tl.float32)
    tl.store(out + tl.program_id(0), tl.sum(v, 0) / (BLOCK if BY_BLOCK else columns))


@triton.jit
def long_sum(x, out, columns, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), TYPE)
    for start in range(0, columns, BLOCK):
        v = tl.load(x + row + start + lanes, mask=start + lanes < columns, other=0.0)
        total = (total + v).to(TYPE)
    tl.store(out + tl.program_id(0), tl.sum(total.to(tl.float32), 0))


@triton.jit
def atomic_sum(x, out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + places, mask=places < n, other=0.0), 0))


@triton.jit
def cumulative(x, out, columns, BLOCK: tl.constexpr):
    _to_row(out, columns, tl.cumsum(_row(x, columns, 0.0, BLOCK), 0), BLOCK)


@triton.jit
def matmul(
    left, right, out, inner, TYPE: tl.constexpr, PRECISION: tl.constexpr, TAIL: tl.constexpr,
    SIZE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row, column = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    deep = tl.arange(0, BLOCK)
    total = tl.zeros((SIZE, SIZE), dtype=TYPE)
    end = inner if TAIL else inner // BLOCK * BLOCK
    for start in range(0, end, BLOCK):
        k = start + deep
        a = tl.load(left + row * inner + k[None, :], mask=k[None, :] < inner, other=0.0)
        b = tl.load(right + k[:, None] * SIZE + column, mask=k[:, None] < inner, other=0.0)
        total = (total + tl.dot(a, b, input_precision=PRECISION)).to(TYPE)
    tl.store(out + row * SIZE + column, total.to(out.dtype.element_ty))


@triton.jit
def attention(q, k, v, out, length, scale, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    rows, across = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    queries = tl.load(q + rows * SIZE + across)
    largest = tl.full((SIZE,), -float("inf"), tl.float32)
    total = tl.zeros((SIZE,), tl.float32)
    result = tl.zeros((SIZE, SIZE), tl.float32)
    for start in range(0, length, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        keys = tl.load(k + lanes[None, :] * SIZE + tl.arange(0, SIZE)[:, None])
        values = tl.load(v + lanes[:, None] * SIZE + across)
        scores = tl.dot(queries, keys) * scale
        now = tl.maximum(largest, tl.max(scores, 1))
        powers = tl.exp(scores - now[:, None])
        shrink = tl.exp(largest - now)
        total = total * shrink + tl.sum(powers, 1)
        result = result * shrink[:, None] + tl.dot(powers.to(values.dtype), values)
        largest = now
    tl.store(out + rows * SIZE + across, (result / total[:, None]).to(out.dtype.element_ty))
