"""Candidates for `chunk_fwd_kernel_o` of FLA; the docstring of a wrong one says why.

A chunk's output is scale * (2^g * q h + mask(2^(g - g^T) * q k^T) v), with two matrix products.
"""

import triton
import triton.language as tl


@triton.jit
def chunk_fwd_kernel_o(
    q, k, v, h, g, o, scale, T, H: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    BT: tl.constexpr,
):  # fmt: skip
    output(q, k, v, h, g, o, scale, T, H, K, V, BT, True, True, tl.float32)


@triton.jit
def strictly_before(
    q, k, v, h, g, o, scale, T, H: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    BT: tl.constexpr,
):  # fmt: skip
    """Leaves each position's own value out."""
    output(q, k, v, h, g, o, scale, T, H, K, V, BT, False, True, tl.float32)


@triton.jit
def without_gate(
    q, k, v, h, g, o, scale, T, H: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    BT: tl.constexpr,
):  # fmt: skip
    """Does not multiply what comes from earlier chunks by their gates."""
    output(q, k, v, h, g, o, scale, T, H, K, V, BT, True, False, tl.float32)


@triton.jit
def half_products(
    q, k, v, h, g, o, scale, T, H: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    BT: tl.constexpr,
):  # fmt: skip
    """Adds products in 16 bits."""
    output(q, k, v, h, g, o, scale, T, H, K, V, BT, True, True, tl.float16)


@triton.jit
def output(
    q, k, v, h, g, o, scale, T, H: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    BT: tl.constexpr, OWN: tl.constexpr, GATED: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    chunk, batch, head = tl.program_id(0), tl.program_id(1) // H, tl.program_id(1) % H
    t, i, j = chunk * BT + tl.arange(0, BT), tl.arange(0, K), tl.arange(0, V)
    row, inside = (batch * T + t) * H + head, t < T
    h += ((batch * tl.cdiv(T, BT) + chunk) * H + head) * K * V
    b_q = tl.load(q + row[:, None] * K + i[None, :], mask=inside[:, None], other=0.0)
    b_k = tl.load(k + row[:, None] * K + i[None, :], mask=inside[:, None], other=0.0)
    b_v = tl.load(v + row[:, None] * V + j[None, :], mask=inside[:, None], other=0.0)
    b_g = tl.load(g + row, mask=inside, other=0.0)
    b_h = tl.load(h + i[:, None] * V + j[None, :])
    if dtype == tl.float16:
        before = tl.dot(b_q.to(dtype), b_h.to(dtype), out_dtype=dtype).to(tl.float32)
    else:
        before = tl.dot(b_q, b_h)
    if GATED:
        before *= tl.exp2(b_g)[:, None]
    seen = t[:, None] >= t[None, :] if OWN else t[:, None] > t[None, :]
    scores = tl.dot(b_q, tl.trans(b_k)) * tl.exp2(b_g[:, None] - b_g[None, :])
    scores = tl.where(seen, scores, 0.0)
    result = scale * (before + tl.dot(scores.to(b_v.dtype), b_v))
    tl.store(o + row[:, None] * V + j[None, :], result, mask=inside[:, None])
